from ._base import PartialLabelClassifier, WeightedPartialLabelClassifier
from ._registry import Method, all_methods
from .persistence import load_model, save_model
from .sure import SUREClassifier
from .sure_cv import SURECV
from .sure_retrainer import SURERetrainer

__all__ = [
    "SURECV",
    "Method",
    "PartialLabelClassifier",
    "SUREClassifier",
    "SURERetrainer",
    "WeightedPartialLabelClassifier",
    "all_methods",
    "load_model",
    "save_model",
]
