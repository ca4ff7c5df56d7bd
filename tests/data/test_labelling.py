"""Every form in which people hold labels says the same; what says nothing is refused with its row
and column.
"""

import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from surelabel.data.labelling import Labelling, read_labels
from surelabel.exceptions import ParameterError, TableError

SETS = [["cat", "dog"], ["dog"], [], ["cat", "cow", "dog"]]
ALL = ["cat", "cow", "dog"]
EXPECTED = [row or ALL for row in SETS]


def labels_of(columns, **labelling):
    return read_labels(pa.table(columns), Labelling(**labelling))


def refusal(columns, **labelling):
    with pytest.raises((TableError, ParameterError)) as caught:
        labels_of(columns, **labelling)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# -------------------------------------------------------------------- forms


@pytest.mark.parametrize(
    "column",
    [
        ["cat|dog", "dog", None, "cat|cow|dog"],
        [" dog |cat", "dog|", " ", "cow|cat||dog"],
        [json.dumps(row) for row in SETS],
        [repr(row) for row in SETS],  # as pandas writes lists to CSV
        ['["cat", "dog"]', "['dog']", "", "['cat', 'cow', 'dog']"],
        SETS,
        [["dog", "cat"], ["dog", None, ""], None, [" cat", "dog", "cow"]],
        pa.array(["cat|dog", "dog", None, "cat|cow|dog"]).dictionary_encode(),
        pa.array(SETS, pa.large_list(pa.dictionary(pa.int32(), pa.string()))),
    ],
)
def test_one_column_of_labels(column):
    found = labels_of({"labels": column}, labels="labels")
    assert found.candidates.classes.tolist() == ALL
    assert found.candidates.to_lists() == EXPECTED
    assert found.candidates.counts is None
    assert found.unlabelled.tolist() == [False, False, True, False]
    assert found.gold.tolist() == [-1] * 4
    assert (found.votes, found.annotators, found.ids) == (None, (), None)


def test_chunked_columns_are_one_column():
    chunked = pa.chunked_array([["cat|dog", "dog"], [None], ["cat|cow|dog"]])
    assert labels_of({"labels": chunked}, labels="labels").candidates.to_lists() == EXPECTED


def test_a_separator_of_ones_own():
    found = labels_of({"l": ["a, b", "b"]}, labels="l", separator=",").candidates
    assert found.to_lists() == [["a", "b"], ["b"]]
    found = labels_of({"l": ["a|b", "c"]}, labels="l", separator=",").candidates
    assert found.classes.tolist() == ["a|b", "c"]


def test_a_list_is_not_split_again():
    found = labels_of({"l": [["a|b"], ["c"]]}, labels="l").candidates
    assert found.classes.tolist() == ["a|b", "c"]


@pytest.mark.parametrize(
    "columns",
    [
        {"cat": [1, 0, 0, 1], "cow": [0, 0, 0, 1], "dog": [1, 1, 0, 1]},
        {
            "cat": [1.0, 0.0, 0.0, 1.0],
            "cow": [False] * 3 + [True],
            "dog": ["True", "TRUE", "false", "1"],
        },
    ],
)
def test_one_column_per_class(columns):
    found = labels_of({"x": range(4)} | columns, indicator=("cat", "cow", "dog"))
    assert found.candidates.to_lists() == EXPECTED
    assert found.unlabelled.tolist() == [False, False, True, False]
    backwards = labels_of(columns, indicator=("dog", "cow", "cat"))
    assert backwards.candidates.classes.tolist() == ["dog", "cow", "cat"]


def test_one_column_per_annotator():
    votes = {
        "ann": ["cat", "dog", None, "cat"],
        "bob": pa.array(["dog", "dog", "", "cow"]).dictionary_encode(),
        "eve": [None, "dog", None, "dog"],
        "nobody": pa.nulls(4),
    }
    found = labels_of(votes, votes=("ann", "bob", "eve", "nobody"))
    assert found.candidates.to_lists() == EXPECTED
    assert found.candidates.counts.tolist() == [1, 1, 3, 0, 0, 0, 1, 1, 1]
    assert found.annotators == ("ann", "bob", "eve", "nobody")
    assert found.votes.tolist() == [[0, 2, -1, -1], [2, 2, 2, -1], [-1, -1, -1, -1], [0, 1, 2, -1]]


