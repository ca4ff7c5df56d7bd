"""Labels in arrays and sequences of any kind → positions in the classes, counts and votes."""

from __future__ import annotations

from collections.abc import Iterable, Set
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import CandidateError, first_few
from .finite import first_cells

NUMBERS = int | float | np.number | np.bool_


# -------------------------------------------------------------------- any values as arrays


def as_list(values: Any, what: str) -> list[Any]:
    """The items of an iterable, or an error that names it."""
    try:
        return list(values)
    except TypeError:
        raise CandidateError(
            f"{what} must be a sequence with one item per row, not {type(values).__name__}"
        ) from None


def as_array(values: Any, what: str, dtype: Any = None) -> np.ndarray:
    """The values as an array, or an error that names them."""
    try:
        return np.asarray(values, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise CandidateError(f"{what} cannot be read as an array: {error}") from None


def label_array(values: Any, *, ndim: int) -> np.ndarray:
    """The values as a new array with ``ndim`` dimensions: an array keeps its dtype, anything else
    becomes an array of objects.
    """
    if hasattr(values, "to_numpy") and hasattr(values, "isna"):
        array = values.to_numpy(dtype=object, na_value=None)  # pandas: one kind of missing values
    elif hasattr(values, "__array__"):
        array = as_array(values, "labels")
    elif ndim == 1:
        values = as_list(values, "labels")
        array = np.empty(len(values), object)
        array[:] = values
    else:
        array = as_array(as_list(values, "labels"), "labels", object)
    if array.ndim != ndim:
        raise CandidateError(
            f"expected {ndim} dimension(s) of labels, got an array of shape {array.shape}"
        )
    return np.asarray(array.copy())


def as_numbers(array: np.ndarray) -> np.ndarray:
    """An array of Python numbers as an array of floats; anything else unchanged."""
    if array.dtype == object and array.size and all(isinstance(v, NUMBERS) for v in array.flat):
        with suppress(OverflowError, TypeError):
            return array.astype(float)
    return array


def as_texts(cells: np.ndarray) -> np.ndarray:
    """Cells as strings, "" where missing; numbers as Python prints them."""
    if cells.dtype.kind == "U":
        return cells
    cells = cells.astype(object)
    cells[is_missing(cells)] = ""
    wrong = [i for i, cell in enumerate(cells.tolist()) if not isinstance(cell, str | NUMBERS)]
    if wrong:
        raise CandidateError(
            f"each cell must be a string of labels, not {type(cells[wrong[0]]).__name__}: row "
            f"{first_few(wrong)}"
        )
    return cells.astype(str)


def is_missing(array: np.ndarray) -> np.ndarray:
    """Where a label is missing: ``None``, NaN or the empty string."""
    if array.dtype.kind == "U":
        return np.asarray(array == "")
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array))
    if array.dtype == object:
        absent = [
            value is None or _is_nan(value) or (isinstance(value, str) and not value)
            for value in array.flat
        ]
        return np.array(absent, bool).reshape(array.shape)
    return np.zeros(array.shape, bool)


def _is_nan(value: Any) -> bool:
    """Whether a value is NaN, which differs from itself, or pandas' NA, which cannot be
    compared.
    """
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


# -------------------------------------------------------------------- labels and classes


def homogeneous(labels: np.ndarray, owners: np.ndarray | None = None) -> np.ndarray:
    """Labels as one array of strings, integers, booleans or whole floats; ``owners`` are the rows
    they belong to, by default 0, 1, ….
    """
    owners = np.arange(len(labels)) if owners is None else owners
    if labels.dtype == object:
        labels = _of_one_type(labels.tolist(), owners)
    if labels.dtype.kind == "f":
        broken = ~np.isfinite(labels) | (labels != np.rint(labels))
        if np.any(broken):
            raise CandidateError(
                "Unknown label type: continuous. Labels must be strings or whole numbers, without "
                f"NaN or infinity; see row {first_few(np.unique(owners[broken]))}"
            )
    elif labels.dtype.kind not in "biuU":
        raise CandidateError(f"labels must be strings or numbers, not {labels.dtype}")
    return labels


def _of_one_type(labels: list[Any], owners: np.ndarray) -> np.ndarray:
    """Python objects as an array of strings or of numbers."""
    other = {type(label).__name__ for label in labels if not isinstance(label, str | NUMBERS)}
    if other:
        raise CandidateError(f"labels must be strings or numbers, not {first_few(sorted(other))}")
    is_text = np.array([isinstance(label, str) for label in labels], bool)
    if not is_text.any():
        return _exact_numbers(labels, owners)
    if not is_text.all():
        rare = is_text if is_text.mean() < 0.5 else ~is_text
        raise CandidateError(
            "labels mix strings and numbers; the rarer kind is in row "
            f"{first_few(np.unique(owners[rare]))}"
        )
    ends_in_nul = np.array([label.endswith("\0") for label in labels])
    if ends_in_nul.any():  # NumPy drops the NUL, which could make two labels one
        raise CandidateError(
            "labels must not end in a NUL character; one does in row "
            f"{first_few(np.unique(owners[ends_in_nul]))}"
        )
    return np.array(labels, dtype=str)


