"""Maximum-margin learning from candidate labels (Nguyen & Caruana 2008), by successive convex
problems.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import softmax

from .canonical_order import canonical_order
from .clpl import fit_clpl
from .lbfgs import inverse_factor, minimise
from .temperature import softmax_scale
from .threads import one_blas_thread

TIE = 1e-7  # relative to the scores: candidates that differ by less are equally good
SMOOTHING = 0.3  # at the start: a third of the margin
PROXIMAL_STEPS = 200  # maximum for one round; usually fewer than ten
ROUNDING = 1e-10  # smaller gaps are rounding errors, for an objective that starts at 1


class Solution(NamedTuple):
    """Weights (n, l), objective before the first and after each round, and whether the requested
    accuracy was reached.
    """

    weights: np.ndarray
    objective: list[float]
    converged: bool


class State(NamedTuple):
    """Where a round starts or ends: weights (n, l), dual variables (l, m), and smoothing."""

    weights: np.ndarray
    alpha: np.ndarray
    smoothing: float


@one_blas_thread()
def fit_plsvm(
    X: Any,
    indptr: np.ndarray,
    indices: np.ndarray,
    n_classes: int,
    weight: np.ndarray,
    lam: float,
    tol: float,
    max_iter: int,
) -> Solution:
    """Minimise ``λ/2 ‖W‖² + Σ_i cost_i max(0, 1 - (max_{j∈S_i} f_j - max_{k∉S_i} f_k))`` with ``f =
    xᵢᵀW``, costs of sum 1, until the best candidates stay the same and a round gains less than
    ``tol`` of all that was gained since W = 0.

    The first maximum makes it non-convex. Each round replaces it by the score of the best candidate
    so far (the mean, if several are equally good). That bounds the objective from above and touches
    it at the current weights, so no round can raise it: the concave-convex procedure (Yuille &
    Rangarajan 2003).

    At W = 0 all candidates are equally good and any mixture of them will do, but their mean can
    leave W = 0 optimal: the first round mixes them by their probabilities under CLPL, whose convex
    problem has one solution.
    """
    candidates = sparse.csr_array(
        (np.ones(len(indices)), indices, indptr), shape=(len(weight), n_classes)
    )
    # A rounding error can decide which of two candidates is better, and so change all later rounds.
    # Therefore one thread computes all sums, in one order.
    rows, classes = canonical_order(X, candidates, weight)
    X, weight = X[rows], weight[rows]
    candidates = candidates[rows][:, classes].sorted_indices()
    inside = candidates.toarray().T > 0  # labels are rows: sums over them take a tenth of the time
    sets = candidates.indptr, candidates.indices
    cost = weight / weight.sum()

    clpl = fit_clpl(X, *sets, n_classes, cost / lam, tol=1e-4, max_iter=1000)
    scores = X @ clpl.weights
    scale = softmax_scale(scores, *sets, weight)
    share = softmax(np.where(inside, scale * scores.T, -np.inf), axis=0)
    state = State(np.zeros_like(clpl.weights), np.zeros(inside.shape), SMOOTHING)
    convex = Round(X, inside, cost, lam, share)
    objective, converged = [convex.objective(state.weights)], False
    for _ in range(max_iter):
        state, solved = solve_round(convex, state, tol)
        share = best_candidates((X @ state.weights).T, inside)
        same = np.array_equal(share, convex.share)  # if not, the next round may gain much
        convex = Round(X, inside, cost, lam, share)
        objective.append(convex.objective(state.weights))
        last = same and objective[-2] - objective[-1] <= tol * (objective[0] - objective[-1])
        converged = solved and last
        if last or not solved:
            break
    return Solution(state.weights[:, np.argsort(classes)], objective, converged)


def best_candidates(scores: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """1 for the best candidate of each column (equal parts of 1 if several are), 0 for all other
    labels.
    """
    tie = TIE * np.abs(scores[inside]).max()
    scores = np.where(inside, scores, -np.inf)
    best = scores >= scores.max(axis=0) - tie
    return np.asarray(best / best.sum(axis=0))


class Round:
    """The convex problem of a round, in which ``share`` says how much each candidate counts.

    With ``violation_ki = 1 - (Σ_{j∈S_i} share_ji f_ji - f_ki)``, the loss of a row is the maximum
    of ``⟨α, violation⟩`` over ``α ≥ 0, Σ α ≤ 1``, where candidates have no α. Labels are the rows
    of all arrays (l, m).
    """

    def __init__(
        self, X: Any, inside: np.ndarray, cost: np.ndarray, lam: float, share: np.ndarray
    ) -> None:
        self.X, self.cost, self.lam, self.share = X, cost, lam, share
        self.closed = np.where(inside, -np.inf, 0)  # added where α must be 0

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
        dense = isinstance(self.X, np.ndarray)
        return np.asarray((change @ self.X).T if dense else self.X.T @ change.T)

    def dual(self, alpha: np.ndarray) -> tuple[float, np.ndarray]:
        """A lower bound of the minimum, and the weights at which ``λ/2 ‖W‖² + ⟨cost α, violation⟩``
        takes it.
        """
        weighted = alpha * self.cost
        W = self.slope(weighted) / -self.lam
        return float(weighted.sum() - 0.5 * self.lam * np.vdot(W, W)), W


class SmoothedRound:
    """A round with ``smoothing/2 ‖α - α°‖²`` taken off the maximum over α, which makes it smooth
    in W: value and gradient.
    """

    def __init__(self, convex: Round, center: np.ndarray, smoothing: float) -> None:
        self.convex, self.center, self.smoothing = convex, center, smoothing

    def maximiser(self, violation: np.ndarray) -> np.ndarray:
        """The α at which the maximum is taken."""
        return project(violation / self.smoothing + self.center + self.convex.closed)

    def __call__(self, W: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        convex, violation = self.convex, self.convex.violations(W)
        alpha = self.maximiser(violation)
        weighted = alpha * convex.cost
        value = 0.5 * convex.lam * np.vdot(W, W) + np.vdot(weighted, violation)
        value -= 0.5 * self.smoothing * (convex.cost @ ((alpha - self.center) ** 2).sum(axis=0))
        return float(value), convex.lam * W + convex.slope(weighted)


def solve_round(convex: Round, start: State, tol: float) -> tuple[State, bool]:
    """Minimise over W in a round: the best weights found (never worse than those given) with the
    last dual variables, and whether the duality gap closed.

    The maximiser ``α`` of the smoothed problem becomes the next ``α°``: proximal steps in the dual
    variables (the method of multipliers, Rockafellar 1976), whose limit is exact whatever the
    smoothing. Any ``α`` bounds the minimum from below, so the duality gap tells when to stop: below
    a tenth of what was gained since the start, or a fraction ``tol`` of what was gained since W =
    0.
    """
    W, alpha, smoothing = start
    zero = convex.objective(np.zeros_like(W))
    first = best = convex.objective(W)
    best_W, bound, gap = W, -np.inf, np.inf
    inverse = None
    for _ in range(PROXIMAL_STEPS):
        smoothed = SmoothedRound(convex, alpha, smoothing)
        if inverse is None:
            inverse = inverse_factor(convex.X, 0.2 / smoothing * convex.cost, ridge=convex.lam)
        # A step with little smoothing is useless unless it is precise.
        precision = float(np.clip(smoothing, 1e-3, 0.1))
        found = minimise(smoothed, W, inverse, precision, max_iter=100)
        W = found.weights
        alpha = smoothed.maximiser(convex.violations(W))
        below, dual_W = convex.dual(alpha)
        bound = max(bound, below)
        for weights in (W, dual_W):
            value = convex.objective(weights)
            if value < best:
                best, best_W = value, weights
        last, gap = gap, best - bound
        if gap <= max(0.1 * (first - best), tol * (zero - best), ROUNDING):
            return State(best_W, alpha, smoothing), True
        # With less smoothing, there are fewer steps, but each is harder.
        if not found.converged or gap > 0.5 * last:
            smoothing = max(0.3 * smoothing, ROUNDING) if found.converged else 4 * smoothing
            inverse = None
    return State(best_W, alpha, smoothing), False


def project(points: np.ndarray) -> np.ndarray:
    """Nearest point of each column in ``{α ≥ 0, Σ α ≤ 1}``: ``max(0, p - θ)``, where θ is the
    largest of 0 and ``(Σ of the k largest - 1) / k`` (from Duchi et al. 2008, figure 1).
    """
    largest = np.sort(points, axis=0)[::-1]
    means = (np.cumsum(largest, axis=0) - 1) / np.arange(1.0, len(points) + 1)[:, None]
    return np.maximum(points - np.maximum(means.max(axis=0), 0), 0)
