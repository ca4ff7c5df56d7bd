"""Columns of a table → the matrix X that models learn from.

A table may have very many number columns, so these share one encoder; the others have one each. An
encoder has

- ``fit(reader, names)``, which learns from the columns ``names`` of a table;
- ``widths``: how many columns of X each of them becomes;
- ``names(name, i)``: how the columns of X are called that the i-th of them, ``name``, becomes;
- ``fill(reader, names, X, first)``, which writes the columns of X; those of the i-th begin at
  ``first[i]``.

Its attributes are numbers, arrays and lists of text, so that model files stay plain.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from ..data.arrow_tables import decimal_of, is_text, source_of
from ..data.text_values import canonical, flags
from ..exceptions import TableError
from ..text import suggest
from .columns import UNSPACED, ColumnReader, Feature, Kind, check_features, choose_features
from .embedding import EMBEDDED
from .images import describe_images, folder_of
from .times import DAY, MONDAY, WEEK, YEAR, find_order, read_times

#: At most this many categories; the rest become one, "another".
MOST_CATEGORIES = 50
#: At most this many columns of X for a text, and this many n-grams counted on the way.
TEXT_DIMENSIONS, MOST_WORDS = 100, 20_000
#: Rows of text that become Python strings at a time, and rows from which n-grams are learned.
BATCH, LEARNED_ROWS = 10_000, 50_000
#: For more rows than this, X is float32.
LARGE = 100_000
#: Number of rows used to balance the kinds against each other.
WEIGHED = 10_000


# -------------------------------------------------------------------- the columns


class NumberColumns:
    """Numbers, minus their mean and divided by their standard deviation. Missing ones are replaced
    by the median and marked in a column of their own.
    """

    def fit(self, reader: ColumnReader, names: Sequence[str]) -> Self:
        """Learn the median, mean and standard deviation of each column."""
        learned, only_flags = [], True
        for part in reader.column_slices(names):
            values = reader.numbers(names[part])
            flags_or_missing = (values == 0) | (values == 1) | np.isnan(values)
            only_flags = only_flags and bool(flags_or_missing.all())
            learned.append(_spread(values))
        self.tells_missing, self.median, self.mean, self.deviation = map(
            np.concatenate, zip(*learned, strict=True)
        )
        if only_flags:  # one scale for all, as for categories: a rare 1 should not weigh more
            self.mean, self.deviation = np.zeros(len(names)), np.ones(len(names))
        return self

    @property
    def widths(self) -> np.ndarray:
        """Number of columns of X for each column."""
        return 1 + self.tells_missing

    def names(self, name: str, i: int) -> list[str]:
        """Names of the columns of X."""
        return [name, f"{name} is missing"][: 1 + self.tells_missing[i]]

    def fill(
        self, reader: ColumnReader, names: Sequence[str], X: np.ndarray, first: np.ndarray
    ) -> None:
        """Write the columns of X."""
        for part in reader.column_slices(names):
            values = reader.numbers(names[part])
            absent, tells = np.isnan(values), self.tells_missing[part]
            values = np.where(absent, self.median[part, None], values)
            values -= self.mean[part, None]
            values /= self.deviation[part, None]
            X[:, first[part]] = values.T
            X[:, first[part][tells] + 1] = absent[tells].T


def _spread(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """For each row of ``values``, which is a column of the table: whether some numbers (not all)
    are missing, the median, mean and standard deviation.
    """
    absent = np.isnan(values)
    all_absent = absent.all(axis=1)
    values[all_absent] = 0
    median = np.nanmedian(values, axis=1)
    values = np.where(np.isnan(values), median[:, None], values)
    mean, deviation = values.mean(axis=1), values.std(axis=1)
    # Rounding can make the deviation of equal numbers differ from 0.
    deviation[deviation <= 1e-12 * np.abs(mean)] = 1
    return absent.any(axis=1) & ~all_absent, median, mean, deviation


class OneColumn(ABC):
    """An encoder of one column: it learns from it, names the columns of X, and writes them."""

    @abstractmethod
    def learn(self, reader: ColumnReader, name: str) -> None:
        """Learn from a column."""

    @abstractmethod
    def names(self, name: str, _: int = 0) -> list[str]:
        """Names of the columns of X."""

    @abstractmethod
    def write(self, reader: ColumnReader, name: str, out: np.ndarray) -> None:
        """Write these columns of X."""

    def fit(self, reader: ColumnReader, names: Sequence[str]) -> Self:
        """Learn from a column."""
        self.learn(reader, names[0])
        return self

    @property
    def widths(self) -> list[int]:
        """Number of columns of X."""
        return [len(self.names(""))]

    def fill(
        self, reader: ColumnReader, names: Sequence[str], X: np.ndarray, first: np.ndarray
    ) -> None:
        """Write the columns of X."""
        self.write(reader, names[0], X[:, first[0] : first[0] + self.widths[0]])


class CategoryColumn(OneColumn):
    """A 0/1 column for each category; rare categories share one, and unseen ones have none.

    Texts are the same category if they are spelled the same. A number or a truth value, in files
    that have types, is the same as a text that spells it: 2, 2.0 and "2.0".
    """

    def learn(self, reader: ColumnReader, name: str) -> None:
        """Learn which categories there are; missing is one of them."""
        texts, self.by_value = reader.texts(name, "category")
        texts = canonical(texts) if self.by_value else texts
        counts = {pair["values"]: pair["counts"] for pair in pc.value_counts(texts).to_pylist()}
        ranked = sorted(counts, key=lambda text: (-counts[text], text is None, text or ""))
        self.categories, self.others = ranked[:MOST_CATEGORIES], ranked[MOST_CATEGORIES:]

    def names(self, name: str, _: int = 0) -> list[str]:
        """Names of the columns of X."""
        known = ["missing" if category is None else category for category in self.categories]
        return [f"{name} is {category}" for category in known + ["another"] * bool(self.others)]

    def codes(self, reader: ColumnReader, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Position of every cell among the categories, -1 if it was never seen; and where cells are
        missing.
        """
        texts, by_value = reader.texts(name, "category")
        known = pa.array([*self.categories, *self.others], texts.type)
        if by_value or self.by_value:
            # numbers that were not text are spelled with a point, whatever the table uses
            texts = canonical(texts, "." if by_value else reader.decimal)
            known = canonical(known, "." if self.by_value else reader.decimal)
        found = pc.fill_null(pc.index_in(texts, known), -1).to_numpy()
        return found, flags(texts.is_null())

    def write(self, reader: ColumnReader, name: str, out: np.ndarray) -> None:
        """Write a 1 for the category of each row."""
        codes, _ = self.codes(reader, name)
        rows = np.flatnonzero(codes >= 0)
        out[:] = 0
        out[rows, np.minimum(codes[rows], len(self.categories))] = 1


