"""Minimise a smooth convex function of the weights of linear scores ``X @ W``."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, optimize

from .row_blocks import weighted_gram

WIDEST = (
    2000  # features up to which factorising an n × n matrix is cheap beside the products with X
)


class Minimum(NamedTuple):
    """Weights, iterations, whether it ended before ``max_iter``, and what part of the first
    gradient is left.
    """

    weights: np.ndarray
    n_iter: int
    converged: bool
    gradient: float


def curvature_factor(X: Any, cost: np.ndarray, ridge: float) -> np.ndarray | None:
    """Cholesky factor ``L`` of ``Xᵀ diag(cost) X + ridge·I``, or None where it is not worth its
    price (very wide X).
    """
    if X.shape[1] > WIDEST:
        return None
    curvature = weighted_gram(X, cost)
    # The solution does not depend on L: rounding may be outweighed by a little more ridge.
    curvature[np.diag_indices_from(curvature)] += ridge + 1e-12 * np.trace(curvature)
    return linalg.cholesky(curvature, lower=True)


def minimise(
    value_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    factor: np.ndarray | None,
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
    factor : ndarray of shape (n, n) or None
        Lower triangular ``L`` with ``L Lᵀ`` near the Hessian of each column: the variables are ``V
        = Lᵀ W``.
    tol : float
        Stop when the largest entry of the gradient (with respect to ``V``) is this small a part of
        what it is at ``start``.
    max_iter : int
        Stop after so many iterations.

    Returns
    -------
    Minimum
    """

    def weights(flat: np.ndarray) -> np.ndarray:
        V = flat.reshape(start.shape)
        return (
            V
            if factor is None
            else linalg.solve_triangular(factor, V, trans="T", lower=True, check_finite=False)
        )

    def function(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = value_and_gradient(weights(flat))
        if factor is not None:
            gradient = linalg.solve_triangular(factor, gradient, lower=True, check_finite=False)
        return value, gradient.ravel()

    first = (start if factor is None else factor.T @ start).ravel()
    steepest = np.abs(function(first)[1]).max()
    if steepest == 0:
        return Minimum(start, 0, True, 0.0)
    found = optimize.minimize(
        function,
        first,
        jac=True,
        method="L-BFGS-B",
        # ftol: a step that gains nothing beyond rounding is the last.
        options={
            "maxiter": max_iter,
            "maxfun": 10 * max_iter,
            "gtol": tol * steepest,
            "ftol": np.finfo(float).eps,
        },
    )
    # Status 1 is a limit met; 2 is a line search that finds nothing lower: only rounding is left.
    return Minimum(
        weights(found.x), found.nit, found.status != 1, float(np.abs(found.jac).max() / steepest)
    )
