"""Checks of rows drawn at random, from the sheet to the promise."""

import json

import numpy as np
import pandas as pd
import pytest

import surelabel
from surelabel.evaluation.audits import share_still_wrong
from surelabel.exceptions import ParameterError, TableError


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    labels = np.where(rng.random(200) < 0.5, "cat|cow", np.array(["cat", "cow"])[y])
    return pd.DataFrame({"size": y * 4 + rng.standard_normal(200), "labels": labels, "truth": y})


OPTIONS = {"labels": "labels", "exclude": "truth", "max_error": 0.1}


@pytest.fixture(scope="module")
def cleaned(table):
    return surelabel.clean(table, **OPTIONS)


def answered(cleaned, table, n, **changes):
    """The sheet with the truth in its first rows."""
    sheet = cleaned.audit_sheet()
    truth = np.array(["cat", "cow"])[table["truth"]]
    sheet["answer"] = [truth[row - 1] if i < n else None for i, row in enumerate(sheet["row"])]
    for i, answer in changes.items():
        sheet.loc[int(i[1:]), "answer"] = answer
    return sheet


def test_a_sheet_holds_rows_to_be_kept_in_a_random_order(cleaned, table):
    sheet = cleaned.audit_sheet(50)
    assert list(sheet.columns) == ["check", "row", *table.columns, "label", "answer", "audit"]
    rows = sheet["row"].to_numpy() - 1
    assert len(set(rows)) == 50
    assert np.any(np.diff(rows) < 0)
    assert np.all(cleaned.status[rows] == "probable")
    pd.testing.assert_frame_equal(
        sheet[list(table.columns)], table.iloc[rows].reset_index(drop=True)
    )
    assert list(cleaned.audit_sheet(50, random_state=1)["row"]) != list(sheet["row"])


def test_answers_correct_and_certify(cleaned, table, tmp_path):
    answered(cleaned, table, 60).to_csv(tmp_path / "audit.csv", index=False)
    found = surelabel.clean(table, audit=tmp_path / "audit.csv", **OPTIONS)
    n_rows = cleaned.status_counts["probable"]
    truth = np.array(["cat", "cow"])[table["truth"]]
    rows = cleaned.audit_sheet(60)["row"].to_numpy() - 1
    wrong = int(np.sum(np.array(cleaned.frame["label"])[rows] != truth[rows]))
    assert (found.audit.n_rows, found.audit.n_checked, found.audit.n_wrong) == (n_rows, 60, wrong)
    assert found.audit.still_wrong == share_still_wrong(n_rows, 60, wrong)
    assert np.array_equal(np.array(found.frame["label"])[rows], truth[rows])
    look, probable = cleaned.status == "look", cleaned.status == "probable"
    assert found.audit.level is not None
    assert np.all(found.status[probable] == "certified")
    # What is right more often than estimated may be kept now, too.
    assert set(found.status[look]) <= {"look", "probable"}
    assert np.all(found.confidence[look & (found.status == "probable")] >= 0.9)
    assert "checked" in str(found)
    assert found.to_dict()["audit"]["checked"] == 60
    page = found.report(tmp_path / "page.html").read_text()
    assert f"60 of {n_rows} rows checked" in page
    with pytest.raises(ParameterError, match="have been audited"):
        found.audit_sheet()


def test_few_answers_certify_only_the_rows_themselves(cleaned, table):
    sheet = answered(cleaned, table, 5, _2="?")
    found = surelabel.clean(table, audit=sheet, **OPTIONS)
    assert found.audit.level is None
    assert found.audit.n_wrong >= 1
    assert found.status_counts["certified"] == 4
    assert found.status[sheet["row"][2] - 1] == "look"
    assert "takes" in found.audit.sentence()


def test_mistakes_put_a_level_out_of_reach(cleaned, table):
    found = surelabel.clean(
        table, audit=answered(cleaned, table, 30, _1="?", _5="?", _9="?", _12="?"), **OPTIONS
    )
    assert "2 % is out of reach for these rows" in found.audit.sentence()