LONG = {
    "id": ["p", "q", "p", "q", "r", "q"],
    "size": [1.5, float("nan"), 1.5, float("nan"), None, float("nan")],
    "vector": [[1, 2], [3, 4], [1, 2], [3, 4], None, [3, 4]],
    "label": ["cat", "dog", "dog", "dog", None, "cow"],
    "who": ["ann", "bob", "bob", "eve", "ann", "ann"],
    "gold": [None, "cow", None, "cow", None, "cow"],
}


def test_long_form():
    table = {name: column for name, column in LONG.items() if name != "who"}
    found = labels_of(table, labels="label", id="id", long=True, gold="gold")
    assert found.ids.tolist() == ["p", "q", "r"]
    assert found.candidates.to_lists() == [["cat", "dog"], ["cow", "dog"], ALL]
    assert found.candidates.counts.tolist() == [1, 1, 1, 2, 0, 0, 0], (
        "a label given twice has two votes"
    )
    assert found.gold.tolist() == [-1, 1, -1]
    assert found.unlabelled.tolist() == [False, False, True]
    assert found.table.column_names == ["id", "size", "vector", "gold"]
    assert found.table["vector"].to_pylist() == [[1, 2], [3, 4], None]
    assert found.votes is None


def test_long_form_with_annotators():
    found = labels_of(LONG, labels="label", id="id", long=True, annotator="who")
    assert found.annotators == ("ann", "bob", "eve")
    assert found.votes.tolist() == [[0, 2, -1], [1, 2, 2], [-1, -1, -1]]
    assert found.candidates.counts.tolist() == [1, 1, 1, 2, 0, 0, 0]
    assert found.table.column_names == ["id", "size", "vector", "gold"]


def test_long_form_without_repeated_labels_has_no_votes():
    found = labels_of({"id": [7, 7, 8], "l": ["a", "b", "a"]}, labels="l", id="id", long=True)
    assert found.candidates.counts is None
    assert found.ids.tolist() == [7, 8]


@pytest.mark.parametrize("column", ["size", "vector", "gold"])
def test_rows_of_an_id_must_agree(column):
    values = list(LONG[column])
    values[5] = {"size": 2.0, "vector": [3, 5], "gold": None}[column]
    message = refusal(
        LONG | {column: values}, labels="label", id="id", long=True, annotator="who", gold="gold"
    )
    assert message == (
        f"table: id 'q' has different values in column {column!r}, in rows 2 and 6; make them "
        "equal, or leave the column out"
    )


# ------------------------------ gold, ids, rows without labels


def test_gold_does_not_change_the_candidates():
    found = labels_of(
        {"l": ["a|b", "b", None, None], "g": ["a", "c", "b", None]}, labels="l", gold="g"
    )
    assert found.candidates.classes.tolist() == ["a", "b", "c"]
    assert found.candidates.to_lists() == [["a", "b"], ["b"], ["a", "b", "c"], ["a", "b", "c"]]
    assert found.gold.tolist() == [0, 2, 1, -1]
    assert found.unlabelled.tolist() == [False, False, False, True]


def test_ids_name_rows():
    assert labels_of({"i": [5, 3], "l": ["a", "b"]}, labels="l", id="i").ids.tolist() == [5, 3]
    assert refusal({"i": ["x", "y", "x"], "l": ["a", "b", "a"]}, labels="l", id="i") == (
        "table: column 'i' has 'x' in rows 1 and 3; if all rows with the same id are one instance, "
        "say so (long), otherwise use another id"
    )
    assert refusal({"i": ["x", None], "l": ["a", "b"]}, labels="l", id="i") == (
        "table: column 'i' is empty in row 2; fill it in"
    )


# -------------------------------------------------------------------- types of labels


@pytest.mark.parametrize(
    "column",
    [
        [3, 1, None],
        [3.0, 1.0, float("nan")],
        [Decimal(3), Decimal(1), None],
        pa.array([3, 1, None], pa.uint8()),
    ],
)
def test_whole_numbers_stay_numbers(column):
    found = labels_of({"a": column, "b": [1, 10, 2]}, votes=("a", "b"))
    assert found.candidates.classes.tolist() == [1, 2, 3, 10]
    assert found.candidates.to_lists() == [[1, 3], [1, 10], [2]]


