"""Texts that a spreadsheet would take for formulas, and run, when it opens a delimited file."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from .table_files import is_text

#: What spreadsheets look at to tell a formula; plain numbers may begin so, too.
FORMULA = r"^[\t\r\n ]*[=+\-@]"
NUMBER = r"^\s*[-+]([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][-+]?[0-9]+)?\s*$"


def find_formula(table: pa.Table) -> tuple[int, str] | None:
    """Row (0 for the header) and column of the first text that begins as a formula does; None if
    there is none.

    >>> find_formula(pa.table({"a": ["x", "-1.5", "=1+1"]}))
    (3, 'a')
    """
    headers = pc.index(_formulas(pa.array(table.column_names)), True).as_py()
    if headers >= 0:
        return 0, table.column_names[headers]
    found = (
        (pc.index(_formulas(table[name]), True).as_py(), name) for name in _text_columns(table)
    )
    rows = [(row + 1, name) for row, name in found if row >= 0]
    return min(rows, key=lambda place: place[0]) if rows else None


def escape_formulas(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before every such text, which makes spreadsheets show it as it
    is.

    >>> escape_formulas(pa.table({"a": ["x", "-1.5", "=1+1"]}))["a"].to_pylist()
    ['x', '-1.5', "'=1+1"]
    """
    for name in _text_columns(table):
        table = table.set_column(table.column_names.index(name), name, _escaped(table[name]))
    return table.rename_columns(_escaped(pa.array(table.column_names)).to_pylist())


def _text_columns(table: pa.Table) -> list[str]:
    return [field.name for field in table.schema if is_text(field.type)]


def _formulas(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    texts = texts.cast(pa.large_string())
    return pc.and_not(
        pc.match_substring_regex(texts, FORMULA), pc.match_substring_regex(texts, NUMBER)
    )


def _escaped(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    formulas, texts = _formulas(texts), texts.cast(pa.large_string())
    return pc.if_else(formulas, pc.utf8_replace_slice(texts, 0, 0, "'"), texts)
