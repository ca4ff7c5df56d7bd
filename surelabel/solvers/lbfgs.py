"""Minimise a smooth convex function of the weights of linear scores ``X @ W`` by scipy's
L-BFGS-B.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.optimize import minimize

from .out_of_core import weighted_gram

WIDEST = 2000  # features up to which an n × n factor is cheap beside the products with X

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Minimum(NamedTuple):
    """Weights, number of iterations, and whether ``tol`` was reached (or only rounding errors were
    left).
    """

    weights: np.ndarray
    n_iter: int
    converged: bool


def inverse_factor(X: Any, cost: np.ndarray, ridge: float) -> np.ndarray | None:
    """Inverse of the Cholesky factor ``L`` of ``Xᵀ diag(cost) X + ridge·I``; None if X is so wide
    that it would cost too much.
    """
    if X.shape[1] > WIDEST:
        return None
    curvature = weighted_gram(X, cost)
    # L Lᵀ need only be near the Hessian, so a larger diagonal may absorb rounding errors.
    curvature[np.diag_indices_from(curvature)] += ridge + 1e-12 * np.trace(curvature)
    factor = linalg.cholesky(curvature, lower=True, check_finite=False)
    return linalg.solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False)


def minimise(
    value_and_gradient: Function,
    start: np.ndarray,
    inverse: np.ndarray | None,
    tol: float,
    max_iter: int,
) -> Minimum:
    """Minimise in variables that make the function well conditioned, whatever the sizes of the
    features.

    Parameters
    ----------
    value_and_gradient : callable
        Value and gradient at weights of the shape of ``start``.
    start : ndarray of shape (n, l)
        Where to begin.
    inverse : ndarray of shape (n, n) or None
        Inverse of a lower triangular ``L`` with ``L Lᵀ`` near the Hessian of each column: the
        variables are ``V = Lᵀ W``. None is the identity.
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

    first = start if inverse is None else linalg.solve_triangular(inverse, start, "T", lower=True)
    steepest = float(np.abs(function(first.ravel())[1]).max())
    found = minimize(
        function,
        first.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": max_iter,
            "maxfun": np.inf,
            "gtol": tol * steepest,
            "ftol": np.finfo(float).eps,
        },
    )
    # Status 1 is too many iterations. Status 2 is no lower point: only rounding errors are left.
    return Minimum(weights(found.x), found.nit, found.status != 1)
