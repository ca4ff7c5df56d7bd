"""JSON ↔ :class:`pyarrow.Table` without loss: a text stays a text, whatever it looks like, and a
whole number keeps all its digits.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import chain, islice
from math import inf
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..exceptions import TableError
from ._delimited import Content
from .arrow_tables import is_list

#: Bytes of text whose rows become Python objects at the same time.
PIECE = 4 << 20
#: Maximum depth of nested objects and lists.
DEEPEST = 64
#: A table of more than ``FREE_CELLS`` cells needs a value in one of ``SPARSEST`` or more.
FREE_CELLS, SPARSEST = 10_000_000, 1000
#: Digits of the longest whole number that Arrow holds.
MOST_DIGITS = 76
LONG, LONGER = pa.decimal128(38, 0), pa.decimal256(MOST_DIGITS, 0)
SIMPLE = {bool: pa.bool_(), float: pa.float64(), str: pa.string()}
BLANKS = re.compile(r"[ \t\r\n]*")
#: An escape that may be half a character.
HALF = re.compile(r"\\u[dD][89a-fA-F]")


class _RefusedError(ValueError):
    """A value cannot be used; the message says why."""


#: Numbers of at most this many characters are exact as floats.
SHORT_NUMBER = 16
#: Where a number may have more digits.
LONG_NUMBER = rb"[0-9][.eE0-9]{16}"


def read_json(content: Content, source: str) -> pa.Table:
    """Read UTF-8 text: one object per line, or a list of objects. Their keys are the columns.

    Whole numbers become int64, or decimals if one has more than 64 bits; beside numbers with
    fractions they become floats. Null and absent keys are missing values.
    """
    return rows_to_table(json_rows(content, source), source)


def rows_to_table(pieces: Iterable[list[dict[str, Any]]], source: str) -> pa.Table:
    """A table of JSON objects, which come in batches."""
    columns: dict[str, _Column] = {}
    n_rows = n_values = 0
    pieces = iter(pieces)
    start = list(islice(pieces, 2))  # a second batch shows that there are more rows
    if len(start) == 1 and len(start[0]) == 1 and all(map(_is_nested, start[0][0].values() or [0])):
        raise TableError(
            f"{source}: it holds one object of objects or lists, like a table written by columns; "
            "write the rows one by one (in pandas, orient='records')"
        )
    for rows in chain(start, pieces):
        for key in dict.fromkeys(chain.from_iterable(rows)):
            if key not in columns:
                columns[key] = _Column(key, source, n_rows)
        n_values += sum(map(len, rows))
        if (n_rows + len(rows)) * len(columns) > FREE_CELLS + SPARSEST * n_values:
            raise TableError(
                f"{source}: the rows have {len(columns)} different keys, and few share any; use "
                "the same keys in every row"
            )
        for key, column in columns.items():
            column.append([row.get(key) for row in rows])
        n_rows += len(rows)
    return pa.table({key: column.finish() for key, column in columns.items()})


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and len(value) > 1)


# -------------------------------------------------------------------- rows


def json_rows(content: Content, source: str) -> Iterator[list[dict[str, Any]]]:
    """The objects of a text, in batches."""
    rounded: list[str] = []

    def parse_float(text: str) -> float:
        number = float(text)
        if (
            len(text) > SHORT_NUMBER
            and math.isfinite(number)
            and Decimal(text) != Decimal(repr(number))
        ):
            rounded.append(text)
        return number

    # numbers are examined only if one may have more digits than a float can hold
    watch = parse_float if re.search(LONG_NUMBER, content) else None
    decoder = json.JSONDecoder(
        object_pairs_hook=_object, parse_constant=_no_number, parse_float=watch
    )
    read = _listed if re.match(rb"(\xef\xbb\xbf)?\s*\[", content) else _lines
    yield from read(content, source, decoder)
    if rounded:
        warnings.warn(
            f"{source}: {len(rounded)} number(s), such as {rounded[0][:40]}, have more digits than "
            "a float can hold, and were rounded; write them as text to keep them",
            stacklevel=5,
        )


def _lines(
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
                rows.append(_checked(decoder.decode(line), line))
            except (ValueError, RecursionError) as error:
                raise TableError(
                    f"{source}: line {number} is not a JSON object on a line of its own "
                    f"({_reason(error)}); a JSON file holds one object per row, each on its line "
                    "or all in a list"
                ) from None
        if rows:
            yield rows


def _listed(
    content: Content, source: str, decoder: json.JSONDecoder
) -> Iterator[list[dict[str, Any]]]:
    """Objects in a list."""
    text = content[:].decode("utf-8-sig")
    place, number, start = BLANKS.match(text).end() + 1, 0, 0  # type: ignore[union-attr]
    rows: list[dict[str, Any]] = []
    while True:
        place = BLANKS.match(text, place).end()  # type: ignore[union-attr]
        if text[place : place + 1] == "]" and not number:
            break
        number += 1
        try:
            row, end = decoder.raw_decode(text, place)
            rows.append(_checked(row, text[place:end]))
        except (ValueError, RecursionError) as error:
            raise TableError(
                f"{source}: entry {number} of the list is not a JSON object ({_reason(error)})"
            ) from None
        place = BLANKS.match(text, end).end()  # type: ignore[union-attr]
        if text[place : place + 1] == "]":
            break
        if text[place : place + 1] != ",":
            raise TableError(
                f"{source}: neither a comma nor the end of the list follows entry {number}; is the "
                "file complete?"
            )
        place += 1
        if place - start > PIECE:
            yield rows
            rows, start = [], place
    if text[place + 1 :].strip():
        raise TableError(f"{source}: something follows the list of objects; remove it")
    if rows:
        yield rows


def _checked(row: Any, text: str) -> dict[str, Any]:
    if type(row) is not dict:
        raise _RefusedError(f"it is {_name(row)}")
    if HALF.search(text):
        json.dumps(row, ensure_ascii=False).encode()
    return row


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _RefusedError(f"the key {twice[:40]!r} appears twice")
    return found


def _no_number(text: str) -> None:
    raise _RefusedError(f"JSON has no {text}; write null for missing values")


def _reason(error: Exception) -> str:
    match error:
        case json.JSONDecodeError():
            return f"{error.msg} at character {error.colno}"
        case UnicodeEncodeError():
            return f"{error.object[error.start]!a} is half a character"
        case _RefusedError():
            return str(error)
        case RecursionError():
            return "it is nested too deeply"
    return f"a whole number has more than {MOST_DIGITS} digits; put it in quotes"


# -------------------------------------------------------------------- columns


class _Column:
    """The values of one key, in their common type so far."""

    def __init__(self, name: str, source: str, n_missing: int) -> None:
        self.name, self.source = name, source
        self.type = pa.null()
        self.chunks: list[pa.Array] = [pa.nulls(n_missing)]

    def append(self, values: list[Any]) -> None:
        """Add the values of the next rows."""
        first = sum(map(len, self.chunks)) + 1
        try:
            self.type = _common(self.type, _type(values))
        except _RefusedError:
            for row, value in enumerate(values, start=first):
                try:
                    self.type = _common(self.type, _type([value]))
                except _RefusedError as error:
                    raise self._error(row, str(error)) from None
        self.chunks += self._converted(values, first)

    def finish(self) -> pa.ChunkedArray:
        """The whole column; values that were read before its type was known are converted again."""
        chunks, first = [], 1
        for chunk in self.chunks:
            if chunk.type == self.type:
                chunks.append(chunk)
            elif pa.types.is_null(chunk.type):
                chunks.append(pa.nulls(len(chunk), self.type))
            else:
                chunks += self._converted(chunk.to_pylist(), first)
            first += len(chunk)
        return pa.chunked_array(chunks, self.type)

    def _converted(self, values: list[Any], first: int) -> list[pa.Array]:
        """The values, starting at row ``first``, in the type of the column."""
        try:
            array = pa.array(values, self.type)
        except (pa.ArrowInvalid, OverflowError):
            row = next(row for row, value in enumerate(values) if self._loses(value))
            raise self._error(
                first + row,
                f"{str(values[row])[:40]} would lose digits as a float, which the other numbers of "
                "the column need; put its numbers in quotes",
            ) from None
        return array.chunks if isinstance(array, pa.ChunkedArray) else [array]

    def _loses(self, value: Any) -> bool:
        try:
            pa.array([value], self.type)
        except (pa.ArrowInvalid, OverflowError):
            return True
        return False

    def _error(self, row: int, problem: str) -> TableError:
        if self.name == "annotations":
            problem += "; convert --from label-studio makes a table of an export of Label Studio"
        return TableError(f"{self.source}: row {row}, column {self.name!r}: {problem}")


def _type(values: list[Any], depth: int = 0) -> pa.DataType:
    """The common type of the values."""
    if depth > DEEPEST:
        raise _RefusedError(f"lists or objects are nested more than {DEEPEST} deep")
    found = pa.null()
    for kind in dict.fromkeys(map(type, values)):
        if kind is type(None):
            continue
        found = _common(found, _type_of(kind, [v for v in values if type(v) is kind], depth))
    return found


def _type_of(kind: type, values: list[Any], depth: int) -> pa.DataType:
    """The type of values that are all of one kind."""
    if kind is float and (inf in values or -inf in values):
        raise _RefusedError("a number is larger than 1.8e308, the largest float; put it in quotes")
    if kind in SIMPLE:
        return SIMPLE[kind]
    if kind is int:
        size = max(max(values), -1 - min(values))
        if size < 2**63:
            return pa.int64()
        if size >= 10**MOST_DIGITS:
            raise _RefusedError(
                f"a whole number has more than {MOST_DIGITS} digits; put it in quotes"
            )
        return LONG if size < 10**38 else LONGER
    if kind is list:
        return pa.list_(_type(list(chain.from_iterable(values)), depth + 1))
    keys = dict.fromkeys(chain.from_iterable(values))
    return pa.struct(
        [(key, _type([value[key] for value in values if key in value], depth + 1)) for key in keys]
    )


def _common(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """The type that can hold the values of both."""
    if a == b or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):
        return b
    numbers = (pa.int64(), LONG, LONGER, pa.float64())
    if a in numbers and b in numbers:
        return max(a, b, key=numbers.index)
    if pa.types.is_list(a) and pa.types.is_list(b):
        return pa.list_(_common(a.value_type, b.value_type))
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        fields = {field.name: field.type for field in a}
        for field in b:
            fields[field.name] = _common(fields.get(field.name, pa.null()), field.type)
        return pa.struct(list(fields.items()))
    raise _RefusedError(f"{_kind(b)}, but other values are {_kind(a)}; use one type")


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_string(kind):
        return "a text"
    if pa.types.is_list(kind):
        return "a list"
    if pa.types.is_struct(kind):
        return "an object"
    return "true or false" if pa.types.is_boolean(kind) else "a number"


def _name(value: Any) -> str:
    return "null" if value is None else _kind(_type([value]))


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
            stacklevel=4,
        )


def _infinities(column: pa.ChunkedArray) -> int:
    while is_list(column.type):
        column = pc.list_flatten(column)
    return pc.sum(pc.is_inf(column)).as_py() or 0 if pa.types.is_floating(column.type) else 0


def _as_json(value: Any) -> Any:
    """Values that JSON cannot express, as text; a decimal number stays a number if it is exact."""
    if isinstance(value, Decimal):
        if value.as_tuple().exponent == 0:  # a whole number of more than 64 bits
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
