"""Maximum-margin learning from candidate labels (Nguyen & Caruana 2008), by successive convex
problems.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from .clpl import fit_clpl
from .order import canonical_order
from .row_blocks import RowBlocks
from .scale import row_softmax, softmax_scale
from .segments import row_max, row_sum
from .smooth import curvature_factor, minimise

ROUNDING = 1e-10  # gaps below this are not told apart, beside an objective that starts from 1
PROXIMAL_STEPS = 200  # at most, for one convex problem; under ten are usual


class Problem(NamedTuple):
    """The data of the objective: instances, flat positions and row pointers of the candidates, cost
    of each row's loss, λ.
    """

    X: Any
    entries: np.ndarray
    indptr: np.ndarray
    cost: np.ndarray
    lam: float


class Solution(NamedTuple):
    """Weights (n, l), objective before the first and after each round, and whether the wanted
    accuracy was reached.
    """

    weights: np.ndarray
    objective: list[float]
    converged: bool


@threadpool_limits.wrap(limits=1, user_api="blas")
def fit_plsvm(
    X: Any,
    indptr: np.ndarray,
    indices: np.ndarray,
    n_classes: int,
    lam: float,
    weight: np.ndarray,
    tol: float,
    max_iter: int,
) -> Solution:
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
    X : ndarray, CSR matrix or RowBlocks of shape (m, n)
        The instances. The order of rows shows in the last digits of RowBlocks only.
    indptr, indices : ndarray
        The candidates of each instance, as compressed rows.
    n_classes : int
        The number l of labels.
    lam : float
        The penalty λ.
    weight : ndarray of shape (m,)
        Weights of the instances.
    tol : float
        Stop when a round gains less than this part of all that was gained since W = 0.
    max_iter : int
        Stop after so many rounds.

    Returns
    -------
    Solution
    """
    # A rounding error can decide which of two candidates is better, and so the way of all rounds
    # after it: sums get one order, and one thread.
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
    problem = Problem(X, entries, indptr, weight / weight.sum(), lam)
    W, alpha, smoothing = np.zeros((X.shape[1], n_classes)), np.zeros((X.shape[0], n_classes)), 0.3
    scores = (
        X
        @ fit_clpl(
            X, indptr, indices, n_classes, problem.cost / lam, tol=1e-4, max_iter=1000
        ).weights
    )
    share = row_softmax(
        softmax_scale(scores, indptr, indices, weight) * np.take(scores, entries), indptr
    )
    objective, converged = [max_margin_objective(problem, share, W)], False
    for _ in range(max_iter):
        W, alpha, smoothing, solved = max_margin(problem, share, W, alpha, smoothing, tol)
        share = best_candidates(problem, W)
        objective.append(max_margin_objective(problem, share, W))
        converged = solved and objective[-2] - objective[-1] <= tol * (objective[0] - objective[-1])
        if converged or not solved:
            break
    return Solution(W[:, np.argsort(classes)], objective, converged)


def best_candidates(problem: Problem, W: np.ndarray) -> np.ndarray:
    """At each candidate entry: 1 if its score is the best of its row (equal parts of 1 if several
    are), else 0.
    """
    scores = np.take(problem.X @ W, problem.entries)
    sizes = np.diff(problem.indptr)
    tie = 1e-9 * np.abs(scores).max()
    best = (scores >= np.repeat(row_max(scores, problem.indptr) - tie, sizes)).astype(float)
    return best / np.repeat(row_sum(best, problem.indptr), sizes)


def violations(problem: Problem, share: np.ndarray, W: np.ndarray) -> np.ndarray:
    """``1 - (Σ_{j∈S} share_j f_j - f_k)`` for the labels ``k ∉ S`` of every row, -inf for the
    candidates.
    """
    scores = problem.X @ W
    chosen = row_sum(share * np.take(scores, problem.entries), problem.indptr)
    scores += (1 - chosen)[:, None]
    np.put(scores, problem.entries, -np.inf)
    return scores


def max_margin_objective(problem: Problem, share: np.ndarray, W: np.ndarray) -> float:
    """``λ/2 ‖W‖² + Σ_i cost_i max(0, max_k violation_ik)``."""
    loss = np.maximum(0, violations(problem, share, W).max(axis=1))
    return float(0.5 * problem.lam * np.vdot(W, W) + problem.cost @ loss)