class TextColumn(OneColumn):
    """TF-IDF of sequences of two to four letters within words (one or two in scripts without
    spaces).

    It is reduced to the directions of largest variance and scaled to unit length: otherwise a text
    of rare words would lie near the centre, and so near all others.
    """

    def learn(self, reader: ColumnReader, name: str) -> None:
        """Learn the n-grams, their weights and the directions."""
        column, _ = reader.texts(name, "text")
        step = -(-len(column) // LEARNED_ROWS)  # rounded up
        texts = column.take(pa.array(np.arange(0, len(column), step)))
        unspaced = pc.mean(pc.match_substring_regex(texts, UNSPACED)).as_py() or 0
        self.by_letters = unspaced > 0.5
        min_texts = 2 if len(texts) >= 100 else 1
        vectorizer = self._vectorizer(min_df=min_texts, max_features=MOST_WORDS)
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

    def _vectorizer(self, **options: Any) -> TfidfVectorizer:
        return TfidfVectorizer(
            analyzer="char" if self.by_letters else "char_wb",
            ngram_range=(1, 2) if self.by_letters else (2, 4),
            sublinear_tf=True,
            dtype=np.float32,
            **options,
        )

    def names(self, name: str, _: int = 0) -> list[str]:
        """Names of the columns of X."""
        return [f"{name} direction {i}" for i in range(1, self.directions.shape[1] + 1)]

    def write(self, reader: ColumnReader, name: str, out: np.ndarray) -> None:
        """Write the position of each text along the directions."""
        column, _ = reader.texts(name, "text")
        vectorizer = self._vectorizer(vocabulary=self.words)
        vectorizer.idf_ = self.idf
        for start in range(0, len(column), BATCH):
            texts = pc.fill_null(column.slice(start, BATCH), "").to_pylist()
            found = normalize(vectorizer.transform(texts) @ self.directions, copy=False)
            out[start : start + BATCH] = found - self.mean


class VectorColumn(OneColumn):
    """Vectors as given, minus their mean; a missing one is replaced by the mean."""

    def learn(self, reader: ColumnReader, name: str) -> None:
        """Learn the length and the mean."""
        column = reader.vectors(name)
        sums = [
            _as_matrix(chunk).sum(axis=0, dtype=np.float64)
            for chunk in column.chunks
            if chunk.null_count < len(chunk)
        ]
        self.mean = np.sum(sums, axis=0) / (len(column) - column.null_count)

    def names(self, name: str, _: int = 0) -> list[str]:
        """Names of the columns of X."""
        return [f"{name} {i}" for i in range(1, len(self.mean) + 1)]

    def write(self, reader: ColumnReader, name: str, out: np.ndarray) -> None:
        """Write the vectors minus the mean."""
        start = 0
        for chunk in reader.vectors(name, len(self.mean)).chunks:
            part = out[start : start + len(chunk)]
            known = flags(chunk.is_valid())
            part[~known] = 0
            if known.any():
                part[known] = _as_matrix(chunk) - self.mean.astype(out.dtype)
            start += len(chunk)


def _as_matrix(chunk: pa.Array) -> np.ndarray:
    """The vectors that are not missing, one per row."""
    chunk = chunk.drop_null()
    return np.asarray(chunk.flatten().to_numpy(zero_copy_only=False).reshape(len(chunk), -1))


class TimeColumn(OneColumn):
    """A date becomes the days that have passed (standardised) and its position in the year and the
    week; a time becomes its position in the day. A position is a point on a circle (two numbers),
    so that 23:59 is near 00:01. Parts that are the same in all rows are left out.
    """

    def learn(self, reader: ColumnReader, name: str) -> None:
        """Learn the format of the column, which of its parts vary, its mean and standard
        deviation.
        """
        column = reader.columns[name]
        self.order = ""
        if is_text(column.type):
            texts = pc.unique(column.cast(pa.large_string()))
            self.order = find_order(texts, all_of_them=False) or ""
        days, seconds = read_times(column, self.order or None, name, reader.source)
        known = ~np.isnan(days)
        dated = known.any() and self.order != "clock" and not pa.types.is_time(column.type)
        self.mean, self.deviation = 0.0, 1.0
        self.parts = []
        if dated and np.ptp(days[known]) > 0:
            self.mean, self.deviation = float(days[known].mean()), float(days[known].std())
            self.parts += ["days", "season", "weekday"]
        if known.any() and np.ptp(seconds[known]) > 0:
            self.parts.append("hour")
        self.parts = self.parts or ["days"]  # a column of zeros
        self.tells_missing = not known.all() and bool(known.any())

    def names(self, name: str, _: int = 0) -> list[str]:
        """Names of the columns of X."""
        found = []
        for part in self.parts:
            found += [name] if part == "days" else [f"{name} {part} sine", f"{name} {part} cosine"]
        return found + [f"{name} is missing"] * self.tells_missing

    def write(self, reader: ColumnReader, name: str, out: np.ndarray) -> None:
        """Write the days, and the points on circles."""
        order = self.order or "year-month-day"
        days, seconds = read_times(reader.columns[name], order, name, reader.source)
        absent = np.isnan(days)
        # how many times a part has gone round its circle
        turns = {
            "season": (days + seconds / DAY) / YEAR,
            "weekday": (np.floor(days) - MONDAY) / WEEK,
            "hour": seconds / DAY,
        }
        columns = []
        for part in self.parts:
            if part == "days":
                columns.append((days - self.mean) / self.deviation)
            else:
                angle = 2 * np.pi * turns[part]
                columns += [np.sin(angle), np.cos(angle)]
        for i, values in enumerate(columns):
            out[:, i] = np.where(absent, 0, values)
        if self.tells_missing:
            out[:, -1] = absent


class ImageColumn(OneColumn):
    """Images as a small grey copy, edges and colours, minus the mean; an image that is missing or
    cannot be read is replaced by the mean.
    """

    def learn(self, reader: ColumnReader, name: str) -> None:
        """Learn the mean."""
        found = self._features(reader, name)
        known = ~np.isnan(found[:, 0])
        if not known.any():
            raise TableError(
                f"{reader.source}: column {name!r}: no image can be read; paths are relative to "
                f"{folder_of(reader.source)}"
            )
        self.mean = found[known].mean(axis=0)

    def _features(self, reader: ColumnReader, name: str) -> np.ndarray:
        paths = reader.columns[name].cast(pa.large_string()).to_pylist()
        found = describe_images(paths, folder_of(reader.source))
        unread = sum(map(bool, paths)) - int(np.sum(~np.isnan(found[:, 0])))
        if unread:
            warnings.warn(
                f"{reader.source}: column {name!r}: {unread} image(s) cannot be read, and are "
                "replaced by the mean of the others",
                stacklevel=6,
            )
        return found

    def names(self, name: str, _: int = 0) -> list[str]:
        """Names of the columns of X."""
        return [f"{name} {i}" for i in range(1, len(self.mean) + 1)]

    def write(self, reader: ColumnReader, name: str, out: np.ndarray) -> None:
        """Write the images minus the mean."""
        out[:] = np.nan_to_num(self._features(reader, name) - self.mean, nan=0.0)


ENCODERS: dict[Kind, Any] = {
    "number": NumberColumns,
    "category": CategoryColumn,
    "text": TextColumn,
    "vector": VectorColumn,
    "time": TimeColumn,
    "image": ImageColumn,
}


# -------------------------------------------------------------------- the table


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turns a table into the matrix X: a scikit-learn transformer, part of the model.

    Numbers are standardised, unless all of them are 0 or 1; missing ones are replaced by the median
    and marked in a column of their own. Categories become 0/1 columns. Dates and times become the
    days that have passed and points on the circles of year, week and day. Texts become at most 100
    directions of their TF-IDF, images a small grey copy, edges and colours; vectors stay as they
    are, minus their mean. A column of texts, vectors or images is scaled to vary as much as all
    numbers, categories and times together, so that no kind dominates the others.

    Parameters
    ----------
    features : list of Feature, default=None
        The columns to use; by default those of :func:`choose_features`.

    Attributes
    ----------
    features_ : list of Feature
        The columns used.
    encoders_ : list
        One for all numbers, then one for each of the other columns.
    scales_ : ndarray
        The factor for the columns of each feature.
    decimal_ : {".", ","}
        The decimal separator of numbers written as text, if a table does not say.
    dtype_ : str
        "float32" if fitted on more than 100 000 rows, else "float64".

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"size": [1.0, 3.0, None, 2.0], "colour": ["red", "blue", "red", "blue"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size is missing', 'colour is blue', 'colour is red']
    >>> encoder.transform(table).shape
    (4, 4)
    """

    def __init__(self, features: list[Feature] | None = None) -> None:
        self.features = features

    def fit(self, table: pa.Table, y: Any = None) -> Self:
        """Learn how each column becomes numbers.

        Parameters
        ----------
        table : pyarrow.Table
            The instances.
        y : ignored

        Returns
        -------
        self
        """
        if self.features is None:
            self.features_, unused = choose_features(table)
            check_features(self.features_, unused, source_of(table), may_be_none=False)
        else:
            self.features_ = list(self.features)
        self.dtype_ = "float32" if table.num_rows > LARGE else "float64"
        self.decimal_ = decimal_of(table) or "."
        reader = self._reader(table)
        self.encoders_ = [
            ENCODERS[self.features_[group[0]].kind]().fit(reader, self._names(group))
            for group in self._groups()
        ]
        self.scales_ = np.ones(len(self.features_))
        self.scales_ = self._balance(table)
        return self

    def _reader(self, table: pa.Table) -> ColumnReader:
        there = set(table.column_names)
        missing = [feature.name for feature in self.features_ if feature.name not in there]
        if missing:
            column = missing[0].removesuffix(EMBEDDED)
            if column != missing[0] and column in there:
                raise TableError(
                    f"{source_of(table)}: the model learned from vectors of column {column!r}; say "
                    f"again what computes them (--as {column}=MODULE:NAME)"
                )
            raise TableError(
                f"{source_of(table)}: the model needs a column {missing[0][:200]!r}, which is not "
                f"there; {suggest(missing[0], table.column_names, 'columns')}"
            )
        return ColumnReader(table, self.decimal_)

    def _groups(self) -> list[list[int]]:
        """The features of each encoder: all numbers together, each of the others alone."""
        numbers = [i for i, feature in enumerate(self.features_) if feature.kind == "number"]
        others = [[i] for i, feature in enumerate(self.features_) if feature.kind != "number"]
        return [*([numbers] if numbers else []), *others]

    def _names(self, group: list[int]) -> list[str]:
        return [self.features_[i].name for i in group]

    def _ends(self) -> np.ndarray:
        """Where in X the columns of each feature end."""
        widths = np.empty(len(self.features_), int)
        for group, encoder in zip(self._groups(), self.encoders_, strict=True):
            widths[group] = encoder.widths
        return np.cumsum(widths)

    def _balance(self, table: pa.Table) -> np.ndarray:
        """Factors that make every column of texts, vectors or images vary as much as all other
        (plain) columns together.
        """
        plain = np.array(
            [feature.kind not in ("text", "vector", "image") for feature in self.features_], bool
        )
        if plain.all():
            return np.ones(len(plain))
        step = -(-table.num_rows // WEIGHED)  # rounded up
        variance = self.transform(table.take(pa.array(np.arange(0, table.num_rows, step)))).var(
            axis=0, dtype=np.float64
        )
        totals = np.add.reduceat(variance, [0, *self._ends()[:-1]])
        target = max(1.0, totals[plain].sum())
        return np.asarray(
            np.sqrt(np.divide(target, totals, out=np.ones(len(plain)), where=~plain & (totals > 0)))
        )

    def transform(self, table: pa.Table) -> np.ndarray:
        """The matrix X of a table.

        Parameters
        ----------
        table : pyarrow.Table
            The instances; columns that are not used are ignored. The result for a row does not
            depend on the other rows.

        Returns
        -------
        ndarray of shape (m, n)
        """
        check_is_fitted(self)
        reader, ends = self._reader(table), self._ends()
        for group, encoder in zip(self._groups(), self.encoders_, strict=True):
            if self.features_[group[0]].kind == "vector":  # refuse other lengths before X is made
                reader.vectors(self._names(group)[0], encoder.widths[0])
        first = np.concatenate([[0], ends[:-1]])
        X = np.empty((table.num_rows, ends[-1]), self.dtype_)
        for group, encoder in zip(self._groups(), self.encoders_, strict=True):
            encoder.fill(reader, self._names(group), X, first[group])
        for i in np.flatnonzero(self.scales_ != 1):
            X[:, first[i] : ends[i]] *= self.scales_[i]
        return X

    def unknown_categories(self, table: pa.Table) -> dict[str, np.ndarray]:
        """Columns with categories that were not seen at fit.

        Parameters
        ----------
        table : pyarrow.Table
            The instances.

        Returns
        -------
        dict of str to ndarray of int
            The rows with unknown categories, counted from 0.
        """
        check_is_fitted(self)
        reader, found = self._reader(table), {}
        for group, encoder in zip(self._groups(), self.encoders_, strict=True):
            feature = self.features_[group[0]]
            if feature.kind == "category":
                codes, absent = encoder.codes(reader, feature.name)
                rows = np.flatnonzero((codes < 0) & ~absent)
                if len(rows):
                    found[feature.name] = rows
        return found

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of X.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names: list[list[str]] = [[]] * len(self.features_)
        for group, encoder in zip(self._groups(), self.encoders_, strict=True):
            for i, position in enumerate(group):
                names[position] = encoder.names(self.features_[position].name, i)
        return np.array([name for part in names for name in part], object)


@dataclass(frozen=True, eq=False)
class TableModel:
    """A model that reads tables: an encoder, and a classifier that learned from its matrix X.

    Attributes
    ----------
    encoder : TableEncoder
        Turns a table into X.
    classifier : classifier
        Learned from X.
    """

    encoder: TableEncoder
    classifier: Any

    @property
    def classes_(self) -> np.ndarray:
        """The labels that the model tells apart."""
        return np.asarray(self.classifier.classes_)

    def predict(self, table: pa.Table) -> np.ndarray:
        """The most likely label of each row.

        Parameters
        ----------
        table : pyarrow.Table
            The instances.

        Returns
        -------
        ndarray of shape (m,)
        """
        return np.asarray(self.classifier.predict(self.encoder.transform(table)))

    def predict_proba(self, table: pa.Table) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        table : pyarrow.Table
            The instances.

        Returns
        -------
        ndarray of shape (m, l)
        """
        return np.asarray(self.classifier.predict_proba(self.encoder.transform(table)))
