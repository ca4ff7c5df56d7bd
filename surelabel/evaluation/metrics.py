"""Numbers that say how good predictions are.

A ``*_rate`` or ``*_accuracy`` is a share: higher is better.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.candidates import CandidateSets, as_candidates
from ..exceptions import CandidateError
from ..solvers.segments import row_sum


def covering_rate(y: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of predictions that lie inside the candidate set.

    It needs no true labels, so it may choose parameters honestly. With one label per row it is the accuracy.

    Parameters
    ----------
    y : CandidateSets or any form of candidates
        What is known of each instance.
    y_pred : array-like of shape (m,)
        Predicted labels.
    sample_weight : array-like of shape (m,), default=None
        Weights of the instances.

    Returns
    -------
    float
    """
    candidates = as_candidates(y)
    covered = _predicted_entry(candidates, np.asarray(y_pred)) >= 0
    return float(np.average(covered, weights=sample_weight))


def approximated_accuracy(y: Any, proba: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Accuracy expected from candidates alone: the probability of the prediction, renormalised over the candidates.

    A prediction outside the candidate set counts 0; inside, it counts the share of the candidates' probability mass
    that the model gives to it.

    Parameters
    ----------
    y : CandidateSets or any form of candidates
        What is known of each instance.
    proba : array-like of shape (m, l)
        Predicted probabilities.
    classes : array-like of shape (l,), default=None
        The class of each column of ``proba``; by default the classes of ``y``.
    sample_weight : array-like of shape (m,), default=None
        Weights of the instances.

    Returns
    -------
    float
    """
    candidates = as_candidates(y)
    if classes is not None:
        candidates = candidates.with_classes(classes)
    proba = np.asarray(proba)
    if proba.shape != candidates.shape:
        raise CandidateError(
            f"proba has shape {proba.shape} but the candidates are {candidates.shape[0]} rows × {candidates.shape[1]} classes"
        )
    inside = proba[candidates.rows, candidates.indices]
    mass = row_sum(inside, candidates.indptr)
    best = proba.argmax(axis=1)
    covered = _predicted_entry(candidates, candidates.classes[best]) >= 0
    expected = np.divide(proba[np.arange(len(proba)), best], mass, out=np.zeros(len(mass)), where=covered & (mass > 0))
    return float(np.average(expected, weights=sample_weight))


def _predicted_entry(candidates: CandidateSets, y_pred: np.ndarray) -> np.ndarray:
    """Position of each row's prediction among the candidate entries, or -1 where it is not a candidate."""
    if len(y_pred) != len(candidates):
        raise CandidateError(f"there are {len(y_pred)} predictions for {len(candidates)} rows of candidates")
    hits = np.flatnonzero(candidates.classes[candidates.indices] == y_pred[candidates.rows])
    position = np.full(len(candidates), -1)
    position[candidates.rows[hits]] = hits
    return position
