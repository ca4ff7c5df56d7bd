"""Which texts a spreadsheet would run."""

import pyarrow as pa
import pytest

from surelabel.data.formulas import escape_formulas, find_formula
from surelabel.exceptions import TableError


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+cmd", "-cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "\r=1", " =1", "-", "+1 555", "-1-1"],
)
def test_formulas(text):
    table = pa.table({"n": [1, 2], "a": ["fine", text]})
    assert find_formula(table) == (2, "a")
    escaped = escape_formulas(table)
    assert escaped["a"].to_pylist() == ["fine", "'" + text]
    assert find_formula(escaped) is None


@pytest.mark.parametrize(
    "text", ["-1", "+1.5", "-1e-5", "-.5", "-1,5", "a=b", "", None, "'=1", "x@y.z", "[-1]"]
)
def test_others(text):
    table = pa.table({"a": pa.array([text, "fine"])})
    assert find_formula(table) is None
    assert escape_formulas(table)["a"].to_pylist() == [text, "fine"]


def test_headers_and_categories():
    table = pa.table({"=x": [1], "b": pa.array(["=y"]).dictionary_encode()})
    assert find_formula(table) == (0, "=x")
    escaped = escape_formulas(table)
    assert escaped.column_names == ["'=x", "b"]
    assert escaped["b"].to_pylist() == ["'=y"]


def test_the_uppermost_is_named():
    assert find_formula(pa.table({"a": ["x", "x", "=1"], "b": ["x", "=1", "x"]})) == (2, "b")


def test_bytes_that_are_not_text_are_refused():
    table = pa.table({"a": [b"x"], "b": [b"\xff"]})
    with pytest.raises(TableError, match="column 'b' holds bytes that are not text; write a"):
        find_formula(table)
    assert find_formula(table.select(["a"])) is None
