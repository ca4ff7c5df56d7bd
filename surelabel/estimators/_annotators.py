"""What is known about each annotator: accuracy, kind of mistakes, copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv

from ..data.ballots import FEW_VOTES, TELLS
from ..solvers.crowds import AGAINST, CrowdFit, beyond_chance

#: An annotator is called constant if at least this share of the votes is for one class.
CONSTANT = 0.95


@dataclass(frozen=True)
class Annotator:
    """One annotator, judged by the votes and features of all rows.

    Attributes
    ----------
    name : str
        The annotator.
    n_votes : int
        Number of votes.
    accuracy : float
        Expected share of right votes (NaN without votes).
    interval : tuple of (float, float)
        The interval that contains the accuracy with probability 0.9.
    agreement : float
        Share of the votes that are the label chosen (NaN without votes).
    confusion : ndarray of shape (l, l)
        Probabilities of a vote (column) given the truth (row).
    kind : {"usual", "few votes", "constant", "random", "inverts", "wrong"}
        "constant": always the same label; "random": the votes carry almost no information;
        "inverts": two labels are swapped; "wrong": right less often than by chance.
    labels : tuple
        The label of a constant annotator, or the two labels that are swapped.
    copies : tuple of str
        Annotators who probably copied this one, or were copied by this one.
    """

    name: str
    n_votes: int
    accuracy: float
    interval: tuple[float, float]
    agreement: float
    confusion: np.ndarray
    kind: str
    labels: tuple[Any, ...]
    copies: tuple[str, ...]

    @property
    def remark(self) -> str:
        """What is unusual, in words; empty if nothing is."""
        about = {
            "constant": "always says {0}",
            "random": "answers at random",
            "inverts": "inverts {0} and {1}",
            "wrong": "is wrong more often than by chance",
        }
        parts = [about[self.kind].format(*self.labels)] if self.kind in about else []
        parts += [f"same votes as {', '.join(self.copies)}"] if self.copies else []
        return "; ".join(parts)


def describe_annotators(
    votes: np.ndarray, names: Sequence[str], classes: np.ndarray, fit: CrowdFit, group: np.ndarray
) -> list[Annotator]:
    """Describe every annotator, in the order of the columns of ``votes``; copies of each other have
    equal numbers in ``group``, and share the matrix of the first of them.
    """
    best, found = fit.posterior.argmax(axis=1), []
    for a, name in enumerate(names):
        rows = np.flatnonzero(votes[:, a] != -1)
        vote, n = votes[rows, a], len(rows)
        against, label = vote <= AGAINST, np.where(vote <= AGAINST, AGAINST - vote, vote)
        share = fit.posterior[rows, label]
        right = float(np.where(against, 1 - share, share).sum())
        confusion = fit.confusion[int(np.flatnonzero(group == group[a])[0])]
        kind, labels = _kind(vote, fit.posterior[rows], confusion)
        low, high = betaincinv(right + 0.5, n - right + 0.5, (0.05, 0.95))
        found.append(
            Annotator(
                name=name,
                n_votes=n,
                accuracy=right / n if n else float("nan"),
                interval=(float(low), float(high)),
                agreement=float(np.mean((label == best[rows]) != against)) if n else float("nan"),
                confusion=confusion,
                kind=kind,
                labels=tuple(classes[list(labels)].tolist()),
                copies=tuple(
                    other for b, other in enumerate(names) if group[b] == group[a] and b != a
                ),
            )
        )
    return found


def _kind(
    vote: np.ndarray, posterior: np.ndarray, confusion: np.ndarray
) -> tuple[str, tuple[int, ...]]:
    """The kind, and the positions of the classes concerned."""
    n, n_classes = posterior.shape
    if n < FEW_VOTES:
        return "few votes", ()
    votes = np.bincount(vote[vote >= 0], minlength=n_classes) / n
    truths = posterior.mean(axis=0)
    constant = int(votes.argmax())
    beyond, error = beyond_chance(vote, posterior)
    if votes[constant] >= CONSTANT and (truths[constant] < votes[constant] - 0.1 or beyond < TELLS):
        return "constant", (constant,)
    met = truths * n >= FEW_VOTES / 2
    swapped = (confusion > 0.5) & (confusion.T > 0.5) & met & met[:, None]
    swapped &= ~np.eye(n_classes, dtype=bool)
    if swapped.any():
        first, second = (int(place[0]) for place in np.nonzero(swapped))
        return "inverts", (first, second)
    if beyond + 2 * error < 0:
        return "wrong", ()
    return ("random", ()) if beyond < TELLS else ("usual", ())