def test_one_text_makes_all_labels_text():
    found = labels_of({"l": ["1|2", "2", "x"], "g": [1, None, None]}, labels="l", gold="g")
    assert found.candidates.classes.tolist() == ["1", "2", "x"]
    assert found.gold.tolist() == [0, -1, -1]
    votes = labels_of({"a": [1, 2], "b": ["1", "x"]}, votes=("a", "b")).votes
    assert votes.tolist() == [[0, 0], [1, 2]]


def test_truth_is_text():
    found = labels_of({"l": [True, False, None]}, labels="l").candidates
    assert found.to_lists() == [["True"], ["False"], ["False", "True"]]


# -------------------------------------------------------------------- refusals


LONG_FORM = {"labels": "a", "id": "i", "annotator": "w", "long": True}
TWICE = {"i": ["p", "p"], "a": ["x", "y"]}


@pytest.mark.parametrize(
    ("columns", "labelling", "message"),
    [
        ({"a": ["x"]}, {"votes": ("a", "b")}, "there is no column 'b'; the columns are a"),
        (
            {"a": ["x"]},
            {},
            "say where the labels are in exactly one way: --labels COLUMN, --votes",
        ),
        ({"a": ["x"]}, {"labels": "a", "votes": ("a",)}, "say where the labels are in exactly one"),
        ({"a": ["x"]}, {"labels": "a", "gold": "a"}, "column 'a' is named twice; give each column"),
        (
            {"a": ["x"]},
            {"labels": "a", "separator": ""},
            "the separator of labels must not be empty",
        ),
        (
            {"a": ["x"]},
            {"labels": "a", "long": True},
            "a long table has one row per id and label: ",
        ),
        (TWICE, {"labels": "a", "annotator": "i"}, "a column of annotators needs a long table"),
        ({"a": [None, ""]}, {"labels": "a"}, "there is no label in column 'a'"),
        ({"a": [1.0, 2.5]}, {"labels": "a"}, "row 2, column 'a': '2.5' is not a label: labels are"),
        (
            {"a": ["x", "y"], "b": [1, 0.5]},
            {"votes": ("a", "b")},
            "row 2, column 'b': '0.5' is not",
        ),
        (
            {"a": ['["x"]', "[y]"]},
            {"labels": "a"},
            "row 2, column 'a': '[y]' is not a list of labels",
        ),
        (
            {"a": ['["x"]', '[{"y": 1}]']},
            {"labels": "a"},
            "row 2, column 'a': '[{\"y\": 1}]' holds som",
        ),
        ({"a": ["[" * 9999 + "]"]}, {"labels": "a"}, "row 1, column 'a': '[[[["),
        ({"a": ["[__import__('os')]"]}, {"labels": "a"}, "row 1, column 'a': \"[__import__('os')]"),
        ({"a": [{"x": 1}]}, {"labels": "a"}, "column 'a' holds objects; it should hold labels"),
        ({"a": [b"x"]}, {"labels": "a"}, "column 'a' holds binary; it should hold labels"),
        (
            {"a": [["x"], ["y"]]},
            {"votes": ("a",)},
            "column 'a' holds lists of text; it should hold",
        ),
        ({"a": [0, 2]}, {"indicator": ("a",)}, "row 2, column 'a': '2' is not 0 or 1"),
        ({"a": [0, None]}, {"indicator": ("a",)}, "row 2, column 'a': an empty cell is not 0 or 1"),
        ({"a": ["0", "x"]}, {"indicator": ("a",)}, "row 2, column 'a': 'x' is not 0 or 1"),
        (
            {"a": [1], "g": ["b"]},
            {"indicator": ("a",), "gold": "g"},
            "row 1, column 'g': the label 'b'",
        ),
        (
            {"a": [f"{i} x" for i in range(99)]},
            {"labels": "a"},
            "column 'a' holds 99 different labels",
        ),
        (
            TWICE | {"w": ["u", None]},
            LONG_FORM,
            "row 2, column 'w': the name of the annotator is mis",
        ),
        (
            TWICE | {"w": ["u", "u"]},
            LONG_FORM,
            "'u' gives two labels to the id of row 1; an annotator",
        ),
    ],
)
def test_what_says_nothing_is_refused(columns, labelling, message):
    assert refusal(columns, **labelling).removeprefix("table: ").startswith(message)


