"""Fits to rows that are read in blocks: in memory, from a file larger than memory, or on a cluster.

``ZᵀZ``, ``ZᵀP`` and the confidence step are sums and maps over blocks of rows (see :mod:`.ridge`),
so one pass over the rows is one iteration. Confidences stay with their rows, and only ``D × l``
matrices are moved. For PURE, the leverage of every row takes one more pass, once; before each pass,
the confidences of rows with equal features are averaged, wherever these rows are.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import gen_batches

from .alternate import Course, Iteration
from .confidence import SortedSets
from .leave_one_out import (
    LeftOut,
    PeerCourse,
    class_shares,
    iterate_peers,
    peer_confidence,
    shift_likelihood,
    without_row,
)
from .memory import feature_rows
from .ridge import (
    GramRidge,
    Moments,
    Targets,
    certain_targets,
    moments_of,
    outputs_at,
    targets_of,
)
from .sparse_rows import entry_rows
from .threads import one_blas_thread

T = TypeVar("T")
R = TypeVar("R")

#: Where features are kept after the first pass.
Keep = Literal["memory", "disk", "recompute"]
#: Group numbers of the rows, equal for equal rows, and the class of every candidate.
Equal: TypeAlias = tuple[np.ndarray, np.ndarray]


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


# ---------------------------------------------------------------- passes over all rows


class Passes(Protocol):
    """The rows, wherever they are stored; each method is one pass over them. Confidences are kept
    with the rows.
    """

    @property
    def leverage(self) -> np.ndarray:
        """The leverages of all rows."""

    def moments(self) -> Moments:
        """Sums over the features of all rows."""

    def start(self, init: str) -> tuple[Targets, Targets]:
        """Set the initial confidences; return the sums over certain rows, which do not change, and
        over ambiguous ones.
        """

    def advance(self, W: np.ndarray, b: np.ndarray, lam: float) -> Targets:
        """Confidence step of all ambiguous rows for the model ``W`` (D × l), ``b``; return the sums
        over them.
        """

    def keep_leverage(self, model: GramRidge, equal: Equal | None) -> None:
        """Compute and keep the leverage of every row; equal rows are left out together."""

    def advance_peers(
        self, W: np.ndarray, b: np.ndarray, mean: np.ndarray, shift: float
    ) -> Targets:
        """Confidence step of PURE; return the sums over the ambiguous rows."""


@dataclass(kw_only=True)
class LowRankFit(Course):
    """The model ``f(x) = Wᵀz(x) + b``, and the course of its iterations."""

    W: np.ndarray
    b: np.ndarray


@dataclass(kw_only=True)
class PeerFit(LowRankFit, PeerCourse):
    """As :class:`LowRankFit`, with the model at ``P = Y / |S|``, where the iterations began."""

    first: tuple[np.ndarray, np.ndarray]


def alternate_passes(
    passes: Passes,
    beta: float,
    lam: float,
    *,
    init: str,
    max_iter: int,
    tol: float,
    callback: Callable[[Iteration], bool | None] | None = None,
    with_leverage: bool = False,
) -> LowRankFit:
    """Algorithm 1 in passes over the rows: one for the factor, one for the start, one for each
    iteration, and one for the leverages if they are wanted.

    The options are those of :func:`~surelabel.solvers.alternate.alternate`, for one λ; ``passes``
    holds the final confidences.
    """
    moments = passes.moments()
    model = GramRidge(moments, beta)
    certain, moving = passes.start(init)
    course = Course()
    for _ in range(max_iter):
        W, b, loss = model.solve(certain + moving)
        moving = passes.advance(W, b, lam)
        iteration = course.add(
            float(np.sqrt(moving.change / moments.weight)),
            loss + moving.fall - lam * moving.peak - moving.agreement,
        )
        course.converged = iteration.delta <= tol
        stop = callback is not None and callback(iteration)
        if course.converged or stop:
            break
    if with_leverage:
        passes.keep_leverage(model, None)
    return LowRankFit(W=W, b=b, **vars(course))


def alternate_peer_passes(
    passes: Passes,
    beta: float,
    *,
    max_iter: int,
    tol: float,
    shift: float | None = None,
    equal: Equal | None = None,
    callback: Callable[[Iteration], bool | None] | None = None,
) -> PeerFit:
    """:func:`~surelabel.solvers.leave_one_out.alternate_peers` in passes over the rows: three, and
    one for each iteration. ``passes`` holds the final confidences and the leverages.
    """
    moments = passes.moments()
    model = GramRidge(moments, beta)
    passes.keep_leverage(model, equal)
    certain, moving = passes.start("uniform")
    W, b, _ = model.solve(certain + moving)
    fit = PeerFit(W=W, b=b, first=(W, b))

    def step(shift: float) -> tuple[float, np.ndarray]:
        nonlocal moving
        mean = class_shares(certain.mass + moving.mass, moments.weight)
        moving = passes.advance_peers(fit.W, fit.b, mean, shift)
        if max_iter:
            fit.W, fit.b, _ = model.solve(certain + moving)
        return float(np.sqrt(moving.change / moments.weight)), np.asarray(moving.likelihood)

    iterate_peers(step, fit, max_iter=max_iter, tol=tol, shift=shift, callback=callback)
    return fit


# ---------------------------------------------------------------- one block of rows


def block_start(Z: np.ndarray, sets: SortedSets, init: str) -> tuple[np.ndarray, Targets, Targets]:
    """Initial confidences of one block, and the sums over its certain and its ambiguous rows."""
    p = sets.initial(init, 1)[0]
    return p, certain_targets(Z, sets), targets_of(Z, sets, p)


def block_step(
    Z: np.ndarray, sets: SortedSets, W: np.ndarray, b: np.ndarray, lam: float
) -> tuple[np.ndarray, np.ndarray, Targets]:
    """Confidence step of one block: its new confidences, their outputs, and the sums over its
    ambiguous rows. It depends only on the model ``W`` (D × l), ``b``.
    """
    q = outputs_at(Z, sets, W, b)
    p = sets.project(q[None], np.array([lam], q.dtype))[0]
    peak, agreement = float(sets.peak(p[None])[0]), float(np.sum(sets.agreement(p[None])))
    return p, q, replace(targets_of(Z, sets, p), peak=peak, agreement=agreement)


def block_change(
    sets: SortedSets, p: np.ndarray, new: np.ndarray, q: np.ndarray
) -> tuple[float, float]:
    """``change`` and ``fall`` of :class:`~surelabel.solvers.ridge.Targets` for a step from ``p`` to
    ``new`` at the outputs ``q``.
    """
    change = new - p
    weighted = change * sets.entry_weight
    # ‖new - q‖² - ‖p - q‖² = (new - p)ᵀ(new + p - 2q)
    return float(weighted @ change), float(weighted @ (new + p - 2 * q))


def block_peer_step(
    Z: np.ndarray,
    sets: SortedSets,
    p: np.ndarray,
    judged: np.ndarray,
    leverage: np.ndarray,
    model: tuple[np.ndarray, np.ndarray, np.ndarray, float],
) -> tuple[np.ndarray, Targets]:
    """Confidence step of PURE of one block: its new confidences, and the sums over its ambiguous
    rows.

    ``judged`` and ``leverage`` are the confidences and the leverages of what is left out with its
    rows (see :class:`~surelabel.solvers.leave_one_out.LeftOut`); ``model`` is ``W`` (D × l), ``b``,
    ``π`` and ``g``.
    """
    W, b, mean, shift = model
    own = leverage[sets.row_order[sets.n_clean + sets.rows]]
    q = without_row(judged, outputs_at(Z, sets, W, b), own)
    new = peer_confidence(sets, q, mean, shift)
    change = new - p
    return new, replace(
        targets_of(Z, sets, new),
        change=float((change * sets.entry_weight) @ change),
        likelihood=shift_likelihood(sets, q, mean),
    )


# ---------------------------------------------------------------- on this machine


class LocalPasses:
    """:class:`Passes` over rows on this machine; a context manager.

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
        self._read, self._shape, self._sets_of = read, shape, sets_of
        self.confidence, self._indptr, self._weight = confidence, indptr, weight
        self._n_jobs = n_jobs
        self._store: _Recompute = STORES[keep](features, shape, confidence.dtype)

    def __enter__(self) -> LocalPasses:
        return self

    def __exit__(self, *_: Any) -> None:
        self._store.close()

    def moments(self) -> Moments:
        """The first pass: compute, sum and keep the features."""

        def work(item: tuple[slice, np.ndarray]) -> Moments:
            rows, X = item
            return moments_of(self._store.put(rows, X), self._weight_of(rows))

        return reduce(add, ordered_map(work, self._instances(), self._n_jobs))

    def start(self, init: str) -> tuple[Targets, Targets]:
        """Set the confidences; return the sums over certain and over ambiguous rows."""

        def work(rows: slice, Z: np.ndarray, sets: SortedSets) -> tuple[Targets, Targets]:
            p, *sums = block_start(Z, sets, init)
            self._entries(rows)[:] = sets.all_entries(p)
            return sums[0], sums[1]

        # Add sums as they are computed: l × D numbers for every block would take too much memory.
        return reduce(lambda one, two: (one[0] + two[0], one[1] + two[1]), self._pass(work))

    def advance(self, W: np.ndarray, b: np.ndarray, lam: float) -> Targets:
        """Confidence step of all rows."""
        W, b = self._single(W), self._single(b)

        def work(rows: slice, Z: np.ndarray, sets: SortedSets) -> Targets:
            p = sets.ambiguous_entries(self._entries(rows))
            new, q, targets = block_step(Z, sets, W, b, lam)
            self._entries(rows)[:] = sets.all_entries(new)
            change, fall = block_change(sets, p, new, q)
            return replace(targets, change=change, fall=fall)

        return reduce(add, self._pass(work))

    def keep_leverage(self, model: GramRidge, equal: Equal | None = None) -> None:
        """Compute the leverage of every row, in ``leverage``; equal rows are left out together."""
        self.leverage = np.empty(self._shape[0], self.confidence.dtype)

        def work(rows: slice, Z: np.ndarray, _: SortedSets) -> None:
            self.leverage[rows] = model.leverage(Z, self._weight_of(rows))

        for _ in self._pass(work):
            pass
        numbers, columns = (None, np.empty(0, int)) if equal is None else equal
        self._left_out = LeftOut(self.leverage, numbers)
        n_classes = int(columns.max(initial=0)) + 1
        self._means = self._left_out.means(entry_rows(self._indptr), columns, n_classes)

    def advance_peers(
        self, W: np.ndarray, b: np.ndarray, mean: np.ndarray, shift: float
    ) -> Targets:
        """Confidence step of PURE, of all rows."""
        model = self._single(W), self._single(b), mean, shift
        leverage, means = self._left_out.leverage, self._means(self.confidence)

        def work(rows: slice, Z: np.ndarray, sets: SortedSets) -> Targets:
            p = sets.ambiguous_entries(self._entries(rows))
            judged = sets.ambiguous_entries(self._entries(rows, means))
            p, targets = block_peer_step(Z, sets, p, judged, leverage[rows], model)
            self._entries(rows)[:] = sets.all_entries(p)
            return targets

        return reduce(add, self._pass(work))

    def _pass(self, work: Callable[[slice, np.ndarray, SortedSets], R]) -> Iterator[R]:
        """The results of ``work`` for all blocks, in order. ``work`` is called with the rows, their
        features and their candidates.
        """

        def one(item: tuple[slice, Any]) -> R:
            return work(item[0], self._store.get(*item), self._sets_of(item[0]))

        return ordered_map(one, self._items(), self._n_jobs)

    def _items(self) -> Iterable[tuple[slice, Any]]:
        """The blocks, with their instances only if features are not kept."""
        if type(self._store) is _Recompute:
            return self._instances()
        return ((rows, None) for rows in gen_batches(self._shape[0], feature_rows(self._shape[1])))

    def _instances(self) -> Iterator[tuple[slice, np.ndarray]]:
        start = 0
        for X in self._read():
            yield slice(start, start := start + len(X)), X

    def _entries(self, rows: slice, values: np.ndarray | None = None) -> np.ndarray:
        """The confidences of a block, or other values of its candidates."""
        values = self.confidence if values is None else values
        return values[self._indptr[rows.start] : self._indptr[rows.stop]]

    def _weight_of(self, rows: slice) -> np.ndarray | None:
        return None if self._weight is None else self._weight[rows]

    def _single(self, numbers: np.ndarray) -> np.ndarray:
        return numbers.astype(self.confidence.dtype)


