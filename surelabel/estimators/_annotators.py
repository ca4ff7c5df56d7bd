"""What is known about each annotator: accuracy, kind of mistakes, copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..solvers.crowds import CrowdFit, judge_annotator


@dataclass(frozen=True)
class Annotator:
    """One annotator, judged by the votes and features of all rows.

    Attributes
    ----------
    name : str
        The annotator.
    n_votes : int
        Number of votes.
    accuracy, interval : float, tuple of (float, float)
        Expected share of right votes (NaN without votes), and the interval that contains it with
        probability 0.9.
    confusion : ndarray of shape (l, l)
        Probabilities of a vote (column) given the truth (row).
    kind : {"usual", "constant", "random", "wrong"}
        "random": the votes carry almost no information; "constant": the same, and all are for one
        label; "wrong": right less often than by chance.
    labels : tuple
        The label of a constant annotator.
    copies : tuple of str
        Annotators who probably copied this one, or whom this one copied.
    """

    name: str
    n_votes: int
    accuracy: float
    interval: tuple[float, float]
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
            "wrong": "is wrong more often than by chance",
        }
        parts = [about[self.kind].format(*self.labels)] if self.kind in about else []
        parts += [f"same votes as {', '.join(self.copies)}"] if self.copies else []
        return "; ".join(parts)


def describe_annotators(
    votes: np.ndarray, names: Sequence[str], classes: np.ndarray, fit: CrowdFit, group: np.ndarray
) -> list[Annotator]:
    """Describe every annotator, in the order of the columns of ``votes``. Annotators who copied
    each other have equal numbers in ``group``, and share one matrix.
    """
    found = []
    for a, name in enumerate(names):
        given, members = votes[votes[:, a] >= 0, a], np.flatnonzero(group == group[a])
        accuracy, interval, kind = judge_annotator(votes[:, a], fit.posterior)
        constant = kind != "usual" and given.min() == given.max()
        found.append(
            Annotator(
                name=name,
                n_votes=len(given),
                accuracy=accuracy,
                interval=interval,
                confusion=fit.confusion[members[0]],
                kind="constant" if constant else kind,
                labels=tuple(classes[given[:1]].tolist()) if constant else (),
                copies=tuple(names[int(b)] for b in members if b != a),
            )
        )
    return found
