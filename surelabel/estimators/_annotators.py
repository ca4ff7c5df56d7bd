"""What is known about each annotator: accuracy, kind of mistakes, copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import betaincinv

from ..data.ballots import FEW_VOTES
from ..solvers.against import Ballots
from ..solvers.crowds import TELLS, CrowdFit, Tally, beyond_chance

#: An annotator is called constant if at least this share of the votes is for one class.
CONSTANT = 0.95
#: Two annotators are called copies if their dependence is at least this.
COPIES = 0.5


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
    weight : float
        The weight of a vote relative to an independent one: 1/k for each of k copies.
    kind : {"usual", "few votes", "constant", "random", "unconfirmed", "inverts", "wrong"}
        "constant": always the same label; "random": the votes carry almost no information;
        "unconfirmed": there are no other votes, and the features do not agree with these;
        "inverts": two labels are swapped; "wrong": right less often than by chance.
    labels : tuple
        The label of a constant annotator, or the two labels that are swapped.
    copies : tuple of str
        Annotators who probably copied this one, or were copied by this one.
    mirrors : tuple of str
        Annotators whose votes follow from this one's, with other labels, and so add no information.
    against : bool
        Whether these are somebody's votes against labels: right if the truth is another one.
    """

    name: str
    n_votes: int
    accuracy: float
    interval: tuple[float, float]
    agreement: float
    confusion: np.ndarray
    weight: float
    kind: str
    labels: tuple[Any, ...]
    copies: tuple[str, ...]
    # A plain default would be an attribute of the class, which model files may not set.
    mirrors: tuple[str, ...] = field(default_factory=tuple)
    against: bool = field(default_factory=bool)

    @property
    def remark(self) -> str:
        """What is unusual, in words; empty if nothing is."""
        about = {
            "constant": "always says not {0}" if self.against else "always says {0}",
            "random": "answers at random",
            "unconfirmed": "nothing confirms these votes: they are random, or the features useless",
            "inverts": "inverts {0} and {1}",
            "wrong": "is wrong more often than by chance",
        }
        parts = [about[self.kind].format(*self.labels)] if self.kind in about else []
        parts += [f"same votes as {', '.join(self.copies)}"] if self.copies else []
        parts += [f"mirrors {', '.join(self.mirrors)}"] if self.mirrors else []
        return "; ".join(parts)


def describe_annotators(
    ballots: Ballots, names: Sequence[str], classes: np.ndarray, fit: CrowdFit
) -> list[Annotator]:
    """Describe every annotator, in the order of the columns.

    Parameters
    ----------
    ballots : Ballots
        The votes.
    names : sequence of str
        The names of their columns.
    classes : ndarray of shape (l,)
        The label space.
    fit : CrowdFit
        The result of the fit.

    Returns
    -------
    list of Annotator
    """
    votes, best = ballots.votes, fit.posterior.argmax(axis=1)
    if fit.dependence.size:
        _, group = connected_components(fit.dependence > COPIES, directed=False)
    else:
        group = np.arange(len(names))
    several = Tally(votes, len(classes), ballots.against).several()
    found = []
    for a, name in enumerate(names):
        rows = np.flatnonzero(votes[:, a] >= 0)
        vote, n = votes[rows, a], len(rows)
        against = bool(ballots.against[a])
        named = float(fit.posterior[rows, vote].sum())
        right = n - named if against else named
        kind, labels = _kind(vote, fit.posterior[rows], fit.confusion[a], against)
        if kind == "usual" and not several:
            beyond, _ = beyond_chance(vote, np.exp(fit.log_prior[rows]), against)
            kind = "usual" if beyond >= TELLS else "unconfirmed"
        others = [b for b in range(len(names)) if group[b] == group[a] and b != a]
        mirrors = [b for b in others if _differ(votes[:, a], votes[:, b])]
        low, high = betaincinv(right + 0.5, n - right + 0.5, (0.05, 0.95))
        found.append(
            Annotator(
                name=name,
                n_votes=n,
                accuracy=right / n if n else float("nan"),
                interval=(float(low), float(high)),
                agreement=float(np.mean((vote == best[rows]) != against)) if n else float("nan"),
                confusion=fit.confusion[a],
                weight=float(fit.weight[a]),
                kind=kind,
                labels=tuple(classes[list(labels)].tolist()),
                copies=tuple(names[b] for b in others if b not in mirrors),
                mirrors=tuple(names[b] for b in mirrors),
                against=against,
            )
        )
    return found


def _differ(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two annotators gave different labels more often than not."""
    both = (one >= 0) & (other >= 0)
    return bool(both.any() and np.mean(one[both] == other[both]) < 0.5)


def _kind(
    vote: np.ndarray, posterior: np.ndarray, confusion: np.ndarray, against: bool
) -> tuple[str, tuple[int, ...]]:
    """The kind, and the positions of the classes concerned."""
    n, n_classes = posterior.shape
    if n < FEW_VOTES:
        return "few votes", ()
    votes = np.bincount(vote, minlength=n_classes) / n
    truths = posterior.mean(axis=0)
    constant = int(votes.argmax())
    beyond, error = beyond_chance(vote, posterior, against)
    if against:  # who rules out one label only, and where it is wrong, tells something
        if beyond + 2 * error < 0:
            return "wrong", ()
        if beyond >= TELLS:
            return "usual", ()
        return ("constant", (constant,)) if votes[constant] >= CONSTANT else ("random", ())
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
