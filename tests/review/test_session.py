"""A review: rows, answers, queues and progress, without a server."""

import json
import threading

import numpy as np
import pytest

import surelabel
from surelabel.data.table_files import read_table
from surelabel.review.queues import Variety, next_help
from surelabel.review.session import Review, ReviewError
from surelabel.tables.answers import read_answers
from surelabel.tables.calibration import SETS
from surelabel.tables.reading import TableRead
from surelabel.tables.status import LOOK, Decision
from tests.review.conftest import write_rows


@pytest.fixture
def start(read_pets, tmp_path):
    begun = []

    def go(path=None, columns=None, **options):
        read = read_pets(**(columns or {}))
        begun.append(Review(read, path or tmp_path / "a.jsonl", who="ann", **options))
        return begun[-1]

    yield go
    for review in begun:
        review.close()


def answer_all(review, truth, n, client="tab", row=None):
    """Answer n rows with the truth."""
    row = row or review.next(client)["row"]
    for _ in range(n):
        if row is None:
            break
        row = review.answer(client, row["ticket"], "label", truth[row["name"]])["row"]
    return row


def test_both_queues_and_what_they_buy(start, pets, tmp_path):
    review = start(max_error=0.2)
    first = review.next("tab")
    assert first["progress"]["worth"][0].endswith("% of the rows at 10 %")
    assert "more checks without a mistake certify" in first["progress"]["worth"][0]
    assert "correct about" in first["progress"]["worth"][1]
    queues, row = [], first["row"]
    for _ in range(12):
        queues.append(row["queue"])
        row = review.answer("tab", row["ticket"], "label", pets[1][row["name"]])["row"]
    assert queues == ["help", "check"] * 6
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    given = [line for line in lines if "row" in line]
    assert len(given) == 12
    assert {"row", "label", "who", "when", "queue", "shown", "content", "progress"} <= set(given[0])
    assert all(line["who"] == "ann" for line in given)
    progress = review.progress()
    assert progress["answers"] == 12
    assert progress["still_wrong"] < 1
    assert len(progress["curve"]) == 13
    # A second start goes on where it was.
    again = start(max_error=0.2)
    assert again.progress()["answers"] == 12
    assert again.progress()["still_wrong"] == pytest.approx(progress["still_wrong"], abs=0.02)
    seen = {again.answer("x", r["ticket"], "skip")["row"]["name"]
            for r in [again.next("x")["row"]]}  # fmt: skip
    assert not seen & {line["row"] for line in given}


def test_checks_come_in_the_order_of_the_draw(start, pets):
    review = start(check_share=1.0, max_error=0.2)
    row = review.next("tab")["row"]
    draw = read_answers(review.file.path).draws[0]
    names = []
    for _ in range(8):
        names.append(row["name"])
        row = review.answer("tab", row["ticket"], "label", pets[1][row["name"]])["row"]
    assert names == list(draw.rows[:8])
    # What is skipped comes back at the end, and counts as a mistake until then.
    skipped = row["name"]
    row = review.answer("tab", row["ticket"], "skip")["row"]
    assert review.progress()["mistakes"] == sum(
        pets[1][name] != label for name, label in zip(names, draw.labels, strict=False)
    )
    row = review.answer("tab", row["ticket"], "label", pets[1][row["name"]])["row"]
    before = review.progress()["mistakes"]
    left = len(draw.rows) - 10
    row = answer_all(review, pets[1], left, row=row)
    assert row["name"] == skipped
    drawn = dict(zip(draw.rows, draw.labels, strict=True))
    review.answer("tab", row["ticket"], "label", drawn[skipped])
    assert review.progress()["mistakes"] == before - 1 + sum(
        pets[1][name] != label
        for name, label in list(zip(draw.rows, draw.labels, strict=True))[10:]
    )


def test_help_never_asks_what_was_drawn(start, pets):
    review = start(max_error=0.2)
    row = review.next("tab")["row"]
    for _ in range(20):
        drawn = set(read_answers(review.file.path).draws[0].rows) if row["queue"] == "check" else ()
        if row["queue"] == "help" and read_answers(review.file.path).draws:
            assert row["name"] not in read_answers(review.file.path).draws[0].rows
        elif drawn:
            assert row["name"] in drawn
        row = review.answer("tab", row["ticket"], "label", pets[1][row["name"]])["row"]


