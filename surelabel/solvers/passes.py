"""Passes over blocks of rows: several blocks at a time, results in order, features kept or computed
again.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from joblib import effective_n_jobs

from .confidence import SortedSets
from .leave_one_out import LeftOut
from .lowrank import LowRankModel, Moments, Targets, block_advance, block_moments, block_start
from .memory import feature_rows
from .peer_passes import Equal, block_advance_peers
from .threads import one_blas_thread

T = TypeVar("T")
R = TypeVar("R")
Sum = TypeVar("Sum", Moments, Targets)

Keep = Literal["memory", "disk", "recompute"]


def ordered_map(
    function: Callable[[T], R], items: Iterable[T], n_jobs: int | None = None
) -> Iterator[R]:
    """``map`` with threads: each item is processed by one thread, in which BLAS uses one thread.

    ``n_jobs`` is their number, as in scikit-learn (-1 for all cores); None for as many as BLAS has.

    Results come in the order of the items, so that sums do not depend on the number of cores. The
    next item is read while earlier ones are processed, and only a few are in memory at a time.
    """
    with (
        one_blas_thread() as free,
        ThreadPoolExecutor(n_threads := effective_n_jobs(n_jobs or free)) as pool,
    ):
        pending: deque[Future[R]] = deque()
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > n_threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


class LocalPasses:
    """Passes over rows on this machine, implementing :class:`~surelabel.solvers.lowrank.Passes`; a
    context manager.

    Parameters
    ----------
    read : callable
        Returns an iterator over the instances in blocks of ``feature_rows(D)`` rows, as arrays.
    shape : tuple of int
        Number of rows, and number ``D`` of features.
    features : callable
        The feature map.
    sets_of : callable
        The candidates of a slice of rows, as
        :class:`~surelabel.solvers.confidence.SortedSets`.
    confidence : ndarray of shape (n_entries,)
        The array for the confidences; its type is also that of the features.
    indptr : ndarray of shape (m + 1,)
        Row pointers of ``confidence``.
    weight : ndarray of shape (m,) or None
        Weights of the rows.
    keep : {"memory", "disk", "recompute"}
        Where features are kept after the first pass. "disk" is a temporary file, removed at the end
        of the context.
    n_jobs : int, default=None
        Number of threads, as in :func:`ordered_map`.
    """

    def __init__(
        self,
        read: Callable[[], Iterator[np.ndarray]],
        shape: tuple[int, int],
        features: Callable[[np.ndarray], np.ndarray],
        sets_of: Callable[[slice], SortedSets],
        confidence: np.ndarray,
        indptr: np.ndarray,
        weight: np.ndarray | None,
        keep: Keep,
        n_jobs: int | None = None,
    ) -> None:
        self._read, self._shape, self._features, self._sets_of = read, shape, features, sets_of
        self.confidence, self._indptr, self._weight = confidence, indptr, weight
        self._n_jobs = n_jobs
        self._step = feature_rows(shape[1])
        self._store: _Store = STORES[keep](shape, confidence.dtype)

    def __enter__(self) -> LocalPasses:
        return self

    def __exit__(self, *_: Any) -> None:
        self._store.close()

    def moments(self) -> Moments:
        """The first pass: compute, sum and keep the features."""

        def work(item: tuple[slice, np.ndarray]) -> Moments:
            rows, X = item
            Z = self._store.put(rows, self._features, X)
            return block_moments(Z, None if self._weight is None else self._weight[rows])

        return _total(ordered_map(work, self._instances(), self._n_jobs))

    def start(self, init: str) -> tuple[Targets, Targets]:
        """Set the confidences; return the sums over certain and over ambiguous rows."""

        def work(item: tuple[slice, Any]) -> tuple[Targets, Targets]:
            rows, Z = item[0], self._store.get(*item, self._features)
            sets = self._sets_of(rows)
            p, certain, moving = block_start(Z, sets, init)
            self._entries(rows)[:] = sets.all_entries(p)
            return certain, moving

        parts = ordered_map(work, self._items(), self._n_jobs)
        certain, moving = next(parts)
        # Added as they are computed: l × D numbers for each of many blocks would take too much
        # memory.
        for more in parts:
            certain, moving = certain + more[0], moving + more[1]
        return certain, moving

    def advance(self, W: np.ndarray, b: np.ndarray, lam: float) -> Targets:
        """Confidence step of all rows."""
        dtype = self.confidence.dtype
        W, b = W.astype(dtype), b.astype(dtype)

        def work(item: tuple[slice, Any]) -> Targets:
            rows, Z = item[0], self._store.get(*item, self._features)
            sets = self._sets_of(rows)
            p = sets.ambiguous_entries(self._entries(rows))
            p, targets = block_advance(Z, sets, p, W, b, lam)
            self._entries(rows)[:] = sets.all_entries(p)
            return targets

        return _total(ordered_map(work, self._items(), self._n_jobs))

    def keep_leverage(self, model: LowRankModel, equal: Equal | None = None) -> None:
        """Compute the leverage of every row, in ``leverage``; equal rows are left out together."""
        self.leverage = np.empty(self._shape[0], self.confidence.dtype)

        def work(item: tuple[slice, Any]) -> None:
            rows, Z = item[0], self._store.get(*item, self._features)
            own = None if self._weight is None else self._weight[rows]
            self.leverage[rows] = model.leverage(Z, own)

        for _ in ordered_map(work, self._items(), self._n_jobs):
            pass
        numbers, columns = (None, np.empty(0, int)) if equal is None else equal
        self._left_out = LeftOut(self.leverage, numbers)
        rows = np.repeat(np.arange(self._shape[0]), np.diff(self._indptr))
        self._means = self._left_out.means(rows, columns, int(columns.max(initial=0)) + 1)

    def advance_peers(
        self, W: np.ndarray, b: np.ndarray, mean: np.ndarray, shift: float
    ) -> Targets:
        """Confidence step of PURE, of all rows."""
        dtype = self.confidence.dtype
        W, b = W.astype(dtype), b.astype(dtype)
        leverage, means = self._left_out.leverage, self._means(self.confidence)

        def work(item: tuple[slice, Any]) -> Targets:
            rows, Z = item[0], self._store.get(*item, self._features)
            sets = self._sets_of(rows)
            p = sets.ambiguous_entries(self._entries(rows))
            judged = sets.ambiguous_entries(self._entries(rows, means))
            p, targets = block_advance_peers(Z, sets, p, judged, leverage[rows], W, b, mean, shift)
            self._entries(rows)[:] = sets.all_entries(p)
            return targets

        return _total(ordered_map(work, self._items(), self._n_jobs))

    def _items(self) -> Iterable[tuple[slice, Any]]:
        """The blocks, with their instances only if features are not kept."""
        if type(self._store) is _Store:
            return self._instances()
        m = self._shape[0]
        return (
            (slice(start, min(start + self._step, m)), None) for start in range(0, m, self._step)
        )

    def _instances(self) -> Iterator[tuple[slice, np.ndarray]]:
        start = 0
        for X in self._read():
            yield slice(start, start := start + len(X)), X

    def _entries(self, rows: slice, values: np.ndarray | None = None) -> np.ndarray:
        """The confidences of a block, or other values of its candidates."""
        values = self.confidence if values is None else values
        return values[self._indptr[rows.start] : self._indptr[rows.stop]]


def _total(parts: Iterable[Sum]) -> Sum:
    iterator = iter(parts)
    total = next(iterator)
    for part in iterator:
        total = total + part
    return total


# ---------------------------------------------------------------- where features are kept


class _Store:
    """Keeps nothing: features are computed again in every pass."""

    def __init__(self, shape: tuple[int, int], dtype: Any) -> None: ...

    def put(self, rows: slice, features: Callable[..., Any], X: np.ndarray) -> np.ndarray:
        """Compute the features of a block."""
        return features(X)

    def get(self, rows: slice, X: Any, features: Callable[..., Any]) -> np.ndarray:
        """The features of a block."""
        return features(X)

    def close(self) -> None:
        """Release memory or files."""


class _Memory(_Store):
    """Features stay in one array."""

    def __init__(self, shape: tuple[int, int], dtype: Any) -> None:
        self._kept = np.empty(shape, dtype)

    def put(self, rows: slice, features: Callable[..., Any], X: np.ndarray) -> np.ndarray:
        self._kept[rows] = features(X)
        return self._kept[rows]

    def get(self, rows: slice, X: Any, features: Callable[..., Any]) -> np.ndarray:
        return self._kept[rows]

    def close(self) -> None:
        del self._kept


class _Disk(_Store):
    """Features go to an unnamed file, so that nothing is left behind. It is not memory-mapped,
    because mapped pages would count as memory.
    """

    def __init__(self, shape: tuple[int, int], dtype: Any) -> None:
        self._width, self._dtype = shape[1], np.dtype(dtype)
        descriptor, name = tempfile.mkstemp(prefix="surelabel-features-")
        self._descriptor = descriptor
        Path(name).unlink()

    def put(self, rows: slice, features: Callable[..., Any], X: np.ndarray) -> np.ndarray:
        Z = features(X)
        content, at = np.ascontiguousarray(Z).data.cast("B"), self._offset(rows.start)
        while content:
            written = os.pwrite(self._descriptor, content, at)
            content, at = content[written:], at + written
        return Z

    def get(self, rows: slice, X: Any, features: Callable[..., Any]) -> np.ndarray:
        Z = np.empty((rows.stop - rows.start, self._width), self._dtype)
        content, at = Z.data.cast("B"), self._offset(rows.start)
        while content:
            count = os.preadv(self._descriptor, [content], at)
            if not count:
                raise OSError("the temporary file of features ends too early")
            content, at = content[count:], at + count
        return Z

    def close(self) -> None:
        os.close(self._descriptor)

    def _offset(self, row: int) -> int:
        return row * self._width * self._dtype.itemsize


STORES: dict[str, type[_Store]] = {"memory": _Memory, "disk": _Disk, "recompute": _Store}
