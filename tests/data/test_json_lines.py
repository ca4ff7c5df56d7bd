"""JSON lines come in without a loss and go out the same; what is no object on its line is refused
with its number.
"""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surelabel.data import unpacking
from surelabel.data.json_lines import json_rows, rows_to_table
from surelabel.data.labelling import Labelling, read_labels
from surelabel.data.table_files import read_table, write_table
from surelabel.exceptions import TableError


def lines(*rows):
    return "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows).encode()


def read(*rows):
    return rows_to_table(json_rows(lines(*rows), "a"), "a")


def refusal(*rows):
    with pytest.raises(TableError) as caught:
        read(*rows)
    message = str(caught.value)
    assert message.startswith("a: ")
    assert "\n" not in message
    return message.removeprefix("a: ")


def test_texts_stay_texts_whatever_they_look_like():
    texts = ["2024-06-01", "2020-01-05T10:00:00+02:00", "NA", "null", "NaN", "", "007", "1e5"]
    table = read(*({"a": text} for text in texts))
    assert table["a"].to_pylist() == texts
    assert table["a"].type == pa.string()


def test_null_and_keys_that_are_not_there_are_missing():
    table = read({"a": None, "b": "NA"}, {"b": None}, {}, {"a": 1, "b": "x"})
    assert table.to_pydict() == {"a": [None, None, None, 1], "b": ["NA", None, None, "x"]}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, -(2**63), 2**63 - 1], pa.int64()),
        ([1, 0.5, None], pa.float64()),
        ([True, None], pa.bool_()),
        ([[1], [], None], pa.list_(pa.int64())),
        ([[], []], pa.list_(pa.null())),
        ([{"x": 1}, {"x": None, "y": ["t"]}], None),
        ([None, None], pa.null()),
    ],
)
def test_values_of_all_kinds_are_kept_and_written_back(tmp_path, values, kind):
    table = read(*({"a": value} for value in values))
    if kind is not None:
        assert table["a"].type == kind
    write_table(table, tmp_path / "a.jsonl")
    back = [json.loads(line)["a"] for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    filled = [{"x": None, "y": None} | v if isinstance(v, dict) else v for v in values]
    assert back == filled
    assert list(map(type, back)) == list(map(type, filled)) or kind == pa.float64()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=150)
@given(st.lists(st.dictionaries(st.text("xy", max_size=2), json_values, max_size=3), min_size=1))
def test_any_objects_are_kept_or_refused(rows):
    try:
        table = read(*rows)
    except TableError:
        return

    def same(found, given):
        if isinstance(given, dict):
            return all(same(value, given.get(key)) for key, value in (found or {}).items())
        if isinstance(given, list):
            return len(found) == len(given) and all(map(same, found, given))
        return found == given

    table.validate(full=True)
    for found, row in zip(table.to_pylist() or [{}] * len(rows), rows, strict=True):
        assert same(found, row)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["null"], "line 1 is not in JSON as expected (it is not an object: None)"),
        ([{"a": 1}, "", "null"], "line 3 is not in JSON as expected (it is not an object: None)"),
        (['"x"'], "line 1 is not in JSON as expected (it is not an object: x)"),
        (['{"a": 1} {"a": 2}'], "line 1 is not in JSON as expected (Extra data"),
        (
            ['{"a": 1, "a": 2}'],
            "line 1 is not in JSON as expected (the key 'a' appe",
        ),
        (['{"a": NaN}'], "line 1 is not in JSON as expected (JSON has no NaN; "),
        (['{"a": "\\ud800"}'], "row 1, column 'a': half a character"),
        (["{}", '{"a": ' + "[" * 10**5], "line 2 is not in JSON as expected (it is"),
        (['{"a": ' + "9" * 5000 + "}"], "line 1 is not in JSON as expected (Exceed"),
        (["{}", '{"a": ' + "9" * 20 + "}"], "row 2, column 'a': a whole number has more than 64"),
        (
            [{"a": json.loads("[" * 70 + "]" * 70)}],
            "line 1 is not in JSON as expected (it is nested too deeply)",
        ),
        ([{"a": 1}, {"a": True}], "row 2, column 'a': 'True' is not of the type of the values ab"),
        ([{"a": {"b": 1}}, {"a": [1]}], "row 2, column 'a': '[1]' is not of the type of the value"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_place(rows, message):
    assert refusal(*rows).startswith(message)


def test_rows_of_different_keys_are_no_table(monkeypatch):
    monkeypatch.setattr(unpacking, "FREE_CELLS", 1000)
    monkeypatch.setattr(unpacking, "SPARSEST", 10)
    assert refusal(*({f"k{i}": i} for i in range(200))).startswith("the rows have 38 different key")
    assert read(*({"a": i, f"k{i % 3}": i} for i in range(200))).num_columns == 4


def test_byte_order_marks_line_ends_and_blank_lines_are_fine(tmp_path):
    text = '\n{"a": "é"}\r\n  \n{"a": "😀"}'
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "a.jsonl").write_bytes(text.encode(encoding))
        assert read_table(tmp_path / "a.jsonl")["a"].to_pylist() == ["é", "😀"]


def test_labels_of_json_lines_are_what_is_written():
    rows = [["2024-06-01", "NA"], ["NA"], [], None]
    labels = read_labels(read(*({"l": row} for row in rows)), Labelling(labels="l"))
    assert labels.candidates.classes.tolist() == ["2024-06-01", "NA"]
    assert labels.unlabelled.tolist() == [False, False, True, True]
