"""Read and check the arrays that candidate sets are made of: entries, counts and votes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import CandidateError, first_few
from ._labels import (
    after_prefix,
    as_array,
    as_numbers,
    as_texts,
    check_classes,
    check_prefix,
    encode,
    missing,
)


def positions(name: str, values: Any) -> np.ndarray:
    """A one-dimensional array of whole numbers."""
    values = as_array(values, name)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise CandidateError(
            f"{name} must be an array of whole numbers, not {values.dtype} of shape {values.shape}"
        )
    return np.asarray(values)


def row_pointers(owners: np.ndarray, n_rows: int) -> np.ndarray:
    """Row pointers of entries that are sorted by row."""
    return np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n_rows))])


def fill_rows(matrix: sparse.csr_array, rows: Sequence[int] | np.ndarray) -> sparse.csr_array:
    """Give every label to the given rows."""
    n_classes = matrix.shape[1]
    full = sparse.csr_array(
        (
            np.ones(len(rows) * n_classes, np.int8),
            np.tile(np.arange(n_classes, dtype=matrix.indices.dtype), len(rows)),
            row_pointers(np.repeat(rows, n_classes), matrix.shape[0]),
        ),
        shape=matrix.shape,
    )
    return (matrix + full).tocsr()


def read_matrix(matrix: Any, what: str) -> tuple[Any, np.ndarray]:
    """A matrix as an array or a CSR array without duplicate entries, and its stored values."""
    if sparse.issparse(matrix):
        if matrix.ndim == 2:
            matrix = sparse.csr_array(matrix)
            if not matrix.has_canonical_format:
                matrix = matrix.copy()
                matrix.sum_duplicates()
            return matrix, matrix.data
    else:
        matrix = as_numbers(as_array(matrix, what))
    if matrix.ndim != 2:
        raise CandidateError(
            f"{what} must have two dimensions (instances × classes), not {matrix.ndim}"
        )
    return matrix, matrix


def column_classes(classes: Any, n_columns: int) -> np.ndarray:
    """The classes of the columns of a matrix, by default their numbers."""
    if not n_columns:
        raise CandidateError("there are no classes: the matrix has no columns")
    classes = np.arange(n_columns) if classes is None else check_classes(classes)
    if len(classes) != n_columns:
        raise CandidateError(
            f"the candidate matrix has {n_columns} columns but {len(classes)} classes were given"
        )
    return np.asarray(classes)


def check_zero_one(matrix: Any, values: np.ndarray) -> None:
    if values.dtype.kind not in "iuf":
        raise CandidateError(f"a candidate matrix must hold 0 and 1, not {values.dtype}")
    wrong = (values != 0) & (values != 1)
    if np.any(wrong):
        if sparse.issparse(matrix):
            where = matrix.tocoo()
            rows, columns = where.row[wrong], where.col[wrong]
        else:
            rows, columns = np.nonzero(wrong)
        cells = [f"({i}, {j})" for i, j in zip(rows.tolist(), columns.tolist(), strict=True)]
        raise CandidateError(
            f"a candidate matrix must hold only 0 and 1; {len(cells)} other value(s) at (row, "
            "column) "
            f"{first_few(cells)} "
            "(for vote counts use CandidateSets.from_counts, for one column per annotator "
            "from_votes)"
        )


def looks_like_matrix(rows: list[Any], lengths: np.ndarray, flat: list[Any]) -> bool:
    """Whether lists look like the rows of a 0/1 matrix rather than sets of labels: of equal length,
    with 0 and 1 only.
    """
    if (
        not len(lengths)
        or lengths[0] < 2
        or np.any(lengths != lengths[0])
        or not all(label in (0, 1) for label in flat)
    ):
        return False
    return lengths[0] > 2 or any(
        list(row) in ([0, 0], [1, 1], [1, 0]) for row in rows if not isinstance(row, Set)
    )


def read_votes(votes: np.ndarray, classes: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row pointers, the position of each vote, and the classes, of a table with a column per
    annotator.
    """
    rows, columns = np.nonzero(~missing(votes))
    codes, classes = encode(votes[rows, columns], rows, classes)
    return row_pointers(rows, len(votes)), codes, classes


