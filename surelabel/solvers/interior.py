"""The convex problem of the largest margin, solved exactly: an interior-point method, and one
system of equations at the end.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import helmert, lapack

from .max_margin import NEVER, MaxMargin
from .newton import MOST, diagonal, lower_triangle

STEPS = 100  # maximum; usually 5 to 20
BOUNDARY = 0.99  # part of the way to the boundary
SHORTEST = 1e-9  # step
# The gap between weights and their bound from below, as a fraction of what is gained
NEAR = 1e-4  # at which the exact solution is looked for
AGAIN = 0.01  # times the last one: at which it is looked for again
EXACT = 1e-10  # at most, for a solution to be accepted
SOLVED = 1e-6  # at most, if none is found, and rounding errors prevent further steps
GAP = 1e-12  # at which the steps end
PATIENCE = 4  # steps in which it has to halve, below SOLVED
# Rounding errors
TIE = 1e-9  # of options, and of α
NOTHING = 1e-14  # of the objective
SUMS = 1e-13  # of a sum, as a fraction of the sum of sizes
RIDGES = 0.0, 1e-14, 1e-12, 1e-10  # of a diagonal, the first that makes it positive definite
RIDGE, CORRECTIONS = 1e-11, 2  # for equations that may be singular
LEAST = 0.01  # see _Options.spread


def exact_margin(
    convex: MaxMargin, W: np.ndarray, centre: float, guesses: Sequence[np.ndarray] = ()
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Minimise ``λ/2 ‖W‖² + Σ_i cost_i max(0, max_{k∉S_i} violation_ki)``.

    The loss of a row is the largest of its options: the violation of each label that is no
    candidate, and 0. So with α in the simplex of the options, the minimum is where ``λW =
    -slope(α)`` and, with a bound ``ξ_i`` of all options of a row, ``z = ξ - option ≥ 0`` and ``α z
    = 0``. Each step solves these equations, made linear, towards ``α z = μ`` with an ever smaller
    μ: the predictor and corrector of Mehrotra (1992). Near the minimum, it is seen which options
    have ``α > 0``; they are equal in each row, and these equations have the exact solution.

    Parameters
    ----------
    convex : MaxMargin
        The problem, of few weights.
    W : ndarray of shape (n, l)
        Where to begin.
    centre : float
        How far from the boundary to begin: the smallest z of a row, compared with the size of the
        violations. The better the start, the smaller it should be.
    guesses : sequence of ndarray of shape (l + 1, m)
        What α may be similar to, for example that of a similar problem; tried before anything else.

    Returns
    -------
    W : ndarray of shape (n, l)
        The problem has one solution: but for rounding errors, it depends on no start and no guess.
    alpha : ndarray of shape (l + 1, m)
        The dual variables.
    solved : bool
        Whether the solution was found; where rounding errors are too large for that (of a penalty
        below a ten-millionth of the squared length of a row), whether the gap is below a millionth
        of what is gained.
    """
    with np.errstate(all="ignore"):
        options = _Options(convex)
        for alpha in guesses:
            exact = options.solution(alpha)
            if exact is not None:
                return *exact, True
        found = _descend(options, options.start(W, centre), careful=False)
        return found if found[2] else _descend(options, options.start(0 * W, 1.0), careful=True)


def _descend(
    options: "_Options", point: "_Point", careful: bool
) -> tuple[np.ndarray, np.ndarray, bool]:
    """The steps from one start, until the solution is found or rounding errors are all that is
    left.
    """
    gap, near, last = options.gap(point), NEAR, np.inf
    for step in range(STEPS):
        if gap <= near:
            exact = options.solution(options.active(point))
            if exact is not None:
                return *exact, True
            near = gap * AGAIN
        if step % PATIENCE == 0 and gap <= SOLVED:
            if gap > 0.5 * last:
                break
            last = gap
        following = options.step(point, careful) if gap > GAP else None
        if following is None or not np.isfinite(following.weights).all():
            break
        point, gap = following, options.gap(following)
    alpha = options.active(point)
    exact = options.solution(alpha) if gap > SOLVED else None
    return (point.weights, alpha, gap <= SOLVED) if exact is None else (*exact, True)


class _Point(NamedTuple):
    """Weights, α and z, and what is left of ``λW + slope(α)``."""

    weights: np.ndarray
    alpha: np.ndarray
    z: np.ndarray
    rest: np.ndarray


