"""Instances in blocks of rows, for products with matrices that do not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from .memory import block_rows


class RowBlocks:
    """A matrix that is read in blocks of rows, for products with it and with its transpose.

    Parameters
    ----------
    read : callable
        ``read(step)`` returns an iterator over the rows, ``step`` at a time, as arrays.
    shape : tuple of int
        Number of rows and of columns that are read.
    constant : bool
        Whether a column of ones is added after them.
    """

    def __init__(
        self, read: Callable[[int], Iterator[np.ndarray]], shape: tuple[int, int], constant: bool
    ) -> None:
        self._read, self._constant = read, constant
        self.shape = (shape[0], shape[1] + constant)

    def blocks(self, step: int) -> Iterator[np.ndarray]:
        """All rows in order, ``step`` at a time, in double precision."""
        for X in self._read(step):
            X = X.astype(np.float64, copy=False)
            yield np.column_stack([X, np.ones(len(X))]) if self._constant else X

    def __matmul__(self, W: np.ndarray) -> np.ndarray:
        return np.concatenate([X @ W for _, X in row_blocks(self, W.shape[1])])

    @property
    def T(self) -> _Transposed:
        """The transpose, for products with it."""
        return _Transposed(self)


class _Transposed:
    def __init__(self, matrix: RowBlocks) -> None:
        self._matrix = matrix

    def __matmul__(self, values: np.ndarray) -> np.ndarray:
        return reduce(
            add, (X.T @ values[rows] for rows, X in row_blocks(self._matrix, values.shape[1]))
        )


def row_blocks(X: Any, width: int) -> Iterator[tuple[slice, Any]]:
    """Rows of an array, a CSR matrix or :class:`RowBlocks`, a block at a time, if each row takes
    ``width`` numbers.
    """
    step = block_rows(max(width, X.shape[1]))
    if not isinstance(X, RowBlocks):
        parts = (
            slice(start, min(start + step, X.shape[0])) for start in range(0, X.shape[0], step)
        )
        yield from ((part, X if step >= X.shape[0] else X[part]) for part in parts)
        return
    start = 0
    for block in X.blocks(step):
        yield slice(start, start := start + len(block)), block


def weighted_gram(X: Any, weight: np.ndarray) -> np.ndarray:
    """``Xᵀ diag(weight) X``."""
    if sparse.issparse(X):
        return (X.T @ X.multiply(weight[:, None])).toarray()
    return reduce(
        add, ((block.T * weight[rows]) @ block for rows, block in row_blocks(X, X.shape[1]))
    )
