"""JSON ↔ :class:`pyarrow.Table` without loss: a text stays a text, whatever it looks like, and a
whole number keeps all its digits.
"""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..exceptions import TableError
from .arrow_tables import is_list
from .file_formats import Content
from .unpacking import too_sparse

#: Maximum depth of nested objects and lists; Arrow's own functions call themselves at each level.
DEEPEST = 64
#: What Arrow raises for values that do not fit together; its errors derive from Python's.
REFUSED = (ValueError, TypeError, OverflowError)

# -------------------------------------------------------------------- reading


def read_json(content: Content, source: str) -> pa.Table:
    """Read a table from a UTF-8 text of objects, one per row."""
    table = rows_to_table(json_rows(content, source), source)
    by_columns = all(is_list(kind) or pa.types.is_struct(kind) for kind in table.schema.types)
    if table.num_rows == 1 and by_columns:
        raise TableError(
            f"{source}: it holds one object of objects or lists, like a table written by columns; "
            "write the rows one by one (in pandas, orient='records')"
        )
    return table


def json_rows(content: Content, source: str) -> Iterator[dict[str, Any]]:
    """The objects of a UTF-8 text: each has its own line, or all are in a list."""
    decoder = json.JSONDecoder(object_pairs_hook=_with_unique_keys, parse_constant=_refuse_constant)
    place = "this"
    try:
        if re.match(rb"(\xef\xbb\xbf)?\s*\[", content):
            for number, entry in enumerate(decoder.decode(content[:].decode("utf-8-sig")), start=1):
                place = f"entry {number} of the list"
                yield _checked_object(entry)
            return
        file = pa.BufferReader(pa.py_buffer(content))
        for number, line in enumerate(io.TextIOWrapper(file, "utf-8-sig", newline="\n"), start=1):
            place = f"line {number}"
            if not line.isspace():
                yield _checked_object(decoder.decode(line))
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise TableError(
            f"{source}: {place} is not in JSON as expected ({why}); a JSON file holds one object "
            "per row, each on its line or all in a list"
        ) from None


def _checked_object(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ValueError(f"it is not an object: {str(row)[:40]}")
    _check_depth(row, DEEPEST)
    return row


def _check_depth(value: Any, left: int) -> None:
    """Refuse a value in which objects and lists are nested more than ``left`` levels deep."""
    if left < 0:
        raise RecursionError
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            if isinstance(part, dict | list):
                _check_depth(part, left - 1)


def _with_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:40]!r} appears twice")
    return found


def _refuse_constant(text: str) -> None:
    raise ValueError(f"JSON has no {text}; write null for missing values")


def rows_to_table(rows: Iterable[dict[str, Any]], source: str) -> pa.Table:
    """A table of JSON objects; their keys become the columns.

    Nulls and absent keys become missing values. Whole numbers beside fractions become floats; any
    other mixture of types in a column is refused.
    """
    columns: dict[str, list[Any]] = {}
    n_rows = n_values = 0
    for row in rows:
        for key in row:
            if key not in columns:
                columns[key] = [None] * n_rows
        for key, values in columns.items():
            values.append(row.get(key))
        n_rows, n_values = n_rows + 1, n_values + len(row)
        if too_sparse(n_rows, len(columns), n_values):
            raise TableError(
                f"{source}: the rows have {len(columns)} different keys, and few share any; use "
                "the same keys in every row"
            )
    return pa.table({name: _key_column(name, columns[name], source) for name in columns})


def _key_column(name: str, values: list[Any], source: str) -> pa.Array:
    """The values of a key, in the type that Arrow finds for them; an error says which it refuses,
    and why.
    """
    try:
        return pa.array(values)
    except REFUSED as error:
        wrong = _first_wrong(values)
        match error:
            case OverflowError():
                problem = (
                    "a whole number has more than 64 bits; put the numbers of the column in quotes"
                )
            case UnicodeEncodeError():
                problem = "half a character"
            case _:
                problem = (
                    f"{str(values[wrong])[:40]!r} is not of the type of the values above it, or "
                    "mixes types; use one type"
                )
    if name == "annotations":
        problem += "; convert --from label-studio makes a table of an export of Label Studio"
    raise TableError(f"{source}: row {wrong + 1}, column {name!r}: {problem}")


def _first_wrong(values: list[Any]) -> int:
    """The position of the first value that does not fit the ones before it."""
    low, high = 0, len(values)  # the first `low` values fit together, the first `high` do not
    while high - low > 1:
        middle = (low + high) // 2
        try:
            pa.array(values[:middle])
            low = middle
        except REFUSED:
            high = middle
    return low


# -------------------------------------------------------------------- writing


def write_json(table: pa.Table, file: BinaryIO, *, listed: bool) -> None:
    """Write a table as one object per row: in a list, or one per line."""
    before, between, after = ("[\n", ",\n", "\n]\n") if listed else ("", "\n", "\n")
    for batch in table.to_batches(max_chunksize=1 << 14):
        lines = (
            json.dumps(_without_nan(row), ensure_ascii=False, default=as_json)
            for row in batch.to_pylist()
        )
        if batch.num_rows:
            file.write((before + between.join(lines)).encode())
            before = between
    file.write(after.encode())
    if lost := sum(_infinities(column) for column in table.columns):
        warnings.warn(
            f"{lost} infinite number(s) became null, because JSON has no notation for them; use "
            ".parquet",
            stacklevel=5,
        )


def _infinities(column: pa.ChunkedArray) -> int:
    """Number of infinite numbers in a column, or in its lists."""
    while is_list(column.type):
        column = pc.list_flatten(column)
    return pc.sum(pc.is_inf(column)).as_py() or 0 if pa.types.is_floating(column.type) else 0


def as_json(value: Any) -> Any:
    """The value, or its text if JSON cannot express it; an exact decimal number stays a number."""
    if isinstance(value, Decimal):
        if value.as_tuple().exponent == 0:  # a whole number, perhaps of more than 64 bits
            return int(value)
        return float(value) if Decimal(repr(float(value))) == value else str(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise pa.ArrowInvalid("it holds bytes that are not text") from None
    return str(value)


def _without_nan(value: Any) -> Any:
    """The value with null in place of NaN and infinity, which JSON lacks."""
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
