"""Candidate labels: one immutable type, made from any common form of them."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import chain, pairwise
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from ..exceptions import CandidateError, first_few, shown
from ._label_arrays import (
    as_array,
    as_list,
    as_numbers,
    as_texts,
    check_classes,
    check_counts,
    check_entries,
    check_votes,
    check_zero_one,
    column_classes,
    encode,
    fill_rows,
    find,
    homogeneous,
    is_missing,
    label_array,
    looks_like_matrix,
    read_matrix,
    row_pointers,
)
from .candidate_summary import CandidateSummary

Unlabelled = Literal["error", "all"]


class CandidateSets:
    """Sets of candidate labels, one per instance, stored as compressed sparse rows.

    Use :func:`as_candidates` for any input, or the ``from_...`` constructors to say which form it
    is. Instances are immutable and behave as an array of ``m`` rows: ``len``, row indexing,
    ``shape``, so that scikit-learn's splitters, ``cross_validate``, ``GridSearchCV`` and
    ``Pipeline`` carry them unchanged.

    Parameters
    ----------
    indptr : array-like of shape (m + 1,)
        Row ``i`` has the candidates ``indices[indptr[i]:indptr[i + 1]]``.
    indices : array-like of shape (n_entries,)
        Positions in ``classes``.
    classes : array-like of shape (l,)
        The label space: strings or numbers, each once.
    counts : array-like of shape (n_entries,), default=None
        Number of votes for each entry, if the candidates come from votes; if a row names a label
        twice, its votes add up.
    unlabelled : {"error", "all"}, default="error"
        What to do with a row without candidates: raise an error, or treat every label as possible.
    votes : array-like of shape (m, annotators), default=None
        Who voted for what: positions in ``classes``, -1 where an annotator did not vote.
    annotators : sequence of str, default=None
        The names of the annotators; by default "annotator 1", "annotator 2", ….

    Notes
    -----
    Labels are strings or whole numbers. Numbers are kept exactly, or refused: no type holds both
    2**53 + 1 and a float, or both a number above 2**63 and a negative one.

    Examples
    --------
    >>> from surelabel import CandidateSets
    >>> sets = CandidateSets.from_strings(["cat|dog", "dog", "cow|cat|dog"])
    >>> sets
    CandidateSets(3 rows, 3 classes, 2.00 candidates on average)
    >>> sets[2].tolist()
    ['cat', 'cow', 'dog']
    >>> sets[[0, 1]].to_lists()
    [['cat', 'dog'], ['dog']]
    """

    __slots__ = ("_annotators", "_classes", "_counts", "_matrix", "_votes")

    def __init__(
        self,
        indptr: Any,
        indices: Any,
        classes: Any,
        counts: Any = None,
        *,
        unlabelled: Unlabelled = "error",
        votes: Any = None,
        annotators: Iterable[Any] | None = None,
    ) -> None:
        check_unlabelled(unlabelled)
        self._classes = check_classes(classes)
        indptr, indices = check_entries(indptr, indices, len(self._classes))
        shape = (len(indptr) - 1, len(self._classes))
        values = np.ones(len(indices), np.int8) if counts is None else check_counts(counts, indptr)
        empty = np.flatnonzero(np.diff(indptr) == 0)
        if len(empty) and unlabelled == "error":
            raise CandidateError(
                f"{len(empty)} row(s) have no candidate label: row {first_few(empty)}; drop them, "
                "or pass unlabelled='all' if every label is possible for them"
            )
        if len(empty):
            indptr, indices, values = fill_rows(indptr, indices, values, shape[1])
        self._matrix = sparse.csr_array((values, indices, indptr), shape=shape)
        if not self._matrix.has_canonical_format:  # sorted within rows, each label once
            self._matrix.sum_duplicates()
        self._counts = None if counts is None else self._matrix.data
        self._matrix.data = np.ones(len(self._matrix.indices), np.int8)
        self._votes, self._annotators = check_votes(votes, annotators, shape)
        for array in (
            self._classes,
            self._counts,
            self._votes,
            self._matrix.indptr,
            self._matrix.indices,
            self._matrix.data,
        ):
            if array is not None:
                array.setflags(write=False)

    # ---------------------------------------------------------------- constructors

    @classmethod
    def from_labels(
        cls, labels: Any, *, classes: Any = None, unlabelled: Unlabelled = "error"
    ) -> CandidateSets:
        """One label per instance; missing ones (``None``, NaN, ``""``) are rows without
        candidates.
        """
        labels = label_array(labels, ndim=1)
        rows = np.flatnonzero(~is_missing(labels))
        codes, classes = encode(labels[rows], rows, classes)
        return cls(row_pointers(rows, len(labels)), codes, classes, unlabelled=unlabelled)

    @classmethod
    def from_indicator(
        cls, matrix: Any, *, classes: Any = None, unlabelled: Unlabelled = "error"
    ) -> CandidateSets:
        """A 0/1 matrix, instances × classes: an array, any scipy sparse matrix, or a DataFrame
        whose columns are classes.
        """
        if classes is None and hasattr(matrix, "columns"):
            classes = list(matrix.columns)
        matrix = read_matrix(matrix, "a candidate matrix")
        check_zero_one(matrix)
        classes = column_classes(classes, matrix.shape[1])
        return cls(matrix.indptr, matrix.indices, classes, unlabelled=unlabelled)

    @classmethod
    def from_lists(
        cls, rows: Iterable[Any], *, classes: Any = None, unlabelled: Unlabelled = "error"
    ) -> CandidateSets:
        """A sequence of sets, lists, tuples or arrays of labels, one per instance.

        A label that a row names more than once has that many votes. If any row does so, ``counts``
        says how often each row names each label. Otherwise the rows are sets, and ``counts`` is
        None.
        """
        rows = [() if row is None else row for row in as_list(rows, "candidate sets")]
        wrong = [i for i, row in enumerate(rows) if not _is_collection(row)]
        if wrong:
            raise CandidateError(
                f"each row must be a set or list of labels; row {first_few(wrong)} is not"
            )
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        flat = list(
            chain.from_iterable(
                row.tolist() if isinstance(row, np.ndarray) else row for row in rows
            )
        )
        owners = np.repeat(np.arange(len(rows)), lengths)
        if looks_like_matrix(rows, lengths, flat):
            raise CandidateError(
                "the rows look like a 0/1 matrix written as nested lists; pass np.asarray(rows), "
                "or from_indicator"
            )
        labels = label_array(flat, ndim=1)
        named = ~is_missing(labels)
        owners = owners[named]
        codes, classes = encode(labels[named], owners, classes)
        entries = owners * len(classes) + codes
        votes = np.ones(len(codes), np.int64) if len(np.unique(entries)) < len(entries) else None
        return cls(row_pointers(owners, len(rows)), codes, classes, votes, unlabelled=unlabelled)

    @classmethod
    def from_strings(
        cls,
        strings: Any,
        *,
        separator: str = "|",
        classes: Any = None,
        unlabelled: Unlabelled = "error",
    ) -> CandidateSets:
        """Labels joined by a separator, as in ``"cat|dog"``; spaces around a label are ignored. A
        label named more than once has that many votes, as in :meth:`from_lists`.
        """
        if not isinstance(separator, str) or not separator:
            raise CandidateError(f"separator must be a non-empty string; got {shown(separator)}")
        cells = as_texts(label_array(strings, ndim=1)).tolist()
        rows = [[part.strip() for part in cell.split(separator)] for cell in cells]
        return cls.from_lists(rows, classes=classes, unlabelled=unlabelled)

    @classmethod
    def from_votes(
        cls,
        votes: Any,
        *,
        classes: Any = None,
        unlabelled: Unlabelled = "error",
        annotators: Iterable[Any] | None = None,
    ) -> CandidateSets:
        """One column per annotator, with the label that the annotator gave in each cell; cells may
        be missing. ``counts`` has the number of votes, ``votes`` the votes themselves; annotators
        get the names of the columns of a DataFrame.
        """
        if annotators is None and hasattr(votes, "columns"):
            annotators = list(votes.columns)
        cells = label_array(votes, ndim=2)
        given = np.nonzero(~is_missing(cells))
        codes, classes = encode(cells[given], given[0], classes)
        by_annotator = np.full(cells.shape, -1, np.int32)
        by_annotator[given] = codes
        return cls.from_ballots(by_annotator, classes, unlabelled=unlabelled, annotators=annotators)

    @classmethod
    def from_ballots(
        cls,
        votes: np.ndarray,
        classes: Any,
        *,
        unlabelled: Unlabelled = "all",
        annotators: Iterable[Any] | None = None,
    ) -> CandidateSets:
        """Votes as positions in ``classes``, a column per annotator: -1 where there is none."""
        classes = check_classes(classes)
        rows, who = np.nonzero(votes >= 0)
        shape = (len(votes), len(classes))
        cast = sparse.coo_array((np.ones(len(rows), np.int64), (rows, votes[rows, who])), shape)
        counts = cast.tocsr()
        return cls(
            counts.indptr,
            counts.indices,
            classes,
            counts.data,
            unlabelled=unlabelled,
            votes=votes,
            annotators=annotators,
        )

    @classmethod
    def from_counts(
        cls, counts: Any, *, classes: Any = None, unlabelled: Unlabelled = "error"
    ) -> CandidateSets:
        """A matrix of vote counts or probabilities, instances × classes: a label with a vote (or
        part of one) is a candidate.

        Every label may be a candidate of every row, as with the probabilities of a classifier:
        methods that use votes (:class:`~surelabel.SUREClassifier`) learn from their shares.
        """
        if classes is None and hasattr(counts, "columns"):
            classes = list(counts.columns)
        matrix = read_matrix(counts, "a matrix of vote counts")
        if not np.all(np.isfinite(matrix.data) & (matrix.data >= 0)):
            raise CandidateError("vote counts must be finite numbers, at least 0")
        classes = column_classes(classes, matrix.shape[1])
        return cls(matrix.indptr, matrix.indices, classes, matrix.data, unlabelled=unlabelled)

    # ---------------------------------------------------------------- reading

    @property
    def classes(self) -> np.ndarray:
        """The label space, in column order."""
        return self._classes

    @property
    def indptr(self) -> np.ndarray:
        """Row pointers: the entries of row ``i`` are ``indptr[i]:indptr[i + 1]``."""
        indptr: np.ndarray = self._matrix.indptr
        return indptr

    @property
    def indices(self) -> np.ndarray:
        """Class position of every entry, ascending within a row."""
        indices: np.ndarray = self._matrix.indices
        return indices

    @property
    def counts(self) -> np.ndarray | None:
        """Number of votes for every entry, or None if the candidates do not come from votes."""
        return self._counts

    @property
    def votes(self) -> np.ndarray | None:
        """Position of each annotator's label, rows × annotators, -1 where there is none; None if it
        is not known who voted.
        """
        return self._votes

    @property
    def annotators(self) -> tuple[str, ...]:
        """The names of the columns of ``votes``."""
        return self._annotators

    @property
    def sizes(self) -> np.ndarray:
        """Number of candidates of every row."""
        return np.diff(self.indptr)

    @property
    def rows(self) -> np.ndarray:
        """Row of every entry."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @property
    def shape(self) -> tuple[int, int]:
        """(number of instances, number of classes)."""
        return len(self), len(self._classes)

    @property
    def ndim(self) -> int:
        """Always 2: instances × classes."""
        return 2

    def to_indicator(self) -> np.ndarray:
        """The dense 0/1 matrix ``Y`` of the paper, as int8."""
        return np.asarray(self._matrix.toarray())

    def to_counts(self) -> np.ndarray:
        """The dense matrix of vote counts, rows × classes; 0 and 1 if the candidates do not come
        from votes.
        """
        dense = np.zeros(self.shape)
        dense[self.rows, self.indices] = 1 if self._counts is None else self._counts
        return dense

    def to_sparse(self) -> sparse.csr_array:
        """The 0/1 matrix as a scipy CSR array, without a copy: its arrays are read-only.

        This is a method because some versions of scikit-learn take an object with two dimensions
        and an attribute ``sparse`` for a pandas frame.
        """
        return self._matrix

    def to_lists(self) -> list[list[Any]]:
        """The candidates of every row as a list of lists of labels."""
        labels = self._classes[self.indices].tolist()
        bounds = self.indptr.tolist()
        return [labels[start:stop] for start, stop in pairwise(bounds)]

    def contains(self, labels: Any) -> np.ndarray:
        """Whether each row's label is among its candidates; ``labels`` has one label per row."""
        labels = label_array(labels, ndim=1)
        if len(labels) != len(self):
            raise CandidateError(f"there are {len(labels)} labels for {len(self)} rows")
        absent = np.flatnonzero(is_missing(labels))
        if len(absent):
            raise CandidateError(f"there is no label in row {first_few(absent)}")
        codes = find(homogeneous(labels), self._classes)
        wanted = np.arange(len(self)) * self.shape[1] + codes
        entries = self.rows * self.shape[1] + self.indices  # ascending
        at = np.minimum(np.searchsorted(entries, wanted), len(entries) - 1)
        return np.asarray((codes >= 0) & (entries[at] == wanted))

    def with_classes(self, classes: Any) -> CandidateSets:
        """The same sets over another label space, which must contain every candidate."""
        codes, classes = encode(self._classes[self.indices], self.rows, classes)
        votes = self._votes
        if votes is not None:
            place = find(self._classes, classes)
            votes = np.where(votes >= 0, place[np.maximum(votes, 0)], -1)
        return type(self)(
            self.indptr, codes, classes, self._counts, votes=votes, annotators=self._annotators
        )

    def describe(self) -> CandidateSummary:
        """Count set sizes, class frequencies and which classes are confused with which."""
        sizes, counts = np.unique(self.sizes, return_counts=True)
        ones = self._matrix.astype(np.int64)
        return CandidateSummary(
            n_rows=len(self),
            classes=self._classes,
            average_size=len(self.indices) / max(len(self), 1),
            set_sizes=dict(zip(sizes.tolist(), counts.tolist(), strict=True)),
            class_frequency=np.bincount(self.indices, minlength=self.shape[1]),
            co_occurrence=(ones.T @ ones).toarray(),
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        # An object per row, not a 0/1 matrix: scikit-learn's metrics refuse it, instead of taking
        # every candidate for a true label; its splitters ask only whether there are classes.
        rows = np.empty(len(self), object)
        for i, labels in enumerate(self):
            rows[i] = labels
        return np.asarray(rows, dtype=dtype)

    def __len__(self) -> int:
        return int(self._matrix.shape[0])

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        # scikit-learn asks for array[rows, ...]; only whole rows can be selected here.
        if isinstance(key, tuple):
            if len(key) != 2 or not (key[1] is Ellipsis or key[1] == slice(None)):
                raise IndexError("CandidateSets are indexed by rows only")
            key = key[0]
        if isinstance(key, int | np.integer):
            row = range(len(self))[key]
            return self._classes[self.indices[self.indptr[row] : self.indptr[row + 1]]]
        if not isinstance(key, slice):
            key = np.asarray(key)
            if key.dtype == bool and key.shape != (len(self),):
                raise IndexError(
                    f"a mask needs one entry per row ({len(self)}), not shape {key.shape}"
                )
            if key.size and key.dtype.kind not in "biu":
                raise IndexError(
                    f"CandidateSets are indexed by integers, slices and masks, not by {key.dtype}"
                )
            key = np.flatnonzero(key) if key.dtype == bool else key.astype(np.intp)
        counts = self._matrix.data if self._counts is None else self._counts
        picked = sparse.csr_array((counts, self.indices, self.indptr), shape=self.shape)[key]
        return type(self)(
            picked.indptr,
            picked.indices,
            self._classes,
            None if self._counts is None else picked.data,
            votes=None if self._votes is None else self._votes[key],
            annotators=self._annotators,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CandidateSets):
            return False  # with NotImplemented, arrays and frames would compare entry by entry
        return self._annotators == other._annotators and all(
            np.array_equal(getattr(self, name), getattr(other, name))  # None equals None only
            for name in ("classes", "indptr", "indices", "counts", "votes")
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        rows, classes = self.shape
        mean = len(self.indices) / max(rows, 1)
        return f"CandidateSets({rows} rows, {classes} classes, {mean:.2f} candidates on average)"

    def __reduce__(self) -> tuple[Any, ...]:
        make = partial(type(self), votes=self._votes, annotators=self._annotators)
        return make, (self.indptr, self.indices, self._classes, self._counts)


def as_candidates(
    y: Any, *, classes: Any = None, unlabelled: Unlabelled = "error"
) -> CandidateSets:
    """Make :class:`CandidateSets` from any form of candidate labels.

    ========================================  ===========================================
    input                                     read as
    ========================================  ===========================================
    ``CandidateSets``                         itself
    1-D array, list or Series of labels       one certain label per row
    2-D array of numbers, sparse matrix       0/1 matrix, instances × classes
    DataFrame of numbers or booleans          0/1 matrix, columns are the classes
    sequence of sets, lists, tuples           the candidates of each row
    2-D array or DataFrame of strings         one column per annotator
    ========================================  ===========================================

    Strings with a separator and vote counts could be mistaken for labels and 0/1 matrices: say
    which they are with :meth:`CandidateSets.from_strings` and :meth:`CandidateSets.from_counts`.

    Parameters
    ----------
    y : CandidateSets, array-like, sparse matrix, DataFrame or sequence
        The candidate labels.
    classes : array-like of shape (l,), default=None
        The label space; by default the sorted labels that occur (for a matrix: its columns).
    unlabelled : {"error", "all"}, default="error"
        Whether a row without candidates is an error or means that every label is possible.

    Returns
    -------
    CandidateSets
    """
    options: dict[str, Any] = {"classes": classes, "unlabelled": unlabelled}
    check_unlabelled(unlabelled)
    if isinstance(y, CandidateSets):
        return y if classes is None else y.with_classes(classes)
    if sparse.issparse(y):
        return CandidateSets.from_indicator(y, **options)
    if isinstance(y, str | bytes) or not (hasattr(y, "__array__") or isinstance(y, Iterable)):
        raise CandidateError(
            "y should be a 1d array, a candidate matrix or a sequence of candidate sets; got "
            f"{shown(y)}"
        )
    if not hasattr(y, "__array__"):  # a plain Python sequence, or an iterable
        y = as_list(y, "y")
    array: Any = as_array(y, "y") if hasattr(y, "__array__") else y
    if isinstance(array, list) or array.ndim == 1:
        nested = _is_collection(next((row for row in array if row is not None), None))
        return CandidateSets.from_lists(y, **options) if nested else _certain_labels(y, options)
    if array.ndim != 2:
        raise CandidateError(
            "y should be a 1d array of labels or a 2d candidate matrix; got an array of shape "
            f"{array.shape}"
        )
    if array.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; it is read as one label "
            "per row.",
            DataConversionWarning,
            stacklevel=2,
        )
        return CandidateSets.from_labels(array.ravel(), **options)
    # columns of several numeric types arrive as objects
    if as_numbers(array).dtype.kind in "biuf":
        return CandidateSets.from_indicator(y, **options)
    return CandidateSets.from_votes(y, **options)


def check_unlabelled(unlabelled: str) -> None:
    """Refuse any value other than 'error' and 'all'."""
    if not isinstance(unlabelled, str) or unlabelled not in ("error", "all"):
        raise CandidateError(f"unlabelled must be 'error' or 'all', not {shown(unlabelled)}")


def _is_collection(row: Any) -> bool:
    """Whether a row is a collection of labels rather than a single one."""
    return isinstance(row, Collection | np.ndarray) and not isinstance(row, str | bytes)


def _certain_labels(y: Any, options: dict[str, Any]) -> CandidateSets:
    """One label per row; warns if the labels look like several candidates joined."""
    sets = CandidateSets.from_labels(y, **options)
    names = [name for name in sets.classes.tolist() if isinstance(name, str)]
    known = set(names)
    joined = [
        name
        for name in names
        if "|" in name and not known.isdisjoint(part.strip() for part in name.split("|"))
    ]
    if joined:
        warnings.warn(
            f"{joined[0]!r} is read as one label, although a part of it is also a label; if | "
            "separates candidates, "
            "pass CandidateSets.from_strings(y)",
            DataConversionWarning,
            stacklevel=3,
        )
    return sets
