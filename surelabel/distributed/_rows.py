"""Instances and candidates on a Dask cluster, in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from copy import copy
from typing import Any

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from dask.distributed import Client, Future, KilledWorker, get_client
from distributed.comm.core import CommClosedError

from ..data.candidates import CandidateSets, as_candidates
from ..data.rows import Rows
from ..exceptions import CandidateError, InputError, SurelabelError, first_few


class ClusterError(SurelabelError):
    """There is no Dask cluster, or its scheduler or its workers died."""


class DaskRows(Rows):
    """Rows of a dask array or data frame; empty blocks of rows are ignored."""

    def __init__(self, X: Any, client: Client) -> None:
        self.client, self.dtype = client, float_type(X)
        parts = [delayed(_as_floats, pure=False)(part, self.dtype) for part in _partitions(X)]
        if is_frame(X):
            self._lengths = gather(
                client, client.compute([delayed(len, pure=False)(part) for part in parts])
            )
        else:
            self._lengths = list(X.chunks[0])
        if np.isnan(self._lengths).any():
            raise InputError(
                "the blocks of X have unknown lengths; call X.compute_chunk_sizes() first"
            )
        self.shape = (sum(self._lengths), X.shape[1])
        if self.shape[0] < 2:
            raise InputError(f"X has {self.shape[0]} row(s): a fit needs at least 2")
        # The instances, as arrays.
        self.blocks_of_X = [
            part for part, length in zip(parts, self._lengths, strict=True) if length
        ]
        # The first row of each block, and the number of rows.
        self.bounds = np.cumsum([0, *filter(None, self._lengths)], dtype=np.intp)
        # The candidates of each block, if they were passed to hold.
        self.candidates: list[Future[Any]] = []

    def blocks(self, step: int) -> Iterator[np.ndarray]:
        """All rows in order, at most ``step`` at a time; blocks are fetched one after another."""
        for block in self.blocks_of_X:
            (X,) = gather(self.client, [self.client.compute(block)])
            yield from (X[start : start + step] for start in range(0, len(X), step))

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows at ascending positions, combined in local memory: no worker needs more than its
        own blocks.
        """
        cuts = np.searchsorted(rows, self.bounds)
        parts = [
            delayed(_take, pure=False)(block, rows[low:high] - start)
            for block, start, low, high in zip(
                self.blocks_of_X, self.bounds[:-1], cuts[:-1], cuts[1:], strict=True
            )
            if high > low
        ]
        return np.concatenate(gather(self.client, self.client.compute(parts)))

    def mapped(self, function: Callable[[np.ndarray], np.ndarray]) -> DaskRows:
        """The rows with a function applied to each block, on its worker."""
        rows = copy(self)
        rows.blocks_of_X = [delayed(function, pure=False)(block) for block in self.blocks_of_X]
        return rows

    def hold(self, y: Any) -> CandidateSets:
        """Read candidates on the workers, into :attr:`candidates`; also return all of them. They
        are a dask array, data frame, column or bag, or a list of Delayed, in the same partitions as
        the rows.
        """
        parts = _partitions(y)
        if len(parts) != len(self._lengths):
            raise CandidateError(
                f"X has {len(self._lengths)} blocks but y has {len(parts)} partitions: they must "
                "be the same instances, partitioned alike (rechunk or repartition one of them)"
            )
        read = self.client.compute(
            [delayed(_read, pure=False)(part, number) for number, part in enumerate(parts)]
        )
        found = gather(self.client, self.client.map(_describe, read, pure=False))
        wrong = [i for i, (count, _) in enumerate(found) if count != self._lengths[i]]
        if wrong:
            raise CandidateError(
                f"block {wrong[0]} of X has {self._lengths[wrong[0]]} rows but partition "
                f"{wrong[0]} of y has {found[wrong[0]][0]}: they must be the same instances (also "
                f"different: {first_few(wrong[1:]) or 'none'})"
            )
        classes = _common([classes for count, classes in found if count])
        read = [part for part, (count, _) in zip(read, found, strict=True) if count]
        self.candidates = self.client.map(
            CandidateSets.with_classes, read, classes=classes, pure=False
        )
        return _join(gather(self.client, self.candidates))


def find_client() -> Client:
    """The current client."""
    try:
        return get_client()
    except ValueError:
        raise ClusterError(
            "there is no Dask cluster to fit on: start one first, for instance client = "
            "dask.distributed.Client()"
        ) from None


def gather(client: Client, futures: Sequence[Future[Any]]) -> list[Any]:
    """Results, or an error that says what to do if the workers or the scheduler died."""
    with explained(client):
        return list(client.gather(futures))