def test_a_sheet_that_does_not_fit_is_refused(cleaned, table):
    sheet = answered(cleaned, table, 10)

    def refuse(message, sheet=sheet, frame=table, **options):
        with pytest.raises(TableError, match=message):
            surelabel.clean(frame, audit=sheet, **OPTIONS | options)

    changed = table.copy()
    changed.loc[sheet["row"][0] - 1, "size"] += 1e-9
    refuse("not those that this audit was drawn from", frame=changed)
    refuse("not those that this audit was drawn from", max_error=0.001)
    refuse("check 4 has no answer, but later ones", answered(cleaned, table, 10, _3=None))
    refuse(
        "check 3: 'caw' is not one of the labels; did you mean",
        answered(cleaned, table, 10, _2="caw"),
    )
    refuse("does not belong to row", sheet.assign(check=np.roll(sheet["check"], 1)))
    refuse("does not belong to row", pd.concat([sheet, sheet.iloc[:1]]))
    refuse("2 different texts", sheet.assign(audit=["x", *sheet["audit"][1:]]))
    refuse("there is no column 'answer'", sheet.drop(columns="answer"))
    # The order of the lines does not matter: spreadsheets sort.
    assert surelabel.clean(table, audit=sheet[::-1], **OPTIONS).audit.n_checked == 10


def test_answers_in_the_wrong_column_are_refused(cleaned, table):
    sheet = answered(cleaned, table, 20)
    sheet.loc[4, "label"] = "cow" if sheet.loc[4, "label"] == "cat" else "cat"
    with pytest.raises(TableError, match=r"row 5: the column 'label' holds .* into 'answer'"):
        surelabel.clean(table, audit=sheet, **OPTIONS)


def test_rows_that_nobody_knows_are_not_among_those_promised(cleaned, table):
    found = surelabel.clean(table, audit=answered(cleaned, table, 40, _3="?"), **OPTIONS)
    audit = found.audit
    known = share_still_wrong(audit.n_rows, 40, audit.n_wrong) * audit.n_rows
    assert audit.still_wrong == pytest.approx(known / (audit.n_rows - 1))


def test_there_must_be_something_to_check(table, cleaned):
    with pytest.raises(TableError, match="nothing to check"):
        surelabel.clean(table, **OPTIONS | {"max_error": 1e-9}).audit_sheet()
    with pytest.raises(ParameterError, match="n_checks must be a whole number, at least 1"):
        cleaned.audit_sheet(0)


@pytest.fixture(scope="module")
def large_table():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    labels = np.where(rng.random(600) < 0.5, "cat|cow", np.array(["cat", "cow"])[y])
    return pd.DataFrame({"size": y * 6 + rng.standard_normal(600), "labels": labels, "truth": y})


def with_mistakes(sheet, n_checked, n_wrong):
    """The sheet, as if the first labels were wrong and the next were right."""
    other = {"cat": "cow", "cow": "cat"}
    answers = [
        None if i >= n_checked else other[label] if i < n_wrong else label
        for i, label in enumerate(sheet["label"])
    ]
    return sheet.assign(answer=answers)


def test_mistakes_lower_the_estimate(large_table, tmp_path):
    cleaned = surelabel.clean(large_table, **OPTIONS)
    assert cleaned.status_counts["probable"] > 200
    sheet = cleaned.audit_sheet(80)
    before = cleaned.confidence[cleaned.status == "probable"].mean()
    found = surelabel.clean(large_table, audit=with_mistakes(sheet, 80, 20), **OPTIONS)
    audit, drawn = found.audit, cleaned.status == "probable"
    assert (audit.n_checked, audit.n_wrong, audit.level) == (80, 20, None)
    fallen = int(np.sum(found.status[drawn] == "look"))
    assert audit.n_fallen == fallen > 100
    assert f"more mistakes than the estimate allows: {fallen} rows" in audit.warning()
    rest = drawn & (found.status != "certified")
    assert found.confidence[rest].mean() < before - 0.05
    assert found.n_kept == np.sum(found.status != "look")
    assert audit.to_dict()["fallen"] == fallen
    # The same answers, given in a review.
    labels = cleaned.classes[cleaned.label[order := np.flatnonzero(drawn)]]
    other = {"cat": "cow", "cow": "cat"}
    lines: list[dict[str, object]] = [{"surelabel": "answers 1", "id": "row", "columns": []}]
    lines.append({"draw_rows": [str(i) for i in order], "draw_labels": labels.tolist()})
    lines += [
        {"row": str(i), "label": other[label] if k < 20 else label, "queue": "check", "draw": 0}
        for k, (i, label) in enumerate(zip(order[:80], labels, strict=False))
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    named = large_table.assign(row=np.arange(600).astype(str))
    reviewed = surelabel.clean(named, answers=path, **OPTIONS | {"id": "row"})
    assert reviewed.audit.n_fallen > 100
    assert np.all(1 - reviewed.confidence[reviewed.status == "probable"] <= reviewed.max_error)
    # Without a mistake, nothing falls.
    kept = surelabel.clean(large_table, audit=with_mistakes(sheet, 80, 0), **OPTIONS)
    assert kept.audit.n_fallen == 0
    assert np.all(kept.status[drawn] == "certified")
    assert not kept.audit.warning()
