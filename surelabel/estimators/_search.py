"""What the searches of methods share whose points of a grid share work: the truth that they score
against, and the form of their results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ..data.candidates import CandidateSets
from ..exceptions import CandidateError, ParameterError
from ..solvers.sparse_rows import row_max


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
