"""Scalings of features, kernel matrices and their bandwidths. A kernel matrix is computed in place:
one ``m × m`` array, never a second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.utils.extmath import safe_sparse_dot

from .threads import by_stripes

#: The kernels by name. ``gamma`` and ``bandwidth`` act on the first two.
KERNELS = ("rbf", "laplacian", "linear", "precomputed")

#: The scalings by name.
SCALINGS = ("standard", "none", "root", "rank")

RANKED = 1000  # number of rows that represent all others in ranks


def kernel_matrix(kernel: str, X: Any, Z: Any = None, *, gamma: float | None = None) -> np.ndarray:
    """Kernel between the rows of ``X`` and of ``Z`` (by default ``X`` itself): ``exp(-γ‖x-z‖²)``
    ("rbf"), ``exp(-γ‖x-z‖₁)`` ("laplacian") or ``xᵀz`` ("linear").
    """
    if kernel in ("rbf", "laplacian"):
        return exponentiate(distances(kernel, X, Z), gamma)
    return _gram(X) if Z is None else safe_sparse_dot(X, Z.T, dense_output=True)


def distances(kernel: str, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
    """The distances that the kernel depends on: squared Euclidean, or L1 for the laplacian."""
    if kernel == "laplacian":
        D = squareform(pdist(X, "cityblock")) if Z is None else cdist(X, Z, "cityblock")
        return D.astype(X.dtype, copy=False)
    # Moving the origin to the mean does not change distances, and saves digits.
    origin = X.mean(axis=0) if Z is None else Z.mean(axis=0)
    X = X - origin
    Z = X if Z is None else Z - origin
    D = _gram(X) if Z is X else X @ Z.T
    of_rows, of_columns = np.einsum("ij,ij->i", X, X)[:, None], np.einsum("ij,ij->i", Z, Z)

    def from_products(rows: slice) -> None:
        part = D[rows]
        part *= -2
        part += of_rows[rows]
        part += of_columns
        np.maximum(part, 0, out=part)

    by_stripes(from_products, D)
    if Z is X:
        np.fill_diagonal(D, 0)
    return D


def _gram(X: Any) -> np.ndarray:
    """``XXᵀ``, computed in blocks right of the diagonal.

    NumPy hands ``X @ X.T`` to BLAS' ``syrk``, which crashes in some versions of OpenBLAS (0.3.31 at
    19,690 × 519), and copies the other triangle number by number; blocks are up to four times as
    fast on thousands of rows.
    """
    if sparse.issparse(X):
        return safe_sparse_dot(X, X.T, dense_output=True)
    K, step = np.empty((len(X), len(X)), X.dtype), 2048
    for i in range(0, len(X), step):
        j = i + step
        np.matmul(X[i:j], X[i:].T, out=K[i:j, i:])
        K[j:, i:j] = K[i:j, j:].T
    return K


def exponentiate(D: np.ndarray, gamma: float | None) -> np.ndarray:
    """``exp(-γ D)`` in place."""

    def exponentials(rows: slice) -> None:
        part = D[rows]
        part *= -gamma  # type: ignore[operator]
        np.exp(part, out=part)

    by_stripes(exponentials, D)
    return D


def gamma_of(
    kernel: str,
    gamma: str | float,
    bandwidth: float,
    X: Any,
    D: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> float | None:
    """The number γ for the parameter ``gamma``; None for kernels without γ.

    "mean_distance" is the paper's rule: γ = 1/(2σ²) with σ the average distance between instances,
    times the bandwidth; γ = 1/σ for the laplacian kernel. "scale" is scikit-learn's ``1 / (n
    Var[X])``. ``D`` is ``distances(kernel, X)``, if already computed.
    """
    if kernel in ("linear", "precomputed"):
        return None
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "scale":
        mean = np.average(X, axis=0, weights=weight).mean()
        variance = float(np.average((X - mean) ** 2, axis=0, weights=weight).mean())
        return reciprocal(X.shape[1] * variance)
    D = distances(kernel, X) if D is None else D
    sigma = bandwidth * mean_distance(D, squared=kernel != "laplacian", weight=weight)
    return reciprocal(sigma if kernel == "laplacian" else 2 * sigma**2)


def reciprocal(spread: float) -> float:
    """``1 / spread``; 1 if all instances are the same point, up to differences whose squares
    underflow.
    """
    return 1 / spread if spread > 1 / np.finfo(float).max else 1.0


def mean_distance(D: np.ndarray, *, squared: bool, weight: np.ndarray | None = None) -> float:
    """Average distance over the pairs of different instances."""
    m = len(D)
    w = np.ones(m) if weight is None else weight.astype(np.float64)
    total, step = 0.0, 256
    for start in range(0, m, step):
        # D is symmetric, so the part right of the diagonal counts twice.
        rows, stop = slice(start, start + step), start + step
        block = np.sqrt(D[rows, start:]) if squared else D[rows, start:]
        total += float(w[rows] @ (block[:, :step] @ w[rows].astype(D.dtype)))
        total += 2 * float(w[rows] @ (block[:, step:] @ w[stop:].astype(D.dtype)))
    # A weight counts as copies: W(W - 1) ordered pairs. If weights are below 1, a pair needs two
    # rows.
    return total / (w.sum() ** 2 - min(w.sum(), w @ w))


# ---------------------------------------------------------------- scalings


def learn_scaling(name: str, X: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """What :func:`rescale` needs to know about the training rows: means and deviations for
    "standard", sorted columns for "rank", nothing for "none" and "root".
    """
    if name == "standard":
        mean = np.average(X, axis=0, weights=weight)
        deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
        # The deviation of a constant column is a rounding error.
        constant = deviation <= 10 * np.finfo(X.dtype).eps * np.abs(mean)
        return np.stack([mean, np.where(constant, 1, deviation)]).astype(X.dtype)
    if name == "rank":
        if weight is not None and np.any(weight != 1):
            return _copies(X, weight)
        return np.sort(X[:: -(-len(X) // RANKED)], axis=0)
    return np.empty((0, X.shape[1]), X.dtype)


def rescale(name: str, learned: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The rows, scaled. "standard": mean 0 and variance 1; "none": unchanged; "root":
    ``sign(x)√|x|``; "rank": the share of training rows with smaller values.
    """
    if name == "standard":
        return (X - learned[0]) / learned[1]
    if name == "root":
        return np.sign(X) * np.sqrt(np.abs(X))
    if name == "rank":
        ranks = np.empty_like(X)
        for values, column, target in zip(learned.T, X.T, ranks.T, strict=True):
            # Equal values get the middle of their ranks.
            first, last = (np.searchsorted(values, column, side) for side in ("left", "right"))
            target[:] = (first + last) / (2 * len(values))
        return ranks
    return X


def _copies(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Sorted columns in which each value occurs as often as its weight says: exactly for whole
    numbers, and otherwise in that proportion.
    """
    count = min(max(round(float(weight.sum())), len(X)), RANKED)
    middle = (np.arange(count) + 0.5) / count * weight.sum(dtype=np.float64)
    found = np.empty((count, X.shape[1]), X.dtype)
    for values, column in zip(found.T, X.T, strict=True):
        order = np.argsort(column, kind="stable")
        place = np.searchsorted(np.cumsum(weight[order], dtype=np.float64), middle)
        values[:] = column[order[np.minimum(place, len(X) - 1)]]
    return found
