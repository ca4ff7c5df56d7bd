"""Answers: which row each belongs to, and what it says."""

import json

import numpy as np
import pyarrow as pa
import pytest

import surelabel
from surelabel.exceptions import TableError
from surelabel.tables.answers import (
    AnswerLog,
    RowKeys,
    labels_with,
    place_answers,
    read_answers,
    row_contents,
    with_answers,
)
from surelabel.tables.choosing import choose_labels
from surelabel.tables.reading import TableRead

SIZES = [1.0, 1.1, 1.2, 1.3, 8.0, 8.1, 8.2, 8.3]
SETS = ["cat", "cat", "cat|cow", "cat", "cow", "cow|cat", "cow", "cow|cat"]


def pets(order=range(8), **changed):
    columns = {"name": [f"n{i}" for i in range(8)], "size": SIZES, "labels": SETS} | changed
    return pa.table(columns).take(list(order))


def header(columns=("name", "size", "labels"), name="name"):
    return {"surelabel": "answers 1", "id": name, "columns": list(columns)}


def write(path, *lines, end="\n"):
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + end, encoding="utf-8")
    return path


def clean(table, path, **options):
    return surelabel.clean(table, labels="labels", **{"id": "name", "answers": path} | options)


def test_answers_are_known_to_be_true(tmp_path):
    path = write(tmp_path / "a.jsonl", header(), {"row": "n2", "label": "cow"})
    found = clean(pets(), path)
    assert found.frame["label"].to_pylist()[2] == "cow"
    assert found.status[2] == "certified"
    assert found.confidence[2] == 1
    assert found.n_gold == 1  # it shows how far the confidence can be trusted
    assert found.audit is None
    fitted = surelabel.fit(pets(), labels="labels", id="name", answers=path)
    assert fitted.classes.tolist() == ["cat", "cow"]


def test_the_last_answer_counts_and_undo_takes_ones_own_back():
    log = AnswerLog()
    for line in (
        {"row": "a", "label": "x", "who": "ann"},
        {"row": "a", "label": "y", "who": "ben"},
        {"row": "a", "verdict": "undo", "who": "ann"},
        {"row": "b", "label": "x", "who": "ann"},
        {"row": "b", "verdict": "skip", "who": "ann"},
        {"row": "c", "label": "x", "who": "ann"},
        {"row": "c", "verdict": "undo", "who": "ann"},
        {"row": "c", "verdict": "undo", "who": "ann"},
        {"row": 7, "label": 3},
    ):
        log.add(json.dumps(line), "here")
    last = log.last()
    assert {row: answer.label for row, answer in last.items()} == {"a": "y", "b": "x", "7": "3"}


def test_none_of_these_leaves_the_others(tmp_path):
    table = pets(labels=["cat", "cat", "cat|cow", "cat", "cow", "cow|cat", "cow", "emu"])
    read = TableRead(table, {"labels": "labels", "id": "name"})
    log = AnswerLog()
    log.add('{"row": "n2", "verdict": "none"}', "")
    log.add('{"row": "n3", "verdict": "unknown"}', "")
    keys = RowKeys(read.table, read.labels.ids, read.table.column_names)
    placed = place_answers(log, keys)
    labels = labels_with(read.labels, placed)
    assert labels.candidates[2].tolist() == ["emu"]
    assert labels.candidates[3].tolist() == ["cat"]
    found, audit = with_answers(choose_labels(np.array(SIZES)[:, None], labels), labels, placed)
    assert found.status[2] == found.status[3] == "look"
    assert audit is None


def test_new_labels_come_last_and_are_possible_where_nothing_is_known():
    table = pets(labels=["cat", "cat", "", "cat", "cow", "cow|cat", "cow", "cow"])
    read = TableRead(table, {"labels": "labels", "id": "name"})
    log = AnswerLog()
    log.add('{"row": "n0", "label": "ant"}', "")
    keys = RowKeys(read.table, read.labels.ids, [])
    labels = labels_with(read.labels, place_answers(log, keys))
    assert labels.candidates.classes.tolist() == ["cat", "cow", "ant"]
    assert labels.gold.tolist() == [2, *[-1] * 7]
    assert labels.candidates[0].tolist() == ["cat"]
    assert sorted(labels.candidates[2].tolist()) == ["ant", "cat", "cow"]
    assert labels.candidates[5].tolist() == ["cat", "cow"]


