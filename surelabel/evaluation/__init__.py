"""From predictions to numbers: metrics that need no true labels, and significance tests."""

from .metrics import (
    SCORERS,
    approximated_accuracy,
    covering_rate,
    expected_calibration_error,
    transductive_accuracy,
)
from .significance import corrected_paired_t, critical_difference

__all__ = [
    "SCORERS",
    "approximated_accuracy",
    "corrected_paired_t",
    "covering_rate",
    "critical_difference",
    "expected_calibration_error",
    "transductive_accuracy",
]
