"""The model as a matrix, for labels that change: outputs for any confidences, in any order of rows.

The model step is linear in the confidences, ``Q = SP``, and ``S``, the hat matrix, depends on the
instances alone. :class:`~surelabel.solvers.ridge.KernelRidge` orders the rows by their sets, which
makes a fit cheap; but when an answer makes a row certain, the order changes. Here ``S`` is computed
once for all rows in their original order: exactly, as ``I - S = βM - 11ᵀ/m`` with ``M = (HKH +
βI)⁻¹``, or from ``D`` features, as ``S = 11ᵀ/m + VVᵀ`` with ``V = HZL⁻ᵀ`` and ``LLᵀ = ZᵀHZ + βI``.
Then a refit is only the alternation.

Single precision is enough for that: ``S`` has no entry above 1, and the alternation ends at changes
of 2e-3.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .cholesky import backward, cholesky, forward, invert, square
from .confidence import SortedSets
from .features import Landmarks
from .kernels import kernel_matrix
from .ridge import centre

FEW = 64  # if at most this many rows change, outputs are updated row by row


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

    def columns(self, rows: np.ndarray) -> np.ndarray:
        """``S`` at these columns."""

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
    dtype : numpy type, default=None
        Precision of ``S``; by default that of ``K``.
    """

    def __init__(self, K: np.ndarray, beta: float, dtype: Any = None) -> None:
        m = len(K)
        self._beta, self._mean = beta, centre(K, np.ones(m, K.dtype))
        K.flat[:: m + 1] += beta
        rest = square(invert(cholesky(K)))  # M, then I - S
        rest *= beta
        rest -= 1 / m
        self._rest = rest.astype(dtype or K.dtype, copy=False)
        self.leverage = 1 - self._rest.diagonal()

    def apply(self, P: np.ndarray) -> np.ndarray:
        """``SP``."""
        return P - self._rest @ P

    def columns(self, rows: np.ndarray) -> np.ndarray:
        """``S`` at these columns."""
        found = -self._rest[:, rows]
        found[rows, np.arange(len(rows))] += 1
        return found

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
    dtype : numpy type, default=None
        Precision of ``S``; by default that of ``Z``.
    """

    def __init__(self, Z: np.ndarray, beta: float, dtype: Any = None) -> None:
        self._mean = Z.mean(axis=0)
        Z -= self._mean
        gram = (Z.T @ Z).astype(np.float64)
        gram.flat[:: len(gram) + 1] += beta
        self._factor = cholesky(np.ascontiguousarray(gram)).astype(Z.dtype, order="F")
        V = forward(self._factor, Z)
        self._features = V.astype(dtype or Z.dtype, copy=False)
        self.leverage = 1 / len(Z) + np.einsum("ij,ij->i", self._features, self._features)

    def apply(self, P: np.ndarray) -> np.ndarray:
        """``SP``."""
        return self._features @ (self._features.T @ P) + P.mean(axis=0)

    def columns(self, rows: np.ndarray) -> np.ndarray:
        """``S`` at these columns."""
        V = self._features
        return V @ V[rows].T + V.dtype.type(1 / len(V))

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
    beta, dtype
        As for :class:`FeatureHat`.
    """

    def __init__(self, landmarks: Landmarks, X: np.ndarray, beta: float, dtype: Any = None) -> None:
        super().__init__(landmarks(X), beta, dtype)
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
    dtype: Any = None,
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
    dtype : numpy type, default=None
        Precision of the matrix; by default that of ``X``.
    """

    def kernel_of(one: np.ndarray, two: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(kernel_matrix(kernel, one, two, gamma=gamma), one.dtype)

    if points is None:
        return KernelHat(kernel_matrix(kernel, X, gamma=gamma), beta, dtype)
    return LandmarkHat(Landmarks(points, kernel_of), X, beta, dtype)


class Outputs:
    """Outputs of a model that remembers its last ones: a single confidence that changes costs one
    column of ``S``.

    Parameters
    ----------
    hat : HatMatrix
        The model.
    """

    def __init__(self, hat: HatMatrix) -> None:
        self._hat = hat
        self._P: np.ndarray | None = None
        self._Q: np.ndarray | None = None
        self._updates = 0

    def __call__(self, P: np.ndarray) -> np.ndarray:
        """``SP``."""
        if self._P is None or self._Q is None or self._P.shape != P.shape or self._updates > 200:
            return self._remember(P, self._hat.apply(P), 0)
        change = P - self._P
        rows = np.flatnonzero(change.any(axis=1))
        if len(rows) > FEW:
            return self._remember(P, self._hat.apply(P), 0)
        Q = self._Q + self._hat.columns(rows) @ change[rows] if len(rows) else self._Q
        return self._remember(P, Q, self._updates + bool(len(rows)))

    def _remember(self, P: np.ndarray, Q: np.ndarray, updates: int) -> np.ndarray:
        self._P, self._Q, self._updates = P, Q, updates
        return Q


class SetsModel:
    """The model step of candidate sets in any order, as :class:`~surelabel.solvers.alternate.Model`
    without its loss.

    Parameters
    ----------
    outputs : Outputs
        Outputs of the rows in their own order.
    sets : SortedSets
        The candidates.
    """

    def __init__(self, outputs: Outputs, sets: SortedSets) -> None:
        self._outputs, self._sets = outputs, sets
        self._rows = sets.row_order[sets.n_clean + sets.rows]

    def dense(self, p: np.ndarray) -> np.ndarray:
        """``P`` in the order of the rows."""
        P = np.zeros((self._sets.n_rows, self._sets.n_classes), np.float32)
        P[self._sets.row_order[: self._sets.n_clean], self._sets.clean_columns] = 1
        P[self._rows, self._sets.columns] = p
        return P

    def start(self, P: np.ndarray, changed: np.ndarray) -> np.ndarray:
        """The confidences of an earlier fit at the ambiguous entries, with even shares in rows
        whose sets have changed.
        """
        even = self._sets.initial("uniform", 1)[0]
        return np.where(np.isin(self._rows, changed), even, self.entries(P))

    def entries(self, P: np.ndarray) -> np.ndarray:
        """The values at the ambiguous entries."""
        return np.asarray(P[self._rows, self._sets.columns])

    def step(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs at the ambiguous entries of one problem; the loss is not computed."""
        return self.entries(self._outputs(self.dense(p[0])))[None], np.zeros(1)
