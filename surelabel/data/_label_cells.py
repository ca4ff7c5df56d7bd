"""Cells of label columns → labels. Only the distinct cells of a column become Python objects."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..exceptions import TableError
from .arrow_tables import decimal_of, in_words, is_list, is_text
from .text_values import parse_numbers

Label = str | int
#: A flat list of texts and numbers, as Python prints it: no nesting, no names, no expressions.
_TEXT = r"\\[\\'\"nrt]|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}"
_ITEM = (
    rf"(?:'(?:[^'\\\n]|{_TEXT})*+'|\"(?:[^\"\\\n]|{_TEXT})*+\""
    r"|[-+]?[0-9]{1,400}(?:\.[0-9]{0,400})?|None|True|False)"
)
PRINTED_LIST = re.compile(rf"\[\s*+(?:{_ITEM}\s*+,\s*+)*+(?:{_ITEM}\s*+)?+\]")


@dataclass(frozen=True)
class Cells:
    """Labels in the cells of columns: row ``rows[k]`` of the table has ``values[which[k]]`` in
    ``columns[column[k]]``, which counts for ``amounts[k]``.
    """

    columns: list[str]
    rows: np.ndarray
    column: np.ndarray
    which: np.ndarray
    values: list[Label]
    amounts: np.ndarray

    @staticmethod
    def joined(parts: Sequence[Cells]) -> Cells:
        """The labels of several columns together, each value once."""
        values: dict[Label, int] = {}
        columns: list[str] = []
        which, column = [], []
        for part in parts:
            places = [values.setdefault(value, len(values)) for value in part.values]
            which.append(np.array(places, int)[part.which])
            column.append(part.column + len(columns))
            columns += part.columns
        return Cells(
            columns,
            np.concatenate([part.rows for part in parts]),
            np.concatenate(column),
            np.concatenate(which),
            list(values),
            np.concatenate([part.amounts for part in parts]),
        )

    def first(self, position: int) -> str:
        """The place of the first cell that has a value."""
        k = np.argmax(self.which == position)
        return f"row {self.rows[k] + 1}, column {self.columns[self.column[k]]!r}"

    def within(self, names: Collection[str | None]) -> np.ndarray:
        """Which entries are in these columns."""
        return np.asarray(np.array([name in names for name in self.columns], bool)[self.column])

    def having(self, names: Collection[Label]) -> Cells:
        """Only these labels."""
        return self.keep(np.array([value in names for value in self.values], bool)[self.which])

    def without(self, names: Collection[str]) -> Cells:
        """All labels except these."""
        return self.keep(np.array([str(v) not in names for v in self.values], bool)[self.which])

    def keep(self, wanted: np.ndarray) -> Cells:
        """The entries that are wanted, and the values that they have."""
        used, which = np.unique(self.which[wanted], return_inverse=True)
        values = [self.values[i] for i in used.tolist()]
        rows, column, amounts = self.rows[wanted], self.column[wanted], self.amounts[wanted]
        return Cells(self.columns, rows, column, which, values, amounts)


def label_cells(table: pa.Table, name: str, separator: str | None, source: str) -> Cells:
    """The labels of a column: lists, texts (lists in JSON, or labels with a separator if one is
    given) or single labels.
    """
    column = table[name].combine_chunks()
    rows = np.arange(len(column))
    lists = is_list(column.type)
    kind = column.type.value_type if lists else column.type
    others = (pa.types.is_nested, pa.types.is_binary, pa.types.is_temporal)
    if any(other(kind) for other in others) or (lists and separator is None):
        raise TableError(
            f"{source}: column {name!r} holds {in_words(column.type)}; it should hold labels: "
            "text or whole numbers"
        )
    if lists:
        rows = np.repeat(
            rows, pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        )
        column = pc.list_flatten(column)
    encoded = different_cells(column)
    rows, codes = rows[encoded.indices.is_valid()], encoded.indices.drop_null().to_numpy()
    contents = encoded.dictionary.to_pylist()
    read = _reader(contents, None if lists else separator)
    values: dict[Label, int] = {}
    parts: list[list[int]] = []
    for content in contents:
        try:
            labels = [label for part in read(content) if (label := _as_label(part)) is not None]
        except (ValueError, SyntaxError, RecursionError) as error:  # of labels, lists, JSON
            row = rows[np.argmax(codes == len(parts))] + 1
            raise TableError(
                f"{source}: row {row}, column {name!r}: {str(content)[:40]!r} "
                f"{_what_is_wrong(error)}"
            ) from None
        parts.append([values.setdefault(label, len(values)) for label in labels])
    # Every row repeats the labels of its cell.
    repeated = pa.array(parts, pa.large_list(pa.int64())).take(pa.array(codes))
    which = repeated.flatten().to_numpy()
    rows = np.repeat(rows, repeated.value_lengths().to_numpy())
    column_of = np.zeros(len(which), int)
    return Cells([name], rows, column_of, which, list(values), np.ones(len(which), np.int64))


def check_names(table: pa.Table, name: str, source: str) -> None:
    """Refuse a column whose cells cannot name rows, annotators or classes."""
    column = table[name]
    try:
        if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
            pc.min_max(column).as_py()  # fails for years that Python does not support
        column.cast(pa.large_string())
    except (pa.ArrowException, ValueError, OverflowError):
        raise TableError(
            f"{source}: column {name!r} holds {in_words(column.type)}, which cannot name rows, "
            "annotators or classes; use text or numbers"
        ) from None


def different_cells(column: pa.Array) -> pa.DictionaryArray:
    """The distinct cells, and which of them each row has."""
    if pa.types.is_dictionary(column.type):  # its values may be unused or repeated
        column = column.cast(column.type.value_type)
    return column.dictionary_encode()


def _reader(contents: list[Any], separator: str | None) -> Callable[[Any], list[Any]]:
    """How to read a cell: as a list in the notation of JSON or Python if all cells look like one,
    otherwise as labels with a separator.
    """
    texts = [
        content.strip() for content in contents if isinstance(content, str) and content.strip()
    ]
    if separator is None or not texts:
        return lambda content: [content]
    if all(text.startswith("[") and text.endswith("]") for text in texts):
        return _parse_list
    return lambda content: content.split(separator) if isinstance(content, str) else [content]


def _parse_list(text: str) -> list[Any]:
    if not text.strip():
        return []
    try:
        return list(json.loads(text))
    except ValueError:
        if not PRINTED_LIST.fullmatch(text.strip()):
            raise
        return list(ast.literal_eval(text.strip()))


def _as_label(value: Any) -> Label | None:
    """A label as text without surrounding spaces, or as a whole number (as text if it has more than
    64 bits); None for an empty value.
    """
    match value:
        case None | "":
            return None
        case str():
            value.encode()  # refuses half a character, which JSON can escape
            return value.strip() or None
        case bool():
            return str(value)
        case int():
            return value if -(2**63) <= value < 2**63 else str(value)
        case float() | Decimal():
            if value != value:
                return None
            if isinstance(value, float) and not value.is_integer():
                raise ValueError("fraction")
            if isinstance(value, Decimal) and value != value.to_integral_value():
                raise ValueError("fraction")
            return _as_label(int(value))
    raise ValueError("kind")


def _what_is_wrong(error: Exception) -> str:
    match str(error):
        case "fraction":
            return "is not a label: labels are text or whole numbers"
        case "kind":
            return "holds something other than text and whole numbers, which labels must be"
    return 'is not a list of labels such as ["cat", "dog"]; correct it'


def class_cells(table: pa.Table, name: str, source: str, *, counts: bool) -> Cells:
    """The rows in which the column of a class is above 0. It holds 0 and 1 (or true and false), or,
    with ``counts``, numbers of votes or probabilities, where an empty cell is 0.
    """
    column = table[name].combine_chunks()
    texts = column.cast(pa.large_string())
    if not counts:
        truth = pc.index_in(pc.utf8_lower(texts), pa.array(["false", "true"], texts.type))
        texts = pc.coalesce(truth.cast(texts.type), texts)
    values, wrong = parse_numbers(texts, (is_text(column.type) and decimal_of(table)) or ".")
    if counts:
        wrong |= ~(np.isfinite(values) & (values >= 0)) & ~np.isnan(values)
        wanted = "a count or probability; it must be a finite number, at least 0"
    else:
        wrong, wanted = ~np.isin(values, (0, 1)), "0 or 1, which say whether the label is possible"
    bad = np.flatnonzero(wrong)
    if len(bad):
        cell = column[int(bad[0])].as_py()
        what = "an empty cell" if cell is None else repr(str(cell)[:40])
        raise TableError(f"{source}: row {bad[0] + 1}, column {name!r}: {what} is not {wanted}")
    rows = np.flatnonzero(values > 0)
    amounts = values[rows] if counts else np.ones(len(rows), np.int64)
    zeros = np.zeros(len(rows), int)
    return Cells([name], rows, zeros, zeros, [name], amounts)
