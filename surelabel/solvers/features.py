"""Feature maps whose inner products approximate a kernel (Nyström), or are the linear one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from .cholesky import backward, cholesky, forward


class Landmarks:
    """Kernel values with landmarks, whitened: ``z(x) = L⁻¹ k(x)`` where ``L Lᵀ`` is the kernel
    matrix of the landmarks (Nyström). ``kernel_of`` returns the kernel of two sets of rows, as a
    new C-ordered array.

    They are whitened because the coefficients of plain kernel values are large and of both signs,
    which loses too many digits in single precision.
    """

    def __init__(
        self, points: np.ndarray, kernel_of: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ) -> None:
        self.points, self._kernel_of = points, kernel_of
        double = points.astype(np.float64)
        K = kernel_of(double, double)
        # Keep landmarks that are (almost) the same point from causing huge numbers.
        rounding = len(K) * np.finfo(np.float64).eps + 8 * np.finfo(points.dtype).eps
        K.flat[:: len(K) + 1] += rounding * np.abs(K.diagonal()).max()
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
    """Subtract the weighted mean from the rows of ``X`` (an array, or a CSR matrix in canonical
    format), in place, and return it.

    The linear model does not depend on the origin; far from it, products of rows lose the digits in
    which rows differ. In a sparse ``X``, only columns without implicit zeros are moved: with an
    implicit zero, a column of m rows is at most √m times its spread away from 0.
    """
    weight = np.ones(X.shape[0], X.dtype) if weight is None else weight
    origin = np.asarray(X.T @ (weight / weight.sum())).ravel().astype(X.dtype, copy=False)
    if sparse.issparse(X):
        origin[np.bincount(X.indices, minlength=X.shape[1]) < X.shape[0]] = 0
        X.data -= origin[X.indices]
    else:
        X -= origin
    return origin


#: A map from blocks of rows to features; ``size`` is their number.
FeatureMap: TypeAlias = Landmarks | Centred
