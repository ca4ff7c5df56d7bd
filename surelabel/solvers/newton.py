"""Newton's method for a smooth convex function of few weights of linear scores ``X @ W``."""

from collections.abc import Callable
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from .memory import block_rows
from .smooth import Function, Minimum

MOST = 500  # weights of which a Hessian is factorised
FEW = 150  # up to which that is cheaper than the steps of L-BFGS it saves, even on easy problems
ENTRIES = 5 * 10**5  # rows × features, or × pairs of labels, of which there are several arrays
KEPT = 10**6  # rows × pairs of features up to which their products are kept
TRIALS = 60  # maximum per line search: a step may be too long by many orders of magnitude


class ScoreHessian:
    """The Hessian ``ridge·I + Σ_i B_i ⊗ x_i x_iᵀ`` of a function of the scores ``x_iᵀW``, where
    ``B_i`` is its second derivative with respect to the l scores of row i.

    Parameters
    ----------
    X : ndarray, CSR matrix or RowBlocks of shape (m, n)
        The instances; in memory, if it is used.
    n_classes : int
        The number l of labels.

    Attributes
    ----------
    possible : bool
        Whether there are few enough weights and rows to factorise it.
    cheap : bool
        Whether there are so few that it is worth while for every problem.
    """

    def __init__(self, X: Any, n_classes: int) -> None:
        self._instances = X
        (m, n), pairs = X.shape, n_classes * (n_classes + 1) // 2
        weights, entries = n * n_classes, m * max(n, pairs)
        self.possible = weights <= MOST and entries <= ENTRIES
        self.cheap = self.possible and weights <= FEW

    @cached_property
    def columns(self) -> np.ndarray:
        """The transpose of X."""
        X = self._instances
        return X.T.toarray() if sparse.issparse(X) else np.ascontiguousarray(X.T)

    @cached_property
    def squares(self) -> np.ndarray:
        """The squared length of each row."""
        return np.asarray((self.columns**2).sum(axis=0))

    @cached_property
    def _products(self) -> np.ndarray | None:
        """The products of each pair of features, a row for each instance, if they are few."""
        n, m = self.columns.shape
        few = m * (n * (n + 1) // 2) <= KEPT
        return np.ascontiguousarray(lower_triangle(self.columns).T) if few else None

    def solve(self, curved: np.ndarray, ridge: float, gradient: np.ndarray) -> np.ndarray:
        """The inverse of the Hessian times a gradient, with as much ridge as rounding errors need.

        Parameters
        ----------
        curved : ndarray of shape (l (l + 1) / 2, m)
            The lower triangles of the ``B_i``, as in :func:`lower_triangle`; of fewer labels, if
            the weights are written with fewer columns.
        ridge : float
            What is added to the diagonal.
        gradient : ndarray of shape (n, l)
        """
        flat = self.matrix(curved, ridge)
        diagonal = flat.ravel()[:: len(flat) + 1]
        for more in (1e-14, 1e-12, 1e-10):
            diagonal *= 1 + more
            _, found, failed = lapack.dposv(flat.T, gradient.ravel(), lower=1)
            if not failed:
                break
        return np.asarray(found.reshape(gradient.shape))

    def matrix(self, curved: np.ndarray, ridge: float) -> np.ndarray:
        """The Hessian, of shape (n·l, n·l)."""
        if self._products is not None:
            sums = curved @ self._products
        else:
            n, m = self.columns.shape
            pairs = n * (n + 1) // 2
            sums, step = np.zeros((len(curved), pairs)), block_rows(pairs)
            for start in range(0, m, step):
                part = slice(start, start + step)
                sums += curved[:, part] @ lower_triangle(self.columns[:, part]).T
        flat = np.take(sums, _places(len(self.columns), len(curved)))
        flat.ravel()[:: len(flat) + 1] += ridge
        return flat


def lower_triangle(columns: np.ndarray) -> np.ndarray:
    """The lower triangles of ``vvᵀ``, for each column ``v``, as columns."""
    i, j = _lower(len(columns))
    found = columns.take(i, axis=0)
    found *= columns.take(j, axis=0)
    return found


def diagonal(n: int) -> np.ndarray:
    """The rows of a lower triangle that belong to the diagonal."""
    return np.arange(n) * np.arange(3, n + 3) // 2


@cache
def _lower(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.tril_indices(n)


@lru_cache(8)
def _places(n: int, pairs: int) -> np.ndarray:
    """Where each entry of a Hessian is found among pairs of labels × pairs of features."""
    l = int((2 * pairs) ** 0.5)
    labels, features = _symmetric(l)[None, :, None, :], _symmetric(n)[:, None, :, None]
    return (labels * (n * (n + 1) // 2) + features).reshape(n * l, n * l)


@cache
def _symmetric(n: int) -> np.ndarray:
    """The position of each entry of a symmetric matrix among those of its lower triangle."""
    places = np.zeros((n, n), np.intp)
    places[np.tril_indices(n)] = np.arange(n * (n + 1) // 2)
    return np.maximum(places, places.T)


class _Point(NamedTuple):
    weights: np.ndarray
    value: float
    gradient: np.ndarray


def newton(
    function: Function,
    direction: Callable[[np.ndarray], np.ndarray],
    W: np.ndarray,
    tol: float,
    max_iter: int,
    size: float | None = None,
) -> Minimum:
    """Newton's method, with shorter steps where the function would rise.

    Parameters
    ----------
    function : callable
        Value and gradient at weights of the shape of ``W``.
    direction : callable
        ``direction(gradient)`` is the inverse of the Hessian times the gradient, where ``function``
        was called last.
    W : ndarray of shape (n, l)
        Where to begin.
    tol : float
        Stop when no entry of the gradient is larger than this fraction of ``size``.
    max_iter : int
        Largest number of steps.
    size : float, default=None
        None is the largest entry of the gradient at the start.

    Returns
    -------
    Minimum
        Its gradient is 0 if only rounding errors are left.
    """
    value, gradient = function(W)
    steepest = float(np.abs(gradient).max())
    size = steepest if size is None else size
    n_iter = 0
    while steepest > tol * size:
        if n_iter == max_iter:
            return Minimum(W, n_iter, False, steepest / size)
        move = direction(gradient)
        slope = float(np.vdot(gradient, move))
        if slope <= 1e-12 * max(abs(value), 1.0):  # what is left to gain is rounding
            following = W - move
            better = np.abs(function(following)[1]).max() < steepest
            return Minimum(following if better else W, n_iter, slope >= 0, 0.0)
        found = _line_search(function, W, move, value, slope)
        if not found.value < value:
            return Minimum(W, n_iter, False, steepest / size)
        W, value, gradient = found
        n_iter += 1
        steepest = float(np.abs(gradient).max())
    return Minimum(W, n_iter, True, steepest / size if size else 0.0)


def _line_search(
    function: Function, W: np.ndarray, move: np.ndarray, value: float, slope: float
) -> _Point:
    """The end of the step to ``W - move``, or a point on the way at which the function has fallen,
    and neither falls nor rises half as steeply as it fell at ``W``.
    """
    low, falls, high, rises = 0.0, slope, 1.0, 0.0
    step = 1.0
    for _ in range(TRIALS):
        there = W - step * move
        found = _Point(there, *function(there))
        rise = -float(np.vdot(found.gradient, move))
        if found.value < value and rise <= 0.5 * slope and (rise >= -0.5 * slope or step == 1):
            break
        if rise < 0:
            low, falls = step, -rise
        else:
            high, rises = step, rise
        # Where a slope that grows evenly between the two points is 0
        part = falls / (falls + rises) if rises > 0 else 0.5
        step = low + min(max(part, 0.1), 0.9) * (high - low)
    return found
