"""The model as a matrix, for confidences that change in every row.

The model step is linear in the confidences, ``Q = SP``, and ``S``, the hat matrix, depends on the
instances alone: exactly, ``I - S = βM - 11ᵀ/m`` with ``M = (HKH + βI)⁻¹``, or from ``D`` features,
``S = 11ᵀ/m + VVᵀ`` with ``V = HZL⁻ᵀ`` and ``LLᵀ = ZᵀHZ + βI`` (see :mod:`.ridge`). Votes rule no
class out, so a fit is a product with the full matrix ``S``; with candidate sets, most entries of
``P`` are 0.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .cholesky import backward, cholesky, forward, invert, square
from .features import Landmarks
from .ridge import centre


class HatMatrix(Protocol):
    """Outputs of a model for any confidences of its rows."""

    leverage: np.ndarray  # S_ii

    def apply(self, P: np.ndarray) -> np.ndarray:
        """``SP``."""

    def coefficients(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of kernel values (points × l), and the intercept, fitted to ``P``."""


class KernelHat:
    """The exact model of the kernel matrix ``K``, which is overwritten."""

    def __init__(self, K: np.ndarray, beta: float) -> None:
        m = len(K)
        self._beta, self._mean = beta, centre(K, np.ones(m, K.dtype))
        K.flat[:: m + 1] += beta
        self._rest = square(invert(cholesky(K)))  # M, then I - S
        self._rest *= beta
        self._rest -= 1 / m
        self.leverage = 1 - self._rest.diagonal()

    def apply(self, P: np.ndarray) -> np.ndarray:
        """``SP``."""
        return P - self._rest @ P

    def coefficients(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``A`` (m × l) and ``b`` of eq. 6."""
        A = self._rest @ P / self._beta
        return A, P.mean(axis=0) - self._mean @ A


class LandmarkHat:
    """The model of the features that landmarks give the rows ``X``."""

    def __init__(self, landmarks: Landmarks, X: np.ndarray, beta: float) -> None:
        self._landmarks, Z = landmarks, landmarks(X)
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
        """Coefficients of the kernel values at the landmarks (D × l), and ``b``."""
        W = backward(self._factor, P.T @ self._features).T
        return self._landmarks.dual(W), P.mean(axis=0) - self._mean @ W
