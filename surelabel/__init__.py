"""Learning from candidate labels: find which of several possible labels is right, and train the classifier."""

from .data.candidates import CandidateSets, as_candidates
from .data.corruption import make_partial
from .estimators.persistence import load_model, save_model
from .estimators.sure import SUREClassifier
from .estimators.sure_cv import SURECV
from .estimators.sure_retrainer import SURERetrainer
from .evaluation.metrics import approximated_accuracy, covering_rate

__all__ = [
    "SURECV",
    "CandidateSets",
    "SUREClassifier",
    "SURERetrainer",
    "approximated_accuracy",
    "as_candidates",
    "covering_rate",
    "load_model",
    "make_partial",
    "save_model",
]
