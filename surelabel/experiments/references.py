"""What a study sets beside the methods: the votes themselves, and the true labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC

from ..data.candidates import CandidateSets
from ..estimators import CrowdClassifier, Method, WeightedCandidatesClassifier, all_methods


class TrueLabelsSVM(WeightedCandidatesClassifier):
    """A Gaussian support vector machine; :func:`labels_for` gives it the true labels."""

    def __init__(self, C: float = 1.0) -> None:
        super().__init__(SVC(C=C))
        self.C = C

    def _inner(self) -> Any:
        return SVC(C=self.C)


REFERENCES = {
    method.name: method
    for method in (
        Method(
            "CrowdClassifier",
            CrowdClassifier,
            {},
            reference="surelabel.solvers.crowds",
            idea="votes of annotators and features together",
            cost="some fits of kernel ridge regression",
        ),
        Method(
            "SVM with true labels",
            TrueLabelsSVM,
            {"C": [0.1, 1.0, 10.0, 100.0]},
            reference="scikit-learn",
            idea="what is reached without false candidates",
            cost="one fit",
        ),
    )
}


def known_methods() -> dict[str, Method]:
    """Every method that a study may name."""
    return all_methods() | REFERENCES


def labels_for(method: str, candidates: CandidateSets, y: np.ndarray) -> CandidateSets:
    """What a method learns from: of votes, the sets of all labels that have any.

    Parameters
    ----------
    method : str
        One of :func:`known_methods`.
    candidates, y : CandidateSets, ndarray of shape (m,)
        The candidates, with votes or without, and the true labels.

    Returns
    -------
    CandidateSets
    """
    reference = REFERENCES[method].estimator if method in REFERENCES else None
    if reference is TrueLabelsSVM:
        return CandidateSets.from_labels(y, classes=candidates.classes)
    if reference is CrowdClassifier or candidates.votes is None:
        return candidates
    return CandidateSets(candidates.indptr, candidates.indices, candidates.classes)
