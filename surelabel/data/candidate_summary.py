"""Counts of sets, classes and pairs of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class CandidateSummary:
    """The result of :meth:`CandidateSets.describe`.

    Attributes
    ----------
    n_rows : int
    classes : ndarray of shape (l,)
    average_size : float
        Average number of candidates per row.
    set_sizes : dict
        Number of rows by number of candidates.
    class_frequency : ndarray of shape (l,)
        Number of rows in which each class is a candidate.
    co_occurrence : ndarray of shape (l, l)
        Number of rows in which both classes are candidates; the diagonal is ``class_frequency``.
    """

    n_rows: int
    classes: np.ndarray
    average_size: float
    set_sizes: dict[int, int]
    class_frequency: np.ndarray
    co_occurrence: np.ndarray

    def most_confused(self, count: int = 5) -> list[tuple[Any, Any, int]]:
        """The pairs of classes that share most rows, in descending order."""
        first, second = np.triu_indices(len(self.classes), k=1)
        shared = self.co_occurrence[first, second]
        best = np.argsort(-shared, kind="stable")[:count]
        labels = self.classes.tolist()
        return [(labels[first[i]], labels[second[i]], int(shared[i])) for i in best if shared[i]]
