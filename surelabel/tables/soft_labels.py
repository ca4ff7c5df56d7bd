"""Soft labels: how many votes, or which probability, each class of each row has."""

from __future__ import annotations

import numpy as np

from ..data.candidates import CandidateSets

#: Share of a row's votes that its likely labels have together.
LIKELY = 0.9


def likely_sets(candidates: CandidateSets) -> CandidateSets:
    """The fewest labels of every row that together have 90 % of its votes, with their shares."""
    counts = candidates.to_counts()
    total = counts.sum(axis=1, keepdims=True)
    even = np.full(counts.shape, 1 / counts.shape[1])  # where there are none
    shares = np.divide(counts, total, out=even, where=total > 0)
    order = np.argsort(-shares, axis=1, kind="stable")
    sorted_shares = np.take_along_axis(shares, order, axis=1)
    # A label is needed as long as those before it have less.
    needed = np.cumsum(sorted_shares, axis=1) - sorted_shares < LIKELY - 1e-9
    kept = np.zeros(shares.shape, bool)
    np.put_along_axis(kept, order, needed & (sorted_shares > 0), axis=1)
    return CandidateSets.from_counts(np.where(kept, shares, 0), classes=candidates.classes)
