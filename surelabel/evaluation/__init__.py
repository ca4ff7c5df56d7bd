"""From predictions to numbers: metrics that need no true labels, and significance tests."""

from .metrics import (
    SCORERS,
    accuracy_within,
    approximated_accuracy,
    covering_rate,
    expected_calibration_error,
    mean_absolute_error,
    rank_correlation,
    transductive_accuracy,
)
from .significance import corrected_paired_t, critical_difference

__all__ = [
    "SCORERS",
    "accuracy_within",
    "approximated_accuracy",
    "corrected_paired_t",
    "covering_rate",
    "critical_difference",
    "expected_calibration_error",
    "mean_absolute_error",
    "rank_correlation",
    "transductive_accuracy",
]