def test_numbers_stay_numbers(tmp_path):
    table = pets(labels=["1", "1", "1|2", "1", "2", "2|1", "2", "2"])
    path = write(tmp_path / "a.jsonl", header(), {"row": "n2", "label": 2})
    assert clean(table, path).frame["label"].to_pylist()[2] in (2, "2")
    log = AnswerLog()
    log.add('{"row": "n2", "label": "two"}', "")
    numbers = pa.table({"size": SIZES, "labels": [[1], [1], [1, 2], [1], [2], [1, 2], [2], [2]]})
    read = TableRead(numbers, {"labels": "labels"})
    key = RowKeys(read.table, None, ["size"])
    log.answers[0] = type(log.answers[0])(key.keys[2], label="two")
    with pytest.raises(TableError, match="'two' is not a number"):
        labels_with(read.labels, place_answers(log, key))


def test_rows_are_found_after_sorting_and_extending(tmp_path):
    table = pets().drop_columns(["name"])
    content = row_contents(table, ["size", "labels"])
    lines = [{"row": content[i], "label": "cow", "content": content[i]} for i in (2, 5)]
    path = write(tmp_path / "a.jsonl", header(["size", "labels"], None), *lines)
    other = pets([7, 2, 6, 5, 0, 1, 3, 4]).append_column("new", pa.array(list("abcdefgh")))
    found = clean(other, path, id=None, exclude="name,new")
    assert np.flatnonzero(found.status == "certified").tolist() == [1, 3]
    longer = pa.concat_tables([table, pa.table({"size": [4.0], "labels": ["cat|cow"]})])
    found = clean(longer, path, id=None)
    assert np.flatnonzero(found.status == "certified").tolist() == [2, 5]


def test_equal_rows_are_told_apart():
    table = pa.table({"x": [1, 1, 2, 1]})
    keys = RowKeys(table, None, ["x"]).keys
    assert keys[1] == keys[0] + "-2"
    assert keys[3] == keys[0] + "-3"
    assert len(set(keys)) == 4
    different = pa.table({"a": ["x", "xy", None, ""], "b": ["yz", "z", "", None]})
    assert len(set(row_contents(different, ["a", "b"]))) == 4
    lists = pa.table({"v": [[1.0, 2.0], [1.0], None]})
    assert len(set(row_contents(lists, ["v"]))) == 3


def test_rows_that_changed_or_vanished_are_told_of(tmp_path):
    content = row_contents(pets(), ["name", "size", "labels"])
    lines = [{"row": f"n{i}", "label": "cow", "content": content[i]} for i in (2, 5)]
    path = write(tmp_path / "a.jsonl", header(), *lines, {"row": "n99", "label": "cow"})
    other = pets(size=[1.0, 1.1, 1.25, *SIZES[3:]])
    with (
        pytest.warns(UserWarning, match="1 answer belongs to a row that the table does not have"),
        pytest.warns(UserWarning, match=r"1 row changed since the answer \(row 3\)"),
    ):
        found = clean(other, path)
    assert np.flatnonzero(found.status == "certified").tolist() == [5]


def draw_lines(rows, labels, given):
    yield {"draw_rows": list(rows), "draw_labels": list(labels)}
    for row, label in given:
        yield {"row": row, "label": label, "draw": 0} if label else {
            "row": row, "verdict": "unknown", "draw": 0}  # fmt: skip


