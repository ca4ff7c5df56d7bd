"""Maximum-margin learning from candidate labels (Nguyen & Caruana 2008), by successive convex
problems.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from threadpoolctl import threadpool_limits

from .clpl import fit_clpl
from .order import canonical_order
from .row_blocks import RowBlocks, weighted_gram
from .scale import row_softmax, softmax_scale
from .segments import row_max, row_sum
from .smooth import Function, Minimum, inverse_factor, minimise

ROUNDING = 1e-10  # smaller gaps are rounding, for an objective that starts at 1
PROXIMAL_STEPS = 200  # maximum for one convex problem; usually fewer than ten
# Number of weights up to which hard problems are solved by Newton's method, and steps at most for
# one of them.
NEWTON, NEWTON_STEPS = 500, 20
NEVER = -1e100  # below any score, and finite: it is multiplied by 0


class MarginProblem(NamedTuple):
    """The data of the objective, rows and labels in canonical order: instances, row pointers and
    labels of the candidates, their flat positions in an m × l array, weight of each row and its
    share of all, and the position of each label in that order.
    """

    X: Any
    indptr: np.ndarray
    indices: np.ndarray
    entries: np.ndarray
    weight: np.ndarray
    cost: np.ndarray
    places: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of labels."""
        return len(self.cost), len(self.places)


class Solution(NamedTuple):
    """Weights (n, l), objective before the first and after each round, and whether the requested
    accuracy was reached.
    """

    weights: np.ndarray
    objective: list[float]
    converged: bool


class Start(NamedTuple):
    """Where a convex problem starts: weights, dual variables (l, m), smoothing, and whether an
    earlier one was too hard for L-BFGS.
    """

    weights: np.ndarray
    alpha: np.ndarray
    smoothing: float
    hard: bool


