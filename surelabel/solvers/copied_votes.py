"""Annotators who copy each other, and their votes merged into one.

Good annotators agree because they are right. Copies also agree where they are wrong: where one of
them differs from most of the others, the other one gives the same label.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

#: Two annotators are copies if they share at least this part of the votes in which they differ from
#: the others, each on at least this many rows. In the real crowds with features, annotators share
#: .75 at most.
COPIED, COPIED_ROWS = 0.87, 20


def merge_copies(votes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Keep one vote per row of annotators who copy each other.

    Parameters
    ----------
    votes : ndarray of shape (m, annotators)
        Positions of classes, -1 where there is no vote.
    n_classes : int
        Number of classes.

    Returns
    -------
    votes : ndarray of shape (m, annotators)
        Where several copies of each other voted, only the vote of the first is left.
    group : ndarray of int of shape (annotators,)
        Equal numbers for copies of each other.
    """
    m, n = votes.shape
    rows, who = np.nonzero(votes >= 0)
    label, ones = votes[rows, who], np.ones(len(rows))
    voted = sparse.csr_array((ones, (rows, who)), shape=votes.shape)
    cast = sparse.csr_array((ones, (rows * n_classes + label, who)), shape=(m * n_classes, n))
    common, same = ((each.T @ each).toarray() for each in (voted, cast))
    total = np.bincount(rows * n_classes + label, minlength=m * n_classes)
    total = total.reshape(m, n_classes)
    # Where copies disagree, one of them differs from the others, which is rare for both.
    alike = np.triu((common >= COPIED_ROWS) & (same >= (2 * COPIED - 1) * common), 1)
    pairs = []
    by_annotator = voted.tocsc()
    rows_of = np.split(by_annotator.indices, by_annotator.indptr[1:-1])
    for a, b in zip(*np.nonzero(alike), strict=True):
        both = np.intersect1d(rows_of[a], rows_of[b], assume_unique=True)
        if _are_copies(votes[both, a], votes[both, b], total[both]):
            pairs.append((a, b))
    if not pairs:
        return votes, np.arange(n)
    links = sparse.csr_array((np.ones(len(pairs)), tuple(np.array(pairs).T)), shape=(n, n))
    group = connected_components(links, directed=False)[1]
    votes = votes.copy()
    for members in (np.flatnonzero(group == g) for g in np.flatnonzero(np.bincount(group) > 1)):
        cast = votes[:, members] >= 0
        votes[:, members] = np.where(cast & (np.cumsum(cast, axis=1) > 1), -1, votes[:, members])
    return votes, group


def _are_copies(first: np.ndarray, second: np.ndarray, total: np.ndarray) -> bool:
    """Whether two annotators share the votes in which they differ from most of the others;
    ``total`` counts the votes for each class on the same rows.
    """
    each, others = np.arange(len(first)), total.copy()
    np.subtract.at(others, (each, first), 1)
    np.subtract.at(others, (each, second), 1)
    clear = np.sum(others == others.max(axis=1, keepdims=True), axis=1) == 1
    differ = [clear & (vote != others.argmax(axis=1)) for vote in (first, second)]
    if min(which.sum() for which in differ) < COPIED_ROWS:
        return False
    return all(np.mean(first[which] == second[which]) >= COPIED for which in differ)
