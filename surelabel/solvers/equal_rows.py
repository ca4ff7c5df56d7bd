"""Which rows have equal features, and folds that keep them together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.utils import gen_batches

from .memory import block_rows


def equal_rows(blocks: Iterable[Any]) -> np.ndarray:
    """Equal numbers for equal rows, given in one or more blocks; groups are numbered by their first
    row.
    """
    hashes = np.concatenate([_hashes(block) for block in blocks])
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]


def _hashes(block: Any) -> np.ndarray:
    """A number of 64 bits for every row: the sum over its values, each mixed with its column. For
    10⁶ different rows, two are equal with a probability below 10⁻⁷.
    """
    columns = _mix(np.arange(block.shape[1], dtype=np.uint64))
    if sparse.issparse(block):
        block = block.copy()
        block.eliminate_zeros()
        mixed = _mix(_bits(block.data) ^ columns[block.indices])
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
        return np.asarray(total[block.indptr[1:]] - total[block.indptr[:-1]])
    parts = (
        _mix(_bits(block[rows] + 0) ^ columns).sum(axis=1, dtype=np.uint64)  # -0.0 + 0 is 0.0
        for rows in gen_batches(len(block), block_rows(block.shape[1]))
    )
    return np.concatenate([np.empty(0, np.uint64), *parts])


def _bits(values: np.ndarray) -> np.ndarray:
    """The bits of numbers, as whole numbers of 64 bits."""
    kind = np.dtype(f"u{values.dtype.itemsize}")
    return np.ascontiguousarray(values).view(kind).astype(np.uint64)


def _mix(bits: np.ndarray) -> np.ndarray:
    """Spread the information over all bits (Steele et al. 2014, SplitMix64)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def folds_of(
    numbers: np.ndarray, n_folds: int, random_state: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds that keep rows with equal numbers together, as rows to learn from and rows left out,
    both ascending; if all rows differ, those of scikit-learn's ``KFold``.
    """
    names, numbers = np.unique(numbers, return_inverse=True)
    folds = KFold(n_folds, shuffle=True, random_state=random_state).split(names)
    inside = [np.isin(numbers, left_out) for _, left_out in folds]
    return [(np.flatnonzero(~here), np.flatnonzero(here)) for here in inside]
