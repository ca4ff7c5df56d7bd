from ._annotators import Annotator
from ._base import PartialLabelClassifier, WeightedPartialLabelClassifier
from ._registry import Method, all_methods
from .clpl import CLPLClassifier
from .crowd import CrowdClassifier
from .ipal import IPALClassifier
from .lsbcmm import LSBCMMClassifier
from .paloc import PALOCClassifier
from .persistence import load_model, save_model
from .plknn import PLKNNClassifier
from .plsvm import PLSVMClassifier
from .pure import PUREClassifier
from .self_training import SelfTrainingPLClassifier
from .sure import SUREClassifier
from .sure_cv import SURECV
from .sure_retrainer import SURERetrainer
from .weighted_candidates import WeightedCandidatesClassifier

__all__ = [
    "SURECV",
    "Annotator",
    "CLPLClassifier",
    "CrowdClassifier",
    "IPALClassifier",
    "LSBCMMClassifier",
    "Method",
    "PALOCClassifier",
    "PLKNNClassifier",
    "PLSVMClassifier",
    "PUREClassifier",
    "PartialLabelClassifier",
    "SUREClassifier",
    "SURERetrainer",
    "SelfTrainingPLClassifier",
    "WeightedCandidatesClassifier",
    "WeightedPartialLabelClassifier",
    "all_methods",
    "load_model",
    "save_model",
]
