"""Annotators: how much each vote says about the truth, and how far each annotator agrees with the
result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from .calibration import FLOOR

#: Votes for a class from which on an annotator's own matrix outweighs that of all annotators.
POOLING = 10.0
#: Rounds of expectation and maximisation: the matrices then change in the third decimal.
ITERATIONS = 20
#: Gold rows from which on they say more about annotators than the others do at the start.
ENOUGH_GOLD = 10
#: Rows used at most to find the matrices.
MAX_ROWS = 20_000


@dataclass(frozen=True)
class AnnotatorAgreement:
    """How one annotator's votes compare with the labels chosen.

    Attributes
    ----------
    name : str
        The annotator: the name of the column.
    n_votes : int
        Number of rows the annotator labelled.
    agreement : float
        Share of these on which the vote is the label chosen (NaN without votes).
    n_gold : int
        Number of votes on rows whose true label is known.
    gold_agreement : float or None
        Share of those that are right; None without any.
    confusion : ndarray of shape (l, l)
        Number of votes by label chosen (row) and vote (column).
    most_confused : tuple of (int, int, int) or None
        The most frequent disagreement: label chosen, vote, number of rows; None where there is
        none.
    """

    name: str
    n_votes: int
    agreement: float
    n_gold: int
    gold_agreement: float | None
    confusion: np.ndarray
    most_confused: tuple[int, int, int] | None


def annotator_agreement(
    votes: np.ndarray, names: Sequence[str], label: np.ndarray, gold: np.ndarray, n_classes: int
) -> list[AnnotatorAgreement]:
    """Compare every annotator's votes with the result.

    Parameters
    ----------
    votes : ndarray of shape (m, annotators)
        Positions in the classes, -1 where there is no vote.
    names : sequence of str
        The annotators.
    label : ndarray of shape (m,)
        The labels chosen.
    gold : ndarray of shape (m,)
        Known-true labels, -1 where unknown.
    n_classes : int
        Number of classes.

    Returns
    -------
    list of AnnotatorAgreement
        In the order of the columns.
    """
    return [_agreement(votes[:, a], name, label, gold, n_classes) for a, name in enumerate(names)]


def vote_likelihood(
    votes: np.ndarray, proba: np.ndarray, gold: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Log-likelihood of each row's votes under every class, by Dawid and Skene's model with the
    features as a prior.

    Votes of a row are taken to be independent given its true label, each annotator ``a`` with a
    confusion matrix of their own. Expectation-maximisation finds the matrices; where Dawid and
    Skene have one prior for all rows, ``proba`` is each row's own.

    Parameters
    ----------
    votes : ndarray of shape (m, annotators)
        Positions in the classes, -1 where there is no vote.
    proba : ndarray of shape (m, l)
        Probabilities of the classes from the features, by models that did not learn from the row.
    gold : ndarray of shape (m,)
        Known-true labels, -1 where unknown.
    rng : numpy Generator
        Draws the rows to find the matrices by.

    Returns
    -------
    ndarray of shape (m, l)

    References
    ----------
    A. P. Dawid and A. M. Skene. Maximum likelihood estimation of observer error-rates using the EM
    algorithm. Applied Statistics 28(1), 1979.
    """
    n_classes = proba.shape[1]
    rows = np.sort(rng.permutation(len(votes))[:MAX_ROWS])
    ballots, known = votes[rows], np.flatnonzero(gold[rows] >= 0)
    log_prior = np.log(np.maximum(proba[rows], FLOOR)).astype(float)
    # Before anything is known of the annotators: the features, with every vote counting as one.
    # Where there is gold, what it says of them: from the wrong start, a wrong majority would stay
    # right in its own eyes.
    posterior = softmax(
        log_prior + np.stack([np.sum(ballots == k, axis=1) for k in range(n_classes)], axis=1),
        axis=1,
    )
    posterior[known] = np.eye(n_classes)[gold[rows][known]]
    start = known if len(known) >= ENOUGH_GOLD else slice(None)
    matrices = _confusions(ballots[start], posterior[start])
    for _ in range(ITERATIONS):
        posterior = softmax(log_prior + _log_likelihood(ballots, matrices), axis=1)
        posterior[known] = np.eye(n_classes)[gold[rows][known]]
        matrices = _confusions(ballots, posterior)
    return _log_likelihood(votes, matrices)


def _confusions(votes: np.ndarray, posterior: np.ndarray) -> np.ndarray:
    """Each annotator's probabilities of a vote (last axis) given the truth, drawn to those of all
    annotators together.
    """
    n_classes = posterior.shape[1]
    counts = np.stack(
        [
            np.stack(
                [posterior[votes[:, a] == label].sum(axis=0) for label in range(n_classes)], axis=1
            )
            for a in range(votes.shape[1])
        ]
    )
    together = counts.sum(axis=0)
    right = (together.trace() + 1) / (together.sum() + 2)
    simple = np.full((n_classes, n_classes), (1 - right) / max(n_classes - 1, 1))
    np.fill_diagonal(simple, right)
    pooled = (together + POOLING * simple) / (together.sum(axis=1, keepdims=True) + POOLING)
    return np.asarray((counts + POOLING * pooled) / (counts.sum(axis=2, keepdims=True) + POOLING))


def _log_likelihood(votes: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """``Σ_a log P(vote of a | class)`` for every row and class."""
    total = np.zeros((len(votes), matrices.shape[1]), np.float32)
    for a, matrix in enumerate(matrices):
        given = votes[:, a] >= 0
        total[given] += np.log(matrix.T)[votes[given, a]]
    return total


def _agreement(
    vote: np.ndarray, name: str, label: np.ndarray, gold: np.ndarray, n_classes: int
) -> AnnotatorAgreement:
    given = vote >= 0
    known = given & (gold >= 0)
    confusion = np.bincount(label[given] * n_classes + vote[given], minlength=n_classes**2).reshape(
        n_classes, n_classes
    )
    wrong = confusion - np.diag(confusion.diagonal())
    chosen, voted = np.unravel_index(wrong.argmax(), wrong.shape)
    most = int(wrong[chosen, voted])
    n_votes, n_gold = int(given.sum()), int(known.sum())
    return AnnotatorAgreement(
        name=name,
        n_votes=n_votes,
        agreement=float(confusion.trace() / n_votes) if n_votes else float("nan"),
        n_gold=n_gold,
        gold_agreement=float(np.mean(vote[known] == gold[known])) if n_gold else None,
        confusion=confusion,
        most_confused=(int(chosen), int(voted), most) if most else None,
    )
