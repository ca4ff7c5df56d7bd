"""Votes of known annotators as candidates, without the votes that are not informative."""

from __future__ import annotations

import numpy as np

from ..solvers.against import split_ballots
from ..solvers.crowds import TELLS, alternate_crowd, beyond_chance
from ..solvers.segments import row_max
from ._entries import net_votes
from .candidates import CandidateSets

#: An annotator with fewer votes is not judged.
FEW_VOTES = 10


def informative_rows(candidates: CandidateSets) -> np.ndarray:
    """Whether the candidates of each row are informative: not every label, or not equally
    weighted.
    """
    informative = candidates.sizes < candidates.shape[1]
    counts = candidates.counts
    if counts is not None and len(counts):
        informative |= row_max(counts, candidates.indptr) > -row_max(-counts, candidates.indptr)
    return np.asarray(informative)


def weighed_votes(candidates: CandidateSets) -> CandidateSets:
    """The candidates, weighted by what the votes of each annotator are worth.

    Methods that learn from sets treat every vote as a candidate. An annotator who always gives the
    same label, or answers at random, would add useless candidates to the sets, so the votes of such
    annotators are left out, and copies count as one. The worth of each annotator is found from the
    votes alone (:func:`surelabel.solvers.crowds.alternate_crowd`);
    :class:`~surelabel.CrowdClassifier` uses the features, too.

    Parameters
    ----------
    candidates : CandidateSets
        The candidates; without votes of several annotators they are returned unchanged.

    Returns
    -------
    CandidateSets
        With counts and without votes. A row whose votes are all left out may have every label.
    """
    votes, classes = candidates.votes, candidates.classes
    if votes is None or votes.shape[1] < 2:
        return candidates
    ballots = split_ballots(votes, len(classes))
    fit = alternate_crowd(ballots.votes, len(classes), against=ballots.against, owner=ballots.owner)
    telling = np.zeros(len(ballots.owner), bool)
    for a, (vote, against) in enumerate(zip(ballots.votes.T, ballots.against, strict=True)):
        rows = np.flatnonzero(vote >= 0)
        telling[a] = (
            len(rows) < FEW_VOTES
            or beyond_chance(vote[rows], fit.posterior[rows], against)[0] >= TELLS
        )
    rows, who = np.nonzero((ballots.votes >= 0) & telling)
    if not len(rows):
        return candidates
    indptr, indices, counts = net_votes(
        rows,
        ballots.votes[rows, who],
        ballots.against[who],
        fit.weight[who],
        (len(votes), len(classes)),
    )
    return CandidateSets(indptr, indices, classes, counts, unlabelled="all")
