"""Minimise a smooth convex function of the weights of linear scores ``X @ W`` by scipy's
L-BFGS-B.
"""

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import minimize

from .memory import row_blocks

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


def weighted_gram(X: Any, weight: np.ndarray) -> np.ndarray:
    """``Xᵀ diag(weight) X``."""
    if sparse.issparse(X):
        return (X.T @ X.multiply(weight[:, None])).toarray()
    return reduce(
        add, ((block.T * weight[rows]) @ block for rows, block in row_blocks(X, X.shape[1]))
    )


def minimise(
    value_and_gradient: Function,
    start: np.ndarray,
    inverse: np.ndarray | None,
    tol: float,
    max_iter: int,
) -> Minimum:
    """Minimise in variables that make the function well conditioned, whatever the sizes of the
    features.

    ``inverse`` is that of a lower triangular ``L`` with ``L Lᵀ`` near the Hessian of each column:
    the variables are ``V = Lᵀ W``; None is the identity. It stops when the largest entry of the
    gradient (with respect to ``V``) is at most the fraction ``tol`` of that at ``start``.
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
