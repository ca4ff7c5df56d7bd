"""The model as a matrix, for labels that change: outputs for any confidences, in any order of rows.

The model step is linear in the confidences, ``Q = SP``, and ``S``, the hat matrix, depends on the
instances alone. :class:`~surelabel.solvers.ridge.KernelRidge` orders the rows by their sets, which
makes a fit cheap; but posteriors of votes have no sets. Here ``S`` is computed for all rows in the
order given: exactly, as ``I - S = βM - 11ᵀ/m`` with ``M = (HKH + βI)⁻¹``, or from ``D`` features,
as ``S = 11ᵀ/m + VVᵀ`` with ``V = HZL⁻ᵀ`` and ``LLᵀ = ZᵀHZ + βI``.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .cholesky import backward, cholesky, forward, invert, square
from .features import Landmarks
from .kernels import kernel_matrix
from .ridge import centre


class HatMatrix(Protocol):
    """Outputs of a model for any confidences of its rows.

    Attributes
    ----------
    leverage : ndarray of shape (m,)
        ``S_ii``.
    """

    leverage: np.ndarray

    def apply(self, P: np.ndarray) -> np.ndarray:
        """``SP``."""

    def coefficients(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of kernel values or features, and the intercept, fitted to ``P``."""


class KernelHat:
    """The exact model of a kernel matrix.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        The kernel matrix; it is overwritten.
    beta : float
        The regularisation β.
    """

    def __init__(self, K: np.ndarray, beta: float) -> None:
        m = len(K)
        self._beta, self._mean = beta, centre(K, np.ones(m, K.dtype))
        K.flat[:: m + 1] += beta
        rest = square(invert(cholesky(K)))  # M, then I - S
        rest *= beta
        rest -= 1 / m
        self._rest = rest
        self.leverage = 1 - self._rest.diagonal()

    def apply(self, P: np.ndarray) -> np.ndarray:
        """``SP``."""
        return P - self._rest @ P

    def coefficients(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``A`` (m × l) and ``b`` of eq. 6."""
        A = self._rest @ P / self._beta
        return A, P.mean(axis=0) - self._mean @ A


class FeatureHat:
    """The model of features, such as those of landmarks.

    Parameters
    ----------
    Z : ndarray of shape (m, D)
        The features; they are overwritten if possible.
    beta : float
        The regularisation β.
    """

    def __init__(self, Z: np.ndarray, beta: float) -> None:
        self._mean = Z.mean(axis=0)
        Z -= self._mean
        gram = (Z.T @ Z).astype(np.float64)
        gram.flat[:: len(gram) + 1] += beta
        self._factor = cholesky(np.ascontiguousarray(gram)).astype(Z.dtype, order="F")
        self._features = forward(self._factor, Z)
        self.leverage = 1 / len(Z) + np.einsum("ij,ij->i", self._features, self._features)

    def apply(self, P: np.ndarray) -> np.ndarray:
        """``SP``."""
        return self._features @ (self._features.T @ P) + P.mean(axis=0)

    def coefficients(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``W`` (D × l) and ``b`` of eq. 4."""
        W = backward(self._factor, P.T @ self._features).T
        return W, P.mean(axis=0) - self._mean @ W


class LandmarkHat(FeatureHat):
    """The model of the features of landmarks.

    Parameters
    ----------
    landmarks : Landmarks
        The feature map.
    X : ndarray of shape (m, n)
        The rows.
    beta
        As for :class:`FeatureHat`.
    """

    def __init__(self, landmarks: Landmarks, X: np.ndarray, beta: float) -> None:
        super().__init__(landmarks(X), beta)
        self._landmarks = landmarks

    def coefficients(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of the kernel values at the landmarks (D × l), and ``b``."""
        W, b = super().coefficients(P)
        return self._landmarks.dual(W), b


def make_hat(
    kernel: str,
    X: np.ndarray,
    gamma: float | None,
    beta: float,
    points: np.ndarray | None,
) -> HatMatrix:
    """The model of rows that are scaled for a kernel.

    Parameters
    ----------
    kernel : str
        The kernel.
    X : ndarray of shape (m, n)
        The rows.
    gamma, beta : float or None, float
        γ of the kernel, and β.
    points : ndarray or None
        Landmarks; None for an exact model.
    """

    def kernel_of(one: np.ndarray, two: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(kernel_matrix(kernel, one, two, gamma=gamma), one.dtype)

    if points is None:
        return KernelHat(kernel_matrix(kernel, X, gamma=gamma), beta)
    return LandmarkHat(Landmarks(points, kernel_of), X, beta)
