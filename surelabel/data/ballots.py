"""Candidates that are votes of known annotators, without those that tell nothing."""

from __future__ import annotations

import numpy as np

from ..solvers.crowds import TELLS, alternate_crowd, beyond_chance
from ..solvers.segments import row_max
from .candidates import CandidateSets

#: Votes below which nothing is said of an annotator.
FEW_VOTES = 10


def informative_rows(candidates: CandidateSets) -> np.ndarray:
    """Whether the candidates of each row say something: not every label, or not all alike."""
    informative = candidates.sizes < candidates.shape[1]
    counts = candidates.counts
    if counts is not None and len(counts):
        informative |= row_max(counts, candidates.indptr) > -row_max(-counts, candidates.indptr)
    return np.asarray(informative)


def weighed_votes(candidates: CandidateSets) -> CandidateSets:
    """The candidates by what the votes of each annotator are worth.

    Methods that learn from sets would take every vote for a candidate. Somebody who always says
    the same, or answers at random, would put a label into the sets that predictions can please
    everybody with: the votes of such annotators are left out, and copies count as one. What each
    is worth, the votes alone say (:func:`surelabel.solvers.crowds.alternate_crowd`);
    :class:`~surelabel.CrowdClassifier` asks the features, too.

    Parameters
    ----------
    candidates : CandidateSets
        Any; without votes of several annotators they are returned as they are.

    Returns
    -------
    CandidateSets
        With counts and without votes. A row whose votes are all left out may have every label.
    """
    votes, classes = candidates.votes, candidates.classes
    if votes is None or votes.shape[1] < 2:
        return candidates
    fit = alternate_crowd(votes, len(classes))
    telling = np.zeros(votes.shape[1], bool)
    for a, vote in enumerate(votes.T):
        rows = np.flatnonzero(vote >= 0)
        telling[a] = (
            len(rows) < FEW_VOTES or beyond_chance(vote[rows], fit.posterior[rows])[0] >= TELLS
        )
    rows, who = np.nonzero((votes >= 0) & telling)
    if not len(rows):
        return candidates
    return CandidateSets(
        np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(votes)))]),
        votes[rows, who],
        classes,
        fit.weight[who],
        unlabelled="all",
    )
