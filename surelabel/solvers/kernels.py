"""Scalings of features, kernel matrices and their bandwidths. A kernel matrix is computed in place:
one ``m × m`` array, never a second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import safe_sparse_dot

from .threads import by_stripes

#: The kernels by name. ``gamma`` and ``bandwidth`` act on the first three.
KERNELS = ("rbf", "laplacian", "polynomial", "linear", "cosine", "precomputed")

#: The scalings by name.
SCALINGS = ("standard", "none", "root", "rank")

RANKED = 1000  # number of rows that represent all others in ranks


def kernel_matrix(
    kernel: str | Callable[..., Any],
    X: Any,
    Z: Any = None,
    *,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1,
) -> np.ndarray:
    """Kernel between the rows of ``X`` and of ``Z`` (by default ``X`` itself).

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "polynomial", "linear", "cosine"} or callable
        A callable is called with two rows, as in scikit-learn's ``pairwise_kernels``.
    X : array of shape (m, n)
    Z : array of shape (k, n), default=None
    gamma : float
        ``exp(-γ‖x-z‖²)``, ``exp(-γ‖x-z‖₁)``, ``(γ xᵀz + coef0)^degree``.
    degree, coef0 : float
        Parameters of the polynomial kernel.

    Returns
    -------
    ndarray of shape (m, k)
    """
    if callable(kernel):
        return np.ascontiguousarray(pairwise_kernels(X, Z, metric=kernel), dtype=X.dtype)
    if kernel in ("rbf", "laplacian"):
        return exponentiate(distances(kernel, X, Z), gamma)
    if kernel == "cosine":
        X, Z = normalize(X), None if Z is None else normalize(Z)
    K = _gram(X) if Z is None else safe_sparse_dot(X, Z.T, dense_output=True)
    if kernel == "polynomial":
        K *= gamma
        K += coef0
        K **= degree
    return K


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


def _gram(X: Any, step: int = 2048) -> np.ndarray:
    """``XXᵀ``, computed in blocks right of the diagonal.

    NumPy hands ``X @ X.T`` to BLAS' ``syrk``, which crashes in some versions of OpenBLAS (0.3.31 at
    19,690 × 519), and copies the other triangle number by number; blocks are up to four times as
    fast on thousands of rows.
    """
    if sparse.issparse(X):
        return safe_sparse_dot(X, X.T, dense_output=True)
    K = np.empty((len(X), len(X)), X.dtype)
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
    kernel: str | Callable[..., Any],
    gamma: str | float,
    bandwidth: float,
    X: Any,
    D: np.ndarray | None,
    weight: np.ndarray | None,
) -> float | None:
    """The number γ for the parameter ``gamma``.

    Parameters
    ----------
    kernel : str or callable
    gamma : {"mean_distance", "median_distance", "scale"} or float
        The paper's rule (γ = 1/(2σ²) with σ the average distance between instances; γ = 1/σ for the
        laplacian kernel), the same with the median, scikit-learn's ``1 / (n Var[X])``, or γ itself.
    bandwidth : float
        Multiplies σ of the first two.
    X : array of shape (m, n)
    D : ndarray of shape (m, m) or None
        ``distances(kernel, X)``, if already computed.
    weight : ndarray of shape (m,) or None

    Returns
    -------
    float or None
        None for kernels without γ.
    """
    if callable(kernel) or kernel in ("linear", "cosine", "precomputed"):
        return None
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "scale":
        mean = np.average(X, axis=0, weights=weight).mean()
        variance = float(np.average((X - mean) ** 2, axis=0, weights=weight).mean())
        return reciprocal(X.shape[1] * variance)
    D = distances(kernel, X) if D is None else D
    sigma = bandwidth * (mean_distance if gamma == "mean_distance" else median_distance)(
        D, squared=kernel != "laplacian", weight=weight
    )
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
    total = 0.0
    for start in range(
        0, m, step := 256
    ):  # D is symmetric, so the part right of the diagonal counts twice
        rows, stop = slice(start, start + step), start + step
        block = np.sqrt(D[rows, start:]) if squared else D[rows, start:]
        total += float(w[rows] @ (block[:, :step] @ w[rows].astype(D.dtype)))
        total += 2 * float(w[rows] @ (block[:, step:] @ w[stop:].astype(D.dtype)))
    # A weight counts as copies: W(W - 1) ordered pairs. If weights are below 1, a pair needs two
    # rows.
    return total / (w.sum() ** 2 - min(w.sum(), w @ w))


def median_distance(D: np.ndarray, *, squared: bool, weight: np.ndarray | None = None) -> float:
    """Median distance over the pairs of different instances."""
    values = squareform(D, checks=False)
    if squared:
        np.sqrt(values, out=values)
    if weight is None:
        return float(np.median(values, overwrite_input=True))
    # A weight counts as copies, which are pairs at distance 0.
    pairs = np.concatenate(
        [
            squareform(np.outer(weight, weight), checks=False),
            np.maximum(weight * (weight - 1) / 2, 0),
        ]
    )
    values = np.concatenate([values, np.zeros(len(weight), D.dtype)])
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(pairs[order])
    low, high = (
        np.searchsorted(mass, mass[-1] / 2, side="left"),
        np.searchsorted(mass, mass[-1] / 2, side="right"),
    )
    return float(values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2


# ---------------------------------------------------------------- scalings


def learn_scaling(name: str, X: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """What :func:`rescale` needs to know about the training rows.

    Parameters
    ----------
    name : {"standard", "none", "root", "rank"}
        Mean 0 and variance 1; unchanged; ``sign(x)√|x|``; the share of training rows with smaller
        values.
    X : ndarray of shape (m, n)
    weight : ndarray of shape (m,) or None

    Returns
    -------
    ndarray of shape (rows, n)
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
    """The rows, scaled.

    Parameters
    ----------
    name : {"standard", "none", "root", "rank"}
    learned : ndarray
        The result of :func:`learn_scaling`.
    X : ndarray of shape (m, n)

    Returns
    -------
    ndarray of shape (m, n)
        ``X`` itself for "none".
    """
    if name == "standard":
        return (X - learned[0]) / learned[1]
    if name == "root":
        return np.sign(X) * np.sqrt(np.abs(X))
    if name == "rank":
        ranks = np.empty_like(X)
        for values, column, target in zip(learned.T, X.T, ranks.T, strict=True):
            # Equal values get the middle of their ranks.
            below = np.searchsorted(values, column, "left") + np.searchsorted(
                values, column, "right"
            )
            target[:] = below / (2 * len(values))
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
