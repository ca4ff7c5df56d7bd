"""Feature maps whose inner products approximate a kernel: landmarks (Nyström) and random Fourier
features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.cluster import kmeans_plusplus

from .cholesky import backward, cholesky, forward

#: Ways to choose landmarks.
LANDMARKS = ("uniform", "kmeans++", "leverage")

EPS = np.finfo(np.float64).eps


class Landmarks:
    """Kernel values with landmarks, whitened: ``z(x) = L⁻¹ k(x)`` where ``L Lᵀ`` is the kernel
    matrix of the landmarks (Nyström).

    They are whitened because the coefficients of plain kernel values are large and of both signs,
    which loses too many digits in single precision.

    Parameters
    ----------
    points : ndarray of shape (D, n)
        The landmarks.
    kernel_of : callable
        The kernel between two sets of rows, as a new C-ordered array.
    """

    def __init__(
        self, points: np.ndarray, kernel_of: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ) -> None:
        self.points, self._kernel_of = points, kernel_of
        K = kernel_of(double := points.astype(np.float64), double)
        # Keep landmarks that are (almost) the same point from causing huge numbers.
        K.flat[:: len(K) + 1] += (len(K) * EPS + 8 * np.finfo(points.dtype).eps) * np.abs(
            K.diagonal()
        ).max()
        self._factor = cholesky(K).astype(points.dtype, order="F")

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Features of the rows of ``X``."""
        return forward(self._factor, self._kernel_of(X, self.points))

    @property
    def size(self) -> int:
        """Number of features ``D``."""
        return len(self.points)

    def dual(self, W: np.ndarray) -> np.ndarray:
        """Coefficients of the plain kernel values: ``L⁻ᵀ W``."""
        return backward(self._factor.astype(np.float64), np.array(W.T, np.float64, order="C")).T


@dataclass(frozen=True)
class Centred:
    """The instances themselves, with another origin: the features of the linear kernel.

    The linear model does not depend on the origin, and near the mean the sums over rows lose no
    digits.

    Attributes
    ----------
    origin : ndarray of shape (n,)
    """

    origin: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Features of the rows of ``X``."""
        return X - self.origin

    @property
    def size(self) -> int:
        """Number of features."""
        return len(self.origin)


def move_origin(X: Any, weight: np.ndarray | None) -> np.ndarray:
    """Subtract the weighted mean from the rows of ``X``, in place, and return it.

    The linear model does not depend on the origin; far from it, products of rows lose the digits in
    which rows differ. In a sparse ``X``, only columns without implicit zeros are moved: with an
    implicit zero, a column of m rows is at most √m times its spread away from 0.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (m, n)
        The instances; a sparse matrix in canonical format.
    weight : ndarray of shape (m,) or None

    Returns
    -------
    ndarray of shape (n,)
        The new origin; 0 in the columns that did not move.
    """
    weight = np.ones(X.shape[0], X.dtype) if weight is None else weight
    origin = np.asarray(X.T @ (weight / weight.sum())).ravel().astype(X.dtype, copy=False)
    if sparse.issparse(X):
        origin[np.bincount(X.indices, minlength=X.shape[1]) < X.shape[0]] = 0
        X.data -= origin[X.indices]
    else:
        X -= origin
    return origin


@dataclass(frozen=True)
class FourierFeatures:
    """Random Fourier features ``z(x)_j = √(2/D) cos(ω_jᵀx + φ_j)`` (Rahimi & Recht, 2007).

    Attributes
    ----------
    frequencies : ndarray of shape (n, D)
        ``ω_j`` as columns: normal for the rbf kernel, Cauchy for the laplacian.
    phases : ndarray of shape (D,)
        ``φ_j``, uniform on the circle.
    """

    frequencies: np.ndarray
    phases: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Features of the rows of ``X``."""
        Z = X @ self.frequencies
        Z += self.phases
        np.cos(Z, out=Z)
        Z *= np.asarray(np.sqrt(2 / len(self.phases)), Z.dtype)
        return Z

    @property
    def size(self) -> int:
        """Number of features ``D``."""
        return len(self.phases)


#: A map from blocks of rows to features; ``size`` is their number.
FeatureMap: TypeAlias = Landmarks | FourierFeatures | Centred


def fourier_features(
    kernel: str,
    gamma: float,
    n_features: int,
    n_components: int,
    rng: np.random.Generator,
    dtype: Any,
) -> FourierFeatures:
    """Draw features for ``exp(-γ‖x-z‖²)`` or, for the laplacian kernel, ``exp(-γ‖x-z‖₁)``.

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}
    gamma : float
    n_features, n_components : int
        Number of columns of ``X``, and number ``D`` of features.
    rng : numpy.random.Generator
    dtype : numpy type

    Returns
    -------
    FourierFeatures
    """
    size = (n_features, n_components)
    frequencies = (
        gamma * rng.standard_cauchy(size)
        if kernel == "laplacian"
        else np.sqrt(2 * gamma) * rng.standard_normal(size)
    )
    return FourierFeatures(
        frequencies.astype(dtype), rng.uniform(0, 2 * np.pi, n_components).astype(dtype)
    )


def choose_landmarks(
    sample: np.ndarray,
    count: int,
    how: str,
    kernel_of: Callable[[np.ndarray, np.ndarray], np.ndarray],
    rng: np.random.Generator,
) -> np.ndarray:
    """Choose rows of a sample as landmarks; they are in ascending order.

    Parameters
    ----------
    sample : ndarray of shape (s, n)
        Rows drawn at random.
    count : int
        Number of landmarks, at most ``s``.
    how : {"uniform", "kmeans++", "leverage"}
        At random; far from each other (the seeding of k-means++); or with probability proportional
        to the ridge leverage scores ``(K (K + μI)⁻¹)_ii``. These are estimated from as many uniform
        landmarks, with ``μ`` such that about ``count`` directions of the kernel stand out.
    kernel_of : callable
        The kernel between two sets of rows.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (count,)
    """
    if how == "uniform" or count == len(sample):
        return np.sort(rng.choice(len(sample), count, replace=False))
    if how == "kmeans++":
        _, chosen = kmeans_plusplus(
            sample, count, random_state=int(rng.integers(2**31)), n_local_trials=1
        )
        return np.unique(chosen)
    first = rng.choice(len(sample), count, replace=False)
    K = kernel_of(sample, sample[first]).astype(np.float64)
    values, vectors = np.linalg.eigh(K[first])
    kept = values > len(values) * np.finfo(sample.dtype).eps * values[-1]
    if not kept.any():  # the kernel is 0 everywhere
        return np.sort(first)
    Z = K @ (vectors[:, kept] / np.sqrt(values[kept]))  # ZZᵀ ≈ kernel of the sample
    spectrum, axes = np.linalg.eigh(Z.T @ Z)
    mu = max(float(spectrum[len(spectrum) // 2]), np.finfo(float).tiny)
    scores = ((Z @ axes) ** 2 / (np.maximum(spectrum, 0) + mu)).sum(axis=1)
    scores += EPS * scores.max()  # rows of score 0 are used if there are not enough others
    return np.sort(rng.choice(len(sample), count, replace=False, p=scores / scores.sum()))