def test_the_cleaned_table_has_the_answers(start, pets, table):
    review = start(max_error=0.2)
    answer_all(review, pets[1], 30)
    found = surelabel.clean(
        read_table(table), labels="candidates", id="pet", exclude="note", max_error=0.2,
        answers=review.file.path,
    )  # fmt: skip
    label = dict(zip(found.frame["pet"].to_pylist(), found.frame["label"].to_pylist(), strict=True))
    given = read_answers(review.file.path).last()
    assert len(given) == 30
    assert all(label[row] == answer.label for row, answer in given.items())
    assert found.audit.n_checked == sum(a.draw is not None for a in given.values()) >= 15
    # The page says of the checks what the command says.
    assert review.wait()
    assert review.progress()["mistakes"] == found.audit.n_wrong


def test_verdicts_undo_and_other_labels(start, pets):
    review = start(check_share=0.0, new_labels=True)
    row = review.next("tab")["row"]
    with pytest.raises(ReviewError, match=r"there is no label 'catt'; did you mean 'cat'\?"):
        review.answer("tab", row["ticket"], "label", "catt")
    with pytest.raises(ReviewError, match="type a label"):
        review.answer("tab", row["ticket"], "label", "  ", new=True)
    with pytest.raises(ReviewError, match="there is no answer 'perhaps'"):
        review.answer("tab", row["ticket"], "perhaps")
    assert review.progress()["answers"] == 0
    second = review.answer("tab", row["ticket"], "label", " ant  bear ", new=True)["row"]
    assert "ant bear" in review.progress()["labels"]
    back = review.undo("tab")["row"]
    assert back["name"] == row["name"]
    assert review.progress()["answers"] == 0
    third = review.answer("tab", back["ticket"], "none", note="a ghost")["row"]
    fourth = review.answer("tab", third["ticket"], "unknown")["row"]
    fifth = review.answer("tab", fourth["ticket"], "skip")["row"]
    assert len({row["name"], third["name"], fourth["name"], fifth["name"]}) == 4
    log = read_answers(review.file.path)
    verdicts = [answer.verdict for answer in log.answers]
    assert verdicts == ["label", "undo", "none", "unknown", "skip"]
    assert log.answers[2].note == "a ghost"
    assert review.undo("tab")["row"]["name"] == fourth["name"]
    with pytest.raises(ReviewError, match="no answer from this page"):
        review.undo("stranger")
    assert second is not None


def test_an_answer_sent_twice_counts_once(start, pets):
    review = start(check_share=0.0)
    row = review.next("tab")["row"]
    for _ in range(2):
        review.answer("tab", row["ticket"], "label", pets[1][row["name"]])
    assert len(read_answers(review.file.path).answers) == 1
    with pytest.raises(ReviewError, match="before the review was restarted"):
        review.answer("tab", "0" * 16, "label", "cat")


def test_two_tabs_and_two_people(start, pets, tmp_path):
    review = start(check_share=0.0)
    one, two = review.next("one")["row"], review.next("two")["row"]
    assert one["name"] != two["name"]
    other = start(check_share=0.0)
    there = other.next("three")["row"]
    review.answer("one", one["ticket"], "label", pets[1][one["name"]])
    review.answer("two", two["ticket"], "label", pets[1][two["name"]])
    other.answer("three", there["ticket"], "label", "emu", who="ben")
    assert other.progress()["answers"] == len({one["name"], two["name"], there["name"]})
    review.next("one")
    assert review.progress()["answers"] == other.progress()["answers"]
    assert len(read_answers(tmp_path / "a.jsonl").answers) == 3


def test_two_servers_show_different_rows(start, pets):
    servers = [start(), start()]
    rows = [server.next("tab")["row"] for server in servers]
    shown = [[row["name"]] for row in rows]
    for turn in np.random.default_rng(0).integers(2, size=60).tolist():
        given = servers[turn], rows[turn]
        found = given[0].answer("tab", given[1]["ticket"], "label", pets[1][given[1]["name"]])
        rows[turn] = found["row"]
        shown[turn].append(rows[turn]["name"])
    assert len({*shown[0], *shown[1]}) == len(shown[0]) + len(shown[1])