@contextmanager
def explained(client: Client) -> Iterator[None]:
    """Turn errors of the cluster into messages that say whether workers or the scheduler died, and
    what to do.
    """
    try:
        if client.status != "running":  # otherwise it would wait for a lost scheduler
            raise CommClosedError
        yield
    except KilledWorker as error:
        raise ClusterError(
            "the workers of the Dask cluster died, perhaps because memory ran out "
            f"({str(error).splitlines()[0]}); use smaller blocks of rows, or workers with more "
            "memory"
        ) from None
    except (CancelledError, CommClosedError):
        raise ClusterError(
            "the scheduler of the Dask cluster no longer responds, or has cancelled the work; make "
            "sure that one is running, connect a new client to it and start again"
        ) from None


def _take(block: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.asarray(block[rows])


def _as_floats(part: Any, dtype: np.dtype) -> np.ndarray:
    """A block of rows, or a partition of a data frame, as an array."""
    return (
        part.to_numpy(dtype, na_value=np.nan)
        if hasattr(part, "to_numpy")
        else np.ascontiguousarray(part, dtype)
    )


def is_frame(X: Any) -> bool:
    """Whether instances are a data frame rather than an array."""
    return hasattr(X, "columns")


def float_type(X: Any) -> np.dtype:
    """The float type of the instances: float32 if all columns are, otherwise float64. Refuses
    anything except rows of numbers.
    """
    if getattr(X, "ndim", None) != 2:
        raise InputError(
            "X must be a dask array or data frame of two dimensions (instances × features), not "
            f"{X!r}"
        )
    if is_frame(X):
        wrong = [
            str(name) for name, kind in X.dtypes.items() if getattr(kind, "kind", "O") not in "biuf"
        ]
        if wrong:
            raise InputError(
                f"X has columns that are not numbers: {first_few(wrong)}; encode or drop them first"
            )
        return np.dtype(
            np.float32 if all(str(kind).lower() == "float32" for kind in X.dtypes) else np.float64
        )
    if not isinstance(X._meta, np.ndarray):
        raise InputError(
            f"the blocks of X are {type(X._meta).__name__}: they must be dense NumPy arrays"
        )
    if X.dtype.kind not in "biuf":
        raise InputError(f"X holds {X.dtype}: it must hold numbers")
    return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)


def whole_rows(array: da.Array) -> da.Array:
    """The array in blocks of whole rows."""
    return array.rechunk({1: -1}) if array.ndim == 2 and array.numblocks[1] > 1 else array


def on_cluster(y: Any) -> bool:
    """Whether candidates are on the cluster: a dask collection, or a list of delayed parts."""
    return is_dask_collection(y) or (
        isinstance(y, list) and len(y) > 0 and all(isinstance(part, Delayed) for part in y)
    )


def _partitions(collection: Any) -> list[Delayed]:
    """The parts of a dask collection; they are the same for any selection of columns of a table."""
    if isinstance(collection, list):
        return collection
    if isinstance(collection, Delayed):
        return [collection]
    if isinstance(collection, da.Array):
        return list(whole_rows(collection).to_delayed().ravel())
    if hasattr(collection, "simplify"):
        # Read only the columns needed. Further optimisation would merge small partitions,
        # differently for X and y.
        return list(collection.simplify().to_delayed(optimize_graph=False))
    return list(collection.to_delayed())


def _read(part: Any, number: int) -> CandidateSets | None:
    """The candidates of one partition; None if it is empty."""
    part = part if hasattr(part, "__len__") else list(part)
    try:
        return as_candidates(part) if len(part) else None
    except CandidateError as error:
        raise CandidateError(f"in partition {number} of y: {error}") from None


def _describe(part: CandidateSets | None) -> tuple[int, np.ndarray | None]:
    return (0, None) if part is None else (len(part), part.classes)


def _common(classes: list[Any]) -> np.ndarray:
    """The label space of all partitions: the common one if they agree (columns keep their order),
    otherwise all labels, sorted.
    """
    agree = all(np.array_equal(some, classes[0]) for some in classes)
    return classes[0] if agree else np.unique(np.concatenate(classes))


def _join(parts: list[CandidateSets]) -> CandidateSets:
    sizes = np.concatenate([part.sizes for part in parts])
    # Lists have counts only if a label is repeated, which may happen in only some of the parts.
    counts = (
        None
        if all(part.counts is None for part in parts)
        else np.concatenate(
            [np.ones(len(part.indices)) if part.counts is None else part.counts for part in parts]
        )
    )
    indptr = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return CandidateSets(
        indptr, np.concatenate([part.indices for part in parts]), parts[0].classes, counts
    )
