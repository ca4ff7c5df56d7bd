"""Columns of a table → columns of X: reading their cells, and an encoder for each kind.

An encoder has ``fit(reader, names)``, which learns from columns; ``widths``, the number of columns
of X that each becomes; ``names(name, i)``, the names of those of the i-th column; and
``fill(reader, names, X, first)``, which writes them, starting at column ``first[i]`` of X. Its
attributes are numbers, arrays and lists of text, so that model files stay plain. A table may have
very many number columns, so these are encoded together; the other kinds one by one.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from ..data.arrow_tables import (
    column_slices,
    combined,
    decimal_of,
    in_words,
    is_number,
    is_text,
    source_of,
)
from ..data.spelling import (
    blanked,
    canonical,
    find_decimal,
    flags,
    missing,
    parse_amounts,
    parse_durations,
    parse_numbers,
    two_readings,
)
from ..exceptions import TableError, first_few
from ._pictures import ImageColumn
from ._times import TimeColumn
from ._vectors import HUGE, checked_vectors, written_vectors

Kind = Literal["number", "category", "text", "vector", "time", "image"]

#: At most this many categories; the rest become one, "another".
MOST_CATEGORIES = 50
#: At most this many columns of X for a text, and this many n-grams counted on the way.
TEXT_DIMENSIONS, MOST_WORDS = 100, 20_000
#: Rows of text that are Python strings at the same time, and rows that the n-grams are learned
#: from.
BATCH, LEARNED_ROWS = 10_000, 50_000
#: The "unit" of durations in text, which become seconds.
DURATIONS = "h:m:s"
#: What separates words: two spaces are one.
SPACES = re.compile(r"\s\s+")
#: Scripts without spaces between words.
UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]{4}"


# -------------------------------------------------------------------- what columns hold


class Reader:
    """The columns of a table, as encoders need them: a cell means the same whatever the other cells
    hold.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    decimal : {".", ","}
        The decimal separator of numbers that are written as text.
    """

    def __init__(self, table: pa.Table, decimal: str) -> None:
        self.source, self.decimal, self.n_rows = source_of(table), decimal, table.num_rows
        #: Whether the user said which decimal separator it is.
        self.said = decimal_of(table) is not None
        self._columns = dict(zip(table.column_names, table.columns, strict=True))
        self._read: dict[tuple[str, int | None], pa.ChunkedArray] = {}

    def holds(self, name: str) -> pa.DataType:
        """The type of a column."""
        return self._columns[name].type

    def column(self, name: str) -> pa.ChunkedArray:
        """A column as it is."""
        return self._columns[name]

    def is_known(self, name: str) -> bool:
        """Whether a column holds anything."""
        return bool(self._columns[name].null_count < self.n_rows)

    def cell(self, name: str, row: int) -> Any:
        """The content of a cell, shortened if it is long."""
        cell = self._columns[name][int(row)].as_py()
        return cell[:40] if isinstance(cell, str) else cell

    def matches(self, name: str, pattern: str) -> bool:
        """Whether a column holds a text that matches."""
        column = self._columns[name]
        return is_text(column.type) and bool(
            pc.any(pc.match_substring_regex(column.cast(pa.large_string()), pattern)).as_py()
        )

    def flat(self, names: Sequence[str]) -> pa.Array:
        """The texts of several columns as one array, column after column."""
        return combined(*(self._columns[name] for name in names))

    def column_slices(self, names: Sequence[str]) -> Iterator[slice]:
        """Columns to read together."""
        return column_slices(len(names), self.n_rows)

    def numbers(
        self,
        names: Sequence[str],
        truth: np.ndarray | None = None,
        units: Sequence[str] = (),
        marks: Sequence[str] = (),
    ) -> np.ndarray:
        """Numbers, one row for each column, NaN where missing; ``truth`` says which columns may
        hold "true" and "false" for 1 and 0, ``units`` which unit may follow the numbers, and
        ``marks`` which decimal separator a column has if it is not that of the table.
        """
        values, wrong = self.parsed(names, truth)
        for i, (unit, mark) in enumerate(zip_longest(units, marks, fillvalue="")):
            always = mark or unit == DURATIONS
            if (always and is_text(self.holds(names[i]))) or (unit and wrong[i].any()):
                values[i], wrong[i], _ = self.amounts(names[i], unit, mark)
        for bad, problem in (
            (wrong, "where a number is needed; correct or empty the cell"),
            (np.abs(values) > HUGE, "cannot be used; empty the cell, or correct the number"),
        ):
            if bad.any():
                column = int(np.argmax(bad.any(axis=1)))
                rows = np.flatnonzero(bad[column])
                cell = self.cell(names[column], rows[0])
                more = f" (and {len(rows) - 1} more such cells in the column)" * (len(rows) > 1)
                raise TableError(
                    f"{self.source}: row {rows[0] + 1}, column {names[column]!r}: "
                    f"{cell!r} {problem}{more}"
                )
        return values

    def amounts(self, name: str, unit: str, mark: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Numbers with units, or durations: the numbers, where a cell is not one, and the units;
        ``mark`` is the decimal separator if it is not that of the table.
        """
        if unit == DURATIONS:
            return *parse_durations(combined(self._columns[name])), []
        return parse_amounts(combined(self._columns[name]), mark or self.decimal)

    def mark(self, name: str) -> str:
        """The decimal separator of a column of numbers in text; empty if it is that of the
        table.
        """
        texts = combined(self._columns[name])
        found = find_decimal(texts, self.decimal) or (self.decimal if self.said else None)
        if found is None:
            cell, point, comma = two_readings(texts)
            raise TableError(
                f"{self.source}: column {name!r} can be read in two ways: {cell[:40]!r} is "
                f"{point:.15g} with --settings decimal=. and {comma:.15g} with "
                "--settings decimal=,; say which"
            )
        return found if found != self.decimal else ""

    def parsed(
        self, names: Sequence[str], truth: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The numbers, and where a cell is not one; one row for each column."""
        values = np.full((len(names), self.n_rows), np.nan)
        wrong, written, texts = np.zeros(values.shape, bool), [], []
        for i, name in enumerate(names):
            column = self._columns[name]
            if is_text(column.type):
                written.append(i)
                texts.append(_as_digits(column) if truth is not None and truth[i] else column)
            elif not pa.types.is_null(column.type):
                values[i] = _values(column, name, self.source)
        if written:
            found = parse_numbers(combined(*texts), self.decimal)
            values[written], wrong[written] = (part.reshape(-1, self.n_rows) for part in found)
        return values, wrong

    def texts(self, name: str, kind: Kind) -> tuple[pa.Array, bool]:
        """Texts, null where missing; and whether the column holds values of another type."""
        column = self._columns[name]
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
        if (name, length) in self._read:
            return self._read[name, length]
        column = self._columns[name]
        if is_text(column.type):
            column = written_vectors(column, name, self.source)
        elif pa.types.is_null(column.type):
            column = column.cast(pa.list_(pa.float64()))
        self._read[name, length] = checked_vectors(column, name, self.source, length)
        return self._read[name, length]


def is_plain(kind: pa.DataType) -> bool:
    """Whether a column holds numbers or truth values."""
    return is_number(kind) or bool(pa.types.is_boolean(kind))


def _values(column: pa.ChunkedArray, name: str, source: str) -> np.ndarray:
    if not (is_plain(column.type) or pa.types.is_duration(column.type)):
        raise TableError(
            f"{source}: column {name!r} holds {in_words(column.type)}, not numbers; leave the "
            "column out"
        )
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    elif pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    return np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy())


def _as_digits(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """1 for "true", 0 for "false", in upper or lower case."""
    texts = texts.cast(pa.large_string())
    for word, digit in (("true", "1"), ("false", "0")):
        texts = pc.replace_substring_regex(texts, rf"(?i)^\s*{word}\s*$", digit)
    return texts


# -------------------------------------------------------------------- the encoders


class NumberColumns:
    """Numbers, minus their mean and divided by their standard deviation. Missing ones are replaced
    by the median and marked in a column of their own.
    """

    def fit(self, reader: Reader, names: Sequence[str]) -> Self:
        """Learn the median, mean and standard deviation of each column."""
        self.truth = np.array([pa.types.is_boolean(reader.holds(name)) for name in names], bool)
        self.units, self.marks = [""] * len(names), [""] * len(names)
        learned, only_flags = [], True
        for part in reader.column_slices(names):
            try:
                values = reader.numbers(names[part])
            except TableError:  # there may be units, or another decimal separator
                written = [how_written(reader, name) for name in names[part]]
                self.units[part], self.marks[part] = map(list, zip(*written, strict=True))
                values = reader.numbers(names[part], units=self.units[part], marks=self.marks[part])
            only_flags = only_flags and bool(
                np.all((values == 0) | (values == 1) | (values != values))
            )
            learned.append(_moments(values))
        self.tells_missing, self.median, self.mean, self.deviation = map(
            np.concatenate, zip(*learned, strict=True)
        )
        if only_flags:  # all on one scale, as categories are: a rare 1 is not to weigh more
            self.mean, self.deviation = np.zeros(len(names)), np.ones(len(names))
        return self

    @property
    def widths(self) -> np.ndarray:
        """Number of columns of X for each column."""
        return 1 + self.tells_missing

    def names(self, name: str, i: int) -> list[str]:
        """Names of the columns of X."""
        return [name, f"{name} is missing"][: 1 + self.tells_missing[i]]

    def fill(self, reader: Reader, names: Sequence[str], X: np.ndarray, first: np.ndarray) -> None:
        """Write the columns of X."""
        for part in reader.column_slices(names):
            values = reader.numbers(
                names[part], self.truth[part], self.units[part], self.marks[part]
            )
            absent, tells = np.isnan(values), self.tells_missing[part]
            for column, median in zip(values, self.median[part], strict=True):
                column[np.isnan(column)] = median
            values -= self.mean[part, None]
            values /= self.deviation[part, None]
            X[:, first[part]] = values.T
            X[:, first[part][tells] + 1] = absent[tells].T


def how_written(reader: Reader, name: str) -> tuple[str, str]:
    """The unit of the numbers of a column (a space where they have none, an empty text for plain
    numbers, and ``DURATIONS``), and their decimal separator if it is not that of the table.
    """
    if not is_text(reader.holds(name)) or not reader.parsed([name])[1].any():
        return "", ""
    mark = reader.mark(name)
    _, wrong, units = reader.amounts(name, "", mark)
    not_durations = reader.amounts(name, DURATIONS, "")[1].sum()
    if not_durations < wrong.sum() or (len(units) > 1 and not not_durations):
        return DURATIONS, ""
    if wrong.any():
        return " ", mark
    if len(units) > 1:
        raise TableError(
            f"{reader.source}: column {name!r} holds numbers in different units "
            f"({first_few(units)}); use one"
        )
    return (units[0] if units else " "), mark


def _moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Whether some are missing, and the median, mean and standard deviation, of each row."""
    absent = np.isnan(values)
    nothing = absent.all(axis=1)
    values[nothing] = 0
    median = np.nanmedian(values, axis=1)
    values = np.where(np.isnan(values), median[:, None], values)
    mean, deviation = values.mean(axis=1), values.std(axis=1)
    # The deviation of equal numbers is a rounding error.
    deviation[deviation <= 1e-12 * np.abs(mean)] = 1
    return absent.any(axis=1) & ~nothing, median, mean, deviation


class CategoryColumn:
    """A 0/1 column for each category; rare categories share one, and unseen ones have none.

    Texts are the same category if they are spelled the same. A number or a truth value, in files
    that have types, is the same as a text that spells it: 2, 2.0 and "2.0".
    """

    def fit(self, reader: Reader, names: Sequence[str]) -> Self:
        """Learn which categories there are; missing is one of them."""
        texts, self.by_value = reader.texts(names[0], "category")
        texts = canonical(texts) if self.by_value else texts
        counts = [(pair["values"], pair["counts"]) for pair in pc.value_counts(texts).to_pylist()]
        ranked = [
            value
            for value, _ in sorted(
                counts, key=lambda pair: (-pair[1], pair[0] is None, pair[0] or "")
            )
        ]
        self.categories, self.others = ranked[:MOST_CATEGORIES], ranked[MOST_CATEGORIES:]
        return self

    @property
    def widths(self) -> list[int]:
        """Number of columns of X."""
        return [len(self.categories) + bool(self.others)]

    def names(self, name: str, _: int) -> list[str]:
        """Names of the columns of X."""
        named = [
            f"{name} is {'missing' if category is None else category}"
            for category in self.categories
        ]
        return [*named, f"{name} is another"][: self.widths[0]]

    def codes(self, reader: Reader, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Position of every cell among the categories, -1 for one never seen; and where cells are
        missing.
        """
        texts, by_value = reader.texts(name, "category")
        known = pa.array([*self.categories, *self.others], texts.type)
        if by_value or self.by_value:
            # numbers of files with types were written with a point, by us
            texts = canonical(texts, "." if by_value else reader.decimal)
            known = canonical(known, "." if self.by_value else reader.decimal)
        found = pc.fill_null(pc.index_in(texts, known), -1).to_numpy()
        return found, flags(texts.is_null())

    def fill(self, reader: Reader, names: Sequence[str], X: np.ndarray, first: np.ndarray) -> None:
        """Write the columns of X."""
        codes, _ = self.codes(reader, names[0])
        rows = np.flatnonzero(codes >= 0)
        X[:, first[0] : first[0] + self.widths[0]] = 0
        X[rows, first[0] + np.minimum(codes[rows], len(self.categories))] = 1


def letters_of(text: str) -> list[str]:
    """The letters of a text and the pairs of them.

    >>> letters_of("Ab c")
    ['a', 'b', ' ', 'c', 'ab', 'b ', ' c']
    """
    text = SPACES.sub(" ", text.lower())
    return [*text, *(text[i : i + 2] for i in range(len(text) - 1))]


def parts_of_words(text: str) -> list[str]:
    """The sequences of two to four letters in the words of a text, with the spaces around them.

    >>> parts_of_words("Ab")
    [' a', 'ab', 'b ', ' ab', 'ab ', ' ab ']
    """
    found = []
    for word in text.lower().split():
        word = f" {word} "
        for n in range(2, min(4, len(word)) + 1):
            found += [word[i : i + n] for i in range(len(word) - n + 1)]
    return found


class TextColumn:
    """TF-IDF of sequences of two to four letters within words (one or two in scripts without
    spaces).

    It is reduced to the directions of largest variance and scaled to unit length: otherwise a text
    of rare words would lie near the centre, and so near all others.
    """

    def fit(self, reader: Reader, names: Sequence[str]) -> Self:
        """Learn the n-grams, their weights and the directions."""
        column, _ = reader.texts(names[0], "text")
        every = -(-len(column) // LEARNED_ROWS)
        texts = column.take(pa.array(np.arange(0, len(column), every)))
        unspaced = pc.mean(pc.match_substring_regex(texts, UNSPACED)).as_py() or 0
        self.by_letters = unspaced > 0.5
        vectorizer = TfidfVectorizer(
            analyzer=letters_of if self.by_letters else parts_of_words,
            min_df=2 if len(texts) >= 100 else 1,
            max_features=MOST_WORDS,
            sublinear_tf=True,
            dtype=np.float32,
        )
        try:
            weights = vectorizer.fit_transform(pc.fill_null(texts, "").to_pylist())
            self.words, self.idf = vectorizer.get_feature_names_out().tolist(), vectorizer.idf_
        except ValueError:  # no word in any text: a column of zeros
            weights = sparse.csr_array((1, 1), dtype=np.float32)
            self.words, self.idf = ["-"], np.ones(1, np.float32)
        size = min(TEXT_DIMENSIONS, *weights.shape)
        if size < len(self.words):
            self.directions = TruncatedSVD(size, random_state=0).fit(weights).components_.T
        else:
            self.directions = np.eye(size, dtype=np.float32)
        self.mean = normalize(weights @ self.directions, copy=False).mean(axis=0)
        return self

    def _weights(self, texts: list[str], places: dict[str, int]) -> sparse.csr_array:
        """TF-IDF: ``1 + log(count)`` times the weight of the n-gram, each row of length 1."""
        known: dict[str, list[int]] = {}  # words occur often
        indptr, indices, counts = [0], array("i"), array("f")
        for text in texts:
            found: list[int] = []
            for word in [text] if self.by_letters else text.lower().split():
                if word not in known:
                    parts = letters_of(word) if self.by_letters else parts_of_words(word)
                    known[word] = [places[part] for part in parts if part in places]
                found += known.pop(word) if self.by_letters else known[word]
            counted = Counter(found)
            indices.extend(counted.keys())
            counts.extend(counted.values())
            indptr.append(len(indices))
        shape, columns = (len(texts), len(self.words)), np.array(indices, np.int32)
        data = (1 + np.log(np.array(counts, np.float32))) * self.idf[columns]
        weights = sparse.csr_array((data, columns, indptr), shape=shape)
        weights.sort_indices()
        return normalize(weights, copy=False)

    @property
    def widths(self) -> list[int]:
        """Number of columns of X."""
        return [self.directions.shape[1]]

    def names(self, name: str, _: int) -> list[str]:
        """Names of the columns of X."""
        return [f"{name} direction {i}" for i in range(1, self.widths[0] + 1)]

    def fill(self, reader: Reader, names: Sequence[str], X: np.ndarray, first: np.ndarray) -> None:
        """Write the columns of X."""
        column, _ = reader.texts(names[0], "text")
        out = X[:, first[0] : first[0] + self.widths[0]]
        places = {word: i for i, word in enumerate(self.words)}
        for start in range(0, len(column), BATCH):
            texts = pc.fill_null(column.slice(start, BATCH), "").to_pylist()
            found = normalize(self._weights(texts, places) @ self.directions, copy=False)
            out[start : start + BATCH] = found - self.mean


class VectorColumn:
    """Vectors as given, minus their mean; a missing one is replaced by the mean."""

    def fit(self, reader: Reader, names: Sequence[str]) -> Self:
        """Learn the length and the mean."""
        column = reader.vectors(names[0])
        sums = [
            _vectors(chunk).sum(axis=0, dtype=np.float64)
            for chunk in column.chunks
            if chunk.null_count < len(chunk)
        ]
        self.mean = np.sum(sums, axis=0) / (len(column) - column.null_count)
        return self

    @property
    def widths(self) -> list[int]:
        """Number of columns of X."""
        return [len(self.mean)]

    def names(self, name: str, _: int) -> list[str]:
        """Names of the columns of X."""
        return [f"{name} {i}" for i in range(1, len(self.mean) + 1)]

    def fill(self, reader: Reader, names: Sequence[str], X: np.ndarray, first: np.ndarray) -> None:
        """Write the columns of X."""
        column = reader.vectors(names[0], len(self.mean))
        out, start = X[:, first[0] : first[0] + len(self.mean)], 0
        for chunk in column.chunks:
            part = out[start : start + len(chunk)]
            known = chunk.is_valid().to_numpy(zero_copy_only=False)
            part[~known] = 0
            if known.any():
                part[known] = _vectors(chunk) - self.mean.astype(out.dtype)
            start += len(chunk)


def _vectors(chunk: pa.Array) -> np.ndarray:
    """The vectors that are not missing, one per row."""
    chunk = chunk.drop_null()
    return np.asarray(chunk.flatten().to_numpy(zero_copy_only=False).reshape(len(chunk), -1))


ENCODERS: dict[Kind, Any] = {
    "number": NumberColumns,
    "category": CategoryColumn,
    "text": TextColumn,
    "vector": VectorColumn,
    "time": TimeColumn,
    "image": ImageColumn,
}
