"""Learning from candidate labels: find which of several possible labels is right, and train the
classifier.

Names are imported when they are first used, so ``import surelabel`` alone takes almost no time.
"""

from .lazy import lazily

TYPE_CHECKING = False  # type checkers know the name; importing typing would take longer than this
if TYPE_CHECKING:
    from typing import Any

    from .data.candidates import CandidateSets, as_candidates
    from .data.corruption import make_partial
    from .estimators import (
        SURECV,
        CLPLClassifier,
        CrowdClassifier,
        IPALClassifier,
        LSBCMMClassifier,
        PALOCClassifier,
        PLKNNClassifier,
        PLSVMClassifier,
        PUREClassifier,
        SelfTrainingPLClassifier,
        SUREClassifier,
        SURERetrainer,
        WeightedCandidatesClassifier,
        all_methods,
        load_model,
        save_model,
    )
    from .evaluation.metrics import approximated_accuracy, covering_rate
    from .tables import clean, compare, convert, fit, inspect, predict

    __version__: str

__all__ = [
    "SURECV",
    "CLPLClassifier",
    "CandidateSets",
    "CrowdClassifier",
    "IPALClassifier",
    "LSBCMMClassifier",
    "PALOCClassifier",
    "PLKNNClassifier",
    "PLSVMClassifier",
    "PUREClassifier",
    "SUREClassifier",
    "SURERetrainer",
    "SelfTrainingPLClassifier",
    "WeightedCandidatesClassifier",
    "__version__",
    "all_methods",
    "approximated_accuracy",
    "as_candidates",
    "clean",
    "compare",
    "convert",
    "covering_rate",
    "fit",
    "inspect",
    "load_model",
    "make_partial",
    "predict",
    "save_model",
]


#: The module that defines each public name; all others are estimators.
_HOMES = {
    "data.candidates": ["CandidateSets", "as_candidates"],
    "data.corruption": ["make_partial"],
    "evaluation.metrics": ["approximated_accuracy", "covering_rate"],
    "tables": ["clean", "compare", "convert", "fit", "inspect", "predict"],
}
_others = {"__version__"}.union(*_HOMES.values())
_HOMES["estimators"] = [name for name in __all__ if name not in _others]
_find = lazily(
    __name__, _HOMES, ("data", "estimators", "evaluation", "exceptions", "solvers", "tables")
)


def __getattr__(name: str) -> "Any":
    if name == "__version__":
        from importlib.metadata import version

        globals()[name] = version("surelabel")
        return globals()[name]
    return _find(name)


def __dir__() -> list[str]:
    return sorted(__all__)
