"""Which row is asked next: a *check* for the error bound, or the row that *helps* the model
most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..tables.calibration import SUREST
from ..tables.judging import with_confidence
from ..tables.status import CERTIFIED, LOOK, Decision, gain_of_answers, status_of
from .following import resized

CHECK, HELP = "check", "help"
#: The next row should not resemble the rows of this many last answers.
RECENT = 10
#: Rows are alike if they are closer than this fraction of the mean distance.
NEAR = 0.5


@dataclass(frozen=True)
class Standing:
    """The current state of all rows.

    Attributes
    ----------
    classes : ndarray of shape (l,)
        The labels.
    label, second : ndarray of int
        First and second choice; -1 where there is no second.
    confidence : ndarray of float
        How likely the first choice is right.
    shares : ndarray of shape (m, l)
        Probabilities of all labels.
    outside : ndarray of int
        Above 0 where the features speak for a label that was not given.
    best : ndarray of int
        The most probable label of all.
    status : ndarray of str
        "certified", "probable" or "look".
    n_kept : int
        Number of rows to be kept.
    trust : ndarray of float
        The effect of calibration on the label chosen: confidence divided by the model's share.
    """

    classes: np.ndarray
    label: np.ndarray
    second: np.ndarray
    confidence: np.ndarray
    shares: np.ndarray
    outside: np.ndarray
    best: np.ndarray
    status: np.ndarray
    n_kept: int
    trust: np.ndarray


def standing_of(found: Decision, shares: np.ndarray) -> Standing:
    """The state of the rows after the labels were chosen.

    Parameters
    ----------
    found : ChosenLabels
        The labels.
    shares : ndarray of shape (m, l)
        How likely each label is by the model that follows the answers, before calibration.

    Returns
    -------
    Standing
    """
    rows = np.arange(len(found.label))
    return Standing(
        found.classes,
        found.label,
        found.second,
        found.confidence,
        found.shares,
        found.outside,
        found.best,
        found.status,
        found.n_kept,
        found.confidence / np.maximum(shares[rows, found.label], 1e-6),
    )


def moved(
    before: Standing, shares: np.ndarray, gold: np.ndarray, classes: np.ndarray, max_error: float
) -> Standing:
    """The state of the rows after a quick refit, with the calibration of before.

    Parameters
    ----------
    before : Standing
        The state before.
    shares : ndarray of shape (m, l)
        How likely each label is by the model, before calibration.
    gold : ndarray of shape (m,)
        Known labels, -1 where unknown.
    classes : ndarray of shape (l,)
        The labels.
    max_error : float
        The largest error that the rows to be kept may have.

    Returns
    -------
    Standing
    """
    rows, known = np.arange(len(gold)), gold >= 0
    label = np.where(known, gold, shares.argmax(axis=1))
    trusted = np.clip(before.trust * shares[rows, label], 0, SUREST)
    confidence = np.where(known, 1.0, trusted)
    # The quick refit says nothing about labels that were not given.
    weights = np.where(shares > 0, shares, resized(before.shares, shares.shape[1]))
    found = with_confidence(weights, label, confidence)
    others = found.copy()
    others[rows, label] = -1
    second = others.argmax(axis=1)
    outside = np.where(known | (label != before.label), 0, before.outside)
    status = status_of(confidence, known, max_error)
    return Standing(
        classes,
        label,
        np.where(known | (others[rows, second] <= 1e-9), -1, second),
        confidence,
        found,
        outside,
        np.where(outside > 0, before.best, label),
        status,
        int(np.sum(status != LOOK)),
        before.trust,
    )


def gains(standing: Standing) -> np.ndarray:
    """How much an answer to each row would help.

    The gain of :func:`~surelabel.tables.status.gain_of_answers` as a fraction of the largest,
    plus one minus the margin of the first two shares: the calibrated doubt, and the model's own. Of
    seven rules, this was the only one that was never far behind the best, on digits, a crowd and
    texts (seeds 100 to 102 of ``benchmarks/review.py``).
    """
    rival = np.where(standing.outside > 0, standing.best, standing.second)
    known = standing.status == CERTIFIED
    doubt = np.where(known, 0.0, 1 - standing.confidence)
    gain = gain_of_answers(standing.label, rival, doubt, standing.shares.shape[1])
    two = np.partition(standing.shares, -2, axis=1)[:, -2:]
    near = np.where(known, 0.0, 1 - (two[:, 1] - two[:, 0]))
    return np.asarray(gain / max(gain.max(), 1e-12) + near)


class Variety:
    """Keeps the next rows from resembling the last ones.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        The rows.
    """

    def __init__(self, X: np.ndarray) -> None:
        spread = X.std(axis=0)
        self._Z = (X / np.where(spread > 0, spread, 1)).astype(np.float32)
        n_varying = int(np.sum(spread > 0))
        self._width = NEAR**2 * 2 * max(n_varying, 1)  # the mean squared distance is 2 n

    def __call__(self, recent: Sequence[int]) -> np.ndarray:
        """A factor for the gain of each row: near 0 beside a row that was just asked."""
        factor = np.ones(len(self._Z), np.float32)
        for row in recent[-RECENT:]:
            gap = self._Z - self._Z[row]
            factor *= 1 - np.exp(-np.einsum("ij,ij->i", gap, gap) / self._width)
        return factor


def next_help(
    standing: Standing, variety: np.ndarray, closed: Iterable[int], *, look_only: bool = True
) -> int | None:
    """The row whose answer helps most, or None if there is none.

    Parameters
    ----------
    standing : Standing
        The current state of all rows.
    variety : ndarray of shape (m,)
        The factors of :class:`Variety`.
    closed : iterable of int
        Rows that are not to be asked.
    look_only : bool, default=True
        Ask only rows that a person should look at.

    Returns
    -------
    int or None
    """
    score = gains(standing) * np.maximum(variety, 1e-3)
    score[list(closed)] = -1
    if look_only:
        score[standing.status != LOOK] = -1
    best = int(score.argmax())
    return best if score[best] > 0 else None