def test_a_row_is_not_reserved_for_ever(start, monkeypatch):
    first = start()
    name = first.next("tab")["row"]["name"]
    again = start()  # goes on where the last one was, which has most likely ended
    assert again.next("tab")["row"]["name"] == name
    assert first.next("tab")["row"]["name"] != name
    monkeypatch.setattr("surelabel.review.session.RESERVED", 0)
    assert first.next("tab")["row"]["name"] == name


def test_the_model_follows(start, pets):
    review = start(check_share=0.0)
    before = review.model.found
    answer_all(review, pets[1], 30)
    assert review.wait()
    after = review.model.found
    truth = [pets[1][f"p{i}"] for i in range(160)]
    wrong_before, wrong_after = (s.classes[s.label] != truth for s in (before, after))
    assert wrong_after.sum() < wrong_before.sum()
    # Hard rows that were answered may make the model more careful: fewer rows kept, not worse ones.
    kept = after.status != LOOK
    assert wrong_after[kept].mean() <= 0.1
    assert kept.sum() > np.sum(before.status != LOOK)


NAMES = ("cat", "cow", "dog", "emu")
SAME = ("label", "second", "confidence", "status", "outside", "best", "shares", "n_kept")


def as_sets(row, truth, rng):
    return {"candidates": row["candidates"]}


def as_votes(row, truth, rng):
    return {f"v{k}": truth if rng.random() < 0.7 else rng.choice(NAMES) for k in range(3)}


def as_counts(row, truth, rng):
    return {name: 3 * (name == truth) + int(rng.integers(2)) for name in NAMES}


@pytest.mark.parametrize(
    ("columns", "options", "method"),
    [
        (as_sets, {"labels": "candidates"}, "PURE"),
        (as_sets, {"labels": "candidates"}, "PLKNN"),
        (as_sets, {"labels": "candidates", "complete": True}, "PURE"),
        (as_votes, {"votes": "v*"}, "PURE"),
        (as_votes, {"votes": "v*"}, "majority"),
        (as_counts, {"counts": "cat,cow,dog,emu"}, "PURE"),
    ],
)
def test_it_finds_what_clean_finds(pets, tmp_path, columns, options, method):
    """The same labels, confidences and statuses, before any answer and after 30 of them."""
    rng = np.random.default_rng(0)
    rows = [
        {name: row[name] for name in ("pet", "x", "y")} | columns(row, pets[1][row["pet"]], rng)
        for row in pets[0]
    ]
    table = read_table(write_rows(tmp_path / "table.csv", rows))
    options, how = {"id": "pet"} | options, {"method": method}
    review = Review(TableRead(table, options), tmp_path / "a.jsonl", random_state=3, **how)
    try:
        row, cleaned = review.next("tab")["row"], surelabel.clean(table, **options, **how)
        for name in SAME:
            np.testing.assert_array_equal(getattr(review.found()[0], name), getattr(cleaned, name))
        assert {vote["who"] for vote in row["votes"]} == set(cleaned.labels.annotators)
        answer_all(review, pets[1], 30, row=row)
        assert review.wait()
        cleaned = surelabel.clean(table, answers=review.file.path, **options, **how)
        for name in SAME:
            np.testing.assert_array_equal(getattr(review.found()[0], name), getattr(cleaned, name))
        assert review.found()[1] == cleaned.audit
    finally:
        review.close()


def test_a_refit_that_fails_or_takes_long_is_not_waited_for(start, pets, monkeypatch):
    review = start(check_share=0.0)
    go, choose = threading.Event(), review.model._choose

    def slow(labels):
        assert go.wait(20)
        return choose(labels)

    monkeypatch.setattr(review.model, "_choose", slow)
    before = review.model.found
    answer_all(review, pets[1], 3)
    assert review.model.found is before
    assert review.progress()["answers"] == 3
    asked = read_answers(review.file.path).last()
    for row, answer in asked.items():  # answers count at once
        found, _ = review.found()
        assert found.classes[found.label[int(row[1:])]] == answer.label
    go.set()
    assert review.wait()
    assert np.sum(review.model.found.status == "certified") == 3
    monkeypatch.setattr(review.model, "_choose", None)
    answer_all(review, pets[1], 1)
    assert review.wait()
    assert "the model could not be refitted" in review.progress()["remarks"][-1]


