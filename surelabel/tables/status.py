"""Which labels are kept, and which rows a person should look at: decided here, for ``clean``,
``audit``, answers and ``review`` alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ..data.labelling import Labels
from .calibration import Judgement

CERTIFIED, PROBABLE, LOOK = "certified", "probable", "look"
#: The statuses, and what they mean.
STATUSES = {
    CERTIFIED: "known, checked, or bounded by checks",
    PROBABLE: "probably right, not checked",
    LOOK: "a person should look at these",
}


def status_of(confidence: np.ndarray, known: np.ndarray, max_error: float) -> np.ndarray:
    """The status of every row: certified if its true label is known, probable if its estimated
    error is at most ``max_error``; otherwise a person should look.
    """
    kept = np.where(confidence >= 1 - max_error, PROBABLE, LOOK)
    return np.where(known, CERTIFIED, kept).astype("U9")


def gain_of_answers(
    label: np.ndarray, rival: np.ndarray, doubt: np.ndarray, n_classes: int
) -> np.ndarray:
    """How much a person's answer would help: a row's doubt, times the square root of all doubt
    between the same two labels, because an answer also helps to tell these apart elsewhere.
    """
    first, second = np.minimum(label, rival) + 1, np.maximum(label, rival) + 1
    total = np.bincount(first * (n_classes + 1) + second, doubt)
    return np.asarray(doubt * np.sqrt(total[first * (n_classes + 1) + second]))


@dataclass(frozen=True, kw_only=True, repr=False)
class Decision(Judgement):
    """What is decided about every row: the judgement, or the true label with a confidence of 1
    where it is known.

    Attributes
    ----------
    classes : ndarray of shape (l,)
        The label space; labels are positions in it.
    status : ndarray of str
        "probable": to be kept, by the estimate of its error; "certified": to be kept, because it
        was checked itself, or checks of such rows bound the error; "look": a person should look.
    max_error : float
        The largest error that the rows kept may have.
    """

    classes: np.ndarray
    status: np.ndarray
    max_error: float

    @property
    def margin(self) -> np.ndarray:
        """Confidence minus that of the second choice."""
        second = self.shares[np.arange(len(self.label)), self.second]
        return np.asarray(np.maximum(self.confidence - np.where(self.second < 0, 0, second), 0))

    @property
    def gain(self) -> np.ndarray:
        """How much a person's answer would help, 0 for known rows; it sorts the rows to look at."""
        rival = np.where(self.outside > 0, self.best, self.second)
        return gain_of_answers(self.label, rival, 1 - self.confidence, len(self.classes))

    @property
    def kept(self) -> np.ndarray:
        """Whether each row is kept: its status is "probable" or "certified"."""
        return np.asarray(self.status != LOOK)

    @property
    def n_kept(self) -> int:
        """Number of rows kept."""
        return int(np.sum(self.kept))

    @property
    def expected_error(self) -> float:
        """Expected error of the rows kept; NaN if there are none."""
        return float(np.mean(1 - self.confidence[self.kept])) if self.n_kept else float("nan")

    def rows_to_look_at(self) -> np.ndarray:
        """The rows of status "look", starting where an answer helps most; ties keep the order of
        the table.
        """
        rows = np.flatnonzero(~self.kept)
        return rows[np.argsort(-self.gain[rows], kind="stable")]

    def with_known(self, rows: np.ndarray, codes: np.ndarray) -> Self:
        """The decision after the true labels of some rows became known."""
        known: dict[str, object] = {
            "label": codes,
            "best": codes,
            "second": -1,
            "confidence": 1.0,
            "outside": 0,
            "outside_probability": 0.0,
            "status": CERTIFIED,
            "shares": np.eye(len(self.classes), dtype=self.shares.dtype)[codes],
        }
        changed = {name: getattr(self, name).copy() for name in known}
        for name, values in known.items():
            changed[name][rows] = values
        return replace(self, **changed)

    def with_classes(self, classes: np.ndarray) -> Self:
        """The decision with other classes; nothing is known about rows whose label is gone."""
        if np.array_equal(self.classes, classes):
            return self
        place = {name: code for code, name in enumerate(classes.tolist())}
        codes = np.array([*(place.get(name, -1) for name in self.classes.tolist()), -1])
        there = np.flatnonzero(codes >= 0)
        shares = np.zeros((len(self.label), len(classes)), self.shares.dtype)
        shares[:, codes[there]] = self.shares[:, there]
        label, best = codes[self.label], codes[self.best]
        gone = label < 0
        shares[gone] = 1 / len(classes)
        return replace(
            self,
            classes=classes,
            label=np.where(gone, 0, label),
            best=np.where(gone, 0, np.where(best < 0, label, best)),
            second=codes[self.second],
            confidence=np.where(gone, 1 / len(classes), self.confidence),
            status=np.where(gone, LOOK, self.status),
            shares=shares,
        )


def decide(found: Judgement, labels: Labels, max_error: float) -> Decision:
    """Combine the judgement with what is known: gold rows are certified, and other rows are
    probable if they are sure enough.
    """
    gold = labels.gold >= 0
    return Decision(
        **vars(found),
        classes=labels.candidates.classes,
        status=status_of(found.confidence, gold, max_error),
        max_error=max_error,
    ).with_known(np.flatnonzero(gold), labels.gold[gold])
