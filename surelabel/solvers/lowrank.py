"""SURE with a low-rank kernel: the linear model on ``D`` features of every row, in sums over blocks
of rows.

A feature map (see :mod:`.features`) turns rows into features ``Z``, m × D, whose inner products
approximate the kernel. With ``H`` the centring, the model of eq. 4 is ``f(x) = Wᵀz(x) + b`` with
``W = (ZᵀHZ + βI)⁻¹ ZᵀHP`` and ``b = p̄ - Wᵀz̄``.

``ZᵀZ``, ``ZᵀP`` and the confidence step are sums and maps over blocks of rows, so one pass over the
data is one iteration, in memory, out of core or on a cluster: confidences stay with their rows, and
only ``D × l`` matrices are moved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import get_blas_funcs

from .alternate import Iteration
from .confidence import SortedSets
from .triangular import cholesky, invert, solve

# With at most this many classes per candidate of a row, it is faster to compute all outputs of a
# block by one matrix product than those of the candidates class by class.
DENSE = 60


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


class Passes(Protocol):
    """The rows, wherever they are stored; each method is one pass over them. Confidences are kept
    with the rows.
    """

    def moments(self) -> Moments:
        """Sums over the features of all rows."""

    def start(self, init: str) -> tuple[Targets, Targets]:
        """Set the initial confidences; return the sums over certain rows, which do not change, and
        over ambiguous ones.
        """

    def advance(self, W: np.ndarray, b: np.ndarray, lam: float) -> Targets:
        """Confidence step of all ambiguous rows for the model ``W`` (D × l), ``b``; return the sums
        over them.
        """


# ---------------------------------------------------------------- one block of rows


def block_moments(Z: np.ndarray, weight: np.ndarray | None) -> Moments:
    """Sums over the features of one block; ``weight`` None means ones."""
    root = Z if weight is None else Z * np.sqrt(weight)[:, None]
    total = Z.sum(axis=0, dtype=np.float64) if weight is None else weight.astype(np.float64) @ Z
    return Moments(
        (root.T @ root).astype(np.float64), total, float(len(Z) if weight is None else weight.sum())
    )


def block_start(Z: np.ndarray, sets: SortedSets, init: str) -> tuple[np.ndarray, Targets, Targets]:
    """Initial confidences of one block, and the sums over its certain and its ambiguous rows."""
    clean, weight = sets.row_order[: sets.n_clean], sets.weight[: sets.n_clean]
    certain = Targets(
        _right(Z, clean, sets.clean_columns, weight, sets.n_classes),
        np.bincount(sets.clean_columns, weight, sets.n_classes),
        float(weight.sum()),
    )
    p = sets.initial(init, 1)[0]
    return p, certain, block_targets(Z, sets, p)


def block_advance(
    Z: np.ndarray, sets: SortedSets, p: np.ndarray, W: np.ndarray, b: np.ndarray, lam: float
) -> tuple[np.ndarray, Targets]:
    """Confidence step of one block: its new confidences, and the sums over its ambiguous rows.

    Parameters
    ----------
    Z : ndarray of shape (rows, D)
        Features of the block.
    sets : SortedSets
        Candidates of the block.
    p : ndarray of shape (n_entries,)
        Confidences of its ambiguous entries.
    W, b : ndarray of shape (D, l) and (l,)
        The model.
    lam : float
        The weight λ.
    """
    new, q, targets = block_step(Z, sets, W, b, lam)
    change, fall = block_change(sets, p, new, q)
    return new, replace(targets, change=change, fall=fall)


def block_step(
    Z: np.ndarray, sets: SortedSets, W: np.ndarray, b: np.ndarray, lam: float
) -> tuple[np.ndarray, np.ndarray, Targets]:
    """The part of :func:`block_advance` that depends only on the model: new confidences, their
    outputs, and their sums.
    """
    q = block_outputs(Z, sets, W, b)
    p = sets.project(q[None], np.array([lam], q.dtype))[0]
    peak, agreement = float(sets.peak(p[None])[0]), float(np.sum(sets.agreement(p[None])))
    return p, q, replace(block_targets(Z, sets, p), peak=peak, agreement=agreement)


def block_change(
    sets: SortedSets, p: np.ndarray, new: np.ndarray, q: np.ndarray
) -> tuple[float, float]:
    """``change`` and ``fall`` of :class:`Targets` for a step from ``p`` to ``new`` at the outputs
    ``q``.
    """
    change = new - p
    weighted = change * sets.entry_weight
    # ‖new - q‖² - ‖p - q‖² = (new - p)ᵀ(new + p - 2q)
    return float(weighted @ change), float(weighted @ (new + p - 2 * q))


def block_outputs(Z: np.ndarray, sets: SortedSets, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Outputs of the model ``W``, ``b`` at the ambiguous entries of a block."""
    rows = sets.row_order[sets.n_clean + sets.rows]
    return _outputs(Z, rows, sets.columns, W) + b[sets.columns]


