"""Votes against labels, and labels that a cell repeats, from a file to the result."""

import html
import json
import os
import re

import numpy as np
import pyarrow as pa
import pytest

import surelabel
from surelabel import CandidateSets
from surelabel.data.table_files import read_table, write_table

NAMES = np.array(["cat", "cow", "dog"])


@pytest.fixture
def truth(tmp_path, monkeypatch):
    """A folder with votes.csv, in which tim and zoe only say what a row is not, zoe at random."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    y = np.arange(120) % 3
    wrong = (y + rng.integers(1, 3, (2, 120))) % 3
    ann, bob = NAMES[np.where(rng.random((2, 120)) < [[0.7], [0.6]], y, wrong)]
    columns = {
        "x": y + rng.normal(0, 0.5, 120),
        "z": rng.normal(0, 1, 120),
        "ann": ann,
        "bob": bob,
        "tim": [f"!{name}" for name in NAMES[(y + rng.integers(1, 3, 120)) % 3]],
        "zoe": [f"!{name}" for name in rng.permutation(NAMES[y])],
    }
    write_table(pa.table(columns), tmp_path / "votes.csv")
    return NAMES[y]


def test_votes_against_are_used(cli, truth):
    options = "--votes ann,bob,tim,zoe --settings not_prefix=!"
    seen = json.loads(cli(f"inspect votes.csv {options} --json").output)
    assert [entry["label"] for entry in seen["classes"]] == list(NAMES)
    result = cli(f"clean votes.csv -o cleaned.csv {options} --model votes.model")
    assert result.exit_code in (0, 1), result.output  # 1: no label is sure enough to be kept
    label = np.array(read_table("cleaned.csv")["label"].to_pylist())
    ignored = surelabel.clean("votes.csv", votes="ann,bob", features="x,z").frame["label"]
    assert np.mean(label == truth) > np.mean(np.array(ignored.to_pylist()) == truth) + 0.03
    found = surelabel.clean("votes.csv", votes="ann,bob,tim,zoe", not_prefix="!")
    assert found.to_dict()["annotators"] == []
    assert cli("predict votes.model votes.csv -o new.csv").exit_code == 0


def test_a_label_that_a_cell_repeats_has_as_many_votes(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    votes = np.where(rng.random((90, 5)) < 0.6, y[:, None], rng.integers(0, 3, (90, 5)))
    rows = [NAMES[row].tolist() for row in votes]
    x = y + rng.normal(0, 0.4, 90)
    write_table(pa.table({"x": x, "said": ["|".join(row) for row in rows]}), tmp_path / "said.csv")
    write_table(pa.table({"x": x, "said": rows}), tmp_path / "said.parquet")
    counts = CandidateSets.from_lists(rows).to_counts()
    assert counts.sum() == 90 * 5
    found = []
    for name in ("said.csv", "said.parquet"):
        read = surelabel.clean(name, labels="said")
        assert np.array_equal(read.labels.candidates.to_counts(), counts)
        assert cli(f"clean {name} -o cleaned.csv --labels said").exit_code in (0, 1)
        found.append(read_table("cleaned.csv")["label"].to_pylist())
        assert found[-1] == read.frame["label"].to_pylist()
    assert found[0] == found[1]
    once = surelabel.clean(
        pa.table({"x": x, "said": [sorted(set(row)) for row in rows]}), labels="said"
    )
    assert once.labels.candidates.counts is None
    assert np.mean(np.array(found[0]) == NAMES[y]) >= np.mean(
        np.array(once.frame["label"].to_pylist()) == NAMES[y]
    )


@pytest.mark.parametrize(
    "words", ["clean votes.csv -o out.csv --model m.model", "fit votes.csv -o m.model"]
)
def test_a_model_that_could_not_be_saved_is_refused_before_anything_is_read(cli, words):
    result = cli(f"{words} --votes ann,bob -s estimator=sklearn.tree:DecisionTreeClassifier")
    assert result.exit_code == 2
    said = " ".join(result.output.split())
    assert "an estimator and --" in said
    assert "not a model around sklearn.tree:DecisionTreeClassifier; joblib and skops" in said
    assert not {"out.csv", "m.model"} & set(os.listdir())


@pytest.fixture
def crowd(tmp_path, monkeypatch):
    """A folder with votes.csv of six annotators, one of whom votes at random, with gold.csv, where
    the truth of every eighth row is known, and sets.csv with sets that lack the truth at times.
    """
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    names = np.array(["cat", "cow", "dog", "emu"])
    y = rng.integers(0, 4, 300)
    X = np.array([[0, 0], [2.5, 0], [0, 2.5], [2.5, 2.5]])[y] + rng.normal(0, 1, (300, 2))
    rows = {"id": [f"p{i}" for i in range(300)], "x": X[:, 0], "y": X[:, 1]}
    votes = {
        f"v_{who}": names[np.where(rng.random(300) < right, y, rng.integers(0, 4, 300))]
        for who, right in zip(
            ("ann", "bob", "cy", "dan", "eve", "zed"), (0.9, 0.8, 0.75, 0.7, 0.65, 0), strict=True
        )
    }
    known = {"truth": [name if i % 8 == 0 else None for i, name in enumerate(names[y])]}
    sets = [
        "|".join(names[sorted({*rng.permutation(4)[:2], *([k] if rng.random() > 0.1 else [])})])
        for k in y
    ]
    write_table(pa.table(rows | votes), "votes.csv")
    write_table(pa.table(rows | votes | known), "gold.csv")
    write_table(pa.table(rows | {"set": sets}), "sets.csv")
    write_table(pa.table(rows | {"set": sets} | known), "known_sets.csv")
    return names[y]


def page_text(name):
    """The text of a page, without the script and the style."""
    with open(name, encoding="utf-8") as file:
        page = re.sub("<(script|style|svg).*?</\\1>", " ", file.read(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", page)).split())


def test_the_page_says_what_decided_and_what_answers_would_buy(cli, crowd):
    options = "-o out.csv --id id --report page.html"
    assert cli(f"clean votes.csv {options} --votes v_*").exit_code == 0
    page = page_text("page.html")
    assert re.search(
        r"Beside the votes, the features are helpful: they change \d+ of the labels that the votes "
        r"alone would give \(\d+\.\d %; t = [\d.]+, ε = [\d.]+\)\.",
        page,
    )
    assert "30 without a mistake show that at most" in page
    assert cli(f"clean votes.csv {options} --votes v_* --no-features").exit_code == 0
    assert "The votes alone decide." in page_text("page.html")
    assert cli(f"clean gold.csv {options} --votes v_* --gold truth").exit_code == 0
    assert "without a mistake show" not in page_text("page.html")


@pytest.mark.parametrize("known", [False, True])
def test_the_page_ranks_rows_that_may_lack_their_label(cli, crowd, known):
    name, more = ("known_sets.csv", " --gold truth") if known else ("sets.csv", "")
    done = cli(f"clean {name} -o out.csv --labels set --id id --report page.html{more}")
    assert done.exit_code in (0, 1), done.output
    table = read_table("out.csv")
    first = table["outside"].to_pylist().index("1")
    listed = page_text("page.html").partition("the likeliest first.")[2]
    assert ("The probability that" in listed) == known
    assert ("Only known labels could tell" in listed) != known
    given = table["set"][first].as_py().replace("|", ", ")
    assert f" 1 p{first} {given} {table['best'][first].as_py()} " in listed
    filled = [bool(share) for share in table["outside_probability"].to_pylist()]
    assert all(filled) if known else not any(filled)


def answered(n, n_wrong):
    """Answer the first rows of the sheet, the first of them with another label."""
    sheet = read_table("audit.csv")
    answers = [
        None if i >= n else label if i >= n_wrong else next(c for c in ("cat", "cow") if c != label)
        for i, label in enumerate(sheet["label"].to_pylist())
    ]
    place = sheet.column_names.index("answer")
    write_table(sheet.set_column(place, "answer", pa.array(answers, pa.string())), "answered.csv")


@pytest.mark.parametrize("n_wrong", [0, 8])
def test_an_audit_with_more_mistakes_than_estimated(cli, crowd, n_wrong):
    options = "votes.csv --votes v_* --id id"
    drawn = cli(f"audit {options} -o audit.csv")
    assert drawn.exit_code == 0
    assert "column answer" in drawn.output
    before = json.loads(cli(f"clean {options} -o out.csv --json").output)["status"]
    answered(80, n_wrong)
    done = cli(f"clean {options} -o out.csv --audit answered.csv")
    said = " ".join(done.output.split())
    told = json.loads(cli(f"clean {options} -o out.csv --audit answered.csv --json").output)
    warning = re.search(
        r"! the audit found more mistakes than the estimate allows: (\d+) rows seemed probable, "
        r"but need a look",
        said,
    )
    if n_wrong:
        assert done.exit_code == 1
        assert f"80 of {before['probable']} rows checked, 8 wrong" in said
        assert told["audit"]["fallen"] == int(warning[1])
        assert told["problems"] == [warning[0].removeprefix("! ")]
        assert told["status"]["look"] == before["look"] + int(warning[1])
        status = read_table("out.csv")["status"].to_pylist()
        assert status.count("look") == told["status"]["look"]
    else:
        assert done.exit_code == 0
        assert warning is None
        assert told["problems"] == []
        assert told["audit"]["level"] is not None


def test_lines_of_a_screen_do_not_end_in_blanks(cli, crowd):
    output = cli("clean votes.csv -o out.csv --votes v_* --id id").output
    assert "  - the estimated error rests on other tables" in output
    assert [line for line in output.splitlines() if line != line.rstrip()] == []


def test_no_features_overrules_the_columns_of_a_settings_file(cli, crowd, tmp_path):
    (tmp_path / "a.toml").write_text('features = "x"\n[as]\nx = "number"\n')
    plain = cli("clean votes.csv -o plain.csv --votes v_* --no-features")
    again = cli("clean votes.csv -o again.csv --votes v_* --no-features --settings a.toml")
    assert (plain.exit_code, again.exit_code) == (0, 0), again.output
    assert (tmp_path / "plain.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    assert cli("fit votes.csv -o a.model --votes v_* --no-features").exit_code == 2
