"""Maximum-margin learning from candidate labels (Nguyen & Caruana 2008), by successive convex
problems.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from .clpl import fit_clpl
from .interior import exact_margin
from .max_margin import MarginProblem, MaxMargin, Start, max_margin
from .sparse_rows import row_max, row_softmax, row_sum
from .temperature import softmax_scale

NOTHING = 1e-12  # of the objective: smaller gains are rounding errors
TIE = 1e-7  # of the scores
SMALLEST, LARGEST = 1e-30, 1e6  # penalties of CLPL, for features of size 1: others change nothing
SMOOTHING = 0.3  # to begin with, where rounds are not solved exactly
FAR, NEAR = 0.3, 0.01  # centre of an exact round: the first starts at CLPL's weights, others nearer


class Solution(NamedTuple):
    """Weights (n, l), objective before the first and after each round, whether the requested
    accuracy was reached, and the dual variables (l + 1, m) of each round that was solved exactly.
    """

    weights: np.ndarray
    objective: list[float]
    converged: bool
    duals: list[np.ndarray]


@threadpool_limits.wrap(limits=1, user_api="blas")
def first_weights(problem: MarginProblem, lam: float, near: np.ndarray | None = None) -> np.ndarray:
    """The weights of CLPL with the penalty λ, which :func:`fit_plsvm` starts from.

    Its problem is convex. Newton's method, for few weights, solves it exactly: a start at ``near``,
    the weights for another penalty, changes no more than rounding errors.
    """
    given = problem.X, problem.indptr, problem.indices, problem.shape[1]
    lam, cost, hessian = problem.penalty(lam), problem.cost, problem.hessian
    if hessian.cheap:
        cost = cost / min(max(lam, SMALLEST), LARGEST)
        found = fit_clpl(*given, cost, tol=1e-12, max_iter=100, hessian=hessian, start=near)
    else:
        found = fit_clpl(*given, cost / lam, tol=1e-4, max_iter=1000)
    return found.weights


@threadpool_limits.wrap(limits=1, user_api="blas")
def fit_plsvm(
    problem: MarginProblem,
    lam: float,
    tol: float,
    max_iter: int,
    first: np.ndarray | None = None,
    similar: Sequence[np.ndarray] = (),
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
    problem : MarginProblem
        From :func:`make_problem`.
    lam : float
        The penalty λ.
    tol : float
        Stop when a round gains less than this fraction of all that was gained since W = 0.
    max_iter : int
        Largest number of rounds.
    first : ndarray, default=None
        What :func:`first_weights` returns for this penalty, if it is known already.
    similar : sequence of ndarray
        The dual variables of another penalty, of which those of this one may be similar. Like
        ``first``, they save time and change nothing but rounding errors.

    Returns
    -------
    Solution
    """
    m, n_classes = problem.shape
    W = first_weights(problem, lam) if first is None else first
    asked = problem.penalty(lam)
    lam = min(asked, largest_penalty(problem))
    convex, near = MaxMargin(problem, lam, first_shares(problem, W)), FAR
    best = np.zeros_like(W)
    state = Start(best, np.zeros((n_classes, m)), SMOOTHING)
    duals: list[np.ndarray] = []
    objective, exact, converged = [convex.objective(state.weights)], problem.hessian.cheap, False
    for _ in range(max_iter):
        if not exact:
            state, solved = max_margin(convex, state, tol)
            W, exact = state.weights, problem.hessian.possible and not solved
        if exact:
            guesses = [*similar[len(duals) : len(duals) + 1], *duals[-1:]]
            W, alpha, solved = exact_margin(convex, W, near, guesses)
            duals.append(alpha)
        # Of a smaller gain, the weights would be rounding errors, and decide all later rounds.
        if convex.objective(W) > convex.objective(best) * (1 - NOTHING):
            W = best
        best = W
        convex, near = MaxMargin(problem, lam, best_candidates(problem, W)), NEAR
        objective.append(convex.objective(W))
        last = objective[-2] - objective[-1] <= tol * (objective[0] - objective[-1])
        converged = solved and last
        if last or not (solved or exact):
            break
    weights = problem.given(W)
    if asked > lam:
        weights *= lam / asked
        objective = [objective[0] - (objective[0] - value) * (lam / asked) for value in objective]
    return Solution(weights, objective, converged, duals)


def largest_penalty(problem: MarginProblem) -> float:
    """A penalty with which all rows are within the margin: with ``R`` the length of the longest
    row, no two scores differ by more than ``2R²/λ``. Larger ones have the same solution, but for
    its size, and are not solved: of what they gain, rounding errors would be too large a part.
    """
    if not problem.hessian.possible:
        return np.inf
    longest = float(problem.hessian.squares[problem.has_loss].max(initial=0))
    return 2 * longest if longest > 0 else np.inf


def fit_path(
    problem: MarginProblem, lams: Sequence[float], tol: float, max_iter: int
) -> list[np.ndarray]:
    """The weights for several penalties, as :func:`fit_plsvm` finds them one by one, but for
    rounding errors, in less time: CLPL is solved along the penalties, and if all rows violate the
    margin, a smaller penalty is likely to have the same dual variables.

    Parameters
    ----------
    problem, tol, max_iter
        As in :func:`fit_plsvm`.
    lams : sequence of float
        The penalties.

    Returns
    -------
    list of ndarray
    """
    near: np.ndarray | None = None
    duals: list[np.ndarray] = []
    found: dict[float, np.ndarray] = {}
    for lam in sorted(lams, reverse=True):
        if problem.hessian.cheap:
            near = first_weights(problem, lam, near)
        solution = fit_plsvm(problem, lam, tol, max_iter, near, duals)
        found[lam], duals = solution.weights, solution.duals
        if any(np.any(alpha[-1, problem.has_loss] > 0) for alpha in duals):
            duals = []
    return [found[lam] for lam in lams]


def first_shares(problem: MarginProblem, W: np.ndarray) -> np.ndarray:
    """The probability of each candidate under these weights, given that one of them is right."""
    scores = problem.X @ W
    scale = softmax_scale(scores, problem.indptr, problem.indices, problem.weight)
    return row_softmax(scale * np.take(scores, problem.entries), problem.indptr)


def best_candidates(problem: MarginProblem, W: np.ndarray) -> np.ndarray:
    """At each candidate entry: 1 if its score is the best of its row (equal parts of 1 if several
    are), else 0.
    """
    scores = np.take(problem.X @ W, problem.entries)
    sizes = np.diff(problem.indptr)
    tie = TIE * np.abs(scores).max()
    best = (scores >= np.repeat(row_max(scores, problem.indptr) - tie, sizes)).astype(float)
    return best / np.repeat(row_sum(best, problem.indptr), sizes)


def equal_ties(scores: np.ndarray) -> np.ndarray:
    """Scores of which all that differ from the best of their row by rounding errors are equal to
    it, so that the first is predicted.

    Ties are common: two labels violate the margin of a training row equally, and a new row is equal
    to it.
    """
    best = scores.max(axis=1, keepdims=True)
    size = np.abs(np.where(np.isfinite(scores), scores, 0)).max(axis=1, keepdims=True)
    return np.where(scores >= best - TIE * size, best, scores)