def block_targets(Z: np.ndarray, sets: SortedSets, p: np.ndarray) -> Targets:
    """The sums that the model is fitted to, over ambiguous rows."""
    used = np.flatnonzero(p)  # most confidences become 0 or 1
    rows, columns = sets.row_order[sets.n_clean + sets.rows[used]], sets.columns[used]
    weighted = p[used] * sets.entry_weight[used]
    right = _right(Z, rows, columns, weighted, sets.n_classes)
    return Targets(right, np.bincount(columns, weighted, sets.n_classes), float(weighted @ p[used]))


def _right(
    Z: np.ndarray, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, n_classes: int
) -> np.ndarray:
    """``PᵀZ`` for the entries of ``P`` given by row, column and value."""
    transposed = sparse.csr_array(
        (values.astype(Z.dtype, copy=False), (columns, rows)), shape=(n_classes, len(Z))
    )
    return (transposed @ Z).astype(np.float64)


def _outputs(Z: np.ndarray, rows: np.ndarray, columns: np.ndarray, W: np.ndarray) -> np.ndarray:
    """``(ZW)_ij`` at the listed entries."""
    if W.shape[1] * len(Z) <= DENSE * len(rows):
        return (Z @ W)[rows, columns]
    order = np.argsort(columns, kind="stable")
    bounds = np.searchsorted(columns[order], np.arange(W.shape[1] + 1))
    outputs = np.empty(len(rows), np.result_type(Z, W))
    for j in np.flatnonzero(np.diff(bounds)):
        entries = order[bounds[j] : bounds[j + 1]]
        outputs[entries] = Z[rows[entries]] @ W[:, j]
    return outputs


# ---------------------------------------------------------------- the model


class LowRankModel:
    """The factorised model step.

    Parameters
    ----------
    moments : Moments
        The sums over all rows.
    beta : float
        The regularisation β.
    """

    def __init__(self, moments: Moments, beta: float) -> None:
        self._mean, self._weight = moments.total / moments.weight, moments.weight
        gram = moments.gram - moments.weight * np.outer(self._mean, self._mean)
        gram.flat[:: len(gram) + 1] += beta
        self._factor = cholesky(gram)

    def leverage(self, Z: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """``h_i = w_i (1/Σw + ‖L⁻¹(z_i - z̄)‖²)`` of these rows, with ``LLᵀ`` the matrix of the
        model.
        """
        centred = Z - self._mean.astype(Z.dtype)
        # L⁻¹ times the rows as columns, in place; half the operations of a product with a full
        # matrix. Arrays in C's order are the transposes of Fortran's.
        product = get_blas_funcs("trmm", dtype=Z.dtype)
        inverse = self._inverse.astype(Z.dtype, order="C", copy=False)
        found = product(1.0, inverse.T, centred.T, trans_a=1, overwrite_b=1)
        h = Z.dtype.type(1 / self._weight) + np.einsum("ij,ij->j", found, found)
        return h if weight is None else weight * h

    @cached_property
    def _inverse(self) -> np.ndarray:
        """``L⁻¹``: products with it are several times as fast as solving for every row."""
        return np.tril(invert(self._factor.copy(order="F")))

    def solve(self, targets: Targets) -> tuple[np.ndarray, np.ndarray, float]:
        """``W`` (D × l), ``b`` and the minimum of eq. 3 for the confidences behind these sums."""
        mean = targets.mass / self._weight
        right = targets.right - np.outer(targets.mass, self._mean)
        W = solve(self._factor, right.copy())
        # min = Σ w ‖p - p̄‖² - ⟨ZᵀHP, W⟩.
        loss = targets.squares - self._weight * float(mean @ mean) - float(np.vdot(right, W))
        return W.T, mean - W @ self._mean, loss


@dataclass(frozen=True)
class LowRankFit:
    """The model ``f(x) = Wᵀz(x) + b`` and the course of its iterations, as in
    :class:`~surelabel.solvers.alternate.Trajectory`.
    """

    W: np.ndarray
    b: np.ndarray
    delta_path: list[float]
    objective_path: list[float]
    converged: bool


def alternate_passes(
    passes: Passes,
    beta: float,
    lam: float,
    *,
    init: str,
    max_iter: int,
    tol: float,
    callback: Callable[[Iteration], bool | None] | None = None,
) -> LowRankFit:
    """Algorithm 1 in passes over the rows: one for the factor, one for the start, one for each
    iteration.

    Parameters
    ----------
    passes : Passes
        The rows.
    beta : float
        The regularisation β.
    lam, init, max_iter, tol, callback
        As for :func:`~surelabel.solvers.alternate.alternate`, for one λ.

    Returns
    -------
    LowRankFit
        ``passes`` holds the final confidences.
    """
    moments = passes.moments()
    model = LowRankModel(moments, beta)
    certain, moving = passes.start(init)
    deltas: list[float] = []
    objectives: list[float] = []
    converged = False
    for number in range(1, max_iter + 1):
        W, b, loss = model.solve(certain + moving)
        moving = passes.advance(W, b, lam)
        deltas.append(float(np.sqrt(moving.change / moments.weight)))
        objectives.append(loss + moving.fall - lam * moving.peak - moving.agreement)
        converged = deltas[-1] <= tol
        stop = callback is not None and callback(Iteration(number, deltas[-1], objectives[-1]))
        if converged or stop:
            break
    return LowRankFit(W, b, deltas, objectives, converged)
