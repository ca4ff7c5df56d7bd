"""Which rows have equal features, and folds that keep them together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold


def equal_rows(blocks: Iterable[Any]) -> np.ndarray:
    """Number the groups of equal rows.

    Parameters
    ----------
    blocks : iterable of ndarray or CSR matrix
        The rows, in one or more blocks.

    Returns
    -------
    ndarray of shape (m,)
        Equal numbers for equal rows; groups are numbered by their first row.
    """
    return number_keys(key for block in blocks for key in _keys(block))


def _keys(block: Any) -> Iterator[bytes]:
    """The content of every row as bytes, in which -0.0 is 0.0."""
    if sparse.issparse(block):
        block = block.copy()
        block.eliminate_zeros()
        for start, stop in pairwise(block.indptr.tolist()):
            yield block.indices[start:stop].tobytes() + block.data[start:stop].tobytes()
        return
    for start in range(0, len(block), 4096):
        for row in block[start : start + 4096] + 0:  # -0.0 + 0 is 0.0
            yield row.tobytes()


def number_keys(keys: Iterable[bytes]) -> np.ndarray:
    """Number keys in the order in which they first occur."""
    numbers: dict[int, int] = {}
    # Keys are compared by their hash: for 10⁶ different rows, two are equal with a probability
    # below 10⁻⁷.
    return np.fromiter((numbers.setdefault(hash(key), len(numbers)) for key in keys), np.int64)


def folds_of(
    numbers: np.ndarray, n_folds: int, random_state: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds that keep equal rows together; if all rows differ, those of scikit-learn's ``KFold``.

    Parameters
    ----------
    numbers : ndarray of int of shape (m,)
        Equal numbers for equal rows.
    n_folds : int
        Number of folds, at most that of different rows.
    random_state : int
        Seed.

    Returns
    -------
    list of tuple of ndarray
        The rows to learn from and those left out, both ascending.
    """
    names, numbers = np.unique(numbers, return_inverse=True)
    folds = KFold(n_folds, shuffle=True, random_state=random_state).split(names)
    inside = [np.isin(numbers.ravel(), left_out) for _, left_out in folds]
    return [(np.flatnonzero(~here), np.flatnonzero(here)) for here in inside]
