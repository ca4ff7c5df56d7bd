"""The methods that a study may name: those of the package, and two references that learn from the
votes themselves or the true labels.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import cache
from typing import Any

import numpy as np
from sklearn.svm import SVC

from ..data.candidates import CandidateSets
from ..estimators import CrowdClassifier, Method, WeightedCandidatesClassifier, all_methods

#: Parameters whose defaults do not affect results, and the seed, which a trial sets itself.
WITHOUT_EFFECT = frozenset({"callback", "n_jobs", "ordered", "random_state", "verbose"})
#: Parameters that are gone, at the only value that is left: records made before still hold them.
FORMER: dict[str, dict[str, Any]] = {
    "IPAL": {"search": "exact"},
    "PLKNN": {"search": "exact"},
    "PURE": {"coef0": 1, "degree": 3, "landmarks": "uniform"},
    "SURE": {"coef0": 1, "degree": 3, "landmarks": "uniform"},
}


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


@cache
def known_methods() -> dict[str, Method]:
    """Every method that a study may name; cached, because scanning the package takes long."""
    return all_methods() | REFERENCES


def labels_for(method: str, candidates: CandidateSets, y: np.ndarray) -> CandidateSets:
    """What a method learns from, given candidates (with votes or without) and true labels; votes
    become the sets of all labels with a vote.
    """
    reference = REFERENCES[method].estimator if method in REFERENCES else None
    if reference is TrueLabelsSVM:
        return CandidateSets.from_labels(y, classes=candidates.classes)
    if reference is CrowdClassifier or candidates.votes is None:
        return candidates
    return CandidateSets(candidates.indptr, candidates.indices, candidates.classes)


def defaults_of(estimator: str, given: Collection[str] = ()) -> dict[str, Any]:
    """The defaults of a method's parameters, except those given and those that do not affect
    results.

    >>> defaults_of("PLKNN", given=["n_neighbors"])
    {'weights': 'distance', 'search': 'exact'}
    """
    return {
        name: value
        for name, value in _all_defaults(estimator).items()
        if name not in given and name not in WITHOUT_EFFECT
    }


@cache
def _all_defaults(estimator: str) -> dict[str, Any]:
    method = known_methods()[estimator]
    found = method.estimator().get_params(deep=False) | FORMER.get(method.name, {})
    return dict(json.loads(json.dumps(found, default=_written)))  # as a record has them


def _written(value: Any) -> Any:
    """A value that JSON cannot write, as text; for an estimator, all parameters, because its repr
    omits defaults.
    """
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {type(value).__name__: value.get_params(deep=False)}
    return repr(value)
