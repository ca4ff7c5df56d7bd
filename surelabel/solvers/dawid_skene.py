"""Majority vote and Dawid and Skene's method, the usual references for models of votes."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from .crowds import Tally


def majority(votes: np.ndarray, n_classes: int) -> np.ndarray:
    """Each class's share of the votes of each row; see :meth:`Tally.shares`."""
    return Tally(votes, n_classes).shares()


def dawid_skene(
    votes: np.ndarray, n_classes: int, *, max_iter: int = 100, tol: float = 1e-5
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the classes (m × l) and confusion matrices (annotators × l × l) by Dawid and
    Skene's method, which ends when no probability changes by more than ``tol``. ``votes`` are as in
    :class:`Tally`; rows of a matrix for classes that an annotator never saw are even.

    References
    ----------
    A. P. Dawid and A. M. Skene. Maximum likelihood estimation of observer error-rates using the EM
    algorithm. Applied Statistics 28(1), 1979.
    """
    tally = Tally(votes, n_classes)
    posterior = tally.shares()
    for _ in range(max_iter):
        counts = tally.counts(posterior)
        met = counts.sum(axis=2, keepdims=True)
        confusion = np.divide(counts, met, out=np.full_like(counts, 1 / n_classes), where=met > 0)
        with np.errstate(divide="ignore"):  # an impossible class stays impossible
            prior = np.log(posterior.mean(axis=0))
        before, posterior = posterior, softmax(prior + tally.evidence(confusion), axis=1)
        if np.abs(posterior - before).max() <= tol:
            break
    return posterior, confusion