class _Options:
    """The options of all rows, and the steps: arrays of shape (l + 1, m), for the labels and, last,
    the option 0.
    """

    def __init__(self, convex: MaxMargin) -> None:
        l, m = convex.share.shape
        self.convex, self.columns = convex, convex.hessian.columns
        self.open = np.ones((l + 1, m))  # 0 for candidates, and in rows without weight: no options
        self.open[:-1] = (convex.closed == 0) & (convex.cost > 0)
        self.shut = 1 - self.open
        self.closed = NEVER * self.shut[:-1]
        self.count = float(self.open.sum())
        self.none = 1.0 * (self.open.sum(axis=0) == 1)  # rows without a loss
        self.total = float(convex.cost.sum())
        largest = float(convex.cost @ convex.hessian.squares) / convex.lam
        self.least = LEAST * min(1.0, max(largest, TIE))
        self.sizes = (np.abs(self.columns) @ convex.cost)[:, None]
        self.basis, self.in_basis = _sums_of_zero(l)

    def values(self, W: np.ndarray) -> np.ndarray:
        """The options, NEVER or less where there is none."""
        found = np.zeros(self.open.shape)
        np.add(self.convex.violations(W), self.closed, out=found[:-1])
        return found

    def spread(self, values: np.ndarray) -> float:
        """How large violations are, but for the 1 of W = 0: their mean, or near W = 0 a part of
        the largest that weights can cause.
        """
        difference = float(np.vdot(np.abs(values[:-1] - 1), self.open[:-1]))
        return max(difference / max(float(self.open[:-1].sum()), 1.0), self.least)

    def slope(self, alpha: np.ndarray) -> np.ndarray:
        return self.convex.slope(alpha[:-1] * self.convex.cost)

    def start(self, W: np.ndarray, centre: float) -> _Point:
        """The point at W where ``α z`` is the same for all options of a row.

        Only differences of scores matter, so in the end the sum of W over the labels is 0; here it
        is from the start.
        """
        W = W - W.mean(axis=1, keepdims=True)
        values = self.values(W)
        z = (values.max(axis=0) - values) * self.open
        z += centre * self.spread(values)
        alpha = self.open / z
        alpha /= alpha.sum(axis=0)
        z = np.where(self.open, z, 1.0)
        return _Point(W, alpha, z, self.convex.lam * W + self.slope(alpha))

    def gap(self, point: _Point) -> float:
        """Between W and its bound from below, as a fraction of what the bound leaves to gain."""
        lam, cost = self.convex.lam, self.convex.cost
        W = point.weights - point.rest / lam  # that of the dual variables
        gained = self.total - float(cost @ point.alpha[:-1].sum(axis=0))
        gained += 0.5 * lam * float(np.vdot(W, W))
        gap = float(cost @ (point.alpha * point.z).sum(axis=0))
        rest = point.rest * (np.abs(point.rest) > SUMS * self.sizes)
        gap += 0.5 * float(np.vdot(rest, rest)) / lam
        gap = max(gap - NOTHING * self.total, 0.0)
        return gap / gained if gained > 0 else gap

    def step(self, point: _Point, careful: bool) -> _Point | None:
        """The next point; None if rounding errors prevent it.

        The corrector expects the predictor's whole step, which may be far too long: in rare cases
        the steps go round in circles. Being careful, which takes more steps, avoids it.
        """
        W, alpha, z, rest = point
        convex, share = self.convex, self.convex.share
        ratio = alpha / z
        total = ratio.sum(axis=0)
        factor = self._factorised(ratio, total)
        if factor is None:
            return None
        per_alpha, per_z = self.open / (alpha + self.shut), 1 / z

        def move(change: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
            """Moves of W, α and z that change ``α + α/z (z - its move)`` by ``change``, and how
            far they can go.
            """
            missing = change.sum(axis=0)
            right = (rest + self.slope(change - ratio * (missing / total))) @ self.basis
            found = lapack.dpotrs(factor, right.ravel(), lower=1)[0]
            of_W = -found.reshape(right.shape) @ self.basis.T
            scores = of_W.T @ self.columns
            scores -= (scores * share).sum(axis=0)
            of_alpha = ratio.copy()
            of_alpha[:-1] *= scores
            of_alpha[-1] = 0
            bound = (missing + of_alpha.sum(axis=0)) / total
            of_alpha += change
            of_alpha -= ratio * bound
            of_z = self.open * bound
            of_z[:-1] -= scores
            of_z *= self.open
            steepest = -min(float((of_alpha * per_alpha).min()), float((of_z * per_z).min()))
            return of_W, of_alpha, of_z, min(1.0, 1 / steepest) if steepest > 0 else 1.0

        _, of_alpha, of_z, length = move(-alpha)
        product = of_alpha * of_z
        now = float(np.vdot(alpha, z))
        if not now > 0:
            return None
        # (α + t dα)(z + t dz), where α dz + z dα = -α z
        then = (1 - length) * now + length**2 * float(product.sum())
        if careful:
            product *= length
        product -= (then / now) ** 3 * now / self.count
        product *= self.open
        of_W, of_alpha, of_z, length = move(-alpha - product * per_z)
        length = BOUNDARY * length if length < 1 else 1.0
        if not length > SHORTEST:
            return None
        W, alpha, z = W + length * of_W, alpha + length * of_alpha, z + length * of_z
        return _Point(W, alpha, z, convex.lam * W + self.slope(alpha))

    def _factorised(self, ratio: np.ndarray, total: np.ndarray) -> np.ndarray | None:
        """The Cholesky factor of the matrix for the move of W.

        Where the options of a row change by v, α changes by ``Dv - ddᵀv / Σd``, with d the ratios
        ``α/z`` and D their diagonal matrix. With the option 0 left out, and scores that enter by
        ``I - 1 shareᵀ`` on both sides, the second derivative with respect to the scores is ``D -
        ddᵀ/s + (s - s²/Σd)(d/s - share)(d/s - share)ᵀ``, where ``s`` is the sum of d over the
        labels. It is written in a basis of the weights whose sum over the labels is 0.
        """
        convex, labels = self.convex, ratio[:-1]
        root = np.sqrt(labels.sum(axis=0))
        mean = labels / (root + self.none)
        curved = lower_triangle((mean - root * convex.share) * np.sqrt(ratio[-1] / total))
        curved -= lower_triangle(mean)
        curved[diagonal(len(labels))] += labels
        curved *= convex.cost
        matrix = convex.hessian.matrix(self.in_basis @ curved, convex.lam)
        for ridge in RIDGES:
            matrix.ravel()[:: len(matrix) + 1] *= 1 + ridge
            factor, failed = lapack.dpotrf(matrix.T, lower=1)
            if not failed:
                return np.asarray(factor)
        return None

    def active(self, point: _Point) -> np.ndarray:
        """The α of a point, with 0 where z is larger, by its own size."""
        alpha = point.alpha * (self.spread(self.values(point.weights)) * point.alpha > point.z)
        largest = point.alpha.argmax(axis=0), np.arange(alpha.shape[1])
        alpha[largest] = point.alpha[largest]
        return np.asarray(alpha / alpha.sum(axis=0))

    def solution(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Weights and α of the solution, if it is found from this α by changing which options are
        active.

        All active options of a row are equal, and α is 0 for the others: equations that have a
        solution. It is the one looked for if no α is below 0 and no other option is larger.
        Otherwise, these options are taken out or in, as long as there are fewer such options each
        time (the primal-dual active set method, Hintermüller, Ito & Kunisch 2003).
        """
        active, wrong = alpha > 0, alpha.size
        while True:
            solved = self._equal_options(alpha, active)
            if solved is None:
                return None
            W = self.slope(solved) / -self.convex.lam
            options = self.values(W)
            negative = solved < -TIE
            largest = options.max(axis=0)
            of_active = np.where(active, options, NEVER).max(axis=0)
            larger = largest - of_active > TIE * np.maximum(1, largest)
            before, wrong = wrong, int(negative.sum()) + int(larger.sum())
            if not wrong:
                solved = np.maximum(solved, 0)
                solved /= solved.sum(axis=0)
                found = _Point(W, solved, largest - options, 0 * W)
                return (W, solved) if self.gap(found) <= EXACT else None
            if wrong >= before:
                return None
            active &= ~negative
            active[options.argmax(axis=0)[larger], np.flatnonzero(larger)] = True
            alpha = np.maximum(solved, 0) * active
            alpha += active * (alpha.sum(axis=0) == 0)
            alpha /= alpha.sum(axis=0)

    def _equal_options(self, alpha: np.ndarray, active: np.ndarray) -> np.ndarray | None:
        """The α nearest to this one for which all active options of a row are equal."""
        lam, cost, share = self.convex.lam, self.convex.cost, self.convex.share
        # A variable for each further option of a row: what it takes from the largest α.
        largest = alpha.argmax(axis=0), np.arange(len(cost))
        free = active.copy()
        free[largest] = False
        labels, rows = np.nonzero(free)
        if not len(rows):
            return alpha
        if len(rows) > MOST:
            return None
        options = self.values(self.slope(alpha) / -lam)
        against, at = largest[0][rows], np.arange(len(rows))
        scores = np.zeros((len(active), len(rows)))
        scores[:-1] = share.take(rows, axis=1)
        scores *= 1.0 * (against < len(share)) - (labels < len(share))
        scores[labels, at] += 1
        scores[against, at] -= 1
        root = np.sqrt(cost[rows] / lam)
        x = self.columns.take(rows, axis=1) * root
        matrix = x.T @ x
        matrix *= scores[:-1].T @ scores[:-1]
        right = (options[labels, rows] - options[against, rows]) * root
        # Singular, if there are more equations than weights: with a ridge and a few corrections, it
        # has the nearest α as its solution.
        factor = matrix.copy()
        factor.ravel()[:: len(rows) + 1] += RIDGE * matrix.diagonal().max()
        factor, failed = lapack.dpotrf(factor.T, lower=1, overwrite_a=1)
        if failed:
            return None
        taken = lapack.dpotrs(factor, right, lower=1)[0]
        for _ in range(CORRECTIONS):
            taken += lapack.dpotrs(factor, right - matrix @ taken, lower=1)[0]
        taken /= root
        solved = alpha * active
        solved[labels, rows] += taken
        solved[largest] -= np.bincount(rows, taken, minlength=len(cost))
        return solved


@cache
def _sums_of_zero(l: int) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal basis of the vectors of sum 0 (l, l - 1), and the matrix that writes the lower
    triangles of l × l matrices in it.
    """
    basis = helmert(l).T
    i, j = np.tril_indices(l)
    a, b = np.tril_indices(l - 1)
    products = basis[i][:, a] * basis[j][:, b]
    products += (basis[j][:, a] * basis[i][:, b]) * (i != j)[:, None]
    return basis, np.ascontiguousarray(products.T)
