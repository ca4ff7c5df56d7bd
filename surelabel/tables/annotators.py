"""Annotators: how often each agrees with the result, and what is odd about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


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
        Share of votes that are for the label chosen; NaN without votes.
    n_gold : int
        Number of votes on rows whose true label is known.
    gold_agreement : float or None
        Share of those that are right; None if there are none.
    most_confused : tuple of (int, int, int) or None
        The most frequent disagreement: label chosen, vote, number of rows; None if there is none.
    remark : str
        What is unusual about the annotator, in words: always gives the same label, answers at
        random, is wrong more often than by chance, votes like another. Empty if nothing is unusual.
    """

    name: str
    n_votes: int
    agreement: float
    n_gold: int
    gold_agreement: float | None
    most_confused: tuple[int, int, int] | None
    remark: str = ""


def annotator_agreement(
    votes: np.ndarray,
    names: Sequence[str],
    label: np.ndarray,
    gold: np.ndarray,
    remarks: Mapping[str, str],
) -> list[AnnotatorAgreement]:
    """Compare every annotator's votes with the labels chosen; those who agree least come first.

    Votes (a column per annotator), labels and gold are positions in the classes, -1 where there is
    none.
    """
    n_classes = int(max(label.max(), votes.max())) + 1
    found = [
        _compare_votes(vote, name, label, gold, n_classes, remarks.get(name, ""))
        for vote, name in zip(votes.T, names, strict=True)
    ]
    return sorted(found, key=lambda person: (person.n_votes == 0, person.agreement))


def krippendorff_alpha(votes: np.ndarray, n_classes: int) -> float | None:
    """Agreement beyond chance: 1 if all annotators always agree, 0 if they agree as often as votes
    shuffled at random would. None if no row has two votes, or if all votes in such rows are for the
    same label.

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
    # Pairs of different votes, in the same row and among all votes.
    observed = np.sum(counts * (total - counts) / np.maximum(total - 1, 1))
    frequency = counts.sum(axis=0)
    expected = np.sum(frequency * (frequency.sum() - frequency)) / max(frequency.sum() - 1, 1)
    return float(1 - observed / expected) if expected else None


def _compare_votes(
    vote: np.ndarray, name: str, label: np.ndarray, gold: np.ndarray, n_classes: int, remark: str
) -> AnnotatorAgreement:
    given = vote >= 0
    known = given & (gold >= 0)
    pairs = label[given] * n_classes + vote[given]
    confusion = np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes)
    wrong = confusion - np.diag(confusion.diagonal())
    chosen, voted = np.unravel_index(wrong.argmax(), wrong.shape)
    most = int(wrong[chosen, voted])
    n_votes, n_gold = int(given.sum()), int(known.sum())
    return AnnotatorAgreement(
        name=name,
        n_votes=n_votes,
        agreement=float(np.mean(vote[given] == label[given])) if n_votes else float("nan"),
        n_gold=n_gold,
        gold_agreement=float(np.mean(vote[known] == gold[known])) if n_gold else None,
        most_confused=(int(chosen), int(voted), most) if most else None,
        remark=remark,
    )
