"""The columns of a table: what their cells mean, which kind each is, and which are learned from."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.arrow_tables import (
    column_slices,
    combined,
    decimal_of,
    find_column,
    in_words,
    is_list,
    is_number,
    is_text,
    source_of,
)
from ..data.labelling import Labelling
from ..data.text_values import NAME_LIKE, NUMBER, blanked, flags, missing, parse_numbers
from ..exceptions import ParameterError, TableError, first_few
from .images import ENDINGS, readable_images
from .times import DATE, find_order, is_time

Kind = Literal["number", "category", "text", "vector", "time", "image"]

#: Larger numbers usually mean "missing" or "infinite", and their squares overflow.
HUGE = 1e100
#: A text column with at most this many different values holds categories.
FEW = 50
#: Nearly all cells of a column.
NEARLY_ALL = 0.9
#: Number of cells examined to see what a text column holds.
LOOKED_AT = 1000
#: Scripts without spaces between words.
UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]{4}"
#: Vectors written as JSON.
VECTOR = r"^\[\s*[-+0-9.eE]+(?:\s*,\s*[-+0-9.eE]+)*\s*\]$"
#: The usual names of columns that hold identifiers.
ID_NAME = re.compile(r"(?i:(^|[_\W])(id|uuid|guid|key|index|nr|no))$|[a-z]I[Dd]$")
#: Numbers whose decimal separator is not the table's.
FOREIGN = {".": r"^[-+]?[0-9]+,[0-9]+$", ",": r"^[-+]?[0-9]+\.[0-9]+$"}


class ColumnReader:
    """The columns of a table. A cell means the same whatever the other cells hold.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    decimal : {".", ","}, default="."
        The decimal separator of numbers that are written as text, if the table does not say.
    """

    def __init__(self, table: pa.Table, decimal: str = ".") -> None:
        self.source, self.n_rows = source_of(table), table.num_rows
        self.decimal = decimal_of(table) or decimal
        self.columns = dict(zip(table.column_names, table.columns, strict=True))
        self._vectors: dict[tuple[str, int | None], pa.ChunkedArray] = {}

    def column_slices(self, names: Sequence[str]) -> Iterator[slice]:
        """Slices of the columns to read together."""
        return column_slices(len(names), self.n_rows)

    def parsed(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Numbers (NaN where missing), and whether each cell is something else; one row for each
        column.
        """
        values = np.full((len(names), self.n_rows), np.nan)
        wrong = np.zeros(values.shape, bool)
        written = [i for i, name in enumerate(names) if is_text(self.columns[name].type)]
        for i in np.setdiff1d(np.arange(len(names)), written).tolist():
            values[i] = self._typed_numbers(names[i])
        if written:
            texts = combined(*(self.columns[names[i]] for i in written))
            found = parse_numbers(texts, self.decimal)
            values[written], wrong[written] = (part.reshape(-1, self.n_rows) for part in found)
        return values, wrong

    def _typed_numbers(self, name: str) -> np.ndarray:
        column = self.columns[name]
        held = column.type
        if not (is_plain(held) or pa.types.is_duration(held) or pa.types.is_null(held)):
            raise TableError(
                f"{self.source}: column {name!r} holds {in_words(held)}, not numbers; leave the "
                "column out"
            )
        if pa.types.is_boolean(held) or pa.types.is_duration(held):
            column = column.cast(pa.int64())
        return np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy())

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        """Numbers, one row for each column, NaN where missing; "true" is 1 and "false" is 0, as in
        files with types; any other cell is an error.
        """
        values, wrong = self.parsed(names)
        for i in np.flatnonzero(wrong.any(axis=1)).tolist():
            words = pc.utf8_lower(pc.utf8_trim_whitespace(combined(self.columns[names[i]])))
            for word, value in (("true", 1), ("false", 0)):
                said = flags(pc.fill_null(pc.equal(words, word), False))
                values[i, said], wrong[i, said] = value, False
        for bad, problem in (
            (wrong, "where a number is needed; correct or empty the cell"),
            (np.abs(values) > HUGE, "cannot be used; empty the cell, or correct the number"),
        ):
            if bad.any():
                column = int(np.argmax(bad.any(axis=1)))
                rows = np.flatnonzero(bad[column])
                cell = self.columns[names[column]][int(rows[0])].as_py()
                cell = cell[:40] if isinstance(cell, str) else cell
                more = f" (and {len(rows) - 1} more such cells in the column)" * (len(rows) > 1)
                raise TableError(
                    f"{self.source}: row {rows[0] + 1}, column {names[column]!r}: "
                    f"{cell!r} {problem}{more}"
                )
        return values

    def texts(self, name: str, kind: Kind) -> tuple[pa.Array, bool]:
        """Texts, null where missing; and whether the column holds values of another type."""
        column = self.columns[name]
        held = column.type
        if is_text(held):
            texts = combined(column)
            absent = missing(texts)
            return (blanked(texts, absent) if pc.any(absent).as_py() else texts), False
        if pa.types.is_floating(held):
            column = pc.if_else(pc.is_nan(column), None, column)
        elif pa.types.is_interval(held) or not (
            is_plain(held) or pa.types.is_null(held) or pa.types.is_temporal(held)
        ):
            raise TableError(
                f"{self.source}: column {name!r} holds {in_words(held)}, which cannot be a "
                f"{kind}; leave the column out"
            )
        return combined(column), True

    def vectors(self, name: str, length: int | None = None) -> pa.ChunkedArray:
        """Lists of ``length`` numbers each; by default, as many as the first has."""
        if (name, length) not in self._vectors:
            column = self.columns[name]
            if is_text(column.type):
                column = self._written_vectors(name)
            elif pa.types.is_null(column.type):
                column = column.cast(pa.list_(pa.float64()))
            self._check_vectors(column, name, length)
            self._vectors[name, length] = column
        return self._vectors[name, length]

    def _written_vectors(self, name: str) -> pa.ChunkedArray:
        """Vectors that are written as JSON; any other cell is an error."""
        start, parts = 0, []
        for chunk in self.columns[name].cast(pa.large_string()).chunks:
            absent = missing(chunk)
            texts = blanked(pc.utf8_trim_whitespace(chunk), absent)
            bad = ~flags(pc.fill_null(pc.match_substring_regex(texts, VECTOR), True))
            cells = pc.split_pattern(pc.utf8_slice_codeunits(texts, 1, -1), ",")
            values, wrong = parse_numbers(cells.flatten())
            bad[pc.list_parent_indices(cells).to_numpy()[wrong]] = True
            if bad.any():
                raise TableError(
                    f"{self.source}: row {start + np.argmax(bad) + 1}, column {name!r}: this is "
                    "not a vector such as [0.5, 1.2]; correct it or empty the cell"
                )
            parts.append(pa.ListArray.from_arrays(cells.offsets, pa.array(values), mask=absent))
            start += len(chunk)
        return pa.chunked_array(parts, pa.list_(pa.float64()))

    def _check_vectors(self, column: pa.ChunkedArray, name: str, length: int | None) -> None:
        """Refuse vectors of different lengths, and numbers that are not finite."""
        held, where = column.type, f"column {name!r}"
        if not is_list(held) or not (
            is_number(held.value_type) or column.null_count == len(column)
        ):
            raise TableError(
                f"{self.source}: {where} holds {in_words(held)}, not vectors of numbers; leave the "
                "column out"
            )
        lengths = pc.list_value_length(column)
        first = pc.index(lengths.is_valid(), True).as_py()
        length = length or (lengths[first].as_py() if first >= 0 else 0)
        if (row := pc.index(pc.equal(lengths, length), False).as_py()) >= 0:
            raise TableError(
                f"{self.source}: row {row + 1}, {where}: a vector of {lengths[row].as_py()} "
                f"numbers where {length} are expected; all vectors must have the same length"
            )
        if not length:
            raise TableError(f"{self.source}: {where} holds no vector; leave the column out")
        numbers = pc.list_flatten(column).cast(pa.float64(), safe=False)
        good = pc.fill_null(pc.less(pc.abs(numbers), HUGE), False)
        if (position := pc.index(good, False).as_py()) >= 0:
            row = np.flatnonzero(column.is_valid())[position // length]
            raise TableError(
                f"{self.source}: row {row + 1}, {where}: a vector with a number missing or "
                "infinite; correct it or empty the cell"
            )


def is_plain(kind: pa.DataType) -> bool:
    """Whether a column holds numbers or truth values."""
    return is_number(kind) or bool(pa.types.is_boolean(kind))


# -------------------------------------------------------------------- which kind


class Guess(NamedTuple):
    """What a column looks like.

    Attributes
    ----------
    kind : {"number", "category", "text", "vector", "time", "image"} or None
        None if it is not to be learned from.
    reason : str
        Why it is not learned from.
    severity : {"", "warning", "error"}
        Whether the user should know, or must change something.
    """

    kind: Kind | None
    reason: str = ""
    severity: Literal["", "warning", "error"] = ""


EMPTY, CONSTANT = Guess(None, "it is empty"), Guess(None, "it has only one value")


def guess_kinds(table: pa.Table, names: Sequence[str]) -> list[Guess]:
    """The kind of each column."""
    reader = ColumnReader(table)
    found: dict[str, Guess] = {}
    plain = []
    for name in names:
        column = reader.columns[name]
        held = column.type
        if is_text(held) or is_plain(held) or pa.types.is_duration(held):
            plain.append(name)
        elif column.null_count == len(column):
            found[name] = EMPTY
        elif is_list(held) and is_number(held.value_type):
            found[name] = Guess("vector")
        elif is_time(held):
            found[name] = CONSTANT if len(pc.unique(column)) == 1 else Guess("time")
        else:
            found[name] = Guess(None, f"it holds {in_words(held)}")
    for part in reader.column_slices(plain):
        found |= _plain_kinds(reader, plain[part])
    if any(guess.kind == "vector" for guess in found.values()):  # computed from the images
        for name, guess in found.items():
            if guess.kind == "image":
                reason = f"it holds images beside vectors; --as {name}=image learns from them, too"
                found[name] = Guess(None, reason)
    return [found[name] for name in names]


def _plain_kinds(reader: ColumnReader, names: Sequence[str]) -> dict[str, Guess]:
    """Kinds of columns that hold numbers, truth values or text."""
    values, wrong = reader.parsed(names)
    known = ~np.isnan(values)
    numbers = np.asarray(~wrong.any(axis=1))
    empty = numbers & ~np.any(known, axis=1)
    full = known.all(axis=1)
    constant = full & (values == values[:, :1]).all(axis=1)
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        whole = np.all((values == np.floor(values)) | ~known, axis=1)
        counting = full & whole & np.all(np.diff(values, axis=1) == 1, axis=1)
    found: dict[str, Guess] = {}
    for i, name in enumerate(names):
        if empty[i]:
            found[name] = EMPTY
        elif not numbers[i] or (whole[i] and _any_match(reader.columns[name], NAME_LIKE)):
            found[name] = _text_kind(reader, name)
        elif constant[i]:
            found[name] = CONSTANT
        elif counting[i] and reader.n_rows > 2:
            found[name] = Guess(None, "it counts the rows")
        elif whole[i] and ID_NAME.search(name) and _all_differ(values[i][known[i]]):
            found[name] = Guess(None, "it names the rows: its numbers all differ")
        else:
            # as for the same column of a text file, where True and False are words
            truth = pa.types.is_boolean(reader.columns[name].type)
            found[name] = Guess("category" if truth else "number")
    return found


def _any_match(column: pa.ChunkedArray, pattern: str) -> bool:
    """Whether a column holds a text that matches."""
    if not is_text(column.type):
        return False
    return bool(pc.any(pc.match_substring_regex(column.cast(pa.large_string()), pattern)).as_py())


def _all_differ(values: np.ndarray) -> bool:
    return len(np.unique(values)) == len(values) > 2


def _text_kind(reader: ColumnReader, name: str) -> Guess:
    """The kind of a column that holds words."""
    texts = combined(reader.columns[name])
    texts = blanked(texts, missing(texts)).drop_null()
    n_known, n_different = len(texts), pc.count_distinct(texts).as_py()
    every = -(-n_known // LOOKED_AT)
    some = pc.utf8_trim_whitespace(texts.take(pa.array(np.arange(every - 1, n_known, every))))

    def share(pattern: str) -> float:
        return float(flags(pc.match_substring_regex(some, pattern)).mean())

    if n_different == 1 and n_known == reader.n_rows:
        return CONSTANT
    if share(FOREIGN[reader.decimal]) == 1:
        other, called = (",", "comma") if reader.decimal == "." else (".", "point")
        return Guess(
            None,
            f"it holds numbers with a {called} ({some[0].as_py()!r}); --settings "
            f"decimal={other} reads them, if the {called} is the decimal separator",
            "warning",
        )
    if share(VECTOR) == 1:
        return Guess("vector")
    if share(DATE) == 1:
        reason = "it holds dates in different formats, or in which day and month could be swapped"
        return Guess("time") if find_order(some) else Guess(None, reason)
    if share(ENDINGS) == 1 and all(readable_images(some, reader.source)):
        return Guess("image")
    if n_different <= min(FEW, n_known / 2):
        return Guess("category")
    mostly_numbers = share(NUMBER[reader.decimal]) > NEARLY_ALL
    if mostly_numbers and (refusal := _words_among_numbers(reader, name)):
        return refusal
    if pc.mean(pc.count_substring_regex(some, r"\S+")).as_py() >= 3 or share(UNSPACED) > 0.5:
        return Guess("text")
    if n_different > NEARLY_ALL * n_known:
        return Guess(None, "nearly all its values differ")
    return Guess("category")


def _words_among_numbers(reader: ColumnReader, name: str) -> Guess | None:
    """Refuse a column of numbers with words among them, and say what helps; None without words."""
    rows = np.flatnonzero(reader.parsed([name])[1][0])
    if not len(rows):
        return None
    cells = pc.unique(reader.columns[name].take(pa.array(rows))).to_pylist()
    return Guess(
        None,
        f"row {rows[0] + 1}, column {name!r}: {first_few(repr(cell[:40]) for cell in cells)} in a "
        "column of numbers; empty the cell, exclude the column, or say that it is a category "
        f"({len(rows)} such cell(s); --exclude {name}, --as {name}=category)",
        "error",
    )


# -------------------------------------------------------------------- which are learned from


@dataclass(frozen=True)
class Feature:
    """A column that is learned from, and its kind.

    Attributes
    ----------
    name : str
        The column.
    kind : {"number", "category", "text", "vector", "time", "image"}
        How its cells are read.
    """

    name: str
    kind: Kind


def choose_features(
    table: pa.Table,
    *,
    labelling: Labelling | None = None,
    features: Sequence[str] | None = None,
    exclude: Collection[str] = (),
    kinds: Mapping[str, Kind] | None = None,
    asked: Collection[str] | None = None,
) -> tuple[list[Feature], dict[str, Guess]]:
    """Choose what to learn from: by default, all columns that may be informative, except those that
    hold labels.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    labelling : Labelling, default=None
        Its columns are never features.
    features : sequence of str, default=None
        Only these columns, whatever they are.
    exclude : collection of str, default=()
        Not these columns.
    kinds : mapping of str to str, default=None
        The kinds of columns that look like another kind, or would not be used by default.
    asked : collection of str, default=None
        Those of ``features`` that must be used; others are used if possible. By default all.

    Returns
    -------
    features : list of Feature
        In the order of the table.
    unused : dict of str to Guess
        Columns that are not informative, and why.
    """
    source, kinds = source_of(table), dict(kinds or {})
    for name in (*(features or ()), *exclude, *kinds):
        find_column(table, name, source)
    labels = set(labelling.columns) if labelling else set()
    asked = set(features or ()) if asked is None else set(asked)
    if clash := [name for name in table.column_names if name in labels & asked]:
        raise ParameterError(
            f"{source}: column {clash[0]!r} holds labels or names of rows: it cannot be learned "
            "from"
        )
    wanted = set(table.column_names if features is None else features) - labels - set(exclude)
    names = [name for name in table.column_names if name in wanted]
    unsaid = [name for name in names if name not in kinds]
    guesses = dict(zip(unsaid, guess_kinds(table, unsaid), strict=True))
    guesses |= {name: Guess(kinds[name]) for name in names if name in kinds}
    unused = {name: guesses[name] for name in names if guesses[name].kind is None}
    if useless := [name for name in unused if name in asked and unused[name].severity != "error"]:
        raise TableError(
            f"{source}: column {useless[0]!r} cannot be learned from: {unused[useless[0]].reason}"
        )
    return [Feature(name, kind) for name in names if (kind := guesses[name].kind)], unused


def check_features(
    features: Collection[Feature], unused: Mapping[str, Guess], source: str, *, may_be_none: bool
) -> None:
    """Refuse columns of numbers with words among them, and tables without anything to learn
    from.
    """
    for guess in unused.values():
        if guess.severity == "error":
            raise TableError(f"{source}: {guess.reason}")
    if not features and not may_be_none:
        hints = [
            f"; column {name!r}: {guess.reason}"
            for name, guess in unused.items()
            if guess.severity == "warning"
        ]
        raise TableError(
            f"{source}: no column is left to learn from; the others are excluded, or hold labels, "
            f"names or only one value{hints[0] if hints else ''}"
        )
