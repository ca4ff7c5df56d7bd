"""One column of a table → columns of X: an encoder for each kind.

An encoder has ``fit(column)``, which learns from a column; ``width``, the number of columns of X;
``names``, what they are called; ``fill(column, out)``, which writes them. Its attributes are
numbers, arrays and lists of text: model files stay plain. The columns come checked, in the type
that :func:`typed_column` gives them.
"""

from __future__ import annotations

import re
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from ..data.table_files import is_list, is_text
from ..exceptions import TableError

Kind = Literal["number", "category", "text", "vector"]

#: Categories beyond these are one: "another".
MOST_CATEGORIES = 50
#: A text becomes at most so many numbers, by way of so many words.
TEXT_DIMENSIONS, MOST_WORDS = 100, 20_000
#: Rows of text that are Python strings at the same time, and rows that words are learned from.
BATCH, LEARNED_ROWS = 10_000, 50_000
NUMBER = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"
#: Numbers beyond this stand for "missing" or "infinite", and have no square.
HUGE = 1e100
#: Scripts without blanks between words.
UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]{4}"


class NumberColumn:
    """Numbers, less their mean and divided by their deviation; missing ones are the median, told by
    a column of their own.
    """

    def fit(self, column: pa.ChunkedArray) -> Self:
        """Learn the median, mean and deviation."""
        values = column.to_numpy()
        missing = np.isnan(values)
        self.tells_missing = bool(missing.any() and not missing.all())
        self.median = 0.0 if missing.all() else float(np.nanmedian(values))
        values = np.where(missing, self.median, values)
        self.mean, deviation = float(values.mean()), float(values.std())
        # Equal numbers have a deviation of rounding errors.
        self.deviation = deviation if deviation > 1e-12 * abs(self.mean) else 1.0
        return self

    @property
    def width(self) -> int:
        """Number of columns of X."""
        return 1 + self.tells_missing

    def names(self, name: str) -> list[str]:
        """Names of the columns of X."""
        return [name, f"{name} is missing"][: self.width]

    def fill(self, column: pa.ChunkedArray, out: np.ndarray) -> None:
        """Write the columns of X."""
        values = column.to_numpy()
        missing = np.isnan(values)
        out[:, 0] = (np.where(missing, self.median, values) - self.mean) / self.deviation
        if self.tells_missing:
            out[:, 1] = missing


class CategoryColumn:
    """A 0/1 column for each category; the rare ones share one, and one never seen is in none."""

    def fit(self, column: pa.ChunkedArray) -> Self:
        """Learn which categories there are; missing is one of them."""
        counts = [(pair["values"], pair["counts"]) for pair in pc.value_counts(column).to_pylist()]
        ranked = [
            value
            for value, _ in sorted(
                counts, key=lambda pair: (-pair[1], pair[0] is None, pair[0] or "")
            )
        ]
        self.categories, self.others = ranked[:MOST_CATEGORIES], ranked[MOST_CATEGORIES:]
        return self

    @property
    def width(self) -> int:
        """Number of columns of X."""
        return len(self.categories) + bool(self.others)

    def names(self, name: str) -> list[str]:
        """Names of the columns of X."""
        named = [
            f"{name} is {'missing' if category is None else category}"
            for category in self.categories
        ]
        return [*named, f"{name} is another"][: self.width]

    def fill(self, column: pa.ChunkedArray, out: np.ndarray) -> None:
        """Write the columns of X."""
        codes = pc.fill_null(
            pc.index_in(column, pa.array([*self.categories, *self.others], column.type)), -1
        ).to_numpy()
        rows = np.flatnonzero(codes >= 0)
        out[:] = 0
        out[rows, np.minimum(codes[rows], len(self.categories))] = 1


