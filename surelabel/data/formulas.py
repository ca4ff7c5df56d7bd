"""Texts that a spreadsheet would run as formulas when it opens a delimited file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..exceptions import TableError
from .arrow_tables import HEADER, column_slices, combined, is_cell, is_text

#: How formulas begin; plain numbers may begin like this, too.
FORMULA = r"^[\t\r\n ]*[=+\-@]"
NUMBER = r"^\s*[-+]([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][-+]?[0-9]+)?\s*$"


def find_formula(table: pa.Table) -> tuple[int, str] | None:
    """Row (0 for the header) and column of the first text that begins like a formula; None if there
    is none.

    >>> find_formula(pa.table({"a": ["x", "-1.5", "=1+1"]}))
    (3, 'a')
    """
    headers = pc.index(_formulas(pa.array(table.column_names)), True).as_py()
    if headers >= 0:
        return 0, table.column_names[headers]
    m, columns = table.num_rows, _text_columns(table)
    found = []
    for part in column_slices(len(columns), m):
        cells = _formulas(combined(*(table.column(i) for i in columns[part])))
        places = np.flatnonzero(pc.fill_null(cells, False))
        found += [(place % m + 1, columns[part][place // m]) for place in places.tolist()]
    row, i = min(found, default=(0, -1))
    return None if i < 0 else (row, table.column_names[i])


def escape_formulas(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before every such text, which makes spreadsheets show it as
    text.

    >>> escape_formulas(pa.table({"a": ["x", "-1.5", "=1+1"]}))["a"].to_pylist()
    ['x', '-1.5', "'=1+1"]
    """
    columns = table.columns
    for i in _text_columns(table):
        columns[i] = _escaped(columns[i])
    names = _escaped(pa.array(table.column_names)).to_pylist()
    fields = [
        pa.field(name, column.type, metadata=_escaped_header(field))
        for name, column, field in zip(names, columns, table.schema, strict=True)
    ]
    return pa.table(columns, schema=pa.schema(fields, table.schema.metadata))


def _escaped_header(field: pa.Field) -> dict[bytes, bytes] | None:
    """The name as it was written, escaped as well."""
    if not is_cell(field):
        return None
    header = _escaped(pa.array([field.metadata[HEADER].decode()]))[0].as_py()
    return {**field.metadata, HEADER: header.encode()}


def _text_columns(table: pa.Table) -> list[int]:
    """Columns whose texts are written unchanged; numbers cannot be formulas, and lists begin with
    [. Bytes that are not text are refused: no text file can hold them.
    """
    found = []
    for i, field in enumerate(table.schema):
        if _is_bytes(field.type):
            try:
                table.column(i).cast(pa.large_string())
            except pa.ArrowInvalid:
                raise TableError(
                    f"column {field.name!r} holds bytes that are not text; write a .parquet "
                    "file, or leave the column out"
                ) from None
        if is_text(field.type) or _is_bytes(field.type):
            found.append(i)
    return found


def _is_bytes(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(test(kind) for test in tests)


def _formulas(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    texts = texts.cast(pa.large_string())
    return pc.and_not(
        pc.match_substring_regex(texts, FORMULA), pc.match_substring_regex(texts, NUMBER)
    )


def _escaped(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    formulas, texts = _formulas(texts), texts.cast(pa.large_string())
    return pc.if_else(formulas, pc.utf8_replace_slice(texts, 0, 0, "'"), texts)
