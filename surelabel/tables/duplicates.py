"""Rows with the same features: they belong together in cross-validation, and their candidates
should agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.arrow_tables import combined, is_list
from ..data.candidates import CandidateSets
from ..solvers.equal_rows import number_keys
from .columns import ColumnReader, Feature

#: Columns that are compared at a time, at least.
AT_A_TIME = 16


def equal_cells(features: Sequence[Feature], table: pa.Table) -> np.ndarray:
    """Number the groups of rows with equal cells; texts must be equal to the letter.

    Parameters
    ----------
    features : sequence of Feature
        The columns to compare.
    table : pyarrow.Table
        The rows.

    Returns
    -------
    ndarray of shape (m,)
        As :func:`~surelabel.solvers.equal_rows.equal_rows` gives them.
    """
    groups = np.zeros(table.num_rows, np.int64)
    parts, width = [groups[:, None]], 0
    for codes in _codes(features, table):
        parts.append(codes)
        width += codes.shape[1]
        if width >= AT_A_TIME:
            groups = number_keys(row.tobytes() for row in np.hstack(parts))
            if groups.max() == len(groups) - 1:  # all differ: no other column can make them equal
                return groups
            parts, width = [groups[:, None]], 0
    return number_keys(row.tobytes() for row in np.hstack(parts))


def _codes(features: Sequence[Feature], table: pa.Table) -> Iterator[np.ndarray]:
    """Columns as numbers, some at a time: equal ones for equal values, NaN or -1 for missing
    ones.
    """
    reader = ColumnReader(table)
    names = [feature.name for feature in features if feature.kind == "number"]
    for part in reader.column_slices(names):
        values, wrong = reader.parsed(names[part])
        for i in np.flatnonzero(wrong.any(axis=1)):  # equal texts are equal numbers
            values[i] = _text_codes(combined(reader.column(names[part][i])))
        # one kind of NaN, and -0.0 + 0 is 0.0
        yield np.where(np.isnan(values), np.nan, values + 0).T
    for feature in features:
        if feature.kind != "number":
            if is_list(reader.holds(feature.name)):  # vectors: their text stands for them
                texts = pa.array([str(value) for value in table[feature.name]])
            else:
                texts, _ = reader.texts(feature.name, feature.kind)
            yield _text_codes(texts)[:, None]


def _text_codes(texts: pa.Array) -> np.ndarray:
    return np.asarray(pc.fill_null(texts.dictionary_encode().indices, -1), float)


def conflicts(groups: np.ndarray, candidates: CandidateSets) -> np.ndarray:
    """Number the groups of equal rows that have different candidates.

    Parameters
    ----------
    groups : ndarray of shape (m,)
        As :func:`~surelabel.solvers.equal_rows.equal_rows` gives them.
    candidates : CandidateSets
        The candidates of the rows.

    Returns
    -------
    ndarray of shape (m,)
        0, 1, … for the rows of such groups, -1 for all others.
    """
    sets = number_keys(
        candidates.indices[start:stop].tobytes()
        for start, stop in pairwise(candidates.indptr.tolist())
    )
    first = np.unique(groups, return_index=True)[1]
    different = np.unique(groups[sets != sets[first][groups]])
    number = np.full(len(first), -1)
    number[different] = np.arange(len(different))
    return np.asarray(number[groups])
