"""Rows with the same features: they belong together in cross-validation, and their candidates
should agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from ..data.candidates import CandidateSets


def equal_rows(X: np.ndarray) -> np.ndarray:
    """Number the groups of equal rows.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        The rows.

    Returns
    -------
    ndarray of shape (m,)
        Equal numbers for equal rows; groups are numbered by their first row.
    """
    blocks = (X[start : start + 4096] + 0 for start in range(0, len(X), 4096))  # -0.0 + 0 is 0.0
    return _number(row.tobytes() for block in blocks for row in block)


def conflicts(groups: np.ndarray, candidates: CandidateSets) -> np.ndarray:
    """Number the groups of equal rows that have different candidates.

    Parameters
    ----------
    groups : ndarray of shape (m,)
        As :func:`equal_rows` gives them.
    candidates : CandidateSets
        The candidates of the rows.

    Returns
    -------
    ndarray of shape (m,)
        0, 1, … for the rows of such groups, -1 for all others.
    """
    sets = _number(
        candidates.indices[start:stop].tobytes()
        for start, stop in pairwise(candidates.indptr.tolist())
    )
    first = np.unique(groups, return_index=True)[1]
    different = np.unique(groups[sets != sets[first][groups]])
    number = np.full(len(first), -1)
    number[different] = np.arange(len(different))
    return np.asarray(number[groups])


def _number(keys: Iterable[bytes]) -> np.ndarray:
    """Number keys in the order in which they first occur."""
    numbers: dict[int, int] = {}
    # The hash stands for the key: 10⁶ different rows share one with a probability below 10⁻⁷.
    return np.fromiter((numbers.setdefault(hash(key), len(numbers)) for key in keys), np.int64)
