"""The largest margin between a given mixture of a row's candidates and every other label: a convex
problem.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from .newton import ScoreHessian
from .order import canonical_order
from .out_of_core import RowBlocks
from .smooth import inverse_factor, minimise

ROUNDING = 1e-10  # smaller gaps are rounding, for an objective that starts at 1
PROXIMAL_STEPS = 200  # maximum for one convex problem; usually fewer than ten
LEAST = 1e-9  # smoothing
SMALLEST = 1e-100  # penalty
NEVER = -1e100  # below any score, and finite: it is multiplied by 0


class MarginProblem(NamedTuple):
    """The data of the objective, rows and labels in canonical order: instances, row pointers and
    labels of the candidates, their flat positions in an m × l array, weight of each row and its
    share of all, the position of each label in that order, what exact solutions need, and the axes
    of the features, or None if they are those of the instances given. Along axes, the instances are
    divided by ``size``, and penalties by its square.
    """

    X: Any
    indptr: np.ndarray
    indices: np.ndarray
    entries: np.ndarray
    weight: np.ndarray
    cost: np.ndarray
    places: np.ndarray
    hessian: ScoreHessian
    axes: np.ndarray | None
    size: float

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of labels."""
        return len(self.cost), len(self.places)

    @property
    def has_loss(self) -> np.ndarray:
        """Whether a row has a weight, and a label that is no candidate."""
        return (self.weight > 0) & (np.diff(self.indptr) < len(self.places))

    def penalty(self, lam: float) -> float:
        """The penalty λ for the instances as they are here."""
        return max(lam / self.size / self.size, SMALLEST)

    def given(self, W: np.ndarray) -> np.ndarray:
        """Weights in the order of the features and labels that were given."""
        W = W[:, self.places]
        return W if self.axes is None else np.asarray(self.axes @ W) / self.size


class Start(NamedTuple):
    """Where a convex problem starts: weights, dual variables (l, m), and smoothing."""

    weights: np.ndarray
    alpha: np.ndarray
    smoothing: float


@threadpool_limits.wrap(limits=1, user_api="blas")
def make_problem(
    X: Any, indptr: np.ndarray, indices: np.ndarray, n_classes: int, weight: np.ndarray
) -> MarginProblem:
    """What all penalties have in common.

    Parameters
    ----------
    X : ndarray, CSR matrix or RowBlocks of shape (m, n)
        The instances. With RowBlocks of many rows, the last digits depend on the order of rows.
    indptr, indices : ndarray
        The candidates of each instance, as compressed rows.
    n_classes : int
        The number l of labels.
    weight : ndarray of shape (m,)
        Weights of the instances.

    Returns
    -------
    MarginProblem
    """
    # A rounding error can decide which of two candidates is better, and so change all later rounds:
    # all sums are computed in one order, by one thread.
    classes, axes, size = np.arange(n_classes), None, 1.0
    few_weights = ScoreHessian(X, n_classes).possible
    if few_weights and isinstance(X, RowBlocks):
        X = np.concatenate(list(X.blocks(len(weight))))
    if not isinstance(X, RowBlocks):
        candidates = sparse.csr_array(
            (np.ones(len(indices)), indices, indptr), shape=(X.shape[0], n_classes)
        )
        rows, classes = canonical_order(X, candidates, weight)
        ordered = candidates[rows][:, classes].sorted_indices()
        X, indptr, indices, weight = X[rows], ordered.indptr, ordered.indices, weight[rows]
    if few_weights:
        # Neither ‖W‖ nor a score depends on the axes, but rounding errors do: along these, features
        # that are far from 0, or nearly the same, are one large feature and several small ones.
        X = X.toarray() if sparse.issparse(X) else X
        size = float(np.abs(X).max()) or 1.0
        X = X / size
        axes = np.linalg.svd(X, full_matrices=False)[2].T
        X = X @ axes
    sizes = np.diff(indptr)
    entries = np.repeat(np.arange(len(sizes)) * n_classes, sizes) + indices
    return MarginProblem(
        X,
        indptr,
        indices,
        entries,
        weight,
        weight / weight.sum(),
        np.argsort(classes),
        ScoreHessian(X, n_classes),
        axes,
        size,
    )


