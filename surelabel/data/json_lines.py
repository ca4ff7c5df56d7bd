"""JSON ↔ :class:`pyarrow.Table` without loss: a text stays a text, whatever it looks like, and a
whole number keeps all its digits.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import chain, islice
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..exceptions import TableError
from .arrow_tables import is_list
from .file_formats import Content
from .unpacking import too_sparse

#: Bytes of text whose rows become Python objects at the same time.
PIECE = 4 << 20
#: Maximum depth of nested objects and lists; Arrow's own functions call themselves at each level.
DEEPEST = 64
BLANKS = re.compile(r"[ \t\r\n]*")
#: What Arrow raises for values that do not fit together; its errors derive from Python's.
REFUSED = (ValueError, TypeError, OverflowError)
#: What a value is, in words, if it is neither an object nor a number.
KINDS = {type(None): "null", bool: "true or false", str: "a text", list: "a list"}


# -------------------------------------------------------------------- text → objects


def json_rows(content: Content, source: str) -> Iterator[list[dict[str, Any]]]:
    """The objects of a UTF-8 text, in batches; each has its own line, or all are in a list."""
    decoder = json.JSONDecoder(object_pairs_hook=_with_unique_keys, parse_constant=_refuse_constant)
    read = _list_objects if re.match(rb"(\xef\xbb\xbf)?\s*\[", content) else _line_objects
    return read(content, source, decoder)


def _line_objects(
    content: Content, source: str, decoder: json.JSONDecoder
) -> Iterator[list[dict[str, Any]]]:
    """Objects, each on a line of its own."""
    start = number = 0
    while start < len(content):
        end = content.find(b"\n", start + PIECE) + 1 or len(content)
        text = content[start:end].decode("utf-8" if start else "utf-8-sig")
        start, rows = end, []
        for line in text.removesuffix("\n").split("\n"):
            number += 1
            if not line or line.isspace():
                continue
            try:
                rows.append(_checked_object(decoder.decode(line)))
            except (ValueError, RecursionError) as error:
                raise TableError(
                    f"{source}: line {number} is not a JSON object on a line of its own "
                    f"({_json_error(error)}); a JSON file holds one object per row, each on its "
                    "line or all in a list"
                ) from None
        if rows:
            yield rows


def _list_objects(
    content: Content, source: str, decoder: json.JSONDecoder
) -> Iterator[list[dict[str, Any]]]:
    """Objects in a list."""
    text = content[:].decode("utf-8-sig")

    def after_blanks(place: int) -> int:
        return BLANKS.match(text, place).end()  # type: ignore[union-attr]

    place, number, start = after_blanks(after_blanks(0) + 1), 0, 0
    rows: list[dict[str, Any]] = []
    while number or text[place : place + 1] != "]":  # an empty list has no first entry
        number += 1
        try:
            row, end = decoder.raw_decode(text, place)
            rows.append(_checked_object(row))
        except (ValueError, RecursionError) as error:
            raise TableError(
                f"{source}: entry {number} of the list is not a JSON object ({_json_error(error)})"
            ) from None
        place = after_blanks(end)
        if text[place : place + 1] == "]":
            break
        if text[place : place + 1] != ",":
            raise TableError(
                f"{source}: neither a comma nor the end of the list follows entry {number}; is the "
                "file complete?"
            )
        place = after_blanks(place + 1)
        if place - start > PIECE:
            yield rows
            rows, start = [], place
    if text[place + 1 :].strip():
        raise TableError(f"{source}: something follows the list of objects; remove it")
    if rows:
        yield rows


def _checked_object(row: Any) -> dict[str, Any]:
    if type(row) is not dict:
        raise ValueError(f"it is {KINDS.get(type(row), 'a number')}")
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


def _json_error(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.colno}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


# -------------------------------------------------------------------- objects → columns


def rows_to_table(pieces: Iterable[list[dict[str, Any]]], source: str) -> pa.Table:
    """A table of JSON objects that come in batches; their keys become the columns.

    Nulls and absent keys become missing values. Whole numbers beside fractions become floats; any
    other mixture of types in a column is refused.
    """
    pieces = iter(pieces)
    start = list(islice(pieces, 2))  # a second batch shows that there are more rows
    if len(start) == 1 and len(start[0]) == 1 and _is_by_columns(start[0][0]):
        raise TableError(
            f"{source}: it holds one object of objects or lists, like a table written by columns; "
            "write the rows one by one (in pandas, orient='records')"
        )
    tables: list[pa.Table] = []
    schema = pa.schema([])
    n_rows = n_values = 0
    for rows in chain(start, pieces):
        keys = dict.fromkeys(chain.from_iterable(rows))
        n_values += sum(map(len, rows))
        n_columns = len(keys.keys() | set(schema.names))
        if too_sparse(n_rows + len(rows), n_columns, n_values):
            raise TableError(
                f"{source}: the rows have {n_columns} different keys, and few share any; use the "
                "same keys in every row"
            )
        columns = {
            key: _key_column(key, [row.get(key) for row in rows], n_rows, source) for key in keys
        }
        table = pa.table(columns)
        schema = _common_schema(schema, table, n_rows, source)
        tables.append(table)
        n_rows += len(rows)
    try:
        return pa.concat_tables([schema.empty_table(), *(_in_types(t, schema) for t in tables)])
    except pa.ArrowInvalid as error:
        raise TableError(
            f"{source}: whole numbers beside fractions would lose digits as floats ({error}); put "
            "the numbers of the column in quotes"
        ) from None


def _is_by_columns(only: dict[str, Any]) -> bool:
    """Whether the only object looks like a whole table, with an object or a list per column."""
    return bool(only) and all(
        isinstance(value, dict) or (isinstance(value, list) and len(value) > 1)
        for value in only.values()
    )


def _key_column(name: str, values: list[Any], n_before: int, source: str) -> pa.Array:
    """The values of a key, in the type that Arrow finds for them."""
    try:
        return pa.array(values)
    except REFUSED as error:
        wrong = _first_wrong(values)
        raise _refusal(source, n_before + wrong + 1, name, values[wrong], error) from None


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


def _common_schema(schema: pa.Schema, table: pa.Table, n_before: int, source: str) -> pa.Schema:
    """The types of all columns so far."""
    try:
        return pa.unify_schemas([schema, table.schema], promote_options="permissive")
    except pa.ArrowException:
        for field in table.schema:
            both = [pa.schema([field]), pa.schema([f for f in schema if f.name == field.name])]
            try:
                pa.unify_schemas(both, promote_options="permissive")
            except pa.ArrowException as error:
                row = pc.index(pc.is_valid(table[field.name]), True).as_py()
                value = table[field.name][row].as_py()
                raise _refusal(source, n_before + row + 1, field.name, value, error) from None
        raise


def _in_types(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A batch with the columns and types of all batches."""
    columns = []
    for field in schema:
        place = table.schema.get_field_index(field.name)
        column = table.column(place) if place >= 0 else pa.nulls(table.num_rows, field.type)
        if column.type != field.type:  # Arrow cannot cast objects to others with more keys
            column = pa.array(column.to_pylist(), field.type)
        columns.append(column)
    return pa.table(columns, schema=schema)


def _refusal(source: str, row: int, name: str, value: Any, error: Exception) -> TableError:
    """The error that says which value Arrow refused, and why."""
    match error:
        case OverflowError():
            problem = (
                "a whole number has more than 64 bits; put the numbers of the column in quotes"
            )
        case UnicodeEncodeError():
            problem = "half a character"
        case _:
            problem = (
                f"{str(value)[:40]!r} is not of the type of the values above it, or mixes types; "
                "use one type"
            )
    if name == "annotations":
        problem += "; convert --from label-studio makes a table of an export of Label Studio"
    return TableError(f"{source}: row {row}, column {name!r}: {problem}")


# -------------------------------------------------------------------- writing


def write_json(table: pa.Table, file: BinaryIO, *, listed: bool) -> None:
    """Write a table as one object per row: in a list, or one per line."""
    before, between, after = ("[\n", ",\n", "\n]\n") if listed else ("", "\n", "\n")
    for batch in table.to_batches(max_chunksize=1 << 14):
        lines = (
            json.dumps(_without_nan(row), ensure_ascii=False, default=_as_json)
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


def _as_json(value: Any) -> Any:
    """Values that JSON cannot express, as text; a decimal number stays a number if it is exact."""
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