def test_checks_promise_what_an_audit_does(tmp_path):
    table = pa.table({"size": np.r_[np.linspace(0, 1, 60), np.linspace(5, 6, 60)],
                      "labels": ["cat"] * 50 + ["cat|cow"] * 20 + ["cow"] * 50,
                      "name": [f"n{i}" for i in range(120)]})  # fmt: skip
    truth = ["cat"] * 60 + ["cow"] * 60
    rows = np.random.default_rng(0).permutation(120)
    keys = [f"n{i}" for i in rows]
    labels = [truth[i] for i in rows]
    given = list(zip(keys, labels, strict=True))[:60]
    path = write(tmp_path / "a.jsonl", header(), *draw_lines(keys, labels, given))
    found = clean(table, path)
    assert (found.audit.n_rows, found.audit.n_checked, found.audit.n_wrong) == (120, 60, 0)
    assert found.audit.level == 0.05
    assert np.all(found.status == "certified")

    # A check that was passed over counts as a mistake, and is to be looked at.
    path = write(tmp_path / "b.jsonl", header(), *draw_lines(keys, labels, given[:30] + given[31:]))
    found = clean(table, path)
    assert (found.audit.n_checked, found.audit.n_wrong, found.audit.n_changed) == (60, 1, 1)
    assert found.status[rows[30]] == "look"

    # A label that is another now is not what was promised; rows that are gone do not count.
    wrong = ["cow", *labels[1:]]
    path = write(tmp_path / "c.jsonl", header(), *draw_lines(keys, wrong, given[1:]))
    found = clean(table.slice(0, 119), path)
    assert found.audit.n_wrong == 1
    assert found.audit.n_changed == 1 + (119 not in rows[:1])
    unsure = [(keys[0], None), *given[1:]]
    path = write(tmp_path / "d.jsonl", header(), *draw_lines(keys, labels, unsure))
    found = clean(table, path)
    assert found.audit.n_wrong == 1
    assert found.status[rows[0]] == "look"


def test_answers_to_an_earlier_draw_are_answers_only(tmp_path):
    first = draw_lines(["n0", "n1"], ["cat", "cat"], [("n0", "cat")])
    second = {"draw_rows": ["n4", "n6"], "draw_labels": ["cow", "cow"]}
    path = write(tmp_path / "a.jsonl", header(), *first, second)
    found = clean(pets(), path)
    assert found.audit is None
    assert found.n_gold == 1


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", r"line 2: this is not JSON"),
        ("[1]", "line 2: each line must be an object"),
        ("[" * 100_000, "line 2: this is not JSON"),
        ({"label": "cat"}, "an answer must name its row"),
        ({"row": "n0", "verdict": "maybe"}, "its verdict must be one of label, none"),
        ({"row": "n0"}, "an answer must be either a label or a verdict"),
        ({"row": "n0", "label": ["cat"]}, "an answer must be either a label or a verdict"),
        (
            {"row": "n0", "label": "cat", "verdict": "none"},
            "an answer must be either a label or a verdict",
        ),
        ({"row": "n0", "label": "\ud800"}, r"the label '\\ud800' contains half a character"),
        ({"surelabel": "answers 9"}, "this version reads 'answers 1'"),
        ({"surelabel": "answers 1", "columns": "name"}, "columns must be a list of names"),
        ({"draw_rows": ["a"], "draw_labels": []}, "one label for each row"),
        ({"draw_rows": 3}, "one label for each row"),
    ],
)
def test_broken_lines_are_named(tmp_path, line, complaint):
    path = write(tmp_path / "a.jsonl", header(), line, {"row": "n1", "label": "cat"})
    with pytest.raises(TableError, match=complaint):
        read_answers(path)


def test_an_unfinished_line_at_the_end_is_left_out(tmp_path):
    path = write(
        tmp_path / "a.jsonl", header(), {"row": "n1", "label": "cat"}, '{"row": "n2"', end=""
    )
    assert [answer.row for answer in read_answers(path).answers] == ["n1"]


def test_the_same_names_are_needed(tmp_path):
    path = write(tmp_path / "a.jsonl", header())
    with pytest.raises(TableError, match="identify rows by the column 'name', not by content"):
        clean(pets(), path, id=None)
    path = write(tmp_path / "b.jsonl", header(["size", "gone"], None))
    with pytest.raises(TableError, match="the column 'gone' is gone"):
        clean(pets(), path, id=None)
    with pytest.raises(surelabel.exceptions.ParameterError, match="not both"):
        clean(pets(), path, audit=pets())