class MaxMargin:
    """The convex problem in which ``share`` says how much each candidate counts, and its smoothed
    form.

    With ``violation_ki = 1 - (Σ_{j∈S_i} share_ij f_j - f_k)``, the loss of a row is the maximum of
    ``⟨α, violation⟩`` over ``α ≥ 0, Σ α ≤ 1``, where candidates have no α. Taking ``smoothing/2
    ‖α - α°‖²`` off makes it smooth in W.

    Labels are the rows of all arrays (l, m): sums and maxima over labels take a tenth of the time.
    """

    def __init__(self, problem: MarginProblem, lam: float, share: np.ndarray) -> None:
        self.X, self.cost, self.lam = problem.X, problem.cost, lam
        self.hessian = problem.hessian
        self.share, self.closed = np.zeros(problem.shape), np.zeros(problem.shape)
        np.put(self.share, problem.entries, share)
        np.put(self.closed, problem.entries, NEVER)  # where α must be 0
        self.share, self.closed = self.share.T.copy(), self.closed.T.copy()

    def violations(self, W: np.ndarray) -> np.ndarray:
        """The violations for every label and row, including candidates."""
        dense = isinstance(self.X, np.ndarray)
        scores = W.T @ self.X.T if dense else np.ascontiguousarray((self.X @ W).T)
        scores += 1 - (scores * self.share).sum(axis=0)
        return np.asarray(scores)

    def objective(self, W: np.ndarray) -> float:
        """``λ/2 ‖W‖² + Σ_i cost_i max(0, max_{k∉S_i} violation_ki)``."""
        loss = np.maximum(0, (self.violations(W) + self.closed).max(axis=0))
        return float(0.5 * self.lam * np.vdot(W, W) + self.cost @ loss)

    def slope(self, weighted: np.ndarray) -> np.ndarray:
        """Gradient of the loss with respect to W if the maximum is at α, given ``cost · α``."""
        change = weighted - self.share * weighted.sum(axis=0)
        return np.asarray(
            (change @ self.X).T if isinstance(self.X, np.ndarray) else self.X.T @ change.T
        )

    def dual(self, alpha: np.ndarray) -> tuple[float, np.ndarray]:
        """A lower bound of the minimum, and the weights at which ``λ/2 ‖W‖² + ⟨cost α, violation⟩``
        takes it.
        """
        weighted = alpha * self.cost
        W = self.slope(weighted) / -self.lam
        return float(weighted.sum() - 0.5 * self.lam * np.vdot(W, W)), W


class Smoothed:
    """Value and gradient of the smoothed problem, as functions of W."""

    def __init__(self, convex: MaxMargin, center: np.ndarray, smoothing: float) -> None:
        self.convex, self.smoothing = convex, smoothing
        self.pull, self.fixed = center + convex.closed, smoothing * center
        # ‖α - α°‖² = ‖α‖² - 2 ⟨α, α°⟩ + ‖α°‖²
        self.constant = 0.5 * float(convex.cost @ (self.fixed * center).sum(axis=0))

    def __call__(self, W: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        convex = self.convex
        violation = convex.violations(W)
        points = violation / self.smoothing
        points += self.pull
        alpha = project(points)
        weighted = alpha * convex.cost
        violation -= (0.5 * self.smoothing) * alpha
        violation += self.fixed
        value = 0.5 * convex.lam * float(np.vdot(W, W)) + float(np.vdot(weighted, violation))
        return value - self.constant, convex.lam * W + convex.slope(weighted)

    def maximiser(self, W: np.ndarray) -> np.ndarray:
        """The α that maximises the loss, less its smoothing."""
        return project(self.convex.violations(W) / self.smoothing + self.pull)


def max_margin(convex: MaxMargin, start: Start, tol: float) -> tuple[Start, bool]:
    """Solve the convex problem.

    The maximiser ``α`` of the smoothed problem becomes the next ``α°``: proximal steps in the dual
    variables (the method of multipliers, Rockafellar 1976), exact in the end whatever the
    smoothing. Any ``α`` bounds the minimum from below, so the duality gap tells when to stop: below
    a tenth of what was gained since the start, or a fraction ``tol`` of what was gained since W =
    0.

    Returns
    -------
    state : Start
        The best weights found (never worse than those given) and the last dual variables.
    solved : bool
        Whether the gap closed. With features of very different sizes it may not, and if there are
        few enough weights for :func:`surelabel.solvers.interior.exact_margin` it is not waited for.
    """
    W, alpha, smoothing = start
    zero = convex.objective(np.zeros_like(W))
    first = best = convex.objective(W)
    best_W, bound, gap = W, -np.inf, np.inf
    inverse = None
    for _ in range(PROXIMAL_STEPS):
        smoothed = Smoothed(convex, alpha, smoothing)
        if inverse is None:
            inverse = inverse_factor(convex.X, 0.2 / smoothing * convex.cost, ridge=convex.lam)
        found = minimise(smoothed, W, inverse, tol=0.1, max_iter=100)
        too_hard = found.gradient > 0.1
        if too_hard and convex.hessian.possible:
            break
        W = found.weights
        alpha = smoothed.maximiser(W)
        below, dual_W = convex.dual(alpha)
        bound = max(bound, below)
        for candidate in (W, dual_W):
            value = convex.objective(candidate)
            if value < best:
                best, best_W = value, candidate
        last, gap = gap, best - bound
        if gap <= max(0.1 * (first - best), tol * (zero - best), ROUNDING):
            return Start(best_W, alpha, smoothing), True
        # Less smoothing makes fewer steps, each of them harder.
        if too_hard or gap > 0.5 * last:
            smoothing = 4.0 * smoothing if too_hard else max(0.3 * smoothing, LEAST)
            inverse = None
    return Start(best_W, alpha, smoothing), False


def project(points: np.ndarray) -> np.ndarray:
    """Nearest point of each column in ``{α ≥ 0, Σ α ≤ 1}``: ``max(0, p - θ)``, where θ is the
    largest of 0 and ``(Σ of the k largest - 1) / k`` (from Duchi et al. 2008, figure 1).
    """
    ordered = points.T.copy()
    ordered.sort(axis=1)
    mean, one = _means_of_largest(len(points))
    means = mean @ ordered.T
    means -= one
    return np.asarray(np.maximum(points - np.maximum(means.max(axis=0), 0), 0))


@cache
def _means_of_largest(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The matrix whose k-th row takes the mean of the last k of n numbers, and the column ``1/k``:
    a product takes less time than a cumulative sum.
    """
    k = np.arange(1.0, n + 1)[:, None]
    return np.tri(n)[:, ::-1] / k, 1 / k
