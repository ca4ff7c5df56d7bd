"""Models that are kept while the labels change: outputs for any confidences, in any order of rows.

The model step is linear in the confidences, ``Q = SP``, and ``S`` depends on the instances alone.
:mod:`.dual` orders the rows by their sets, which makes a fit cheap; but when an answer makes a row
certain, the order changes. Here ``S`` is computed once for all rows in their original order:
exactly, as ``I - S = βM - 11ᵀ/m`` with ``M = (HKH + βI)⁻¹``, or from ``D`` features, as ``S = 11ᵀ/m
+ VVᵀ`` with ``V = HZL⁻ᵀ`` and ``LLᵀ = ZᵀHZ + βI``. Then a refit is only the alternation.

The outputs of the last call are kept, so a single confidence that changes costs one column of
``S``. Numbers have single precision, which is enough: ``S`` has no entry above 1, and the
alternation ends at changes of 2e-3.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .confidence import SortedSets
from .dual import centre
from .triangular import cholesky, forward, invert, square

FEW = 64  # if at most this many rows change, outputs are updated row by row


class Smoother(Protocol):
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


class KernelSmoother:
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
        centre(K, np.ones(m, K.dtype))
        K.flat[:: m + 1] += beta
        lower = square(invert(cholesky(K)))
        rest = np.empty((m, m), np.float32)  # I - S
        for start in range(0, m, 512):
            stop = min(start + 512, m)
            block = beta * lower[start:stop, :stop] - 1 / m
            rest[start:stop, :stop] = block
            rest[:stop, start:stop] = block.T
            corner = np.tril(block[:, start:])
            rest[start:stop, start:stop] = corner + np.tril(corner, -1).T
        self._rest = rest
        self.leverage = 1 - rest.diagonal()

    def apply(self, P: np.ndarray) -> np.ndarray:
        """``SP``."""
        return P - self._rest @ P

    def columns(self, rows: np.ndarray) -> np.ndarray:
        """``S`` at these columns."""
        found = -self._rest[rows].T  # it is symmetric
        found[rows, np.arange(len(rows))] += 1
        return found


class FeatureSmoother:
    """The model of features, such as those of landmarks.

    Parameters
    ----------
    Z : ndarray of shape (m, D)
        The features; they are overwritten if possible.
    beta : float
        The regularisation β.
    """

    def __init__(self, Z: np.ndarray, beta: float) -> None:
        Z -= Z.mean(axis=0)
        gram = (Z.T @ Z).astype(np.float64)
        gram.flat[:: len(gram) + 1] += beta
        factor = np.tril(cholesky(np.ascontiguousarray(gram))).astype(Z.dtype, order="F")
        self._features = forward(factor, np.ascontiguousarray(Z)).astype(np.float32)
        self.leverage = 1 / len(Z) + np.einsum("ij,ij->i", self._features, self._features)

    def apply(self, P: np.ndarray) -> np.ndarray:
        """``SP``."""
        return self._features @ (self._features.T @ P) + P.mean(axis=0)

    def columns(self, rows: np.ndarray) -> np.ndarray:
        """``S`` at these columns."""
        return self._features @ self._features[rows].T + np.float32(1 / len(self._features))


class Outputs:
    """Outputs of a smoother that remembers its last outputs.

    Parameters
    ----------
    smoother : Smoother
        The model.
    """

    def __init__(self, smoother: Smoother) -> None:
        self._smoother = smoother
        self._P: np.ndarray | None = None
        self._Q: np.ndarray | None = None
        self._updates = 0

    def __call__(self, P: np.ndarray) -> np.ndarray:
        """``SP``."""
        if self._P is None or self._Q is None or self._P.shape != P.shape or self._updates > 200:
            return self._remember(P, self._smoother.apply(P), 0)
        change = P - self._P
        rows = np.flatnonzero(change.any(axis=1))
        if len(rows) > FEW:
            return self._remember(P, self._smoother.apply(P), 0)
        Q = self._Q + self._smoother.columns(rows) @ change[rows] if len(rows) else self._Q
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
