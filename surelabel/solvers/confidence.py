"""The confidence step: eq. 8 to 10 of the paper, in closed form.

Outside the candidate set ``p = 0``. Inside it, ``‖p - q‖² - λ p_j`` is, up to a constant, ``‖p - (q
+ λ/2 e_j)‖²``, so eq. 10 is the Euclidean projection of ``q + λ/2 e_j`` onto the probability
simplex, with ``j`` the arg max of ``q``. Projection keeps the order of entries, so ``p_k ≤ p_j``
and ``p ≤ 1`` hold automatically.

Votes add ``-κ Σ_k π_k p_k``, where ``π_k`` is label ``k``'s share of the votes. Completing the
square in the same way gives eq. 10 with ``q + κ/2 π`` in place of ``q``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np


class SortedSets:
    """Candidate sets sorted by size: certain rows first, then the entries of all rows of each size
    as one dense array.

    In this order, all rows of a size can be projected at once. The ambiguous rows come last, so
    that the model needs only the trailing part of its Cholesky factor (see
    :mod:`surelabel.solvers.ridge`). The entries of ``n`` rows with ``c`` candidates are stored as
    ``c × n``: operations over the candidates of a row are then operations on whole vectors.

    They are made from compressed rows; ``prior`` is ``κ π``, aligned with ``indices``, and
    ``dtype`` the precision of the confidences.

    Attributes
    ----------
    row_order : ndarray of shape (m,)
        The rows in the order of ascending set size. ``weight`` is in this order, too.
    n_clean : int
        Number of rows with one candidate; ``clean_columns`` are their labels.
    rows, columns, entry_weight : ndarray of shape (n_entries,)
        Row (counted from the first ambiguous one), label and weight of every entry of the ambiguous
        rows.
    prior : ndarray of shape (n_entries,) or None
        ``κ π`` of these entries.
    """

    def __init__(
        self,
        indptr: np.ndarray,
        indices: np.ndarray,
        n_classes: int,
        weight: np.ndarray | None,
        dtype: Any,
        prior: np.ndarray | None = None,
    ) -> None:
        sizes = np.diff(indptr)
        self.n_rows, self.n_classes = len(sizes), n_classes
        self.row_order = np.argsort(sizes, kind="stable")
        self.weight = np.ones(self.n_rows, dtype) if weight is None else weight[self.row_order]
        self.total_weight = float(self.weight.sum())
        first, sizes = indptr[:-1][self.row_order], sizes[self.row_order]
        self.n_clean = int(np.searchsorted(sizes, 2))
        self.clean_columns = indices[first[: self.n_clean]]
        self._spans = []  # (first entry, one past the last, set size)
        positions, rows = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
        start = 0
        for size in np.unique(sizes[self.n_clean :]).tolist():
            low, high = np.searchsorted(sizes, [size, size + 1])
            positions.append((first[low:high] + np.arange(size)[:, None]).ravel())
            rows.append(np.tile(np.arange(low, high) - self.n_clean, size))
            self._spans.append((start, start := start + size * int(high - low), size))
        self._positions, self.rows = np.concatenate(positions), np.concatenate(rows)
        self.columns = indices[self._positions]
        self.entry_weight = self.weight[self.n_clean + self.rows]
        self.prior = None
        if prior is not None:
            self.prior = prior[self._positions].astype(dtype)
            clean_prior = prior[first[: self.n_clean]]
            self._clean_prior = float(clean_prior @ self.weight[: self.n_clean])

    def _by_size(self, values: np.ndarray) -> Iterator[np.ndarray]:
        """Views of problems × entries, one per set size: problems × size × rows."""
        return (
            values[:, start:stop].reshape(len(values), size, -1)
            for start, stop, size in self._spans
        )

    def initial(self, init: str, count: int) -> np.ndarray:
        """The initial ``P`` for ``count`` problems at once: 1 for all candidates as in the paper,
        or uniform.

        A row whose set is every label is unlabelled and always starts uniform. (The first
        confidence step gives the same ``P`` as from ones, because the difference shifts all outputs
        of a row equally.)
        """
        p = np.ones((count, len(self.columns)), self.weight.dtype)
        for part in self._by_size(p):
            size = part.shape[1]
            if init == "uniform" or size == self.n_classes:
                part[:] = 1 / size
        return p

    def project(self, q: np.ndarray, lam: np.ndarray) -> np.ndarray:
        """Solve eq. 10 for every ambiguous row and every problem: ``q`` of shape (problems,
        entries), ``lam`` (problems,).
        """
        q = q if self.prior is None else q + self.prior / 2
        p = np.empty_like(q)
        for outputs, confidences in zip(self._by_size(q), self._by_size(p), strict=True):
            confidences[:] = confidence(outputs, lam[:, None])
        return p

    def dense(self, p: np.ndarray) -> np.ndarray:
        """``P`` (m × l), rows sorted by set size, for the confidences ``p`` of the ambiguous
        entries.
        """
        P = np.zeros((self.n_rows, self.n_classes), p.dtype)
        P[np.arange(self.n_clean), self.clean_columns] = 1
        P[self.n_clean + self.rows, self.columns] = p
        return P

    def row_sums(self, values: np.ndarray) -> np.ndarray:
        """Sums over the candidates of each ambiguous row: problems × entries to problems × rows."""
        parts = [part.sum(axis=1) for part in self._by_size(values)]
        return np.concatenate([np.empty((len(values), 0), values.dtype), *parts], axis=1)

    def normalise(self, values: np.ndarray) -> np.ndarray:
        """Divide the positive ``values`` of each ambiguous row by their sum."""
        return values / self.row_sums(values)[:, self.rows]

    def weighted_sum(self, values: np.ndarray) -> np.ndarray:
        """``Σ w_i v`` over the ambiguous entries, for every problem.

        It does not use BLAS: NumPy's BLAS threads wait for more work in a loop, and would take half
        of the cores from SciPy's, which solve the next model step.
        """
        return np.einsum("ke,e->k", values, self.entry_weight)

    def peak(self, p: np.ndarray) -> np.ndarray:
        """``Σ_i w_i ‖p_i‖_∞`` over all rows, for every problem."""
        total = np.full(len(p), self.weight[: self.n_clean].sum())
        for part, weight in zip(
            self._by_size(p), self._by_size(self.entry_weight[None]), strict=True
        ):
            total += np.einsum("kn,n->k", part.max(axis=1), weight[0, 0])
        return total

    def agreement(self, p: np.ndarray) -> np.ndarray | float:
        """``κ Σ_i w_i π_iᵀp_i`` over all rows, for every problem; 0 without votes."""
        return 0.0 if self.prior is None else self._clean_prior + self.weighted_sum(p * self.prior)

    def ambiguous_entries(self, values: np.ndarray) -> np.ndarray:
        """Select the ambiguous rows, sorted by set size, from values aligned with ``indices``."""
        return values[self._positions]

    def all_entries(self, p: np.ndarray) -> np.ndarray:
        """Confidences aligned with ``indices``: 1 for certain rows, ``p`` for the others."""
        values = np.ones(self.n_clean + len(p), p.dtype)
        values[self._positions] = p
        return values


def confidence(q: np.ndarray, lam: float | np.ndarray) -> np.ndarray:
    """Confidences of instances with equally many candidates (eq. 10), on the probability simplex
    along the second last axis of the outputs ``q`` (… × candidates × instances); λ may differ
    between the first axes.
    """
    # p = e_j if v_j exceeds the others by 1, so for every λ ≥ 2; a larger λ would cost digits of q.
    half = np.minimum(np.asarray(lam, q.dtype), 4) / 2
    largest, *others = _descending(q)
    theta = _threshold([largest + half, *others])
    # Outputs that differ only by rounding count as tied, so that the result does not depend on the
    # number of threads.
    bar = largest - (1e-9 if q.dtype == np.float64 else 1e-4)
    p = np.empty_like(q)
    free = np.ones(theta.shape, bool)
    for j in range(q.shape[-2]):
        best = free & (q[..., j, :] >= bar)
        free &= ~best
        p[..., j, :] = np.maximum(q[..., j, :] - theta + best * half, 0)
    return p


def _threshold(descending: list[np.ndarray]) -> np.ndarray:
    """``θ = max_k (v_(1) + … + v_(k) - 1) / k`` over the entries in descending order."""
    total = descending[0] - 1
    theta = total
    for k, entry in enumerate(descending[1:], start=2):
        total = total + entry
        theta = np.maximum(theta, total / k)
    return theta


def _descending(v: np.ndarray) -> list[np.ndarray]:
    """The vectors along the second last axis, sorted elementwise.

    Up to 8 vectors are sorted by exchanging pairs, which is several times as fast as sorting along
    an axis.
    """
    if v.shape[-2] > 8:
        return list(np.moveaxis(np.sort(v, axis=-2), -2, 0)[::-1])
    rows = list(np.moveaxis(v, -2, 0))
    for i, j in combinations(range(len(rows)), 2):
        rows[i], rows[j] = np.maximum(rows[i], rows[j]), np.minimum(rows[i], rows[j])
    return rows
