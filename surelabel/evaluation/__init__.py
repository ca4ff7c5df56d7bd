"""From predictions to numbers: metrics that need no true labels, folds, and significance tests."""

from .metrics import (
    SCORERS,
    CandidateScorer,
    accuracy_within,
    approximated_accuracy,
    best_candidate,
    covering_rate,
    expected_calibration_error,
    transductive_accuracy,
)
from .protocol import Fold, fold_scores, grid_search, make_folds, select_parameters
from .significance import corrected_paired_t, critical_difference

__all__ = [
    "SCORERS",
    "CandidateScorer",
    "Fold",
    "accuracy_within",
    "approximated_accuracy",
    "best_candidate",
    "corrected_paired_t",
    "covering_rate",
    "critical_difference",
    "expected_calibration_error",
    "fold_scores",
    "grid_search",
    "make_folds",
    "select_parameters",
    "transductive_accuracy",
]
