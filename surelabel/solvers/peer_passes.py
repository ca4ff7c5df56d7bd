"""PURE with a low-rank kernel or the linear model, in sums over blocks of rows (see :mod:`.lowrank`
and :mod:`.leave_one_out`).

The leverage of every row takes one more pass, once; it is kept with the row, like its confidences.
Before each pass, the confidences of rows with equal features are averaged, wherever these rows are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np

from .alternate import Iteration
from .confidence import SortedSets
from .leave_one_out import (
    class_shares,
    gain_of,
    next_shift,
    peer_confidence,
    shift_likelihood,
    without_row,
)
from .lowrank import LowRankFit, LowRankModel, Moments, Targets, block_outputs, block_targets

#: Group numbers of the rows, equal for equal rows, and the class of every candidate.
Equal: TypeAlias = tuple[np.ndarray, np.ndarray]


class PeerPasses(Protocol):
    """The rows, wherever they are stored; each method is one pass over them, as in
    :class:`~surelabel.solvers.lowrank.Passes`.
    """

    def moments(self) -> Moments:
        """Sums over the features of all rows."""

    def start(self, init: str) -> tuple[Targets, Targets]:
        """Set the initial confidences; return the sums over certain and over ambiguous rows."""

    def keep_leverage(self, model: LowRankModel, equal: Equal | None) -> None:
        """Compute and keep the leverage of every row; rows that are equal are left out together."""

    def advance_peers(
        self, W: np.ndarray, b: np.ndarray, mean: np.ndarray, shift: float
    ) -> Targets:
        """Confidence step of all ambiguous rows; return the sums over them."""


def block_advance_peers(
    Z: np.ndarray,
    sets: SortedSets,
    p: np.ndarray,
    judged: np.ndarray,
    leverage: np.ndarray,
    W: np.ndarray,
    b: np.ndarray,
    mean: np.ndarray,
    shift: float,
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
    judged, leverage : ndarray of shape (n_entries,) and (rows,)
        The confidences and the leverages of what is left out with them (see
        :class:`~surelabel.solvers.leave_one_out.LeftOut`).
    W, b : ndarray of shape (D, l) and (l,)
        The model.
    mean, shift : ndarray of shape (l,), float
        ``π`` and ``g``.
    """
    own = leverage[sets.row_order[sets.n_clean + sets.rows]]
    q = without_row(judged, block_outputs(Z, sets, W, b), own)
    new = peer_confidence(sets, q, mean, shift)
    change = new - p
    return new, replace(
        block_targets(Z, sets, new),
        change=float((change * sets.entry_weight) @ change),
        likelihood=shift_likelihood(sets, q, mean),
    )


@dataclass(frozen=True)
class PeerFit(LowRankFit):
    """As :class:`~surelabel.solvers.lowrank.LowRankFit`, with ``g`` and the model at ``P = Y /
    |S|``, where the iterations began.
    """

    shift: float
    first: tuple[np.ndarray, np.ndarray]


def alternate_peer_passes(
    passes: PeerPasses,
    beta: float,
    *,
    max_iter: int,
    tol: float,
    shift: float | None = None,
    equal: Equal | None = None,
    callback: Callable[[Iteration], bool | None] | None = None,
) -> PeerFit:
    """:func:`~surelabel.solvers.leave_one_out.alternate_peers` in passes over the rows: three,
    and one for each iteration.

    Parameters
    ----------
    passes : PeerPasses
        The rows.
    beta : float
        The regularisation β.
    max_iter, tol, shift, callback
        As for :func:`~surelabel.solvers.leave_one_out.alternate_peers`.
    equal : tuple of ndarray, default=None
        Numbers of the rows, equal for equal rows, and the class of every candidate; None if all
        rows differ.

    Returns
    -------
    PeerFit
        ``passes`` holds the final confidences and the leverages.
    """
    moments = passes.moments()
    model = LowRankModel(moments, beta)
    passes.keep_leverage(model, equal)
    certain, moving = passes.start("uniform")
    W, b, _ = model.solve(certain + moving)
    first = W, b
    following = 1.0 if shift is None else shift
    deltas, objectives, converged = [], [], False
    for number in range(1, max(max_iter, 1) + 1):
        mean = class_shares(certain.mass + moving.mass, moments.weight)
        used = following
        moving = passes.advance_peers(W, b, mean, used)
        likelihood = np.asarray(moving.likelihood)
        following = next_shift(likelihood, used, number, shift)
        deltas.append(float(np.sqrt(moving.change / moments.weight)))
        objectives.append(-gain_of(likelihood, used)[0])
        converged = (deltas[-1] <= tol and following == used) or not max_iter
        if max_iter:
            W, b, _ = model.solve(certain + moving)
        iteration = Iteration(number, deltas[-1], objectives[-1])
        stop = callback is not None and callback(iteration)
        if converged or stop:
            break
    return PeerFit(W, b, deltas, objectives, converged, used, first)
