"""Ridge regression on confidences, with the leverage of every row: the model of SURE and PURE.

*Kernel* (eq. 5 and 6, :class:`KernelRidge`). With ``H = I - 11ᵀ/m`` the model step solves ``(HKH +
βI) A = HP``, a symmetric positive definite system, and its outputs come free: ``Q = KA + 1bᵀ = P -
βA``. Weights ``w = s²`` turn it into the same system for ``K̃ = diag(s) K diag(s)``, ``P̃ = diag(s)
P``, ``H = I - ssᵀ/sᵀs``, solved by ``B`` with ``A = diag(s) B`` and ``Q̃ = P̃ - βB``.

Let ``M = (HK̃H + βI)⁻¹``. Since ``Ms = s/β``, ``βB = βMP̃ - s p̄ᵀ`` with ``p̄ = P̃ᵀs / sᵀs``. Rows
with one candidate never change, so they come first: then ``M`` restricted to the ambiguous rows is
the inverse of the trailing block of the Cholesky factor alone, and the certain rows cost a single
solve.

*Features* (eq. 3 and 4, :class:`LinearRidge`). The linear model on ``D`` features ``Z`` of every
row, ``f(x) = Wᵀz + b`` with ``W = (ZᵀHZ + βI)⁻¹ ZᵀHP`` and ``b = p̄ - Wᵀz̄``; features are the
instances themselves, or a map whose inner products approximate a kernel (see :mod:`.features`). It
needs only the sums ``ZᵀZ`` and ``ZᵀP``, computed over blocks of rows if there are many (see
:mod:`.out_of_core`).

The factors depend on the instances and β only: every iteration and every λ shares them. The
leverage ``h_i = ∂q_i/∂p_i`` is ``1 - βM_ii + w_i/Σw``, or ``w_i (1/Σw + ‖L⁻¹(z_i - z̄)‖²)`` with
``LLᵀ = ZᵀHZ + βI`` (see :mod:`.leave_one_out`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import get_blas_funcs
from sklearn.utils import gen_batches

from .cholesky import cholesky, invert, solve, solve_by_inverse, square
from .confidence import SortedSets
from .memory import block_rows
from .threads import blas_threads

SMALL = 2**23  # numbers that fit into any memory: 64 MiB of float64

# With at most this many classes per candidate of a row, one matrix product for all outputs of a
# block is faster than computing those of the candidates class by class.
DENSE = 60

# ---------------------------------------------------------------- a kernel matrix


class KernelRidge:
    """The factorised model step for one kernel matrix and one β; any number of λ may share it. Rows
    of ``K`` are in the order of ``sets``; it is overwritten by the factor.
    """

    def __init__(self, K: np.ndarray, beta: float, sets: SortedSets) -> None:
        self.beta, self.sets = float(beta), sets
        self._root = np.sqrt(sets.weight)
        self._mean = centre(K, self._root)
        K.flat[:: len(K) + 1] += self.beta
        self._factor = cholesky(K)
        clean, ambiguous = self._root[: sets.n_clean], self._root[sets.n_clean :]
        self._entry_root = ambiguous[sets.rows]
        # For certain rows, P̃, β M_ac P̃_c and their own share of the loss are fixed.
        certain = np.zeros((sets.n_classes, sets.n_rows), K.dtype)
        certain[sets.clean_columns, np.arange(sets.n_clean)] = clean
        solved = self.beta * solve(self._factor, certain) if sets.n_clean else certain
        self._from_clean = solved[sets.columns, sets.n_clean + sets.rows]
        self._clean_loss = float(clean @ solved[sets.clean_columns, np.arange(sets.n_clean)])
        self._clean_mass = np.bincount(sets.clean_columns, clean**2, sets.n_classes).astype(K.dtype)
        self._inverted = False
        self._partial = _PartialInverse(self._factor, sets)

    def step(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs at the ambiguous entries and the loss of the model, as
        :class:`~surelabel.solvers.alternate.Model`.
        """
        mass = self._mass(p)
        weighted = p * self._entry_root
        from_ambiguous = self._partial.apply(weighted)
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
        solved = solve_by_inverse if self._inverted else solve
        B = solved(self._factor, P.reshape(-1, sets.n_rows)).reshape(P.shape)
        # sᵀB = 0 in exact arithmetic. M is largest along s, so rounding errors show there first,
        # and no intercept could correct them.
        B -= (B @ self._root)[:, :, None] * (self._root / sets.total_weight).astype(B.dtype)
        return (B * self._root).transpose(0, 2, 1), mean - B @ self._mean

    def outputs(self, p: np.ndarray, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        """``Q`` (m × l) for the confidences ``p`` of one problem and its coefficients: ``P -
        βA/w``.
        """
        return self.sets.dense(p) - A * (self.beta / self.sets.weight)[:, None]

    def leverage(self) -> np.ndarray:
        """``h_i`` of every row, by the column norms of ``L⁻¹``, ``m³/3`` flops. The inverse takes
        the place of the factor.
        """
        inverse = self._factor = invert(self._factor)
        self._inverted = True
        self._partial.take(inverse)
        diagonal = np.einsum("ij,ij->j", inverse, inverse)
        return 1 - self.beta * diagonal + self.sets.weight / self.sets.total_weight

    def _mass(self, p: np.ndarray) -> np.ndarray:
        """``P̃ᵀs``: weighted column sums of ``P``, for every problem."""
        sets = self.sets
        mass = [np.bincount(sets.columns, row * sets.entry_weight, sets.n_classes) for row in p]
        return np.asarray(mass, p.dtype).reshape(len(p), sets.n_classes) + self._clean_mass


class _PartialInverse:
    """Products with ``M_aa``, the inverse restricted to the ambiguous rows, at candidate entries
    only.

    There are two ways. *Solves*: scatter the entries to a dense ``m_a × l`` matrix and solve with
    the trailing factor, at ``2 m_a² l`` flops a product. *Blocks*: column ``j`` of ``P`` lives on
    the rows ``R_j`` that have candidate ``j``, so only the blocks ``M[R_j, R_j]`` are needed. With
    ``L⁻¹`` (``m_a³/3`` flops) they are ``Σ_j m_a |R_j|²`` flops, or cut from all of ``M = L⁻ᵀL⁻¹``
    (another ``m_a³/3``) if that is less; a product then reads ``Σ_j |R_j|²`` numbers.

    The cost rule, in flops at the speed of a wide solve: reading the factor counts as 15 extra
    columns, reading one entry of a block as 25 flops, and inverting runs at two fifths of that
    speed (all measured). The number of iterations is not known in advance, so solves are used until
    they have cost as much as the blocks would; then the blocks are built. That never costs more
    than twice the better choice. Several problems at once take about 30 products until the slowest
    of them ends, so blocks are built as soon as that many products would pay for them. Blocks are
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
        self._inverted = False  # whether the trailing block is that of L⁻¹
        self._spent = 0.0
        self._entries = float(sum((part.stop - part.start) ** 2 for part in self._slices))
        self._room = max(1.4 * len(factor) ** 2, SMALL)
        fits = n**2 + self._entries <= self._room
        self._set_up = 2.5 * (n**3 / 3 + min(n**3 / 3, n * self._entries)) if fits else np.inf

    def take(self, inverse: np.ndarray) -> None:
        """Use ``L⁻¹`` of the whole factor if it is known anyway: then blocks cost less."""
        n = self._n
        self._trailing = inverse[len(inverse) - n :, len(inverse) - n :]
        self._inverted = True
        if np.isfinite(self._set_up):
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
        solved = solve_by_inverse if self._inverted else solve
        found = solved(self._trailing, dense.reshape(-1, self._n))
        return found.reshape(len(values), -1)[:, self._position]

    def _build_blocks(self) -> None:
        inverse = self._trailing if self._inverted else invert(self._trailing.copy(order="F"))
        whole = self._n**2 / 3 < self._entries
        if whole:
            inverse = square(inverse.copy(order="F"))
        self._blocks = []
        for part in self._slices:
            rows = self._rows[part]
            if whole:
                block = inverse[np.ix_(rows, rows)]
            else:
                columns = inverse[:, rows]
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
    syr2 = get_blas_funcs("syr2", dtype=K.dtype)
    syr2(-1.0, s, mean - (s @ mean / (2 * total)) * s, a=K.T, lower=1, overwrite_a=1)
    return mean


# ---------------------------------------------------------------- features


@dataclass(frozen=True)
class Moments:
    """Sums over rows that the features alone determine: ``ZᵀΩZ``, ``Zᵀw`` and ``Σw``."""

    gram: np.ndarray
    total: np.ndarray
    weight: float

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.gram + other.gram, self.total + other.total, self.weight + other.weight)


@dataclass(frozen=True)
class Targets:
    """Sums over rows that the confidences determine.

    Attributes
    ----------
    right : ndarray of shape (l, D)
        ``PᵀΩZ``.
    mass : ndarray of shape (l,)
        ``Pᵀw``.
    squares : float
        ``Σ w ‖p‖²``.
    change, fall : float
        For the last step: ``Σ w ‖Δp‖²``, and by how much it changed ``Σ w ‖p - q‖²``.
    peak, agreement : float
        What the step also maximises, over all rows: ``Σ w ‖p‖_∞``, and the agreement with votes.
    likelihood : ndarray or float
        For PURE: the result of :func:`~surelabel.solvers.leave_one_out.shift_likelihood`.
    """

    right: np.ndarray
    mass: np.ndarray
    squares: float
    change: float = 0.0
    fall: float = 0.0
    peak: float = 0.0
    agreement: float = 0.0
    likelihood: np.ndarray | float = 0.0

    def __add__(self, other: Targets) -> Targets:
        return Targets(
            *(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__)
        )


def moments_of(Z: Any, weight: np.ndarray | None) -> Moments:
    """Sums over the features of these rows; ``weight`` None means ones."""
    if sparse.issparse(Z):
        weight = np.ones(Z.shape[0], Z.dtype) if weight is None else weight
        gram = (Z.T @ Z.multiply(weight[:, None]).tocsr()).toarray()
    else:
        root = Z if weight is None else Z * np.sqrt(weight)[:, None]
        gram = root.T @ root
    total = Z.sum(axis=0, dtype=np.float64) if weight is None else weight.astype(np.float64) @ Z
    count = float(Z.shape[0] if weight is None else weight.sum())
    return Moments(gram.astype(np.float64), total, count)


def targets_of(Z: Any, sets: SortedSets, p: np.ndarray) -> Targets:
    """Sums over the ambiguous rows; their features are in the original order of the rows."""
    used = np.flatnonzero(p)  # most confidences become 0 or 1
    rows, columns = sets.row_order[sets.n_clean + sets.rows[used]], sets.columns[used]
    weighted = p[used] * sets.entry_weight[used]
    right = _right(Z, rows, columns, weighted, sets.n_classes)
    return Targets(right, np.bincount(columns, weighted, sets.n_classes), float(weighted @ p[used]))


def certain_targets(Z: Any, sets: SortedSets) -> Targets:
    """Sums over the rows with one candidate, which never change."""
    clean, weight = sets.row_order[: sets.n_clean], sets.weight[: sets.n_clean]
    return Targets(
        _right(Z, clean, sets.clean_columns, weight, sets.n_classes),
        np.bincount(sets.clean_columns, weight, sets.n_classes),
        float(weight.sum()),
    )


def outputs_at(Z: Any, sets: SortedSets, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Outputs of the model ``W``, ``b`` at the ambiguous entries."""
    rows, columns = sets.row_order[sets.n_clean + sets.rows], sets.columns
    if W.shape[1] * Z.shape[0] <= DENSE * len(rows):
        return np.asarray((Z @ W)[rows, columns] + b[columns])
    order = np.argsort(columns, kind="stable")
    bounds = np.searchsorted(columns[order], np.arange(W.shape[1] + 1))
    outputs = np.empty(len(rows), np.result_type(Z.dtype, W))
    for j in np.flatnonzero(np.diff(bounds)):
        entries = order[bounds[j] : bounds[j + 1]]
        outputs[entries] = Z[rows[entries]] @ W[:, j]
    return outputs + b[columns]


def _right(
    Z: Any, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, n_classes: int
) -> np.ndarray:
    """``PᵀZ`` for the entries of ``P`` given by row, column and value."""
    transposed = sparse.csr_array(
        (values.astype(Z.dtype, copy=False), (columns, rows)), shape=(n_classes, Z.shape[0])
    )
    return _dense(transposed @ Z).astype(np.float64)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


class GramRidge:
    """The factorised model step, from sums over the rows."""

    def __init__(self, moments: Moments, beta: float) -> None:
        self._mean, self._weight = moments.total / moments.weight, moments.weight
        gram = moments.gram - moments.weight * np.outer(self._mean, self._mean)
        gram.flat[:: len(gram) + 1] += beta
        with blas_threads(len(gram)):
            self._factor = cholesky(gram)

    def solve(self, targets: Targets) -> tuple[np.ndarray, np.ndarray, float]:
        """``W`` (D × l), ``b`` and the minimum of eq. 3 for the confidences behind these sums."""
        mean = targets.mass / self._weight
        right = targets.right - np.outer(targets.mass, self._mean)
        with blas_threads(len(self._factor)):
            W = solve(self._factor, right.copy())
        # min = Σ w ‖p - p̄‖² - ⟨ZᵀHP, W⟩.
        loss = targets.squares - self._weight * float(mean @ mean) - float(np.vdot(right, W))
        return W.T, mean - W @ self._mean, loss

    def leverage(self, Z: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """``h_i`` of these rows."""
        centred = Z - self._mean.astype(Z.dtype)
        # L⁻¹ times the rows as columns, in place, with half the operations of a full product. A
        # C-ordered array is the transpose of a Fortran-ordered one.
        product = get_blas_funcs("trmm", dtype=Z.dtype)
        inverse = self._inverse.astype(Z.dtype, order="C", copy=False)
        found = product(1.0, inverse.T, centred.T, trans_a=1, overwrite_b=1)
        h = Z.dtype.type(1 / self._weight) + np.einsum("ij,ij->j", found, found)
        return h if weight is None else weight * h

    @cached_property
    def _inverse(self) -> np.ndarray:
        """``L⁻¹``: products with it are several times as fast as solving for every row."""
        return invert(self._factor.copy(order="F"))


class LinearRidge:
    """The factorised model step for features in memory, with rows in their original order; any
    number of λ may share it. A sparse ``Z`` is never made dense.
    """

    def __init__(self, Z: Any, beta: float, sets: SortedSets) -> None:
        self._Z, self.sets = Z, sets
        self._weight = np.empty_like(sets.weight)
        self._weight[sets.row_order] = sets.weight
        self._model = GramRidge(moments_of(Z, self._weight), float(beta))
        self._certain = certain_targets(Z, sets)

    def step(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs at the ambiguous entries and the loss of the model, as
        :class:`~surelabel.solvers.alternate.Model`.
        """
        fits = [self._fit(one) for one in p]
        q = [outputs_at(self._Z, self.sets, W, b) for W, b, _ in fits]
        return np.array(q).reshape(p.shape), np.array([loss for *_, loss in fits])

    def coefficients(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``W`` (problems × D × l) and ``b`` (problems × l) of eq. 4 for the confidences ``p``
        (problems × entries).
        """
        fits = [self._fit(one) for one in p]
        return np.array([W for W, *_ in fits]), np.array([b for _, b, _ in fits])

    def outputs(self, p: np.ndarray, W: np.ndarray, b: np.ndarray) -> np.ndarray:
        """``Q`` (m × l, in the order of ``sets``) for the coefficients of one problem."""
        return np.asarray(self._Z @ W + b)[self.sets.row_order]

    def leverage(self) -> np.ndarray:
        """``h_i`` of every row, in the order of ``sets``."""
        m, width = self._Z.shape
        found = [
            self._model.leverage(_dense(self._Z[rows]), self._weight[rows])
            for rows in gen_batches(m, block_rows(width))
        ]
        return np.concatenate(found)[self.sets.row_order]

    def _fit(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """``W``, ``b`` and the loss for the confidences of one problem."""
        W, b, loss = self._model.solve(self._certain + targets_of(self._Z, self.sets, p))
        return W.astype(self._Z.dtype), b.astype(self._Z.dtype), loss
