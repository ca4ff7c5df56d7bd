"""Convex learning from partial labels (Cour, Sapp & Taskar 2011), in the primal."""

from typing import Any

import numpy as np

from .lbfgs import Minimum, inverse_factor, minimise
from .memory import row_blocks
from .sparse_rows import entry_rows, row_sum


def fit_clpl(
    X: Any,
    indptr: np.ndarray,
    indices: np.ndarray,
    n_classes: int,
    cost: np.ndarray,
    tol: float,
    max_iter: int,
) -> Minimum:
    """Minimise ``½‖W‖² + Σ_i cost_i [ψ(mean of f_j over S_i) + Σ_{j∉S_i} ψ(-f_j)]``, ``f = xᵢᵀW``,
    ``ψ(z) = max(0, 1-z)²``; the weights have the shape (n, l).

    This is the paper's convex loss, with the squared hinge. The paper reduces it to a binary
    problem of ``Σ (l - |S_i| + 1)`` rows of length ``n·l``, which is never formed here: value and
    gradient are two products with X.
    """
    sizes = np.diff(indptr)
    # The positions of the candidates in a flat m × l array
    entries = entry_rows(indptr) * n_classes + indices

    def of_block(rows: slice, block: Any, W: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss of some rows, and its derivative with respect to the weights."""
        low, high = indptr[rows.start], indptr[rows.stop]
        starts = indptr[rows.start : rows.stop + 1] - low
        size, at = sizes[rows], entries[low:high] - rows.start * n_classes
        scores = block @ W
        inside = np.maximum(0, 1 - row_sum(np.take(scores, at), starts) / size)
        outside = np.maximum(0, 1 + scores)
        np.put(outside, at, 0)
        loss = inside**2 + np.einsum("ij,ij->i", outside, outside)
        slope = outside  # half the derivative of the loss with respect to the scores
        np.put(slope, at, np.repeat(-inside / size, size))
        slope *= 2 * cost[rows, None]
        return float(cost[rows] @ loss), block.T @ slope

    def value_and_gradient(W: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = 0.5 * float(np.vdot(W, W)), W
        for rows, block in row_blocks(X, n_classes):
            loss, slope = of_block(rows, block, W)
            value, gradient = value + loss, gradient + slope
        return value, gradient

    # An upper bound of the Hessian, reached if every label of every instance is outside its set and
    # within the margin.
    inverse = inverse_factor(X, 2 * cost, ridge=1.0)
    return minimise(value_and_gradient, np.zeros((X.shape[1], n_classes)), inverse, tol, max_iter)
