"""Columns of a table → the matrix X that models learn from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..data.labelling import Labelling
from ..data.table_files import find_column, is_list, is_text, nearest, source_of
from ..exceptions import ParameterError, TableError
from ._columns import ENCODERS, NUMBER, UNSPACED, Kind, is_number, typed_column

#: Texts of which a column has no more different ones are categories.
FEW = 50
#: Above so many rows X is float32.
LARGE = 100_000
#: Rows that are looked at to see what a column of text holds, and to weigh the kinds against each
#: other.
LOOKED_AT = 1000


@dataclass(frozen=True)
class Feature:
    """A column that is learned from, and as what.

    Attributes
    ----------
    name : str
        The column.
    kind : {"number", "category", "text", "vector"}
        What it is learned from as.
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
) -> list[Feature]:
    """Choose what to learn from: by default all columns that can tell something, but those that
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
    kinds : mapping of str to {"number", "category", "text", "vector"}, default=None
        Columns that are to be used as something else than what they look like, or although they
        would not be used.

    Returns
    -------
    list of Feature
        In the order of the table.
    """
    source, kinds = source_of(table), dict(kinds or {})
    for name in (*(features or ()), *exclude, *kinds):
        find_column(table, name, source)
    wrong = [kind for kind in kinds.values() if kind not in get_args(Kind)]
    if wrong:
        raise ParameterError(
            f"there is no kind of column {wrong[0]!r}; there are {', '.join(get_args(Kind))}"
        )
    labels = set(labelling.columns) if labelling else set()
    if clash := [name for name in (*(features or ()), *kinds) if name in labels]:
        raise ParameterError(
            f"{source}: column {clash[0]!r} holds labels or names of rows: it cannot be learned "
            "from"
        )
    chosen = []
    for name in table.column_names:
        if name in labels or name in exclude or (features is not None and name not in features):
            continue
        kind: Kind | None = kinds.get(name)
        if kind is None:
            kind, reason = column_kind(table[name], name=name, source=source)
            if kind is None and features is not None:
                raise TableError(f"{source}: column {name!r} cannot be learned from: {reason}")
        if kind is not None:
            chosen.append(Feature(name, kind))
    if not chosen:
        raise TableError(
            f"{source}: no column is left to learn from; the others hold labels, names, dates or "
            "one value only"
        )
    return chosen


def column_kind(
    column: pa.ChunkedArray, *, name: str = "", source: str = "table"
) -> tuple[Kind | None, str]:
    """As what a column is learned from by default; if it is not, why.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        The column.
    name, source : str
        Its name and that of its file.

    Returns
    -------
    kind : {"number", "category", "text", "vector"} or None
        None if it is not used.
    reason : str
        Why it is not used, else empty.
    """
    held = column.type
    if column.null_count == len(column):
        return None, "it is empty"
    if is_list(held):
        return ("vector", "") if is_number(held.value_type) else (None, f"it holds {held}")
    if not (is_text(held) or is_number(held) or pa.types.is_boolean(held)):
        return None, f"it holds {held}"
    different = pc.count_distinct(
        column.cast(held.value_type) if pa.types.is_dictionary(held) else column
    ).as_py()
    if different == 1 and not column.null_count:
        return None, "it has one value only"
    if is_text(held):
        return _text_kind(column.cast(pa.large_string()), different, name, source)
    if (
        pa.types.is_integer(held)
        and not column.null_count
        and len(column) > 2
        and np.all(np.diff(column.to_numpy()) == 1)
    ):
        return None, "it counts the rows"
    return "number", ""