def make_problem(
    X: Any, indptr: np.ndarray, indices: np.ndarray, n_classes: int, weight: np.ndarray
) -> MarginProblem:
    """What all penalties have in common.

    Parameters
    ----------
    X : ndarray, CSR matrix or RowBlocks of shape (m, n)
        The instances. With RowBlocks, the last digits depend on the order of rows.
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
    classes = np.arange(n_classes)
    if not isinstance(X, RowBlocks):
        candidates = sparse.csr_array(
            (np.ones(len(indices)), indices, indptr), shape=(X.shape[0], n_classes)
        )
        rows, classes = canonical_order(X, candidates, weight)
        ordered = candidates[rows][:, classes].sorted_indices()
        X, indptr, indices, weight = X[rows], ordered.indptr, ordered.indices, weight[rows]
    sizes = np.diff(indptr)
    entries = np.repeat(np.arange(len(sizes)) * n_classes, sizes) + indices
    return MarginProblem(
        X, indptr, indices, entries, weight, weight / weight.sum(), np.argsort(classes)
    )


@threadpool_limits.wrap(limits=1, user_api="blas")
def fit_plsvm(problem: MarginProblem, lam: float, tol: float, max_iter: int) -> Solution:
    """Minimise ``λ/2 ‖W‖² + Σ_i cost_i max(0, 1 - (max_{j∈S_i} f_j - max_{k∉S_i} f_k))`` with ``f =
    xᵢᵀW``, costs of sum 1.

    The first maximum makes it non-convex. Each round replaces it by the score of the candidate that
    is best so far (evenly of all that are equally good). That bounds the objective from above and
    touches it at the current weights, so no round can raise it: the concave-convex procedure
    (Yuille & Rangarajan 2003).

    At W = 0 all candidates are equally good and any mixture of them will do, but their mean can
    leave W = 0 optimal: the first round mixes them by their probabilities under CLPL, whose convex
    problem has one solution.

    Parameters
    ----------
    problem : MarginProblem
        From :func:`make_problem`.
    lam : float
        The penalty λ.
    tol : float
        Stop when a round gains less than this fraction of all that was gained since W = 0.
    max_iter : int
        Largest number of rounds.

    Returns
    -------
    Solution
    """
    X, indptr, indices, entries, weight, cost, places = problem
    m, n_classes = problem.shape
    start = fit_clpl(X, indptr, indices, n_classes, cost / lam, tol=1e-4, max_iter=1000)
    scores = X @ start.weights
    scale = softmax_scale(scores, indptr, indices, weight)
    convex = MaxMargin(problem, lam, row_softmax(scale * np.take(scores, entries), indptr))
    state = Start(np.zeros((X.shape[1], n_classes)), np.zeros((n_classes, m)), 0.3, hard=False)
    objective, converged = [convex.objective(state.weights)], False
    for _ in range(max_iter):
        state, solved = max_margin(convex, state, tol)
        convex = MaxMargin(problem, lam, best_candidates(problem, state.weights))
        objective.append(convex.objective(state.weights))
        converged = solved and objective[-2] - objective[-1] <= tol * (objective[0] - objective[-1])
        if converged or not solved:
            break
    return Solution(state.weights[:, places], objective, converged)


def best_candidates(problem: MarginProblem, W: np.ndarray) -> np.ndarray:
    """At each candidate entry: 1 if its score is the best of its row (equal parts of 1 if several
    are), else 0.
    """
    scores = np.take(problem.X @ W, problem.entries)
    sizes = np.diff(problem.indptr)
    tie = 1e-9 * np.abs(scores).max()
    best = (scores >= np.repeat(row_max(scores, problem.indptr) - tie, sizes)).astype(float)
    return best / np.repeat(row_sum(best, problem.indptr), sizes)


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

    def maximiser(self, W: np.ndarray, center: np.ndarray, smoothing: float) -> np.ndarray:
        """The α that maximises the smoothed loss."""
        return project(self.violations(W) / smoothing + (center + self.closed))

    def smoothed(self, center: np.ndarray, smoothing: float) -> Function:
        """Value and gradient of the smoothed problem, as a function of W."""
        pull, fixed = center + self.closed, smoothing * center
        # ‖α - α°‖² = ‖α‖² - 2 ⟨α, α°⟩ + ‖α°‖²
        constant = 0.5 * float(self.cost @ (fixed * center).sum(axis=0))

        def value_and_gradient(W: np.ndarray) -> tuple[float, np.ndarray]:
            violation = self.violations(W)
            alpha = violation / smoothing
            alpha += pull
            alpha = project(alpha)
            weighted = alpha * self.cost
            alpha *= -0.5 * smoothing
            alpha += violation
            alpha += fixed
            value = 0.5 * self.lam * float(np.vdot(W, W)) + float(np.vdot(weighted, alpha))
            return value - constant, self.lam * W + self.slope(weighted)

        return value_and_gradient

    def hessian(self, W: np.ndarray, center: np.ndarray, smoothing: float) -> np.ndarray:
        """A generalised Hessian of the smoothed problem, of shape (n, l, n, l).

        With A the diagonal matrix of the labels where α > 0 and a the vector of its k ones, the
        derivative of ``project`` is A, or ``A - aaᵀ/k`` where ``Σ α = 1``; the scores enter by
        ``I - 1 shareᵀ`` on both sides.
        """
        points = self.violations(W) / smoothing + (center + self.closed)
        full = np.maximum(points, 0).sum(axis=0) > 1
        active = (project(points) > 0).astype(float)
        k = active.sum(axis=0)
        (n, l), share = W.shape, self.share
        found = np.empty((n, l, n, l))
        for i in range(l):
            for j in range(i + 1):
                one, other = active[i], active[j]
                free = k * share[i] * share[j] - one * share[j] - share[i] * other
                curved = (i == j) * one + np.where(full, -one * other / np.maximum(k, 1), free)
                block = weighted_gram(self.X, curved * self.cost / smoothing)
                found[:, i, :, j] = found[:, j, :, i] = block
        flat = found.reshape(n * l, n * l)
        flat[np.diag_indices_from(flat)] += self.lam
        return found


def newton(
    convex: MaxMargin, W: np.ndarray, center: np.ndarray, smoothing: float, tol: float
) -> Minimum:
    """Minimise the smoothed problem by Newton's method with halved steps, until no entry of the
    gradient is larger than ``tol`` times the largest at ``W``; at most ``NEWTON_STEPS`` times.
    """
    function = convex.smoothed(center, smoothing)
    value, gradient = function(W)
    steepest = float(np.abs(gradient).max())
    n_iter = 0
    while np.abs(gradient).max() > tol * steepest and n_iter < NEWTON_STEPS:
        direction = -_solved(convex.hessian(W, center, smoothing), gradient)
        slope, step = float(np.vdot(gradient, direction)), 1.0
        found = function(W + direction)
        while found[0] > value + 1e-4 * step * slope and step > 1e-6:
            step /= 2
            found = function(W + step * direction)
        if not found[0] < value:  # only rounding is left
            break
        W, (value, gradient), n_iter = W + step * direction, found, n_iter + 1
    return Minimum(W, n_iter, True, float(np.abs(gradient).max() / steepest) if steepest else 0.0)


def _solved(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The inverse of a Hessian times a gradient, with as much ridge as rounding errors need."""
    flat = hessian.reshape(gradient.size, gradient.size)
    unit = 1 / np.sqrt(np.diag(flat))
    scaled = flat * unit * unit[:, None]
    scaled[np.diag_indices_from(scaled)] += 1e-10
    factor = linalg.cho_factor(scaled, lower=True, overwrite_a=True, check_finite=False)
    found = unit * linalg.cho_solve(factor, unit * gradient.ravel(), check_finite=False)
    return found.reshape(gradient.shape)


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
        Whether the gap closed.
    """
    X, cost, lam = convex.X, convex.cost, convex.lam
    W, alpha, smoothing, hard = start
    zero = convex.objective(np.zeros_like(W))
    first = best = convex.objective(W)
    best_W, bound, gap = W, -np.inf, np.inf
    inverse = inverse_factor(X, 0.2 / smoothing * cost, ridge=lam)
    for _ in range(PROXIMAL_STEPS):
        center = alpha
        if not hard:
            found = minimise(convex.smoothed(center, smoothing), W, inverse, tol=0.1, max_iter=100)
            hard = found.gradient > 0.1 and W.size <= NEWTON and not isinstance(X, RowBlocks)
        if hard:
            found = newton(convex, W, center, smoothing, tol=0.1)
        W = found.weights
        alpha = convex.maximiser(W, center, smoothing)
        below, dual_W = convex.dual(alpha)
        bound = max(bound, below)
        for candidate in (W, dual_W):
            value = convex.objective(candidate)
            if value < best:
                best, best_W = value, candidate
        last, gap = gap, best - bound
        if gap <= max(0.1 * (first - best), tol * (zero - best), ROUNDING):
            return Start(best_W, alpha, smoothing, hard), True
        # Less smoothing makes fewer steps, each of them harder.
        too_hard = found.gradient > 0.1
        if too_hard or gap > 0.5 * last:
            smoothing *= 4.0 if too_hard else 0.3
            inverse = inverse_factor(X, 0.2 / smoothing * cost, ridge=lam)
    return Start(best_W, alpha, smoothing, hard), False


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
