"""Maximum-margin learning from candidate labels (Nguyen & Caruana 2008), by successive convex
problems.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from .clpl import fit_clpl
from .max_margin import MarginProblem, MaxMargin, Start, max_margin
from .scale import row_softmax, softmax_scale
from .segments import row_max, row_sum


class Solution(NamedTuple):
    """Weights (n, l), objective before the first and after each round, whether the requested
    accuracy was reached, and whether all rows are within the margin: then a penalty t times as
    large has the same solution, divided by t.
    """

    weights: np.ndarray
    objective: list[float]
    converged: bool
    within_margin: bool


@threadpool_limits.wrap(limits=1, user_api="blas")
def first_weights(problem: MarginProblem, lam: float, near: np.ndarray | None = None) -> np.ndarray:
    """The weights of CLPL with the penalty λ, which :func:`fit_plsvm` starts from.

    Its problem is convex: where Newton's method solves it exactly, a start at ``near``, the weights
    for another penalty, changes no more than rounding errors.
    """
    X, indptr, indices, cost = problem.X, problem.indptr, problem.indices, problem.cost
    given = X, indptr, indices, problem.shape[1], cost / lam
    if problem.hessian.cheap:
        found = fit_clpl(*given, tol=1e-8, max_iter=100, hessian=problem.hessian, start=near)
    else:
        found = fit_clpl(*given, tol=1e-4, max_iter=1000)
    return found.weights


@threadpool_limits.wrap(limits=1, user_api="blas")
def fit_plsvm(
    problem: MarginProblem, lam: float, tol: float, max_iter: int, first: np.ndarray | None = None
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
        What :func:`first_weights` returns for this penalty (at most :func:`largest_penalty`), if it
        is known already.

    Returns
    -------
    Solution
    """
    X, m, n_classes = problem.X, *problem.shape
    asked, lam = lam, min(lam, largest_penalty(problem))
    first = first_weights(problem, lam) if first is None else first
    convex = MaxMargin(problem, lam, first_shares(problem, first))
    state = Start(
        np.zeros((X.shape[1], n_classes)),
        np.zeros((n_classes, m)),
        first_smoothing(problem, lam),
        problem.hessian.cheap,
    )
    objective, converged = [convex.objective(state.weights)], False
    for _ in range(max_iter):
        state, solved = max_margin(convex, state, tol)
        convex = MaxMargin(problem, lam, best_candidates(problem, state.weights))
        objective.append(convex.objective(state.weights))
        converged = solved and objective[-2] - objective[-1] <= tol * (objective[0] - objective[-1])
        if converged or not solved:
            break
    weights, within = state.weights[:, problem.places], convex.within_margin(state)
    if asked > lam:
        weights *= lam / asked
        objective = [objective[0] - (objective[0] - value) * (lam / asked) for value in objective]
    return Solution(weights, objective, converged, within)


def largest_penalty(problem: MarginProblem) -> float:
    """A penalty with which all rows are within the margin: with ``R`` the length of the longest
    row, no two scores differ by more than ``2R²/λ``. Larger ones have the same solution, but for
    its size, and are not solved: of what they gain, rounding errors would be too large a part.
    """
    longest = float(problem.hessian.squares.max()) if problem.hessian.possible else 0.0
    return 2 * longest if longest > 0 else np.inf


def fit_path(
    problem: MarginProblem, lams: Sequence[float], tol: float, max_iter: int
) -> list[np.ndarray]:
    """The weights for several penalties, as :func:`fit_plsvm` finds them one by one, but for
    rounding errors and for penalties so large that all rows are within the margin: these share one
    solution, divided by the penalty.

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
    most = largest_penalty(problem)
    ascending = sorted({min(lam, most) for lam in lams})
    first: dict[float, np.ndarray] = {}
    if problem.hessian.cheap:
        near = None
        for lam in reversed(ascending):
            near = first[lam] = first_weights(problem, lam, near)
    scaled: dict[float, np.ndarray] = {}  # weights times penalty
    found, solved = None, 1.0
    for lam in ascending:
        if found is None or not (found.converged and found.within_margin):
            found, solved = fit_plsvm(problem, lam, tol, max_iter, first.get(lam)), lam
        scaled[lam] = found.weights * solved
    return [scaled[min(lam, most)] / lam for lam in lams]


def first_shares(problem: MarginProblem, W: np.ndarray) -> np.ndarray:
    """The probability of each candidate under these weights, given that one of them is right."""
    scores = problem.X @ W
    scale = softmax_scale(scores, problem.indptr, problem.indices, problem.weight)
    return row_softmax(scale * np.take(scores, problem.entries), problem.indptr)


def first_smoothing(problem: MarginProblem, lam: float) -> float:
    """The smoothing to begin with.

    For Newton's method, it grows with the share of a row of weight 1 in the curvature of the dual
    problem (how fast was found by trial): with more smoothing, the dual variables move slowly, with
    less, the smoothed problem is as hard as the one without.
    """
    if not problem.hessian.cheap:
        return 0.3
    curvature = float(problem.cost @ problem.hessian.squares) / (lam * problem.weight.sum())
    return max(1e-4, min(curvature, max(0.3, 0.1 * curvature**0.5), 3.0))


def best_candidates(problem: MarginProblem, W: np.ndarray) -> np.ndarray:
    """At each candidate entry: 1 if its score is the best of its row (equal parts of 1 if several
    are), else 0.
    """
    scores = np.take(problem.X @ W, problem.entries)
    sizes = np.diff(problem.indptr)
    tie = 1e-9 * np.abs(scores).max()
    best = (scores >= np.repeat(row_max(scores, problem.indptr) - tie, sizes)).astype(float)
    return best / np.repeat(row_sum(best, problem.indptr), sizes)