def test_a_million_rows():
    m = 10**6
    rng = np.random.default_rng(0)
    cells = pa.array(["cat|dog", "dog", "cow|cat", None]).take(pa.array(rng.integers(0, 4, m)))
    found = labels_of({"l": cells}, labels="l")
    assert found.candidates.shape == (m, 3)
    picked = rng.integers(0, m, 50)
    expected = [
        sorted(cell.split("|")) if cell else ALL
        for cell in cells.take(pa.array(picked)).to_pylist()
    ]
    assert found.candidates[picked].to_lists() == expected


# -------------------------------------------------------------------- lists in text


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("['a', 'b']", ["a", "b"]),
        ("['it\\'s', \"b\", ]", ["b", "it's"]),
        ("[1, 2.0, None]", ["1", "2"]),
        ("[]", []),
        ("['\\xe9\\u0142']", ["éł"]),
        ('["2024-06-01", "NA"]', ["2024-06-01", "NA"]),
        ("[9223372036854775808]", ["9223372036854775808"]),
    ],
)
def test_lists_as_json_or_python_prints_them(cell, labels):
    table = pa.table({"l": [cell, '["other"]']})
    found = read_labels(table, Labelling(labels="l")).candidates
    assert [str(label) for label in found.to_lists()[0] if label != "other"] == labels


@pytest.mark.parametrize(
    "cell",
    [
        *("[{[]: 1}]", "[{1, 2}]", "[f'x']", "[b'x']", "[a]", "[1+1]", "['a' 'b']", "['\\d']"),
        *("[" * 10**5 + "]" * 10**5, "[" + "-" * 10**5 + "1]", "[" + "(" * 10**4 + "]", "[0x1F]"),
        *("['a', ['b']]", '["\\ud800"]', "['\\ud800']", "['\\U00110000']", "[1.5]", "[NaN,]"),
        *("[" + "9" * 5000 + "]", "['" + "a" * 10**5, "[1e999]", "[01]"),
    ],
    ids=lambda text: text[:12],
)
def test_what_is_no_list_of_labels_is_refused_with_its_place(cell):
    table = pa.table({"l": ["['a']", cell if cell.endswith("]") else cell + "]", "['b']"]})
    with pytest.raises(TableError, match=r"^table: row 2, column 'l': ") as caught:
        read_labels(table, Labelling(labels="l"))
    assert "\n" not in str(caught.value)


def test_numbers_and_times_that_python_does_not_have():
    big = pa.array([10**40, 10**40 + 1], pa.decimal256(50, 0))
    found = read_labels(pa.table({"l": big}), Labelling(labels="l")).candidates.classes
    assert found.tolist() == [str(10**40), str(10**40 + 1)]
    for kind, words in ((pa.timestamp("s"), "dates with times"), (pa.date32(), "dates")):
        with pytest.raises(TableError, match=f"column 'l' holds {words}; it should hold labels"):
            read_labels(pa.table({"l": pa.array([1, 2], kind)}), Labelling(labels="l"))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([{"a": 1}] * 4),
        pa.array([["a"]] * 4, pa.large_list(pa.string())),
        pa.array([[("a", 1)]] * 4, pa.map_(pa.string(), pa.int64())),
        pa.array([b"\xff"] * 4),
        pa.array([2**62] * 4, pa.timestamp("s")),
        pa.array([(1, 2, 3)] * 4, pa.month_day_nano_interval()),
    ],
    ids=lambda column: str(column.type),
)
def test_what_cannot_name_anything_is_refused(column):
    table = pa.table({"l": ["a", "b", "a", "b"], "n": [1, 1, 2, 2], "c": column})
    for labelling in (
        Labelling(labels="l", id="c"),
        Labelling(labels="l", id="c", long=True),
        Labelling(labels="l", id="n", annotator="c", long=True),
        Labelling(indicator=("c",)),
    ):
        with pytest.raises(TableError, match=r"column 'c' holds .*, which cannot name rows"):
            read_labels(table, labelling)


@pytest.mark.parametrize(
    "cells", [["a|a|b", "b"], [["a", "b", "a"], ["b"]], ['["a", "a", "b"]', '["b"]']]
)
def test_a_label_named_twice_in_a_cell_has_two_votes(cells):
    found = read_labels(pa.table({"labels": cells}), Labelling(labels="labels")).candidates
    assert found.indices.tolist() == [0, 1, 1]
    assert found.counts.tolist() == [2, 1, 1]
