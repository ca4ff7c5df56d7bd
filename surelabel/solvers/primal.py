"""The linear model of SURE (eq. 3 and 4): an ``n × n`` system, factorised once per fit.

With weights ``w = s²`` and ``x̄ = Xᵀw / Σw`` the weighted mean, ``W = (X̃ᵀX̃ + βI)⁻¹ X̃ᵀP̃`` where
``X̃ = diag(s)(X - 1x̄ᵀ)`` and ``P̃ = diag(s) P``; ``b = p̄ - Wᵀx̄``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .confidence import SortedSets
from .row_blocks import row_blocks
from .triangular import cholesky, solve, squared_norms


class PrimalModel:
    """The factorised model step for one instance matrix and one β; any number of λ may share it.

    Parameters
    ----------
    X : array or CSR matrix of shape (m, n)
        The instances, with rows in the order of ``sets``. A sparse ``X`` is never centred or made
        dense.
    beta : float
        The regularisation β.
    sets : SortedSets
        The candidates.
    """

    def __init__(self, X: Any, beta: float, sets: SortedSets) -> None:
        self.sets = sets
        weight = sets.weight
        self._x_mean = np.asarray(X.T @ weight).ravel() / sets.total_weight
        if sparse.issparse(X):
            self._X, self._shift = X, self._x_mean
            gram = (X.T @ X.multiply(weight[:, None]).tocsr()).toarray()
            gram -= sets.total_weight * np.outer(self._x_mean, self._x_mean)
        else:  # centred once, which saves digits
            self._X, self._shift = X - self._x_mean, np.zeros_like(self._x_mean)
            gram = self._X.T @ (self._X * weight[:, None])
        gram.flat[:: len(gram) + 1] += float(beta)
        self._factor = cholesky(np.ascontiguousarray(gram))
        self._entry_rows = np.concatenate([np.arange(sets.n_clean), sets.n_clean + sets.rows])
        self._entry_columns = np.concatenate([sets.clean_columns, sets.columns])
        # Pᵀ as compressed rows: its entries are those of P, class by class.
        self._by_class = np.argsort(self._entry_columns, kind="stable")
        self._class_bounds = np.searchsorted(
            self._entry_columns[self._by_class], np.arange(sets.n_classes + 1)
        )

    def step(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs at the ambiguous entries and the loss of the model, as
        :class:`~surelabel.solvers.alternate.Model`.
        """
        sets = self.sets
        everywhere = self._everywhere(p)
        W, mean = self._solve(everywhere)
        q = np.empty_like(everywhere)
        for i in range(len(p)):
            bias = mean[i] - W[i] @ self._shift
            outputs = self._X @ W[i].T
            q[i] = outputs[self._entry_rows, self._entry_columns] + bias[self._entry_columns]
        # min of eq. 3 = ⟨P̃, P̃ - Q̃⟩.
        loss = (everywhere * (everywhere - q)) @ sets.weight[self._entry_rows]
        return q[:, sets.n_clean :], loss

    def coefficients(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``W`` (problems × n × l) and ``b`` (problems × l) of eq. 4 for the confidences ``p``
        (problems × entries).
        """
        W, mean = self._solve(self._everywhere(p))
        return W.transpose(0, 2, 1), mean - W @ self._x_mean

    def outputs(self, p: np.ndarray) -> np.ndarray:
        """``Q`` (m × l) of the model for the confidences ``p`` of one problem."""
        W, mean = self._solve(self._everywhere(p[None]))
        return np.asarray(self._X @ W[0].T) + (mean[0] - W[0] @ self._shift)

    def leverage(self) -> np.ndarray:
        """``h_i = ∂q_i/∂p_i`` of every row: ``w_i (1/Σw + ‖L⁻¹(x_i - x̄)‖²)``, with ``LLᵀ`` the
        matrix of the model (see :mod:`.leave_one_out`).
        """
        norms = [
            squared_norms(self._factor, _dense(block) - self._shift)
            for _, block in row_blocks(self._X, self._X.shape[1])
        ]
        return self.sets.weight * (1 / self.sets.total_weight + np.concatenate(norms))

    def _everywhere(self, p: np.ndarray) -> np.ndarray:
        """Confidences of the certain entries, followed by those of the ambiguous ones."""
        return np.concatenate([np.ones((len(p), self.sets.n_clean), p.dtype), p], axis=1)

    def _solve(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``Wᵀ`` (problems × l × n) and ``p̄`` (problems × l)."""
        sets = self.sets
        right = np.empty((len(p), sets.n_classes, self._X.shape[1]), p.dtype)
        mean = np.empty((len(p), sets.n_classes), p.dtype)
        for i, values in enumerate(p * sets.weight[self._entry_rows]):
            weighted = sparse.csr_array(
                (values[self._by_class], self._entry_rows[self._by_class], self._class_bounds),
                shape=(sets.n_classes, sets.n_rows),
            )
            mass = np.asarray(weighted.sum(axis=1)).ravel()
            mean[i] = mass / sets.total_weight
            right[i] = _dense(weighted @ self._X) - np.outer(mass, self._shift)
        flat = right.reshape(-1, self._X.shape[1])
        return solve(self._factor, flat).reshape(right.shape), mean


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