def _exact_numbers(labels: list[Any], owners: np.ndarray) -> np.ndarray:
    """Numbers as an array of one type that holds each of them exactly."""
    labels = [label.item() if isinstance(label, np.generic) else label for label in labels]
    for dtype in (None, np.int64, np.uint64):  # by itself, NumPy turns large integers into floats
        with suppress(OverflowError, ValueError):
            numbers = np.array(labels, dtype)
            if numbers.dtype != object and numbers.tolist() == labels:
                return numbers
    large = np.array([isinstance(label, int) and abs(label) > 2**53 for label in labels])
    if not large.any():  # only NaN, which equals nothing
        return np.array(labels, float)
    raise CandidateError(
        f"the labels have no common type that keeps numbers as large as "
        f"{str(labels[int(np.argmax(large))])[:30]} exactly (row "
        f"{first_few(np.unique(owners[large]))}); write them as strings"
    )


def check_classes(classes: Any) -> np.ndarray:
    """The label space as a copy: not empty, and without duplicates."""
    classes = homogeneous(label_array(classes, ndim=1))
    if not len(classes):
        raise CandidateError("there are no classes: no row has a candidate label")
    labels, counts = np.unique(classes, return_counts=True)
    if len(labels) < len(classes):
        raise CandidateError(
            "class names must differ; given more than once: "
            f"{first_few(labels[counts > 1].tolist())}"
        )
    return np.asarray(classes)


def encode(labels: np.ndarray, owners: np.ndarray, classes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions of labels in ``classes`` (by default the sorted labels themselves)."""
    labels = homogeneous(labels, owners)
    if classes is None:
        classes, codes = np.unique(labels, return_inverse=True)
        return codes, classes
    classes = check_classes(classes)
    codes = find(labels, classes)
    unknown = codes < 0
    if np.any(unknown):
        raise CandidateError(
            f"unknown class {first_few(np.unique(labels[unknown]).tolist())} in row "
            f"{first_few(np.unique(owners[unknown]))}; "
            f"the classes are {first_few(classes.tolist())}"
        )
    return codes, classes


def find(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Positions of labels in ``classes``, -1 for unknown ones."""
    if len(labels) and (labels.dtype.kind == "U") != (classes.dtype.kind == "U"):
        raise CandidateError(
            f"labels are {labels.dtype} but classes are {classes.dtype}: use one type for both"
        )
    # Python compares numbers of different types exactly, NumPy as floats.
    position = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([position.get(label, -1) for label in labels.tolist()], int)


# -------------------------------------------------------------------- matrices and entries


def check_entries(indptr: Any, indices: Any, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Row pointers and positions as copies, in the smallest index type."""
    indptr, indices = as_array(indptr, "indptr"), as_array(indices, "indices")
    for name, values in (("indptr", indptr), ("indices", indices)):
        if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
            raise CandidateError(
                f"{name} must be an array of whole numbers, not {values.dtype} of shape "
                f"{values.shape}"
            )
    if (
        len(indptr) < 1
        or indptr[0] != 0
        or indptr[-1] != len(indices)
        or np.any(indptr[1:] < indptr[:-1])
    ):
        raise CandidateError(f"indptr must rise from 0 to the number of entries ({len(indices)})")
    outside = (indices < 0) | (indices >= n_classes)
    if outside.any():
        raise CandidateError(
            f"candidate positions must be within 0..{n_classes - 1} ({n_classes} classes); "
            f"see row {_rows_of(outside, indptr)}"
        )
    index_type = np.int32 if len(indices) < 2**31 else np.int64
    return np.array(indptr, index_type), np.array(indices, index_type)


def _rows_of(marked: np.ndarray, indptr: np.ndarray) -> str:
    """Name the first few rows that have marked entries."""
    rows = np.searchsorted(indptr, np.flatnonzero(marked), side="right") - 1
    return first_few(np.unique(rows))


def fill_rows(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The entries; rows without entries get every class with the value 0."""
    sizes = np.diff(indptr)
    empty = sizes == 0
    sizes[empty] = n_classes
    given = np.repeat(~empty, sizes)
    every, filled = np.empty(len(given), indices.dtype), np.zeros(len(given), values.dtype)
    every[given], every[~given] = indices, np.tile(np.arange(n_classes), np.count_nonzero(empty))
    filled[given] = values
    return np.concatenate([indptr[:1], np.cumsum(sizes, dtype=indptr.dtype)]), every, filled


def row_pointers(owners: np.ndarray, n_rows: int) -> np.ndarray:
    """Row pointers of entries that are sorted by row."""
    return np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n_rows))])


