"""The kernel model of SURE (eq. 5 and 6), factorised once per fit.

With ``H = I - 11ᵀ/m`` the model step solves ``(HKH + βI) A = HP``, a symmetric positive definite
system, and its outputs come free: ``Q = KA + 1bᵀ = P - βA``. Weights ``w = s²`` turn it into the
same system for ``K̃ = diag(s) K diag(s)``, ``P̃ = diag(s) P``, ``H = I - ssᵀ/sᵀs``, solved by ``B``
with ``A = diag(s) B`` and ``Q̃ = P̃ - βB``.

Let ``M = (HK̃H + βI)⁻¹``. Since ``Ms = s/β``, ``βB = βMP̃ - s p̄ᵀ`` with ``p̄ = P̃ᵀs / sᵀs``. Rows
with one candidate never change, so they come first: then ``M`` restricted to the ambiguous rows is
the inverse of the trailing block of the Cholesky factor alone, and the certain rows contribute one
solve, once.

The diagonal of ``M`` is the leverage of the rows: ``∂q_i/∂p_i = 1 - βM_ii + w_i/Σw`` (see
:mod:`.leave_one_out`).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.linalg import blas

from .confidence import SortedSets
from .triangular import COLUMNS, cholesky, invert, solve, square, symmetric

SMALL = 2**23  # numbers that fit into any memory: 64 MiB of float64


class DualModel:
    """The factorised model step for one kernel matrix and one β; any number of λ may share it.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        The kernel matrix, rows in the order of ``sets``. It is overwritten by the factor.
    beta : float
        The regularisation β.
    sets : SortedSets
        The candidates.
    """

    def __init__(self, K: np.ndarray, beta: float, sets: SortedSets) -> None:
        self.beta, self.sets = float(beta), sets
        self._root = np.sqrt(sets.weight)
        self._mean = centre(K, self._root)
        K.flat[:: len(K) + 1] += self.beta
        self._factor = cholesky(K)
        clean, ambiguous = self._root[: sets.n_clean], self._root[sets.n_clean :]
        self._entry_root = ambiguous[sets.rows]
        # Certain rows: their P̃ is fixed, so is β M_ac P̃_c, and so is their own share of the loss.
        certain = np.zeros((sets.n_classes, sets.n_rows), K.dtype)
        certain[sets.clean_columns, np.arange(sets.n_clean)] = clean
        solved = self.beta * solve(self._factor, certain) if sets.n_clean else certain
        self._from_clean = solved[sets.columns, sets.n_clean + sets.rows]
        self._clean_loss = float(clean @ solved[sets.clean_columns, np.arange(sets.n_clean)])
        self._clean_mass = np.bincount(sets.clean_columns, clean**2, sets.n_classes).astype(K.dtype)
        self._inverse = PartialInverse(self._factor, sets)

    def step(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs at the ambiguous entries and the loss of the model, as
        :class:`~surelabel.solvers.alternate.Model`.
        """
        mass = self._mass(p)
        weighted = p * self._entry_root
        from_ambiguous = self._inverse.apply(weighted)
        from_ambiguous *= self.beta
        # min of eq. 5 = β tr(P̃ᵀHMHP̃) = β tr(P̃ᵀMP̃) - ‖P̃ᵀs‖² / sᵀs, with P̃ split into certain
        # and ambiguous rows.
        loss = np.einsum("ke,ke->k", weighted, from_ambiguous)
        loss += self._clean_loss + 2 * np.einsum("ke,e->k", weighted, self._from_clean)
        # β M P̃ - s p̄ᵀ = P̃ - Q̃ at the entries of ambiguous rows.
        q = from_ambiguous
        q += self._from_clean
        q /= -self._entry_root
        q += p
        q += np.take(mass / self.sets.total_weight, self.sets.columns, axis=1)
        return q, loss - np.einsum("kl,kl->k", mass, mass) / self.sets.total_weight

    def coefficients(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``A`` (problems × m × l) and ``b`` (problems × l) of eq. 6 for the confidences ``p``
        (problems × entries).
        """
        sets = self.sets
        P = np.zeros((len(p), sets.n_classes, sets.n_rows), self._factor.dtype)
        P[:, sets.clean_columns, np.arange(sets.n_clean)] = 1
        P[:, sets.columns, sets.n_clean + sets.rows] = p
        mean = self._mass(p) / sets.total_weight
        P -= mean[:, :, None]
        P *= self._root
        B = solve(self._factor, P.reshape(-1, sets.n_rows)).reshape(P.shape)
        # sᵀB = 0 in exact arithmetic. M is largest along s, so rounding errors show there first,
        # and no intercept could correct them.
        B -= (B @ self._root)[:, :, None] * (self._root / sets.total_weight).astype(B.dtype)
        return (B * self._root).transpose(0, 2, 1), mean - B @ self._mean

    def outputs(self, p: np.ndarray) -> np.ndarray:
        """``Q`` (m × l) of the model for the confidences ``p`` of one problem: ``P - βA/w``."""
        A = self.coefficients(p[None])[0][0]
        A *= (-self.beta / self.sets.weight)[:, None]
        A += self.sets.dense(p)
        return A

    def leverage(self) -> np.ndarray:
        """``h_i = ∂q_i/∂p_i`` of every row.

        It takes the column norms of ``L⁻¹``, ``m³/3`` flops. The inverse is then also used for the
        products of :meth:`step`.
        """
        sets = self.sets
        inverse = invert(self._factor.copy(order="F"))
        diagonal = np.empty(sets.n_rows, inverse.dtype)
        for start in range(0, sets.n_rows, COLUMNS):
            # The upper triangle was never written.
            stripe = np.tril(inverse[start:, start : start + COLUMNS])
            diagonal[start : start + COLUMNS] = np.einsum("ij,ij->j", stripe, stripe)
        self._inverse.take(inverse)
        return 1 - self.beta * diagonal + sets.weight / sets.total_weight

    def _mass(self, p: np.ndarray) -> np.ndarray:
        """``P̃ᵀs``: weighted column sums of ``P``, for every problem."""
        sets = self.sets
        mass = [np.bincount(sets.columns, row * sets.entry_weight, sets.n_classes) for row in p]
        return np.asarray(mass, p.dtype).reshape(len(p), sets.n_classes) + self._clean_mass


class PartialInverse:
    """Products with ``M_aa``, the inverse restricted to the ambiguous rows, at candidate entries
    only.

    There are two ways. *Solves*: scatter the entries to a dense ``m_a × l`` matrix and solve with
    the trailing factor, at ``2 m_a² l`` flops a product. *Blocks*: column ``j`` of ``P`` lives on
    the rows ``R_j`` that have candidate ``j``, so only the blocks ``M[R_j, R_j]`` are needed. With
    ``L⁻¹`` (``m_a³/3`` flops) they are ``Σ_j m_a |R_j|²`` flops, or cut from all of ``M = L⁻ᵀL⁻¹``
    (another ``m_a³/3``) if that is less; a product then reads ``Σ_j |R_j|²`` numbers.

    The cost rule, in flops at the speed of a wide solve: reading the factor counts as 15 extra
    columns, reading one entry of a block as 25 flops, and inverting runs at two fifths of that
    speed (all measured). The number of iterations is not known in advance, so it uses solves until
    they have cost as much as the blocks would, and then builds the blocks. That is never worse than
    twice the better choice. Several problems at once take about 30 products, until the slowest of
    them ends, so blocks are built as soon as that number of products would pay for them. Blocks are
    never built if they and the inverse would need more than 1.4 times the memory of the kernel
    matrix, unless that is little anyway.
    """

    def __init__(self, factor: np.ndarray, sets: SortedSets) -> None:
        n = len(factor) - sets.n_clean
        self._n = n
        self._trailing = factor[sets.n_clean :, sets.n_clean :]
        self._n_classes = sets.n_classes
        self._position = sets.columns.astype(np.intp) * n + sets.rows
        # Entries class by class: those of class j are the slice self._slices[j] of self._by_class,
        # rows ascending.
        self._by_class = np.lexsort((sets.rows, sets.columns))
        self._back = np.argsort(self._by_class)
        bounds = np.searchsorted(sets.columns[self._by_class], np.arange(sets.n_classes + 1))
        self._slices = [slice(start, stop) for start, stop in pairwise(bounds) if stop > start]
        self._rows = sets.rows[self._by_class]
        self._blocks: list[np.ndarray] | None = None
        self._triangle: np.ndarray | None = None  # L⁻¹ of the trailing block
        self._spent = 0.0
        self._entries = float(sum((part.stop - part.start) ** 2 for part in self._slices))
        self._room = max(1.4 * len(factor) ** 2, SMALL)
        fits = n**2 + self._entries <= self._room
        self._set_up = 2.5 * (n**3 / 3 + min(n**3 / 3, n * self._entries)) if fits else np.inf

    def take(self, inverse: np.ndarray) -> None:
        """Use ``L⁻¹`` of the whole factor, which was computed for other reasons: then blocks cost
        less, and take no further memory.
        """
        if self._blocks is not None or inverse.size + self._entries > self._room:
            return
        n = self._n
        self._triangle = inverse[len(inverse) - n :, len(inverse) - n :]
        self._set_up = 2.5 * min(n**3 / 3, n * self._entries)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Candidate entries of ``M_aa V`` for the entries ``values`` of ``V``, problems ×
        entries.
        """
        if not values.size:
            return values
        if self._blocks is None and self._worth_building(len(values)):
            self._build_blocks()
        return self._apply_solves(values) if self._blocks is None else self._apply_blocks(values)

    def _worth_building(self, count: int) -> bool:
        """The cost rule, for products with ``count`` problems."""
        by_solves = 2 * self._n**2 * (self._n_classes * count + 15)
        by_blocks = self._entries * (25 + 2 * count)
        saved = by_solves - by_blocks
        worth = saved > 0 and self._spent + (30 * saved if count > 1 else 0) >= self._set_up
        self._spent += saved
        return worth

    def _apply_solves(self, values: np.ndarray) -> np.ndarray:
        dense = np.zeros((len(values), self._n_classes * self._n), values.dtype)
        dense[:, self._position] = values
        solved = solve(self._trailing, dense.reshape(-1, self._n))
        return solved.reshape(len(values), -1)[:, self._position]

    def _build_blocks(self) -> None:
        inverse = (
            invert(self._trailing.copy(order="F")) if self._triangle is None else self._triangle
        )
        self._triangle = None
        whole = self._n**2 / 3 < self._entries
        if whole:
            inverse = symmetric(square(inverse))
        self._blocks = []
        for part in self._slices:
            rows = self._rows[part]
            if whole:
                block = inverse[np.ix_(rows, rows)]
            else:
                columns = inverse[:, rows]
                columns[np.arange(self._n)[:, None] < rows] = 0
                block = columns.T @ columns
            self._blocks.append(block)

    def _apply_blocks(self, values: np.ndarray) -> np.ndarray:
        by_class = np.take(values, self._by_class, axis=1)
        for part, block in zip(self._slices, self._blocks or [], strict=True):
            by_class[:, part] = by_class[:, part] @ block
        return np.take(by_class, self._back, axis=1)


def centre(K: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Turn ``K`` into ``HK̃H`` in place, ``K̃ = diag(s) K diag(s)``; return the weighted mean ``K̃s
    / sᵀs`` of the columns.
    """
    if np.any(s != 1):
        K *= s
        K *= s[:, None]
    total = s @ s
    mean = K @ (s / total)
    # HKH = K - s vᵀ - v sᵀ with v = mean - (sᵀmean / 2 sᵀs) s; one triangle is enough.
    (syr2,) = blas.get_blas_funcs(("syr2",), (K,))
    syr2(-1.0, s, mean - (s @ mean / (2 * total)) * s, a=K.T, lower=1, overwrite_a=1)
    return mean
