"""Votes of known annotators as candidates, without uninformative votes."""

from __future__ import annotations

import numpy as np

from ..solvers.copied_votes import merge_copies
from ..solvers.crowds import Tally, alternate_crowd, judge_annotator
from ..solvers.sparse_rows import row_max
from .candidates import CandidateSets


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
    """The candidates, weighted by what the votes of each annotator are worth: with counts and
    without votes. Without votes of several annotators they are returned unchanged.

    Methods that learn from sets treat every vote as a candidate. An annotator who always gives the
    same label, or answers at random, would add useless candidates to the sets, so the votes of such
    annotators are left out, and copies count as one. The worth of each annotator is found from the
    votes alone (:func:`surelabel.solvers.crowds.alternate_crowd`);
    :class:`~surelabel.CrowdClassifier` uses the features, too. A row whose votes are all left out
    may have every label.
    """
    votes, classes = candidates.votes, candidates.classes
    if votes is None or votes.shape[1] < 2:
        return candidates
    merged = merge_copies(votes, len(classes))[0].copy()
    posterior = alternate_crowd(Tally(merged, len(classes))).posterior
    for a, vote in enumerate(merged.T):
        if judge_annotator(vote, posterior)[2] != "usual":
            merged[:, a] = -1
    if not (merged != -1).any():
        return candidates
    kept = CandidateSets.from_ballots(merged, classes)
    return CandidateSets(kept.indptr, kept.indices, classes, kept.counts)
