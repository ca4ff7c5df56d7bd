"""Instances and candidates on a Dask cluster, in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from dask.distributed import Client, Future, KilledWorker, get_client

from ..exceptions import CandidateError, InputError, SurelabelError, first_few
from .candidates import CandidateSets, as_candidates
from .rows import Rows


class ClusterError(SurelabelError):
    """There is no Dask cluster, or its workers died."""


class DaskRows(Rows):
    """Rows of a dask array.

    Parameters
    ----------
    array : dask.array.Array of shape (m, n)
        One block of columns; empty blocks of rows do not count.
    client : dask.distributed.Client
        Of the cluster.

    Attributes
    ----------
    blocks_of_X : list of Delayed
        The instances.
    bounds : ndarray
        First row of each block, and the number of rows.
    candidates : list of Future
        The candidates of each block, where :meth:`hold` was given them.
    """

    def __init__(self, array: da.Array, client: Client) -> None:
        self._lengths = array.chunks[0]
        if np.isnan(self._lengths).any():
            raise InputError("the blocks of X have unknown lengths; call X.compute_chunk_sizes() first")
        if array.shape[0] < 2:
            raise InputError(f"X has {array.shape[0]} row(s): a fit needs at least 2")
        self.client, self.shape, self.dtype = client, array.shape, array.dtype
        self.blocks_of_X = [block for block, length in zip(array.to_delayed().ravel(), self._lengths, strict=True) if length]
        self.bounds = np.concatenate([[0], np.cumsum([length for length in self._lengths if length])]).astype(np.intp)
        self.candidates: list[Future] = []

    def blocks(self, step: int) -> Iterator[np.ndarray]:
        """All rows in order, at most ``step`` at a time; the blocks come here one after the other."""
        for block in self.blocks_of_X:
            (X,) = gather(self.client, [self.client.compute(block)])
            yield from (X[start : start + step] for start in range(0, len(X), step))

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows at ascending positions, put together here: no worker sees more than its blocks."""
        cuts = np.searchsorted(rows, self.bounds)
        parts = [
            delayed(_take, pure=False)(block, rows[low:high] - start)
            for block, start, low, high in zip(self.blocks_of_X, self.bounds[:-1], cuts[:-1], cuts[1:], strict=True)
            if high > low
        ]
        return np.concatenate(gather(self.client, self.client.compute(parts)))

    def hold(self, y: Any) -> CandidateSets:
        """Read candidates where they are, as :attr:`candidates`; all of them are returned, too.

        Parameters
        ----------
        y : dask array, data frame, column or bag, or list of Delayed
            In the same partitions as the rows.
        """
        parts = _partitions(y)
        if len(parts) != len(self._lengths):
            raise CandidateError(
                f"X has {len(self._lengths)} blocks but y has {len(parts)} partitions: they must be the same instances, "
                "partitioned alike (rechunk or repartition one of them)"
            )
        read = self.client.compute([delayed(_read, pure=False)(part, number) for number, part in enumerate(parts)])
        found = gather(self.client, self.client.map(_describe, read, pure=False))
        wrong = [i for i, (count, _) in enumerate(found) if count != self._lengths[i]]
        if wrong:
            raise CandidateError(
                f"block {wrong[0]} of X has {self._lengths[wrong[0]]} rows but partition {wrong[0]} of y has "
                f"{found[wrong[0]][0]}: they must be the same instances (also different: {first_few(wrong[1:]) or 'none'})"
            )
        classes = _common([classes for count, classes in found if count])
        read = [part for part, (count, _) in zip(read, found, strict=True) if count]
        self.candidates = self.client.map(_with_classes, read, classes=classes, pure=False)
        return _join(gather(self.client, self.candidates))


def find_client() -> Client:
    """The client that is current."""
    try:
        return get_client()
    except ValueError:
        raise ClusterError(
            "there is no Dask cluster to fit on: make one first, for instance client = dask.distributed.Client()"
        ) from None


def gather(client: Client, futures: Sequence[Future]) -> list[Any]:
    """Results, or an error that says what to do when no worker survives."""
    try:
        return client.gather(futures)
    except (KilledWorker, CancelledError) as error:
        raise ClusterError(
            f"the workers of the Dask cluster died, perhaps for want of memory ({str(error).splitlines()[0]}); "
            "use smaller blocks of rows, or workers with more memory"
        ) from None


def _take(block: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return block[rows]


def as_dask_array(X: Any, *, lengths: bool) -> da.Array:
    """Instances as a dask array of floats in blocks of rows; ``lengths`` counts the rows of a data frame's partitions."""
    if getattr(X, "ndim", None) != 2:
        raise InputError(f"X must be a dask array or data frame of two dimensions (instances × features), not {X!r}")
    if hasattr(X, "columns"):
        kinds = list(X.dtypes)
        wrong = [str(name) for name, kind in zip(X.columns, kinds, strict=True) if not _is_number(kind)]
        if wrong:
            raise InputError(f"X has columns that are no numbers: {first_few(wrong)}; encode or drop them first")
        single = all(str(kind).lower() == "float32" for kind in kinds)
        return X.astype(np.float32 if single else np.float64).to_dask_array(lengths=lengths or None)
    if not isinstance(X._meta, np.ndarray):
        raise InputError(f"the blocks of X are {type(X._meta).__name__}: they must be dense NumPy arrays")
    if X.dtype.kind not in "biuf":
        raise InputError(f"X holds {X.dtype}: it must hold numbers")
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    return X if X.dtype == np.float32 else X.astype(np.float64)


def _is_number(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "biuf"


def on_cluster(y: Any) -> bool:
    """Whether these are candidates on the cluster: a dask collection, or a list of them."""
    return is_dask_collection(y) or (isinstance(y, list) and len(y) > 0 and all(isinstance(part, Delayed) for part in y))


def _partitions(y: Any) -> list[Delayed]:
    if isinstance(y, list | Delayed):
        return y if isinstance(y, list) else [y]
    if isinstance(y, da.Array):
        y = y.rechunk({1: -1}) if y.ndim == 2 and y.numblocks[1] > 1 else y
        return y.to_delayed().ravel().tolist()
    return list(y.to_delayed())


def _read(part: Any, number: int) -> CandidateSets | None:
    """The candidates of one partition; None where it is empty."""
    part = part if hasattr(part, "__len__") else list(part)
    try:
        return as_candidates(part) if len(part) else None
    except CandidateError as error:
        raise CandidateError(f"in partition {number} of y: {error}") from None


def _describe(part: CandidateSets | None) -> tuple[int, np.ndarray | None]:
    return (0, None) if part is None else (len(part), part.classes)


def _common(classes: list[Any]) -> np.ndarray:
    """The label space of all partitions: that of each, where they agree (columns keep their order), else all labels sorted."""
    agree = all(np.array_equal(some, classes[0]) for some in classes)
    return classes[0] if agree else np.unique(np.concatenate(classes))


def _with_classes(part: CandidateSets, classes: np.ndarray) -> CandidateSets:
    return part.with_classes(classes)


def _join(parts: list[CandidateSets]) -> CandidateSets:
    sizes = np.concatenate([part.sizes for part in parts])
    counts = None if any(part.counts is None for part in parts) else np.concatenate([part.counts for part in parts])
    indptr = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return CandidateSets(indptr, np.concatenate([part.indices for part in parts]), parts[0].classes, counts)