def _text_kind(
    column: pa.ChunkedArray, different: int, name: str, source: str
) -> tuple[Kind | None, str]:
    known = column.drop_null()
    looked_at = pc.utf8_trim_whitespace(
        known.take(pa.array(np.arange(0, len(known), -(-len(known) // LOOKED_AT))))
    )

    def share(pattern: str) -> float:
        return pc.mean(pc.match_substring_regex(looked_at, pattern)).as_py()

    if share(r"^[-+]?[0-9]+,[0-9]+$") == 1:
        raise TableError(
            f"{source}: column {name!r} holds numbers with a decimal comma ({known[0].as_py()!r}); "
            "say so (--decimal ,), or "
            "exclude the column"
        )
    if share(r"^\[[-+0-9.eE,\s]*\]$") == 1:
        return "vector", ""
    if different <= min(FEW, len(known) / 2):
        return "category", ""
    if share(NUMBER) > 0.9:
        row = pc.index(
            pc.match_substring_regex(pc.utf8_trim_whitespace(column), NUMBER), False
        ).as_py()
        if row >= 0:
            raise TableError(
                f"{source}: row {row + 1}, column {name!r}: {column[row].as_py()[:40]!r} in a "
                "column of numbers; clear the cell, "
                "or exclude the column, or say that it is a category"
            )
    if pc.mean(pc.count_substring_regex(looked_at, r"\S+")).as_py() >= 3 or share(UNSPACED) > 0.5:
        return "text", ""
    return (
        (None, "nearly all its values differ") if different > 0.9 * len(known) else ("category", "")
    )


# -------------------------------------------------------------------- the encoder


class TableEncoder(TransformerMixin, BaseEstimator):
    """A table as the matrix X: a scikit-learn transformer, part of the model.

    Numbers are standardised, missing ones replaced by the median and told by a column of their own;
    categories become 0/1 columns; texts become at most 100 directions of their TF-IDF; vectors stay
    as they are. A text or a vector is scaled so that it varies as much as all numbers and
    categories together: no kind drowns the others.

    Parameters
    ----------
    features : list of Feature, default=None
        The columns to use; by default those of :func:`choose_features`.

    Attributes
    ----------
    features_ : list of Feature
        The columns used.
    encoders_ : list
        One for each of them.
    scales_ : list of float
        What the columns of each are multiplied by.
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
        source = source_of(table)
        self.features_ = (
            list(self.features) if self.features is not None else choose_features(table)
        )
        self.dtype_ = "float32" if table.num_rows > LARGE else "float64"
        self.encoders_ = []
        for feature in self.features_:
            column = find_column(table, feature.name, source)
            typed = typed_column(column, feature.kind, name=feature.name, source=source)
            self.encoders_.append(ENCODERS[feature.kind]().fit(typed))
        self.scales_ = [1.0] * len(self.features_)
        self.scales_ = self._balance(table)
        return self

    def _balance(self, table: pa.Table) -> list[float]:
        """Scales that let every text and every vector vary as much as all plain columns
        together.
        """
        every = -(-table.num_rows // (10 * LOOKED_AT))
        variance = self.transform(table.take(pa.array(np.arange(0, table.num_rows, every)))).var(
            axis=0, dtype=np.float64
        )
        totals = [variance[columns].sum() for columns in self._slices()]
        plain = [feature.kind in ("number", "category") for feature in self.features_]
        weight = max(1.0, sum(total for total, alone in zip(totals, plain, strict=True) if alone))
        return [
            1.0 if alone or total == 0 else float(np.sqrt(weight / total))
            for total, alone in zip(totals, plain, strict=True)
        ]

    def _slices(self) -> list[slice]:
        ends = np.cumsum([encoder.width for encoder in self.encoders_]).tolist()
        return [
            slice(end - encoder.width, end)
            for end, encoder in zip(ends, self.encoders_, strict=True)
        ]

    def transform(self, table: pa.Table) -> np.ndarray:
        """The matrix X of a table.

        Parameters
        ----------
        table : pyarrow.Table
            The instances; it may have other columns besides those used.

        Returns
        -------
        ndarray of shape (m, n)
        """
        check_is_fitted(self)
        source, slices = source_of(table), self._slices()
        missing = [
            feature.name for feature in self.features_ if feature.name not in table.column_names
        ]
        if missing:
            there = nearest(missing[0], table.column_names, "columns")
            raise TableError(
                f"{source}: the model needs a column {missing[0]!r}, which is not there; {there}"
            )
        X = np.empty((table.num_rows, slices[-1].stop), self.dtype_)
        for feature, encoder, scale, columns in zip(
            self.features_, self.encoders_, self.scales_, slices, strict=True
        ):
            length = encoder.width if feature.kind == "vector" else None
            column = typed_column(
                table[feature.name], feature.kind, name=feature.name, source=source, length=length
            )
            encoder.fill(column, X[:, columns])
            if scale != 1:
                X[:, columns] *= scale
        return X

    def strange_categories(self, table: pa.Table) -> list[str]:
        """Columns of categories that have values, but none that was there at fit.

        Parameters
        ----------
        table : pyarrow.Table
            The instances.

        Returns
        -------
        list of str
        """
        check_is_fitted(self)
        strange = []
        for feature, encoder in zip(self.features_, self.encoders_, strict=True):
            if feature.kind == "category" and feature.name in table.column_names:
                column = typed_column(
                    table[feature.name], feature.kind, name=feature.name, source=source_of(table)
                ).drop_null()
                known = pa.array([*encoder.categories, *encoder.others], column.type)
                if len(column) and not pc.any(pc.is_in(column, known)).as_py():
                    strange.append(feature.name)
        return strange

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
        names = [
            name
            for feature, encoder in zip(self.features_, self.encoders_, strict=True)
            for name in encoder.names(feature.name)
        ]
        return np.array(names, object)