def max_margin(
    problem: Problem,
    share: np.ndarray,
    W: np.ndarray,
    alpha: np.ndarray,
    smoothing: float,
    tol: float,
) -> tuple[np.ndarray, np.ndarray, float, bool]:
    """Solve the convex problem in which ``share`` says how much each candidate counts.

    The loss of a row is the maximum of ``⟨α, violations⟩`` over ``α ≥ 0, Σ α ≤ 1``. Taking
    ``smoothing/2 ‖α - α°‖²`` off makes it smooth in W, and the maximiser found becomes the next
    ``α°``: proximal steps in the dual variables (the method of multipliers, Rockafellar 1976),
    exact in the end whatever the smoothing. Any ``α`` bounds the minimum from below, so the duality
    gap tells when to stop: below a tenth of what was gained since the start, or the part ``tol`` of
    what was gained since W = 0.

    Returns
    -------
    W, alpha : ndarray
        The best weights met (never worse than those given) and the last dual variables.
    solved : bool
        Whether the gap closed.
    """
    X, entries, indptr, cost, lam = problem
    sizes = np.diff(indptr)

    def gradient_of_loss(alpha: np.ndarray) -> np.ndarray:
        slope = alpha * cost[:, None]
        np.put(slope, entries, -share * np.repeat(slope.sum(axis=1), sizes))
        return X.T @ slope

    def maximiser(
        W: np.ndarray, center: np.ndarray, smoothing: float
    ) -> tuple[np.ndarray, np.ndarray]:
        violation = violations(problem, share, W)
        alpha = project(center + violation / smoothing)
        np.put(violation, entries, 0)
        return alpha, violation

    def smoothed(W: np.ndarray, center: np.ndarray, smoothing: float) -> tuple[float, np.ndarray]:
        alpha, violation = maximiser(W, center, smoothing)
        loss = np.einsum("ij,ij->i", alpha, violation) - 0.5 * smoothing * (
            (alpha - center) ** 2
        ).sum(axis=1)
        return float(0.5 * lam * np.vdot(W, W) + cost @ loss), lam * W + gradient_of_loss(alpha)

    zero = max_margin_objective(problem, share, np.zeros_like(W))
    start = best = max_margin_objective(problem, share, W)
    best_W, bound, gap = W, -np.inf, np.inf
    factor = curvature_factor(X, 0.2 / smoothing * cost, ridge=lam)
    for _ in range(PROXIMAL_STEPS):
        center = alpha
        found = minimise(
            partial(smoothed, center=center, smoothing=smoothing), W, factor, tol=0.1, max_iter=100
        )
        W = found.weights
        alpha, _ = maximiser(W, center, smoothing)
        dual_W = gradient_of_loss(alpha) / -lam
        bound = max(bound, float(cost @ alpha.sum(axis=1) - 0.5 * lam * np.vdot(dual_W, dual_W)))
        for candidate in (W, dual_W):
            value = max_margin_objective(problem, share, candidate)
            if value < best:
                best, best_W = value, candidate
        last, gap = gap, best - bound
        if gap <= max(0.1 * (start - best), tol * (zero - best), ROUNDING):
            return best_W, alpha, smoothing, True
        # Less smoothing makes fewer steps, each of them harder.
        too_hard = found.gradient > 0.1
        if too_hard or gap > 0.5 * last:
            smoothing *= 4.0 if too_hard else 0.3
            factor = curvature_factor(X, 0.2 / smoothing * cost, ridge=lam)
    return best_W, alpha, smoothing, False


def project(points: np.ndarray) -> np.ndarray:
    """Nearest point of each row in ``{α ≥ 0, Σ α ≤ 1}`` (Duchi et al. 2008, figure 1)."""
    alpha = np.maximum(points, 0)
    over = np.flatnonzero(alpha.sum(axis=1) > 1)
    descending = -np.sort(-points[over], axis=1)
    excess = np.cumsum(descending, axis=1) - 1
    count = np.arange(1, points.shape[1] + 1)
    support = np.count_nonzero(descending * count > excess, axis=1)
    threshold = excess[np.arange(len(over)), support - 1] / support
    alpha[over] = np.maximum(points[over] - threshold[:, None], 0)
    return alpha
