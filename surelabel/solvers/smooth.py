"""Minimise a smooth convex function of the weights of linear scores ``X @ W``."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from .out_of_core import weighted_gram

WIDEST = (
    2000  # features up to which factorising an n × n matrix is cheap beside the products with X
)
PAIRS = 10  # number of last steps used for the curvature
DECREASE, CURVATURE = 1e-3, 0.9  # Wolfe's conditions on a step of the line search
TRIALS = 20  # maximum per line search
EPSILON = float(np.finfo(float).eps)

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Minimum(NamedTuple):
    """Weights, number of iterations, whether it ended before ``max_iter``, and the final gradient
    as a fraction of the first.
    """

    weights: np.ndarray
    n_iter: int
    converged: bool
    gradient: float


def inverse_factor(X: Any, cost: np.ndarray, ridge: float) -> np.ndarray | None:
    """Inverse of the Cholesky factor ``L`` of ``Xᵀ diag(cost) X + ridge·I``, or None if it would
    cost too much (very wide X).
    """
    if X.shape[1] > WIDEST:
        return None
    curvature = weighted_gram(X, cost)
    # The solution does not depend on L, so a slightly larger ridge may be used against rounding
    # errors.
    curvature[np.diag_indices_from(curvature)] += ridge + 1e-12 * np.trace(curvature)
    factor = linalg.cholesky(curvature, lower=True, check_finite=False)
    return linalg.solve_triangular(
        factor, np.eye(len(factor)), lower=True, check_finite=False, overwrite_b=True
    )


def minimise(
    value_and_gradient: Function,
    start: np.ndarray,
    inverse: np.ndarray | None,
    tol: float,
    max_iter: int,
) -> Minimum:
    """L-BFGS (Liu & Nocedal 1989) from ``start``, in variables in which the function is well
    conditioned.

    Parameters
    ----------
    value_and_gradient : callable
        Value and gradient at weights of the shape of ``start``.
    start : ndarray of shape (n, l)
        Where to begin.
    inverse : ndarray of shape (n, n) or None
        Inverse of a lower triangular ``L`` with ``L Lᵀ`` near the Hessian of each column: the
        variables are ``V = Lᵀ W``.
    tol : float
        Stop when the largest entry of the gradient (with respect to ``V``) is at most this fraction
        of that at ``start``.
    max_iter : int
        Largest number of iterations.

    Returns
    -------
    Minimum
    """

    def weights(flat: np.ndarray) -> np.ndarray:
        V = flat.reshape(start.shape)
        return V if inverse is None else inverse.T @ V

    def function(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = value_and_gradient(weights(flat))
        return value, (gradient if inverse is None else inverse @ gradient).ravel()

    first = (
        start
        if inverse is None
        else linalg.solve_triangular(inverse, start, trans="T", lower=True, check_finite=False)
    ).ravel()
    value, gradient = function(first)
    steepest = np.abs(gradient).max()
    if steepest == 0:
        return Minimum(start, 0, True, 0.0)
    x, gradient, n_iter, converged = lbfgs(
        function, first, value, gradient, tol * steepest, max_iter
    )
    return Minimum(weights(x), n_iter, converged, float(np.abs(gradient).max() / steepest))


def lbfgs(
    function: Function,
    x: np.ndarray,
    value: float,
    gradient: np.ndarray,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, np.ndarray, int, bool]:
    """The iterations of L-BFGS.

    Up to rounding, they are those of scipy's ``L-BFGS-B`` without bounds, which on small problems
    spends nine tenths of its time on overhead.

    Parameters
    ----------
    function : callable
        Value and gradient at a point.
    x, value, gradient : ndarray, float, ndarray
        Where to begin.
    tol : float
        Stop when no entry of the gradient is larger.
    max_iter : int
        Largest number of iterations.

    Returns
    -------
    x, gradient : ndarray
    n_iter : int
    converged : bool
        Whether it ended before ``max_iter``.
    """
    memory = _Memory(len(x))
    n_iter = 0
    while np.abs(gradient).max() > tol:
        if n_iter == max_iter:
            return x, gradient, n_iter, False
        direction = -memory.times(gradient)
        slope = float(gradient @ direction)
        step = 1 / np.sqrt(direction @ direction) if n_iter == 0 else 1.0
        found = _line_search(function, x, direction, value, slope, step) if slope < 0 else None
        if found is None:
            if not memory.count:  # no lower point: only rounding is left
                break
            memory.count = 0
            continue
        step, new_value, new_gradient = found
        n_iter += 1
        change = new_gradient - gradient
        curved = (float(new_gradient @ direction) - slope) * step
        if curved > EPSILON * -slope * step:
            memory.add(step * direction, change, curved)
        gained = value - new_value
        x, value, gradient = x + step * direction, new_value, new_gradient
        if gained <= EPSILON * max(abs(value), abs(value + gained), 1.0):
            break  # the last step gained nothing beyond rounding
    return x, gradient, n_iter, True


class _Memory:
    """The last steps ``s`` and changes of the gradient ``y``, which define an inverse Hessian
    (Byrd, Nocedal & Schnabel 1994, equation 3.1).
    """

    def __init__(self, size: int) -> None:
        self.count = 0
        self._steps, self._changes = np.empty((PAIRS, size)), np.empty((PAIRS, size))
        self._products = np.zeros((PAIRS, PAIRS))  # s_i·y_j for i ≤ j
        self._squares = np.zeros((PAIRS, PAIRS))  # y_i·y_j

    def add(self, step: np.ndarray, change: np.ndarray, product: float) -> None:
        if self.count == PAIRS:
            for kept in (self._steps, self._changes):
                kept[:-1] = kept[1:]
            for kept in (self._products, self._squares):
                kept[:-1, :-1] = kept[1:, 1:].copy()
            self.count -= 1
        k = self.count
        self._steps[k], self._changes[k] = step, change
        self._products[:k, k] = self._steps[:k] @ change
        self._products[k, k] = product
        square = self._changes[: k + 1] @ change
        self._squares[: k + 1, k] = self._squares[k, : k + 1] = square
        self.count = k + 1

    def times(self, vector: np.ndarray) -> np.ndarray:
        """The inverse Hessian times a vector."""
        k = self.count
        if not k:
            return vector
        steps, changes = self._steps[:k], self._changes[:k]
        products, squares = self._products[:k, :k], self._squares[:k, :k]
        scale = products[-1, -1] / squares[-1, -1]
        along = lapack.dtrtrs(products, steps @ vector)[0]
        mixed = products.diagonal() * along + scale * (squares @ along - changes @ vector)
        back = lapack.dtrtrs(products, mixed, trans=1)[0]
        return scale * vector + back @ steps - (scale * along) @ changes


def _line_search(
    function: Function,
    x: np.ndarray,
    direction: np.ndarray,
    value: float,
    slope: float,
    step: float,
) -> tuple[float, float, np.ndarray] | None:
    """A step that satisfies Wolfe's strong conditions, by Moré & Thuente (1994); None if there is
    none.
    """
    low = _Trial(0.0, value, slope)
    high = low
    bracketed, first_stage = False, True
    width, width_before = 1e10, 2e10
    bounds = 0.0, 5 * step
    for _ in range(TRIALS):
        new_value, gradient = function(x + step * direction)
        new_slope = float(gradient @ direction)
        enough = value + DECREASE * step * slope
        if new_value <= enough and abs(new_slope) <= -CURVATURE * slope:
            return step, new_value, gradient
        if bracketed and (
            step <= bounds[0] or step >= bounds[1] or bounds[1] - bounds[0] <= 0.1 * bounds[1]
        ):
            return step, new_value, gradient
        if not np.isfinite(new_value):
            return None
        first_stage = first_stage and not (new_value <= enough and new_slope >= 0)
        # Until a step has decreased enough, the line of sufficient decrease is subtracted from the
        # function.
        tilt = DECREASE * slope if first_stage and low.value >= new_value > enough else 0.0
        trial = _Trial(step, new_value, new_slope)
        low, high, step, bracketed = _next_trial(
            low.tilted(tilt), high.tilted(tilt), trial.tilted(tilt), bracketed, bounds
        )
        low, high = low.tilted(-tilt), high.tilted(-tilt)
        if bracketed:
            if abs(high.step - low.step) >= 0.66 * width_before:
                step = low.step + 0.5 * (high.step - low.step)
            width, width_before = abs(high.step - low.step), width
            bounds = min(low.step, high.step), max(low.step, high.step)
        else:
            bounds = (
                step + 1.1 * (step - low.step),
                step + 4.0 * (step - low.step),
            )
        if bracketed and (
            step <= bounds[0] or step >= bounds[1] or bounds[1] - bounds[0] <= 0.1 * bounds[1]
        ):
            step = low.step
    return None


class _Trial(NamedTuple):
    """A step, and value and slope of the function there."""

    step: float
    value: float
    slope: float

    def tilted(self, by: float) -> "_Trial":
        return self if by == 0 else _Trial(self.step, self.value - self.step * by, self.slope - by)


def _next_trial(
    low: _Trial, high: _Trial, new: _Trial, bracketed: bool, bounds: tuple[float, float]
) -> tuple[_Trial, _Trial, float, bool]:
    """The end points of the next interval and the step to try in it (Moré & Thuente 1994, section
    4): minima of cubics and parabolas through what is known.
    """
    (a, fa, da), (t, f, d) = low, new
    sign = d * np.sign(da)
    theta = 3 * (fa - f) / (t - a) + da + d
    s = max(abs(theta), abs(da), abs(d))
    if f > fa:
        gamma = s * np.sqrt(max(0.0, (theta / s) ** 2 - (da / s) * (d / s)))
        gamma = -gamma if t < a else gamma
        r = ((gamma - da) + theta) / (((gamma - da) + gamma) + d)
        cubic = a + r * (t - a)
        parabola = a + ((da / ((fa - f) / (t - a) + da)) / 2) * (t - a)
        step = cubic if abs(cubic - a) < abs(parabola - a) else cubic + (parabola - cubic) / 2
        bracketed = True
    elif sign < 0:
        gamma = s * np.sqrt(max(0.0, (theta / s) ** 2 - (da / s) * (d / s)))
        gamma = -gamma if t > a else gamma
        r = ((gamma - d) + theta) / (((gamma - d) + gamma) + da)
        cubic = t + r * (a - t)
        secant = t + (d / (d - da)) * (a - t)
        step = cubic if abs(cubic - t) > abs(secant - t) else secant
        bracketed = True
    elif abs(d) < abs(da):
        gamma = s * np.sqrt(max(0.0, (theta / s) ** 2 - (da / s) * (d / s)))
        gamma = -gamma if t > a else gamma
        r = ((gamma - d) + theta) / ((gamma + (da - d)) + gamma)
        end = bounds[1] if t > a else bounds[0]
        cubic = t + r * (a - t) if r < 0 and gamma != 0 else end
        secant = t + (d / (d - da)) * (a - t)
        if bracketed:
            step = cubic if abs(cubic - t) < abs(secant - t) else secant
            limit = t + 0.66 * (high.step - t)
            step = min(limit, step) if t > a else max(limit, step)
        else:
            step = cubic if abs(cubic - t) > abs(secant - t) else secant
            step = min(bounds[1], max(bounds[0], step))
    elif bracketed:
        b, fb, db = high
        theta = 3 * (f - fb) / (b - t) + db + d
        s = max(abs(theta), abs(db), abs(d))
        gamma = s * np.sqrt(max(0.0, (theta / s) ** 2 - (db / s) * (d / s)))
        gamma = -gamma if t > b else gamma
        r = ((gamma - d) + theta) / (((gamma - d) + gamma) + db)
        step = t + r * (b - t)
    else:
        step = bounds[1] if t > a else bounds[0]
    if f > fa:
        return low, new, step, bracketed
    return new, (low if sign < 0 else high), step, bracketed
