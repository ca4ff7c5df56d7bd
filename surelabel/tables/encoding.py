"""Columns of a table → the matrix X that models learn from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..data.arrow_tables import decimal_of, find_column, source_of
from ..data.labelling import Labelling
from ..exceptions import ParameterError, TableError
from ..text import suggest
from ._columns import ENCODERS, Kind, Reader
from ._kinds import column_kinds, is_hint, is_refusal
from .embedding import EMBEDDED

#: For more rows than this, X is float32.
LARGE = 100_000
#: Number of rows used to balance the kinds against each other.
WEIGHED = 10_000


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


# -------------------------------------------------------------------- which columns


def choose_features(
    table: pa.Table,
    *,
    labelling: Labelling | None = None,
    features: Sequence[str] | None = None,
    exclude: Collection[str] = (),
    kinds: Mapping[str, Kind] | None = None,
    asked: Collection[str] | None = None,
    may_be_none: bool = False,
    refuse_words: bool = True,
) -> list[Feature]:
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
        Columns to be used as another kind than they look like, or that would not be used by
        default.
    asked : collection of str, default=None
        Those of ``features`` that must be used; others are used if possible. By default all.
    may_be_none : bool, default=False
        Whether the result may be empty.
    refuse_words : bool, default=True
        Whether to refuse a column of numbers with words among them; otherwise it is left out.

    Returns
    -------
    list of Feature
        In the order of the table.
    """
    source, kinds = source_of(table), dict(kinds or {})
    for name in (*(features or ()), *exclude, *kinds):
        find_column(table, name, source)
    labels = set(labelling.columns) if labelling else set()
    asked = set(features or ()) if asked is None else set(asked)
    named = labels & {*asked, *kinds}
    if clash := [name for name in (*(features or ()), *kinds) if name in named]:
        raise ParameterError(
            f"{source}: column {clash[0]!r} holds labels or names of rows: it cannot be learned "
            "from"
        )
    wanted = set(table.column_names if features is None else features) - labels - set(exclude)
    names = [name for name in table.column_names if name in wanted]
    unsaid = [name for name in names if name not in kinds]
    found = dict(zip(unsaid, column_kinds(table, unsaid), strict=True))
    found |= {name: (kind, "") for name, kind in kinds.items()}
    refused = [name for name in names if is_refusal(found[name][1])]
    if refused and refuse_words:
        raise TableError(f"{source}: {found[refused[0]][1]}")
    useless = [
        name for name in names if found[name][0] is None and name in asked and name not in refused
    ]
    if useless:
        raise TableError(
            f"{source}: column {useless[0]!r} cannot be learned from: {found[useless[0]][1]}"
        )
    chosen = [Feature(name, kind) for name in names if (kind := found[name][0]) is not None]
    if not chosen and not may_be_none and not refused:
        hints = [f"; column {name!r}: {why}" for name in names if is_hint(why := found[name][1])]
        raise TableError(
            f"{source}: no column is left to learn from; the others hold labels, names or only one "
            f"value{hints[0] if hints else ''}"
        )
    return chosen


# -------------------------------------------------------------------- the encoder


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turns a table into the matrix X: a scikit-learn transformer, part of the model.

    Numbers are standardised, unless all of them are 0 or 1; missing ones are replaced by the median
    and marked in a column of their own. Categories become 0/1 columns. Dates and times become the
    days that have passed and points on the circles of year, week and day. Texts become at most 100
    directions of their TF-IDF. Vectors stay as they are. A text or a vector is scaled so that it
    varies as much as all numbers and categories together, so that no kind dominates the others.

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
        self.features_ = (
            list(self.features) if self.features is not None else choose_features(table)
        )
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

    def _reader(self, table: pa.Table) -> Reader:
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
        return Reader(table, decimal_of(table) or self.decimal_)

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
        """Factors with which every text and every vector varies as much as all plain columns
        together.
        """
        plain = np.array(
            [feature.kind not in ("text", "vector", "image") for feature in self.features_], bool
        )
        if plain.all():
            return np.ones(len(plain))
        every = -(-table.num_rows // WEIGHED)
        variance = self.transform(table.take(pa.array(np.arange(0, table.num_rows, every)))).var(
            axis=0, dtype=np.float64
        )
        totals = np.add.reduceat(variance, [0, *self._ends()[:-1]])
        weight = max(1.0, totals[plain].sum())
        return np.asarray(
            np.sqrt(np.divide(weight, totals, out=np.ones(len(plain)), where=~plain & (totals > 0)))
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
            if self.features_[group[0]].kind == "vector":  # of another length, no X is needed
                reader.vectors(self._names(group)[0], encoder.widths[0])
        first = np.concatenate([[0], ends[:-1]])
        X = np.empty((table.num_rows, ends[-1]), self.dtype_)
        for group, encoder in zip(self._groups(), self.encoders_, strict=True):
            encoder.fill(reader, self._names(group), X, first[group])
        for i in np.flatnonzero(self.scales_ != 1):
            X[:, first[i] : ends[i]] *= self.scales_[i]
        return X

    def unknown_categories(self, table: pa.Table) -> dict[str, tuple[np.ndarray, bool]]:
        """Columns with categories that were not seen at fit.

        Parameters
        ----------
        table : pyarrow.Table
            The instances.

        Returns
        -------
        dict of str to (rows, all)
            The rows with unknown categories, counted from 0, and whether the whole column has no
            known one.
        """
        check_is_fitted(self)
        reader, found = self._reader(table), {}
        for group, encoder in zip(self._groups(), self.encoders_, strict=True):
            feature = self.features_[group[0]]
            if feature.kind == "category":
                codes, absent = encoder.codes(reader, feature.name)
                rows = np.flatnonzero((codes < 0) & ~absent)
                if len(rows):
                    found[feature.name] = rows, len(rows) == np.sum(~absent)
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