class TextColumn:
    """TF-IDF of words (of one and two letters in scripts without blanks), reduced to the directions
    of most variance.
    """

    def fit(self, column: pa.ChunkedArray) -> Self:
        """Learn the words, their weights and the directions."""
        every = -(-len(column) // LEARNED_ROWS)
        texts = column.take(pa.array(np.arange(0, len(column), every)))
        unspaced = pc.mean(pc.match_substring_regex(texts, UNSPACED)).as_py() or 0
        self.by_letters = unspaced > 0.5
        try:
            vectorizer = self._vectorizer(
                min_df=2 if len(texts) >= 1000 else 1, max_features=MOST_WORDS
            )
            weights = vectorizer.fit_transform(pc.fill_null(texts, "").to_pylist())
        except ValueError:  # no word in any text: a column of zeros
            vectorizer = self._vectorizer(vocabulary=["-"])
            weights = vectorizer.fit_transform([""])
        self.words, self.idf = vectorizer.get_feature_names_out().tolist(), vectorizer.idf_
        size = min(TEXT_DIMENSIONS, *weights.shape)
        if size < len(self.words):
            self.directions = TruncatedSVD(size, random_state=0).fit(weights).components_.T
        else:
            self.directions = np.eye(size, dtype=np.float32)
        self.mean = np.asarray(weights.mean(axis=0)).ravel() @ self.directions
        return self

    def _vectorizer(self, **options: object) -> TfidfVectorizer:
        letters = {"analyzer": "char", "ngram_range": (1, 2)} if self.by_letters else {}
        return TfidfVectorizer(sublinear_tf=True, dtype=np.float32, **letters, **options)

    @property
    def width(self) -> int:
        """Number of columns of X."""
        return self.directions.shape[1]

    def names(self, name: str) -> list[str]:
        """Names of the columns of X."""
        return [f"{name} direction {i}" for i in range(1, self.width + 1)]

    def fill(self, column: pa.ChunkedArray, out: np.ndarray) -> None:
        """Write the columns of X."""
        vectorizer = self._vectorizer(vocabulary=self.words)
        vectorizer.idf_ = self.idf
        for start in range(0, len(column), BATCH):
            texts = pc.fill_null(column.slice(start, BATCH), "").to_pylist()
            out[start : start + BATCH] = vectorizer.transform(texts) @ self.directions - self.mean


class VectorColumn:
    """Ready vectors, less their mean; a missing one is the mean."""

    def fit(self, column: pa.ChunkedArray) -> Self:
        """Learn the length and the mean."""
        sums = [
            _vectors(chunk).sum(axis=0, dtype=np.float64)
            for chunk in column.chunks
            if chunk.null_count < len(chunk)
        ]
        self.mean = np.sum(sums, axis=0) / (len(column) - column.null_count)
        return self

    @property
    def width(self) -> int:
        """Number of columns of X."""
        return len(self.mean)

    def names(self, name: str) -> list[str]:
        """Names of the columns of X."""
        return [f"{name} {i}" for i in range(1, self.width + 1)]

    def fill(self, column: pa.ChunkedArray, out: np.ndarray) -> None:
        """Write the columns of X."""
        start = 0
        for chunk in column.chunks:
            part = out[start : start + len(chunk)]
            known = chunk.is_valid().to_numpy(zero_copy_only=False)
            part[~known] = 0
            if known.any():
                part[known] = _vectors(chunk) - self.mean.astype(out.dtype)
            start += len(chunk)


def _vectors(chunk: pa.Array) -> np.ndarray:
    """The vectors that are there, one per row."""
    chunk = chunk.drop_null()
    return chunk.flatten().to_numpy(zero_copy_only=False).reshape(len(chunk), -1)


ENCODERS: dict[Kind, Any] = {
    "number": NumberColumn,
    "category": CategoryColumn,
    "text": TextColumn,
    "vector": VectorColumn,
}


# -------------------------------------------------------------------- checked columns


def is_number(kind: pa.DataType) -> bool:
    """Whether a column holds numbers."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def typed_column(
    column: pa.ChunkedArray, kind: Kind, *, name: str, source: str, length: int | None = None
) -> pa.ChunkedArray:
    """The column as its encoder needs it: float64 with NaN, text, or lists of equally many numbers.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        The column as it is in the table.
    kind : {"number", "category", "text", "vector"}
        What it should be.
    name, source : str
        Name of the column and of its file, for messages.
    length : int, default=None
        Length that vectors should have; by default that of the first.
    """
    held = column.type
    if kind == "vector":
        return _typed_vectors(column, name, source, length)
    if not (
        is_text(held) or is_number(held) or pa.types.is_boolean(held) or pa.types.is_null(held)
    ):
        raise TableError(
            f"{source}: column {name!r} holds {held}, which is no {kind}; leave the column out"
        )
    if kind != "number":
        return column.cast(pa.large_string())
    if is_text(held):
        column = _parsed_numbers(column, name, source)
    elif pa.types.is_boolean(held):
        column = column.cast(pa.int8())
    numbers = pc.fill_null(column.cast(pa.float64(), safe=False), np.nan)
    if (row := pc.index(pc.greater(pc.abs(numbers), HUGE), True).as_py()) >= 0:
        raise TableError(
            f"{source}: row {row + 1}, column {name!r}: {numbers[row].as_py()} cannot be used; "
            "clear the cell, or mend the number"
        )
    return numbers


def _parsed_numbers(column: pa.ChunkedArray, name: str, source: str) -> pa.ChunkedArray:
    texts = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    if (row := pc.index(pc.match_substring_regex(texts, NUMBER), False).as_py()) >= 0:
        raise TableError(
            f"{source}: row {row + 1}, column {name!r}: {column[row].as_py()[:40]!r} where a "
            "number is needed"
        )
    return texts.cast(pa.float64())


def _typed_vectors(
    column: pa.ChunkedArray, name: str, source: str, length: int | None
) -> pa.ChunkedArray:
    if is_text(column.type):
        column = _parsed_vectors(column, name, source)
    elif pa.types.is_null(column.type):
        column = column.cast(pa.list_(pa.float64()))
    if not is_list(column.type) or not (
        is_number(column.type.value_type) or column.null_count == len(column)
    ):
        raise TableError(
            f"{source}: column {name!r} holds {column.type}, which are no vectors of numbers; "
            "leave the column out"
        )
    lengths = pc.list_value_length(column)
    length = (
        length or pc.max(lengths.slice(0, pc.index(lengths.is_valid(), True).as_py() + 1)).as_py()
    )
    if (row := pc.index(pc.equal(lengths, length), False).as_py()) >= 0:
        raise TableError(
            f"{source}: row {row + 1}, column {name!r}: a vector of {lengths[row].as_py()} numbers "
            f"where {length} are expected; "
            "all vectors must be equally long"
        )
    if not length:
        raise TableError(f"{source}: column {name!r} holds no vector; leave the column out")
    numbers = pc.list_flatten(column)
    good = pc.less(pc.abs(numbers.cast(pa.float64(), safe=False)), HUGE)
    if (position := pc.index(pc.fill_null(good, False), False).as_py()) >= 0:
        row = np.flatnonzero(column.is_valid())[position // length]
        raise TableError(
            f"{source}: row {row + 1}, column {name!r}: a vector with a number missing or "
            "infinite; mend or clear it"
        )
    return column


def _parsed_vectors(column: pa.ChunkedArray, name: str, source: str) -> pa.ChunkedArray:
    """Vectors that are written as JSON lists."""
    texts = pc.replace_substring_regex(
        pc.fill_null(column.cast(pa.large_string()), "null"), r"\s+", " "
    )
    texts = pc.if_else(pc.equal(pc.utf8_trim_whitespace(texts), ""), "null", texts)
    buffer = pc.replace_substring_regex(texts, "^.*$", '{"v":\\0}\n').combine_chunks().buffers()[2]
    try:
        table = pa_json.read_json(
            pa.BufferReader(buffer),
            pa_json.ReadOptions(block_size=min(max(len(buffer), 1 << 20), 1 << 30)),
        )
    except pa.ArrowInvalid as error:
        found = re.search(r"in row (\d+)", str(error))
        where = f"row {int(found[1]) + 1}, " if found else ""
        raise TableError(
            f"{source}: {where}column {name!r}: no vector such as [0.5, 1.2] stands there; mend or "
            "clear it"
        ) from None
    return table["v"]