def test_help_has_variety():
    X = np.repeat(np.arange(5.0), 20)[:, None] + np.random.default_rng(0).normal(0, 1e-3, (100, 1))
    variety = Variety(X)
    factor = variety([0])
    assert factor[:20].max() < 1e-3
    assert factor[40:].min() > 0.5

    found = Decision(
        classes=np.array(["a", "b"]),
        label=np.zeros(100, int),
        second=np.ones(100, int),
        confidence=np.where(np.arange(100) < 20, 0.5, 0.7),
        status=np.full(100, LOOK),
        outside=np.zeros(100, int),
        best=np.zeros(100, int),
        outside_probability=np.full(100, np.nan),
        shares=np.ones((100, 2)),
        score=np.zeros(100),
        prior=SETS,
        gold_confidence=np.empty(0),
        gold_right=np.empty(0, bool),
        max_error=0.1,
    )
    asked = []
    for _ in range(6):
        asked.append(next_help(found, variety(asked), asked))
    assert asked[0] < 20
    assert len({row // 20 for row in asked[:5]}) >= 4
    assert next_help(found, np.ones(100), range(100)) is None


def test_help_passes_from_near_duplicates_to_others(pets, tmp_path, read_pets):
    """Thirty rows that are nearly one, all in doubt, among others: no run of them."""
    rng = np.random.default_rng(0)
    rows = pets[0][:60] + [
        {"pet": f"d{i}", "x": f"{1.5 + rng.normal(0, 1e-3):.4f}",
         "y": f"{1.5 + rng.normal(0, 1e-3):.4f}", "note": "", "candidates": "cat|cow|dog|emu"}
        for i in range(30)
    ]  # fmt: skip
    review = Review(read_pets(write_rows(tmp_path / "d.csv", rows)), tmp_path / "d.jsonl",
                    check_share=0.0)  # fmt: skip
    try:
        asked, row = [], review.next("tab")["row"]
        while row is not None and len(asked) < 24:
            asked.append(row["name"])
            # Answers that say nothing of the others, so that these stay in doubt.
            row = review.answer("tab", row["ticket"], "unknown")["row"]
    finally:
        review.close()
    same = "".join("x" if name.startswith("d") else " " for name in asked)
    assert "x" in same
    assert max(map(len, same.split())) <= 3


def test_an_order_is_kept(start):
    order = ["emu", "dog", "cow", "cat"]
    review = start(columns={"ordered": order}, new_labels=True, check_share=0.5)
    row, queues = review.next("tab")["row"], set()
    with pytest.raises(ReviewError, match="'yak' has no place in the order"):
        review.answer("tab", row["ticket"], "label", label="yak", new=True)
    for _ in range(4):
        queues.add(row["queue"])
        places = [order.index(choice["label"]) for choice in row["choices"]]
        assert places == sorted(places)
        row = review.answer("tab", row["ticket"], "unknown")["row"]
    assert queues == {"help", "check"}


def test_what_is_shown_of_a_row(start, pets):
    review = start(check_share=0.0)
    row = review.next("tab")["row"]
    cells = {cell["name"]: cell for cell in row["cells"]}
    assert set(cells) == {"x", "y", "note"}
    assert len(cells["x"]["bars"]) == 24
    assert 0 <= cells["x"]["place"] <= 1
    given = dict(zip([r["pet"] for r in pets[0]], pets[0], strict=True))[row["name"]]["candidates"]
    assert {c["label"] for c in row["choices"] if c["candidate"]} == set(given.split("|"))
    shares = [choice["probability"] for choice in row["choices"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(choice["percent"] for choice in row["choices"]) + (row["another"] or 0) == 100
    assert row["neighbours"]
    assert row["why"]
    assert json.dumps(row)
