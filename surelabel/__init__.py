"""Learning from candidate labels: find which of several possible labels is right, and train the
classifier.
"""

from typing import Any

from .data.candidates import CandidateSets, as_candidates
from .data.corruption import make_partial
from .estimators import (
    SURECV,
    CLPLClassifier,
    IPALClassifier,
    LSBCMMClassifier,
    PALOCClassifier,
    PLKNNClassifier,
    PLSVMClassifier,
    SelfTrainingPLClassifier,
    SUREClassifier,
    SURERetrainer,
    WeightedCandidatesClassifier,
    all_methods,
    load_model,
    save_model,
)
from .evaluation.metrics import approximated_accuracy, covering_rate

__all__ = [
    "SURECV",
    "CLPLClassifier",
    "CandidateSets",
    "IPALClassifier",
    "LSBCMMClassifier",
    "PALOCClassifier",
    "PLKNNClassifier",
    "PLSVMClassifier",
    "SUREClassifier",
    "SURERetrainer",
    "SelfTrainingPLClassifier",
    "WeightedCandidatesClassifier",
    "all_methods",
    "approximated_accuracy",
    "as_candidates",
    "covering_rate",
    "load_model",
    "make_partial",
    "save_model",
]

#: The jobs of the command line, on data frames; imported when they are used, because they need
#: pyarrow.
_TABLE_JOBS = ("clean", "compare", "convert", "fit", "inspect", "predict")


def __getattr__(name: str) -> Any:
    if name in _TABLE_JOBS:
        from . import tables

        return getattr(tables, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_TABLE_JOBS])
