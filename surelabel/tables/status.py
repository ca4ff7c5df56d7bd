"""Which labels are kept, and which rows a person should look at: decided here, for ``clean``,
``audit`` and ``review`` alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.labelling import Labels
from .judging import Judgement

CERTIFIED, PROBABLE, LOOK = "certified", "probable", "look"


def status_of(confidence: np.ndarray, known: np.ndarray, max_error: float) -> np.ndarray:
    """The status of every row.

    Parameters
    ----------
    confidence : ndarray of shape (m,)
        How likely each label is right.
    known : ndarray of bool of shape (m,)
        Whether the true label is known.
    max_error : float
        The largest error that a label to be kept may have.

    Returns
    -------
    ndarray of str
        "certified": known; "probable": to be kept, by the estimate; "look": a person should look.
    """
    kept = np.where(confidence >= 1 - max_error, PROBABLE, LOOK)
    return np.where(known, CERTIFIED, kept).astype("U9")


def error_of_kept(confidence: np.ndarray, status: np.ndarray) -> float:
    """The error that the labels kept are expected to have; NaN if none is kept."""
    kept = status != LOOK
    return float(np.mean(1 - confidence[kept])) if kept.any() else float("nan")


def gain_of_answers(
    label: np.ndarray, rival: np.ndarray, doubt: np.ndarray, n_classes: int
) -> np.ndarray:
    """How much an answer by a person would help: a row's doubt, times the square root of all doubt
    between the same two labels, because an answer also helps to tell these apart elsewhere.
    """
    first, second = np.minimum(label, rival) + 1, np.maximum(label, rival) + 1
    total = np.bincount(first * (n_classes + 1) + second, doubt)
    return np.asarray(doubt * np.sqrt(total[first * (n_classes + 1) + second]))


@dataclass(frozen=True, kw_only=True, repr=False)
class Decision:
    """What is decided about every row; arrays have one entry per row.

    Attributes
    ----------
    classes : ndarray of shape (l,)
        The label space.
    label : ndarray of int
        The label chosen, as a position in ``classes``: the gold label where it is known.
    confidence : ndarray of float
        Estimated probability that ``label`` is right, by models that did not learn from the row; 1
        where gold is known.
    second : ndarray of int
        The second choice, -1 where there is none.
    margin : ndarray of float
        Confidence minus that of the second choice.
    status : ndarray of str
        "probable": to be kept, by the estimate of its error; "certified": to be kept, and checks
        of such rows bound their error, or it was itself checked; "look": a person should look.
    outside : ndarray of int
        1 for the row whose true label is most likely none of those given, 2 for the next; 0 where
        nothing speaks for another label.
    best : ndarray of int
        The most probable label of all: ``label``, or where ``outside`` one that was not given.
    outside_probability : ndarray of float
        How likely the true label is none of those given; NaN without known labels.
    gain : ndarray of float
        How much an answer by a person would help, 0 for gold rows; the rows to look at are sorted
        by it, descending.
    shares : ndarray of shape (m, l)
        Probabilities of all labels: the confidence of the label chosen, and what it leaves for the
        others.
    max_error : float
        The largest error that the rows kept may have.
    expected_error : float
        The error that they are expected to have (NaN if none is kept).
    n_kept : int
        Number of rows kept: those of status "probable" or "certified".
    """

    classes: np.ndarray
    label: np.ndarray
    confidence: np.ndarray
    second: np.ndarray
    margin: np.ndarray
    status: np.ndarray
    outside: np.ndarray
    best: np.ndarray
    outside_probability: np.ndarray
    gain: np.ndarray
    shares: np.ndarray
    max_error: float
    expected_error: float
    n_kept: int


def decide(found: Judgement, labels: Labels, max_error: float) -> Decision:
    """Combine the judgement with what is known: gold rows are certified, and of the others those
    that are sure enough are probable.
    """
    gold, rows = labels.gold >= 0, np.arange(len(labels.gold))
    classes = labels.candidates.classes
    label = np.where(gold, labels.gold, found.label)
    second = np.where(gold, -1, found.second)
    confidence = np.where(gold, 1.0, found.confidence)
    certain = np.eye(len(classes), dtype=np.float32)[labels.gold]
    shares = np.where(gold[:, None], certain, found.shares)
    status = status_of(confidence, gold, max_error)
    outside = np.where(gold, 0, found.outside)
    rival = np.where(outside > 0, found.best, found.second)
    return Decision(
        classes=classes,
        label=label,
        confidence=confidence,
        second=second,
        margin=np.maximum(confidence - np.where(second < 0, 0, shares[rows, second]), 0),
        status=status,
        outside=outside,
        best=np.where(gold, labels.gold, found.best),
        outside_probability=np.where(gold, 0.0, found.outside_probability),
        gain=gain_of_answers(label, rival, 1 - confidence, len(classes)),
        shares=shares,
        max_error=max_error,
        expected_error=error_of_kept(confidence, status),
        n_kept=int(np.sum(status != LOOK)),
    )
