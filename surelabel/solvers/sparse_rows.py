"""Operations on the entries of compressed rows. Every row has at least one entry, so ``reduceat``
is safe.
"""

import numpy as np


def entry_rows(indptr: np.ndarray) -> np.ndarray:
    """The row of each entry."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def row_sum(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Sum of the entries of each row."""
    return np.add.reduceat(values, indptr[:-1], axis=0)


def row_max(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Largest entry of each row."""
    return np.maximum.reduceat(values, indptr[:-1])


def row_argmax(values: np.ndarray, indptr: np.ndarray, tie: float = 0.0) -> np.ndarray:
    """Position (in ``values``) of the largest entry of each row. Entries within ``tie`` of it count
    as equal, and the first of them wins.
    """
    best = row_max(values, indptr) - tie
    at_best = np.flatnonzero(values >= np.repeat(best, np.diff(indptr)))
    first = np.searchsorted(at_best, indptr[:-1])
    return at_best[first]


def row_normalise(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Divide each row by its sum; a row whose sum is 0 becomes uniform. Columns of a matrix of
    values are normalised one by one.
    """
    sizes = np.diff(indptr)
    total = row_sum(values, indptr)
    if np.all(total > 0):
        return values / np.repeat(total, sizes, axis=0)
    uniform = np.repeat(1 / sizes, sizes).astype(values.dtype)
    uniform = np.broadcast_to(uniform.reshape(-1, *[1] * (values.ndim - 1)), values.shape)
    total = np.repeat(total, sizes, axis=0)
    return np.divide(values, total, out=uniform.copy(), where=total > 0)


def row_softmax(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Softmax of the entries of each compressed row."""
    sizes = np.diff(indptr)
    positive = np.exp(values - np.repeat(row_max(values, indptr), sizes))
    return positive / np.repeat(row_sum(positive, indptr), sizes)
