"""A search over a grid whose points share work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid, check_cv

from ..data.candidates import CandidateSets
from ..evaluation.metrics import approximated_accuracy, covering_rate
from ..exceptions import CandidateError, ParameterError
from ..solvers.sparse_rows import row_max

#: ``(estimator, points, X, candidates, queries, proba)`` → for each point of the grid, the scores
#: (or probabilities) of the queries, learned from ``X`` and ``candidates``.
Outputs = Callable[
    [Any, Sequence[dict[str, Any]], np.ndarray, CandidateSets, np.ndarray, bool],
    Iterable[np.ndarray],
]


@dataclass(eq=False, repr=False)
class SharedSearch(BaseEstimator):
    """As ``GridSearchCV(estimator, grid, refit=False)``, but a method computes all points of the
    grid together by its function ``outputs`` (see :data:`Outputs`).
    """

    outputs: Outputs
    estimator: Any
    grid: Mapping[str, Sequence[Any]]
    scoring: str
    cv: Any = None

    def fit(self, X: Any, y: Any, y_true: Any = None) -> Self:
        """Score every point of the grid; true labels are for ``scoring="oracle"`` only."""
        estimator = clone(self.estimator)
        X, candidates = estimator._validate_fit(X, y)
        truth = truth_for(self.scoring, y_true, candidates)
        points = list(ParameterGrid(dict(self.grid)))
        for name, value in {(name, value) for point in points for name, value in point.items()}:
            clone(estimator).set_params(**{name: value})._check_parameters()
        proba = self.scoring == "approximated_accuracy"
        folds = list(check_cv(self.cv).split(X))
        scores = np.empty((len(points), len(folds)))
        for f, (train, test) in enumerate(folds):
            known = truth[test]
            for i, outputs in enumerate(
                self.outputs(estimator, points, X[train], candidates[train], X[test], proba)
            ):
                scores[i, f] = (
                    approximated_accuracy(known, outputs, classes=candidates.classes)
                    if proba
                    else covering_rate(known, candidates.classes[outputs.argmax(axis=1)])
                )
        self.cv_results_ = search_results(points, scores)
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = points[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        return self


def truth_for(scoring: str, y_true: Any, candidates: CandidateSets) -> CandidateSets:
    """What left-out rows are scored against: the candidates, or, for the oracle, the true
    labels.
    """
    if scoring != "oracle":
        if y_true is not None:
            raise ParameterError(f"y_true is for scoring='oracle' only; scoring is {scoring!r}")
        # Sets of all classes cover any prediction, so the votes decide.
        ambiguous = np.all(candidates.sizes == candidates.shape[1])
        return _most_voted(candidates) if ambiguous else candidates
    if y_true is None:
        raise ParameterError("scoring='oracle' needs the true labels: fit(X, y, y_true=...)")
    truth = CandidateSets.from_labels(y_true, classes=candidates.classes)
    if len(truth) != len(candidates):
        raise CandidateError(f"y has {len(candidates)} rows but y_true has {len(truth)}")
    return truth


def _most_voted(candidates: CandidateSets) -> CandidateSets:
    """The candidates with the most votes in their row."""
    if candidates.counts is None:
        return candidates
    best = np.repeat(row_max(candidates.counts, candidates.indptr), candidates.sizes)
    kept = candidates.counts == best
    indptr = np.concatenate([[0], np.cumsum(np.add.reduceat(kept, candidates.indptr[:-1]))])
    return CandidateSets(indptr, candidates.indices[kept], candidates.classes)


def search_results(points: Sequence[Mapping[str, Any]], scores: np.ndarray) -> dict[str, Any]:
    """The ``cv_results_`` of scikit-learn, from scores of shape (points, folds)."""
    mean = scores.mean(axis=1)
    names = sorted({name for point in points for name in point})
    return {
        "params": list(points),
        **{f"param_{name}": np.array([point[name] for point in points]) for name in names},
        **{f"split{f}_test_score": column for f, column in enumerate(scores.T)},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": rankdata(-mean, method="min").astype(np.int32),
    }
