"""One-vs-one decomposition of candidate labels, and many kernel machines over one kernel matrix.

The pairs of ``l`` labels are ordered as ``(0, 1), (0, 2), …, (0, l - 1), (1, 2), …``: pairs with
the same first label are consecutive.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse

from .sparse_rows import entry_rows


def pair_problems(
    indptr: np.ndarray, indices: np.ndarray, n_labels: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each pair of labels, the rows that have exactly one of the two as a candidate, and
    whether it is the first.
    """
    ones = np.ones(len(indices), np.int8)
    holders = sparse.csc_array(
        sparse.csr_array((ones, indices, indptr), shape=(len(indptr) - 1, n_labels))
    )
    rows_of = np.split(holders.indices, holders.indptr[1:-1])
    is_first = np.zeros(len(indptr) - 1, bool)
    for j, rows in enumerate(rows_of):
        is_first[rows] = True
        for other in rows_of[j + 1 :]:
            one_of_two = np.setxor1d(rows, other, assume_unique=True)
            yield one_of_two, is_first[one_of_two]
        is_first[rows] = False


def pair_votes(outputs: np.ndarray, n_labels: int) -> np.ndarray:
    """Votes for each label: a positive output of a pair is a vote for its first label, a negative
    one for its second, and 0 is no vote.
    """
    votes = np.zeros((len(outputs), n_labels))
    start = 0
    for j in range(n_labels - 1):
        block = outputs[:, start : start + n_labels - 1 - j]
        votes[:, j] += np.count_nonzero(block > 0, axis=1)
        votes[:, j + 1 :] += block < 0
        start += block.shape[1]
    return votes


def keep_elected(votes: np.ndarray, indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Which candidates remain: those with the most votes of all labels; all of them, if none of a
    row's candidates has that many.
    """
    rows = entry_rows(indptr)
    elected = votes[rows, indices] == votes.max(axis=1)[rows]
    return elected | ~np.logical_or.reduceat(elected, indptr[:-1])[rows]


def sparse_rows(rows: Iterable[tuple[np.ndarray, np.ndarray]], n_columns: int) -> sparse.csr_array:
    """A sparse matrix with one row for each pair (columns, values)."""
    columns, values = zip(*rows, strict=True)
    indptr = np.concatenate([[0], np.cumsum([len(c) for c in columns])])
    return sparse.csr_array(
        (np.concatenate(values), np.concatenate(columns), indptr), shape=(len(columns), n_columns)
    )
