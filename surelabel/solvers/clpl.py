"""Convex learning from partial labels (Cour, Sapp & Taskar 2011), in the primal."""

from typing import Any

import numpy as np

from .newton import ScoreHessian, diagonal, lower_triangle, newton
from .out_of_core import row_blocks
from .smooth import Minimum, inverse_factor, minimise
from .sparse_rows import row_sum


def fit_clpl(
    X: Any,
    indptr: np.ndarray,
    indices: np.ndarray,
    n_classes: int,
    cost: np.ndarray,
    tol: float,
    max_iter: int,
    hessian: ScoreHessian | None = None,
    start: np.ndarray | None = None,
) -> Minimum:
    """Minimise ``½‖W‖² + Σ_i cost_i [ψ(mean of f_j over S_i) + Σ_{j∉S_i} ψ(-f_j)]``, ``f = xᵢᵀW``,
    ``ψ(z) = max(0, 1-z)²``.

    This is the paper's convex loss, with the squared hinge. The paper reduces it to a binary
    problem of ``Σ (l - |S_i| + 1)`` rows of length ``n·l``, which is never formed here: value and
    gradient are two products with X.

    Parameters
    ----------
    X : ndarray, CSR matrix or RowBlocks of shape (m, n)
        The instances.
    indptr, indices : ndarray
        The candidates of each instance, as compressed rows.
    n_classes : int
        The number l of labels.
    cost : ndarray of shape (m,)
        Weight of the loss of each instance.
    tol, max_iter : float, int
        As in :func:`surelabel.solvers.smooth.minimise`; with Newton's method, a fraction of the
        gradient at W = 0.
    hessian : ScoreHessian, default=None
        If given, Newton's method is used in place of L-BFGS.
    start : ndarray of shape (n, l), default=None
        Where to begin; None is 0.

    Returns
    -------
    Minimum
        Its weights have the shape (n, l).
    """
    sizes = np.diff(indptr)
    entries = (
        np.repeat(np.arange(len(sizes)) * n_classes, sizes) + indices
    )  # positions of the candidates in a flat m × l array

    def of_block(rows: slice, block: Any, W: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss of some rows, and half its derivative with respect to the weights."""
        low, high = indptr[rows.start], indptr[rows.stop]
        starts, size, at = (
            indptr[rows.start : rows.stop + 1] - low,
            sizes[rows],
            entries[low:high] - rows.start * n_classes,
        )
        scores = block @ W
        inside = np.maximum(0, 1 - row_sum(np.take(scores, at), starts) / size)
        outside = np.maximum(0, 1 + scores)
        np.put(outside, at, 0)
        loss = inside**2 + np.einsum("ij,ij->i", outside, outside)
        slope = outside  # half the derivative of the loss with respect to the scores
        np.put(slope, at, np.repeat(-inside / size, size))
        slope *= cost[rows, None]
        return float(cost[rows] @ loss), block.T @ slope

    def value_and_gradient(W: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = 0.5 * float(np.vdot(W, W)), W
        for rows, block in row_blocks(X, n_classes):
            loss, slope = of_block(rows, block, W)
            value, gradient = value + loss, gradient + 2 * slope
        return value, gradient

    start = np.zeros((X.shape[1], n_classes)) if start is None else start
    if hessian is not None:
        mean = np.zeros((len(sizes), n_classes))
        np.put(mean, entries, np.repeat(1 / sizes, sizes))
        form = _NewtonForm(hessian, mean.T.copy(), cost)
        size = float(np.abs(form(np.zeros_like(start))[1]).max())
        return newton(form, form.direction, start, tol, max_iter, size)
    # The Hessian is largest, and equal to this, if every label of every instance is outside its set
    # and within the margin.
    inverse = inverse_factor(X, 2 * cost, ridge=1.0)
    return minimise(value_and_gradient, start, inverse, tol, max_iter)


class _NewtonForm:
    """Value, gradient and Hessian of the same problem, with labels as the rows of all arrays
    (l, m).
    """

    def __init__(self, hessian: ScoreHessian, mean: np.ndarray, cost: np.ndarray) -> None:
        self.hessian, self.mean, self.cost = hessian, mean, cost
        self.free = (mean == 0).astype(float)
        self.inside = self.outside = np.zeros(0)  # what is missing at the last W

    def __call__(self, W: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        scores = W.T @ self.hessian.columns
        self.inside = np.maximum(0, 1 - (self.mean * scores).sum(axis=0))
        scores += 1
        self.outside = np.maximum(0, scores) * self.free
        weighted = (self.outside - self.mean * self.inside) * self.cost
        loss = self.inside**2 + (self.outside**2).sum(axis=0)
        value = 0.5 * float(np.vdot(W, W)) + float(self.cost @ loss)
        return value, W + 2 * (weighted @ self.hessian.columns.T).T

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """The inverse of the Hessian at the last W times the gradient."""
        curved = lower_triangle(self.mean * (self.inside > 0))
        curved[diagonal(len(self.mean))] += self.outside > 0
        return self.hessian.solve(2 * self.cost * curved, 1.0, gradient)