def without_prefix(cells: np.ndarray, prefix: str | None) -> tuple[np.ndarray, np.ndarray]:
    """The labels of cells, and which of them a prefix says are wrong."""
    if prefix is None:
        return cells, np.zeros(cells.shape, bool)
    check_prefix(prefix)
    texts, which = np.unique(as_texts(cells.ravel()), return_inverse=True)
    rests = [after_prefix(text, prefix) for text in texts.tolist()]
    if "" in rests:
        where = np.unique(np.nonzero(which.reshape(cells.shape) == rests.index(""))[0])
        raise CandidateError(
            f"{prefix!r} alone rules out no label: row {first_few(where)}; write the label after it"
        )
    labels = [text if rest is None else rest for text, rest in zip(texts, rests, strict=True)]
    against = np.array([rest is not None for rest in rests], bool)
    return (
        np.array(labels, object)[which].reshape(cells.shape),
        against[which].reshape(cells.shape),
    )


def net_votes(
    rows: np.ndarray,
    codes: np.ndarray,
    against: np.ndarray,
    amounts: np.ndarray,
    shape: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row pointers, positions and counts of the candidates that votes for and against labels make.

    A vote against a label takes a vote for it away. The candidates of a row are the labels that
    have votes left; where none has, those with the fewest votes against them, and nobody's vote.

    Parameters
    ----------
    rows, codes : ndarray of int
        Row and class of every vote.
    against : ndarray of bool
        Whether it is against the class.
    amounts : ndarray
        How much it counts.
    shape : tuple of (int, int)
        Number of rows and of classes.
    """
    signed = np.where(against, -amounts, amounts)
    net = sparse.coo_array((signed, (rows, codes)), shape=shape).tocsr()
    given = np.flatnonzero(np.diff(net.indptr))
    net.data[net.data <= 0] = 0
    net.eliminate_zeros()
    open_rows = given[np.diff(net.indptr)[given] == 0]
    if not len(open_rows):
        return net.indptr, net.indices, net.data
    there = np.isin(rows, open_rows)
    place = np.searchsorted(open_rows, rows[there])
    total = np.zeros((len(open_rows), shape[1]), signed.dtype)
    np.add.at(total, (place, codes[there]), signed[there])
    which, labels = np.nonzero(total == total.max(axis=1, keepdims=True))
    filled = net.tocoo()
    owners = np.concatenate([filled.row, open_rows[which]])
    order = np.argsort(owners, kind="stable")
    return (
        row_pointers(owners[order], shape[0]),
        np.concatenate([filled.col, labels])[order],
        np.concatenate([filled.data, np.zeros(len(labels), signed.dtype)])[order],
    )


def check_counts(counts: Any, indptr: np.ndarray) -> np.ndarray:
    """Vote counts as a copy, one per entry and none negative; as integers if all are whole."""
    counts = np.array(as_array(counts, "counts"))
    if counts.shape != (indptr[-1],):
        raise CandidateError(
            f"counts has shape {counts.shape} but there are {indptr[-1]} candidate entries: give "
            "one number for each"
        )
    wrong = (
        ~(counts >= 0) | ~np.isfinite(counts)
        if counts.dtype.kind in "biuf"
        else np.ones(len(counts), bool)
    )
    if wrong.any():
        rows = np.unique(np.searchsorted(indptr, np.flatnonzero(wrong), side="right") - 1)
        raise CandidateError(
            f"vote counts must be finite numbers, at least 0; see row {first_few(rows)}"
        )
    whole = np.all((counts == np.rint(counts)) & (counts < 2**53))
    return np.asarray(counts, np.int64 if whole else float)


def check_votes(
    votes: Any, annotators: Iterable[Any] | None, shape: tuple[int, int]
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """A copy of the votes, and the names of the annotators."""
    if votes is None:
        return None, ()
    votes = np.array(as_array(votes, "votes"))
    if votes.ndim != 2 or votes.dtype.kind not in "iu" or len(votes) != shape[0]:
        raise CandidateError(
            f"votes must be whole numbers, a row for each of the {shape[0]} rows and a column per "
            f"annotator, not {votes.dtype} of shape {votes.shape}"
        )
    # A vote against class k is -2 - k.
    wrong = np.flatnonzero(((votes < -1 - shape[1]) | (votes >= shape[1])).any(axis=1))
    if len(wrong):
        raise CandidateError(
            f"votes must be positions within 0..{shape[1] - 1}, -1, or -2 - k against position k; "
            f"see row {first_few(wrong)}"
        )
    if annotators is None:
        names = tuple(f"annotator {a + 1}" for a in range(votes.shape[1]))
    else:
        names = tuple(map(str, annotators))
    if len(names) != votes.shape[1] or len(set(names)) < len(names):
        raise CandidateError(
            f"votes have {votes.shape[1]} columns: give each annotator a different name; got "
            f"{first_few(map(repr, names))}"
        )
    return votes.astype(np.int32), names
