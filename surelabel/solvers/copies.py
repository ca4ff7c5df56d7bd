"""Annotators who copy each other: with the same labels, or with labels exchanged.

If two annotators agree on a share ``o`` of their common rows, while independent votes would agree
on a share ``e``, their dependence is ``ρ = (o - e) / (1 - e)``: 1 for a copy. A mirror gives the
label ``σ(v)`` wherever the other gives ``v``: it adds no information either, and its agreement is
that of ``σ(v)`` with the votes. ``σ`` is the assignment of labels with which they agree most.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

if TYPE_CHECKING:
    from .crowds import Tally

#: Two annotators are compared if they have at least this many common rows.
COMMON_ROWS = 10
#: Mirrors are searched for if there are at least this many common rows per class: with fewer, some
#: assignment always fits.
MIRROR_ROWS = 5
#: Mirrors are searched for among at most this many annotators.
MIRRORED = 100
#: Agreement beyond chance that looks like copying before anything is known about the truth.
LIKE_COPIES = 0.7
SMALLEST = 1e-6


class Mirror(NamedTuple):
    """Two annotators, the label of the second for each label of the first, and how often it
    fits.
    """

    first: int
    second: int
    labels: np.ndarray
    observed: float
    common: int


def find_mirrors(votes: np.ndarray, n_classes: int) -> list[Mirror]:
    """Pairs of annotators who agree more often than not under an assignment of labels, and more
    often than without it.

    Parameters
    ----------
    votes : ndarray of shape (m, annotators)
        Positions of classes, -1 where there is no vote.
    n_classes : int
        Number of classes.

    Returns
    -------
    list of Mirror
        Empty if there are more than 100 annotators.
    """
    n_annotators = votes.shape[1]
    if n_annotators > MIRRORED:
        return []
    found = []
    for a in range(n_annotators):
        for b in range(a + 1, n_annotators):
            both = (votes[:, a] >= 0) & (votes[:, b] >= 0)
            common = int(both.sum())
            if common < MIRROR_ROWS * n_classes:
                continue
            pairs = votes[both, a].astype(np.int64) * n_classes + votes[both, b]
            joint = np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes)
            labels = linear_sum_assignment(joint, maximize=True)[1]
            agree = joint[np.arange(n_classes), labels].sum()
            if agree > common / 2 and agree > 2 * joint.trace():
                found.append(Mirror(a, b, labels, float(agree / common), common))
    return found


def _with_mirrors(
    tally: Tally, found: np.ndarray, joint: Callable[[int, int], np.ndarray]
) -> np.ndarray:
    """Dependence, including that of mirrors; ``joint`` gives the probabilities of two independent
    votes.
    """
    for mirror in tally.mirrors:
        a, b = mirror.first, mirror.second
        expected = joint(a, b)[np.arange(tally.n_classes), mirror.labels].sum()
        found[a, b] = found[b, a] = _beyond(mirror.observed, expected, mirror.common)
    return found


def _beyond(observed: Any, expected: Any, common: Any) -> Any:
    """``(o - e - 2 s) / (1 - e)``, at least 0."""
    likely = (observed * common + 1) / (common + 2)
    error = np.sqrt(likely * (1 - likely) / np.maximum(common, 1))
    return np.clip((observed - expected - 2 * error) / np.maximum(1 - expected, SMALLEST), 0, 1)


def chance_dependence(tally: Tally) -> np.ndarray:
    """Agreement of two annotators beyond chance (Cohen's kappa) if it looks like copying; otherwise
    0.
    """
    frequency = tally.frequencies()
    found = _dependence(tally, frequency @ frequency.T)
    found = _with_mirrors(tally, found, lambda a, b: np.outer(frequency[a], frequency[b]))
    return np.where(found > LIKE_COPIES, found, 0)


def dependence(tally: Tally, posterior: np.ndarray, confusion: np.ndarray) -> np.ndarray:
    """``ρ`` of two annotators, minus two standard errors: agreement beyond that of independent
    votes.

    Parameters
    ----------
    tally : Tally
        The votes.
    posterior : ndarray of shape (m, l)
        Probabilities of the classes.
    confusion : ndarray of shape (annotators, l, l)
        The confusion matrices.

    Returns
    -------
    ndarray of shape (annotators, annotators)
        0 on the diagonal, and where fewer than 10 rows are common.
    """
    expected = np.zeros((tally.n_annotators, tally.n_annotators))
    for truth in range(tally.n_classes):
        expected += tally.common(posterior[:, truth]) * (
            confusion[:, truth] @ confusion[:, truth].T
        )
    found = _dependence(tally, expected / np.maximum(tally.common(), 1))

    def joint(a: int, b: int) -> np.ndarray:
        both = (tally.votes[:, a] >= 0) & (tally.votes[:, b] >= 0)
        return np.asarray((confusion[a].T * posterior[both].mean(axis=0)) @ confusion[b])

    return _with_mirrors(tally, found, joint)


def _dependence(tally: Tally, expected: np.ndarray) -> np.ndarray:
    """``(o - e - 2 s) / (1 - e)`` of every pair."""
    common = tally.common()
    observed = tally.same() / np.maximum(common, 1)
    found = _beyond(observed, expected, common)
    found[common < COMMON_ROWS] = 0
    np.fill_diagonal(found, 0)
    return found