@dataclass
class _Recompute:
    """Keeps nothing: features are computed again in every pass."""

    features: Callable[[np.ndarray], np.ndarray]
    shape: tuple[int, int]
    dtype: np.dtype

    def put(self, rows: slice, X: np.ndarray) -> np.ndarray:
        """Compute the features of a block."""
        return self.features(X)

    def get(self, rows: slice, X: Any) -> np.ndarray:
        """The features of a block."""
        return self.features(X)

    def close(self) -> None:
        """Release memory or files."""


@dataclass
class _Memory(_Recompute):
    """Features stay in one array."""

    def __post_init__(self) -> None:
        self._kept = np.empty(self.shape, self.dtype)

    def put(self, rows: slice, X: np.ndarray) -> np.ndarray:
        self._kept[rows] = self.features(X)
        return self._kept[rows]

    def get(self, rows: slice, X: Any) -> np.ndarray:
        return self._kept[rows]

    def close(self) -> None:
        del self._kept


@dataclass
class _Disk(_Recompute):
    """Features go to an unnamed file, so that nothing is left behind. It is not memory-mapped,
    because mapped pages would count as memory.
    """

    def __post_init__(self) -> None:
        self._descriptor, name = tempfile.mkstemp(prefix="surelabel-features-")
        Path(name).unlink()

    def put(self, rows: slice, X: np.ndarray) -> np.ndarray:
        Z = self.features(X)
        content, at = np.ascontiguousarray(Z).data.cast("B"), self._offset(rows.start)
        while content:
            written = os.pwrite(self._descriptor, content, at)
            content, at = content[written:], at + written
        return Z

    def get(self, rows: slice, X: Any) -> np.ndarray:
        Z = np.empty((rows.stop - rows.start, self.shape[1]), self.dtype)
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
        return row * self.shape[1] * self.dtype.itemsize


STORES: dict[str, type[_Recompute]] = {"memory": _Memory, "disk": _Disk, "recompute": _Recompute}
