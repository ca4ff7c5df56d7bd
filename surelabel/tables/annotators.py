"""Annotators: how often each agrees with the result, and what is odd about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..solvers.against import split_ballots


@dataclass(frozen=True)
class AnnotatorAgreement:
    """How one annotator's votes compare with the labels chosen.

    Attributes
    ----------
    name : str
        The annotator: the name of the column.
        Votes against labels are listed apart, as "name (against)".
    n_votes : int
        Number of rows the annotator labelled.
    agreement : float
        Share of these on which the vote is the label chosen, or a vote against a label not
        (NaN without votes).
    n_gold : int
        Number of votes on rows whose true label is known.
    gold_agreement : float or None
        Share of those that are right; None without any.
    confusion : ndarray of shape (l, l)
        Number of votes by label chosen (row) and vote (column).
    most_confused : tuple of (int, int, int) or None
        The most frequent disagreement: label chosen, vote, number of rows; None where there is
        none.
    remark : str
        What is unusual about the annotator, in words: always gives the same label, answers at
        random, swaps two labels, copies another. Empty if nothing is.
    against : bool
        Whether these are votes against labels.
    """

    name: str
    n_votes: int
    agreement: float
    n_gold: int
    gold_agreement: float | None
    confusion: np.ndarray
    most_confused: tuple[int, int, int] | None
    remark: str = ""
    against: bool = False


def annotator_agreement(
    votes: np.ndarray,
    names: Sequence[str],
    label: np.ndarray,
    gold: np.ndarray,
    n_classes: int,
    remarks: Mapping[str, str] | None = None,
) -> list[AnnotatorAgreement]:
    """Compare every annotator's votes with the result.

    Parameters
    ----------
    votes : ndarray of shape (m, annotators)
        Positions in the classes, -1 where there is no vote, ``-2 - k`` for one against ``k``.
    names : sequence of str
        The annotators.
    label : ndarray of shape (m,)
        The labels chosen.
    gold : ndarray of shape (m,)
        Known-true labels, -1 where unknown.
    n_classes : int
        Number of classes.
    remarks : mapping of str to str, default=None
        What is odd about annotators.

    Returns
    -------
    list of AnnotatorAgreement
        Those who agree least with the result come first.
    """
    ballots = split_ballots(votes, n_classes)
    found = [
        replace(
            _agreement(vote, name, label, gold, n_classes, against),
            remark=(remarks or {}).get(name, ""),
        )
        for vote, name, against in zip(
            ballots.votes.T, ballots.names(names), ballots.against.tolist(), strict=True
        )
    ]
    return sorted(found, key=lambda person: (person.n_votes == 0, person.agreement))


def krippendorff_alpha(votes: np.ndarray, n_classes: int) -> float | None:
    """Agreement beyond chance: 1 if all annotators always agree, 0 if they agree as often as votes
    shuffled at random would.

    Parameters
    ----------
    votes : ndarray of shape (m, annotators)
        Positions in the classes, -1 where there is no vote.
    n_classes : int
        Number of classes.

    Returns
    -------
    float or None
        None if no row has two votes, or if there are no two labels to compare.

    References
    ----------
    K. Krippendorff. Content analysis: an introduction to its methodology. Sage, 1980 (nominal
    data).
    """
    m = len(votes)
    rows, who = np.nonzero(votes >= 0)
    counts = np.bincount(rows * n_classes + votes[rows, who], minlength=m * n_classes)
    counts = counts.reshape(m, n_classes)[np.bincount(rows, minlength=m) > 1]
    total = counts.sum(axis=1, keepdims=True)
    # pairs of different votes for the same row, and among all votes
    observed = np.sum(counts * (total - counts) / np.maximum(total - 1, 1))
    frequency = counts.sum(axis=0)
    expected = np.sum(frequency * (frequency.sum() - frequency)) / max(frequency.sum() - 1, 1)
    return float(1 - observed / expected) if expected else None


def _agreement(
    vote: np.ndarray,
    name: str,
    label: np.ndarray,
    gold: np.ndarray,
    n_classes: int,
    against: bool,
) -> AnnotatorAgreement:
    given = vote >= 0
    known = given & (gold >= 0)
    confusion = np.bincount(label[given] * n_classes + vote[given], minlength=n_classes**2).reshape(
        n_classes, n_classes
    )
    same = np.diag(confusion.diagonal())
    wrong = same if against else confusion - same
    chosen, voted = np.unravel_index(wrong.argmax(), wrong.shape)
    most = int(wrong[chosen, voted])
    n_votes, n_gold = int(given.sum()), int(known.sum())
    return AnnotatorAgreement(
        name=name,
        n_votes=n_votes,
        agreement=1 - float(wrong.sum() / n_votes) if n_votes else float("nan"),
        n_gold=n_gold,
        gold_agreement=float(np.mean((vote[known] == gold[known]) != against)) if n_gold else None,
        confusion=confusion,
        most_confused=(int(chosen), int(voted), most) if most else None,
        against=against,
    )