def read_matrix(matrix: Any, what: str) -> sparse.csr_array:
    """A matrix of numbers as a CSR array, without duplicate entries and stored zeros."""
    if not sparse.issparse(matrix):
        matrix = as_numbers(as_array(matrix, what))
    if matrix.ndim != 2:
        raise CandidateError(
            f"{what} must have two dimensions (instances × classes), not {matrix.ndim}"
        )
    if matrix.dtype.kind not in "biuf":
        raise CandidateError(f"{what} must hold numbers, not {matrix.dtype}")
    if matrix.dtype == np.float16:  # scipy has no sparse arrays of it
        matrix = matrix.astype(np.float32)
    given, matrix = matrix, sparse.csr_array(matrix)
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy() if sparse.issparse(given) else matrix
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return matrix


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


def check_zero_one(matrix: sparse.csr_array) -> None:
    """Refuse a candidate matrix that does not hold 0 and 1."""
    wrong = matrix.data != 1
    if np.any(wrong):
        raise CandidateError(
            f"a candidate matrix must hold only 0 and 1; {np.count_nonzero(wrong)} other value(s) "
            f"at (row, column) {first_cells(matrix, wrong)} (for vote counts use "
            "CandidateSets.from_counts, for one column per annotator from_votes)"
        )


def looks_like_matrix(rows: list[Any], lengths: np.ndarray, flat: list[Any]) -> bool:
    """Whether lists look like the rows of a 0/1 matrix rather than lists of labels: they have equal
    length and hold 0 and 1 only, and not every one is ``[0, 1]``, which could be two labels.
    """
    if not len(lengths) or lengths[0] < 2 or np.any(lengths != lengths[0]):
        return False
    zero_one = all(label in (0, 1) for label in flat)
    return zero_one and not all(isinstance(row, Set) or list(row) == [0, 1] for row in rows)


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
        raise CandidateError(
            f"vote counts must be finite numbers, at least 0; see row {_rows_of(wrong, indptr)}"
        )
    whole = np.all((counts == np.rint(counts)) & (counts < 2**53))
    return np.asarray(counts, np.int64 if whole else float)


# -------------------------------------------------------------------- votes


def net_votes(
    rows: np.ndarray, codes: np.ndarray, amounts: np.ndarray, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row pointers, positions and counts of the candidates that votes for and against labels make.

    A vote against a label takes a vote for it away. The candidates of a row are the labels that
    have votes left. If there are none, they are the labels with the fewest votes against them, each
    with a count of 0.

    Parameters
    ----------
    rows, codes : ndarray of int
        Row and class of every vote.
    amounts : ndarray
        How much it counts; negative for a vote against the class.
    shape : tuple of (int, int)
        Number of rows and of classes.
    """
    net = sparse.coo_array((amounts, (rows, codes)), shape=shape).tocsr()
    entries = net.tocoo()
    left = entries.data > 0
    voted = np.bincount(entries.row[left], minlength=shape[0]) > 0
    undecided = np.flatnonzero((np.diff(net.indptr) > 0) & ~voted)
    totals = net[undecided].toarray()
    which, labels = np.nonzero(totals == totals.max(axis=1, keepdims=True))
    owners = np.concatenate([entries.row[left], undecided[which]])
    order = np.argsort(owners, kind="stable")
    no_votes = np.zeros(len(labels), net.dtype)
    return (
        row_pointers(owners[order], shape[0]),
        np.concatenate([entries.col[left], labels])[order],
        np.concatenate([entries.data[left], no_votes])[order],
    )


def check_votes(
    votes: Any, annotators: Iterable[Any] | None, shape: tuple[int, int]
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """A copy of the votes, and the names of the annotators."""
    if votes is None:
        return None, ()
    votes = as_array(votes, "votes")
    if votes.ndim != 2 or votes.dtype.kind not in "iu" or len(votes) != shape[0]:
        raise CandidateError(
            f"votes must be whole numbers, a row for each of the {shape[0]} rows and a column per "
            f"annotator, not {votes.dtype} of shape {votes.shape}"
        )
    wrong = np.flatnonzero(((votes < -1) | (votes >= shape[1])).any(axis=1))
    if len(wrong):
        raise CandidateError(
            f"votes must be positions within 0..{shape[1] - 1}, or -1 where there is none; see row "
            f"{first_few(wrong)}"
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
