"""Votes against labels: "whatever it is, it is not k".

They stand in columns of their own, as if somebody else had cast them: how often somebody is right
about what a row is not has little to do with how often about what it is. ``C_a[z, v]`` is then the
probability of a vote against ``v`` if ``z`` is the truth. Its simple form has somebody who knows
the truth with probability ``α_a`` and rules out another label, or else any label, by the habit
``π_a``:

    α_a [v ≠ z] π_a(v) / (1 - π_a(z)) + (1 - α_a) π_a(v).

So a vote against a label counts for all others alike, and that of somebody with ``α_a = 0`` for
nothing, although it is right ``l - 1`` times of ``l`` by chance.

Somebody who both names labels and rules out labels, as the answers "yes" and "no" to a label that
is shown, has one ``α_a`` for both: votes against labels alone say too little about who cast them,
so that two labels could explain almost all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

#: What stands in a matrix of votes for one against class ``k`` is ``AGAINST - k``.
AGAINST = -2
#: Number of votes that the mean of all annotators counts for in the estimate of ``α_a``.
POOLING = 4.0
#: The values of ``α_a`` that are compared for somebody who votes for and against labels.
KNOWS = np.linspace(0.01, 0.99, 50)
#: A label that somebody always rules out leaves this for the others.
LEAST_REST = 1e-3


class Ballots(NamedTuple):
    """Votes, those against labels in columns of their own.

    Attributes
    ----------
    votes : ndarray of shape (m, columns)
        Positions of classes, -1 where there is no vote.
    against : ndarray of shape (columns,) of bool
        Whether the votes of a column are against the classes that they name.
    owner : ndarray of shape (columns,) of int
        The annotator of each column.
    """

    votes: np.ndarray
    against: np.ndarray
    owner: np.ndarray

    @property
    def mixed(self) -> bool:
        """Whether somebody cast votes for and against labels."""
        return len(np.unique(self.owner)) < len(self.owner)

    def names(self, annotators: Sequence[str]) -> tuple[str, ...]:
        """The names of the columns: "name (against)" for somebody's votes against labels."""
        return tuple(
            f"{annotators[who]} (against)" if against else annotators[who]
            for who, against in zip(self.owner, self.against, strict=True)
        )


def split_ballots(votes: np.ndarray, n_classes: int) -> Ballots:
    """Part the votes against labels from the others.

    Parameters
    ----------
    votes : ndarray of shape (m, annotators)
        Positions of classes, -1 where there is no vote, ``-2 - k`` for one against class ``k``.
    n_classes : int
        Number of classes; of two, a vote against one is a vote for the other.

    Returns
    -------
    Ballots
        The annotators in their order (without those who only voted against labels), then those who
        voted against any.
    """
    ruled_out = np.where(votes <= AGAINST, AGAINST - votes, -1)
    named = np.maximum(votes, -1)
    if n_classes == 2:
        named, ruled_out = np.where(ruled_out < 0, named, 1 - ruled_out), ruled_out[:, :0]
    negative = np.flatnonzero(np.any(ruled_out >= 0, axis=0))
    positive = np.setdiff1d(
        np.arange(votes.shape[1]), negative[~np.any(named[:, negative] >= 0, axis=0)]
    )
    return Ballots(
        np.hstack([named[:, positive], ruled_out[:, negative]]),
        np.repeat([False, True], [len(positive), len(negative)]),
        np.concatenate([positive, negative]),
    )


def simple_against(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The simple matrices of votes against labels, ``α_a`` by expectation-maximisation.

    Parameters
    ----------
    counts : ndarray of shape (columns, l, l)
        Votes against labels (last axis) by truth.

    Returns
    -------
    simple : ndarray of shape (columns, l, l)
    knows : ndarray of shape (columns,)
        ``α_a``.
    """
    n_classes = counts.shape[1]
    total, votes = counts.sum(axis=(1, 2)), counts.sum(axis=1)
    usual = (votes.sum(axis=0) + 1) / (votes.sum() + n_classes)
    habit = (votes + usual) / (total[:, None] + 1)
    rest = np.maximum(1 - habit, LEAST_REST)
    possible = counts.sum(axis=2) - np.einsum("akk->ak", counts)  # by truth: of another label
    knows = np.full(len(counts), 0.7)
    for _ in range(20):
        ruled_out = (knows / rest.T).T
        known = possible * ruled_out / (ruled_out + (1 - knows)[:, None])
        together = np.clip(knows @ total / max(total.sum(), 1), 0.3, 0.95)
        knows = (known.sum(axis=1) + POOLING * together) / (total + POOLING)
    return _ruling_out(knows, habit), knows


def _ruling_out(knows: np.ndarray, habit: np.ndarray) -> np.ndarray:
    """The simple matrices for given ``α_a`` and ``π_a``."""
    rest = np.maximum(1 - habit, LEAST_REST)
    others = (1 - np.eye(habit.shape[1])) * habit[:, None] / rest[:, :, None]
    others /= others.sum(axis=2, keepdims=True)
    alpha = knows[:, None, None]
    return np.asarray(alpha * others + (1 - alpha) * habit[:, None])


def simple_both(counts: np.ndarray) -> tuple[np.ndarray, float]:
    """The simple matrices of somebody's votes for labels and against labels, with the ``α_a`` that
    makes both most likely.

    Parameters
    ----------
    counts : ndarray of shape (2, l, l)
        Votes for labels, and against labels (last axis), by truth.

    Returns
    -------
    simple : ndarray of shape (2, l, l)
    knows : float
        ``α_a``.
    """
    n_classes = counts.shape[1]
    votes = counts.sum(axis=1)
    habit = (votes + 1 / n_classes) / (votes.sum(axis=1, keepdims=True) + 1)
    tried = len(KNOWS)
    naming = np.multiply.outer(KNOWS, np.eye(n_classes))
    naming += (1 - KNOWS)[:, None, None] * habit[0]
    ruling_out = _ruling_out(KNOWS, np.tile(habit[1], (tried, 1)))
    simple = np.maximum(np.stack([naming, ruling_out], axis=1), 1e-12)
    likelihood = np.einsum("szv,tszv->t", counts, np.log(simple))
    # as if there were POOLING more votes, three quarters of them by somebody who knows
    likelihood += POOLING * (0.75 * np.log(KNOWS) + 0.25 * np.log(1 - KNOWS))
    best = int(np.argmax(likelihood))
    return simple[best], float(KNOWS[best])
