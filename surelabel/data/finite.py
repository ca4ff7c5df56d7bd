"""Refuse instances with NaN, infinity, or numbers too large or too small to be squared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import InputError, first_few
from .rows import Rows


def finite_blocks(rows: Rows, step: int) -> Iterator[np.ndarray]:
    """The blocks of rows that are not in memory, each checked for NaN and infinity as it is
    read.
    """
    start = 0
    for X in rows.blocks(step):
        check_finite(X, np.arange(start, start := start + len(X)))
        yield X


def check_finite(X: Any, numbers: np.ndarray | None = None) -> None:
    """Refuse NaN, infinity and numbers whose squares overflow, and say where; ``numbers`` are the
    row numbers if X is part of a larger matrix.
    """
    values = X.data if sparse.issparse(X) else X
    # A finite sum of squares proves that all entries are fine, at a fraction of the cost of
    # checking each.
    flat = values.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(flat @ flat):
            return
    broken = ~np.isfinite(values)
    if broken.any():
        raise InputError(
            f"X contains NaN or infinity (inf) in {np.count_nonzero(broken)} cell(s), at (row, "
            "column) "
            f"{first_cells(X, broken, numbers)}; "
            "impute or drop them first, for instance with sklearn.impute.SimpleImputer in a "
            "Pipeline"
        )
    # A squared distance is at most four times the largest squared norm of a row.
    huge = np.abs(values) > np.sqrt(np.finfo(values.dtype).max / (4 * X.shape[1]))
    if huge.any():
        raise InputError(
            f"X contains numbers whose squares exceed the largest {values.dtype}, in "
            f"{np.count_nonzero(huge)} cell(s), at "
            f"(row, column) {first_cells(X, huge, numbers)}; "
            "scale the features, for instance with sklearn.preprocessing.StandardScaler"
        )


def check_not_vanishing(X: Any) -> None:
    """Refuse instances that differ, but whose squares all underflow to zero."""
    flat = (X.data if sparse.issparse(X) else X).ravel(order="K")
    limits = np.finfo(flat.dtype)
    if flat @ flat < limits.tiny / limits.eps and np.any(flat):
        raise InputError(
            f"X contains no number larger than {np.abs(flat).max():.2g}, and the squares of such "
            f"numbers underflow in {flat.dtype}; scale the features, for instance with "
            "sklearn.preprocessing.StandardScaler"
        )


def first_cells(X: Any, marked: np.ndarray, numbers: np.ndarray | None = None) -> str:
    """Name the first few marked entries by row and column."""
    if sparse.issparse(X):
        where = X.tocoo()
        rows, columns = where.row[marked], where.col[marked]
    else:
        rows, columns = np.nonzero(marked)
    rows = rows if numbers is None else numbers[rows]
    return first_few(f"({i}, {j})" for i, j in zip(rows.tolist(), columns.tolist(), strict=True))
