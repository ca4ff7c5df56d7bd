"""Which row is asked next: a *check* for the error bound, or the row that *helps* the model
most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..tables.status import CERTIFIED, LOOK, Decision

CHECK, HELP = "check", "help"
#: The next row should not resemble the last rows answered, up to this many.
RECENT = 10
#: Rows are alike if they are closer than this fraction of the mean distance.
NEAR = 0.5


def gains(found: Decision) -> np.ndarray:
    """How much an answer to each row would help.

    :attr:`~surelabel.tables.status.Decision.gain` as a fraction of the largest, plus one minus the
    margin of the first two shares: the calibrated doubt, and the model's own. Of seven rules, only
    this one was never far behind the best on digits, a crowd and texts (seeds 100 to 102 of
    ``benchmarks/review.py``).
    """
    two = np.partition(found.shares, -2, axis=1)[:, -2:]
    near = np.where(found.status == CERTIFIED, 0.0, 1 - (two[:, 1] - two[:, 0]))
    return np.asarray(found.gain / max(found.gain.max(), 1e-12) + near)


class Variety:
    """Keeps the next rows from resembling the last ones."""

    def __init__(self, X: np.ndarray) -> None:
        spread = X.std(axis=0)
        self._Z = (X / np.where(spread > 0, spread, 1)).astype(np.float32)
        n_varying = int(np.sum(spread > 0))
        self._width = NEAR**2 * 2 * max(n_varying, 1)  # the mean squared distance is 2 n

    def __call__(self, recent: Sequence[int]) -> np.ndarray:
        """A factor for the gain of each row: near 0 for rows like those just asked."""
        factor = np.ones(len(self._Z), np.float32)
        for row in recent[-RECENT:]:
            gap = self._Z - self._Z[row]
            factor *= 1 - np.exp(-np.einsum("ij,ij->i", gap, gap) / self._width)
        return factor


def next_help(
    found: Decision, variety: np.ndarray, closed: Iterable[int], *, look_only: bool = True
) -> int | None:
    """The row whose answer helps most, or None if there is none.

    ``variety`` holds the factors of :class:`Variety`. Rows in ``closed`` are not asked and, if
    ``look_only``, neither are those that no person needs to look at.
    """
    score = gains(found) * np.maximum(variety, 1e-3)
    score[list(closed)] = -1
    if look_only:
        score[found.status != LOOK] = -1
    best = int(score.argmax())
    return best if score[best] > 0 else None
