"""Which types and functions a model file may name. A name is never enough: it is looked up, and
what is found must be the very thing.
"""

from __future__ import annotations

import collections
import pkgutil
import re
import types as python_types
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from ...exceptions import ModelFileError, ParameterError

#: Estimators of scikit-learn's own use that models hold.
PRIVATE = ("_BinMapper", "_CalibratedClassifier", "_ConstantPredictor", "_SigmoidCalibration")
#: Compiled code takes what this one says for granted: it is known in its place only, and checked.
BIN_MAPPER = "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper"
#: Our types beside the methods of the registry. The layers above are named and not imported.
OURS = (
    "surelabel.data.candidates.CandidateSets",
    "surelabel.distributed.PUREClassifier",
    "surelabel.distributed.SUREClassifier",
    "surelabel.estimators.paloc._GaussianMachines",
    "surelabel.estimators.paloc._Machines",
    "surelabel.estimators.sure_cv.SURECV",
    "surelabel.estimators.sure_retrainer.SURERetrainer",
    "surelabel.tables.encoding.Feature",
    "surelabel.tables.encoding.TableEncoder",
)
#: The folders of scikit-learn whose estimators are built.
FOLDERS = [
    "calibration",
    "cluster",
    "compose",
    "covariance",
    "cross_decomposition",
    "decomposition",
    "discriminant_analysis",
    "dummy",
    "ensemble",
    "feature_extraction",
    "feature_selection",
    "gaussian_process",
    "impute",
    "isotonic",
    "kernel_approximation",
    "kernel_ridge",
    "linear_model",
    "model_selection",
    "multiclass",
    "multioutput",
    "naive_bayes",
    "neighbors",
    "neural_network",
    "pipeline",
    "preprocessing",
    "random_projection",
    "svm",
    "tree",
]
#: What estimators of scikit-learn hold and is no estimator itself.
HELPERS = frozenset(
    f"sklearn.{module}.{name}"
    for module, names in {
        "_loss.link": "HalfLogitLink IdentityLink Interval LogLink LogitLink MultinomialLogit",
        "_loss.loss": "AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss "
        "HalfMultinomialLoss HalfPoissonLoss HalfSquaredError HalfTweedieLoss "
        "HalfTweedieLossIdentity HuberLoss PinballLoss",
        "calibration": "_CalibratedClassifier",
        "gaussian_process.kernels": "CompoundKernel ConstantKernel DotProduct ExpSineSquared "
        "Exponentiation Matern PairwiseKernel Product RBF RationalQuadratic Sum "
        "WhiteKernel",
        "metrics._scorer": "_MultimetricScorer _PassthroughScorer _Scorer",
        "model_selection._split": "GroupKFold GroupShuffleSplit KFold LeaveOneGroupOut LeaveOneOut "
        "LeavePGroupsOut LeavePOut PredefinedSplit RepeatedKFold RepeatedStratifiedKFold "
        "ShuffleSplit StratifiedGroupKFold StratifiedKFold StratifiedShuffleSplit TimeSeriesSplit "
        "_CVIterableWrapper",
        "neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    }.items()
    for name in names.split()
)
#: Losses in compiled code, made anew from their numbers.
LOSSES = frozenset(
    f"sklearn.{module}.{name}"
    for module, names in {
        "_loss._loss": "CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss "
        "CyHalfMultinomialLoss CyHalfPoissonLoss CyHalfSquaredError CyHalfTweedieLoss "
        "CyHalfTweedieLossIdentity CyHuberLoss CyPinballLoss",
        "linear_model._sgd_fast": "EpsilonInsensitive Hinge ModifiedHuber "
        "SquaredEpsilonInsensitive SquaredHinge",
    }.items()
    for name in names.split()
)
#: Mappings that are built.
MAPPINGS: dict[str, type] = {
    "dict": dict,
    "Bunch": Bunch,
    "OrderedDict": collections.OrderedDict,
}
#: Types that a parameter may be, such as ``dtype=np.float64``.
VALUES: dict[str, type] = {
    **{f"builtins.{value.__name__}": value for value in (bool, bytes, float, int, object, str)},
    **{
        f"numpy.{value.__name__}": value
        for value in (
            *(np.bool_, np.str_, np.float16, np.float32, np.float64),
            *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        )
    },
}
#: What a function of scikit-learn's metrics is called that gives a score for labels.
SCORE = re.compile(r"\w+_(score|loss|error)")


class Types:
    """The types and functions that a file may name.

    Parameters
    ----------
    trusted : sequence of str
        Names that the caller vouches for.
    """

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        if isinstance(trusted, str):
            raise ParameterError(f"trusted takes a list of names: trusted=[{trusted!r}]")
        self.trusted = frozenset(trusted)

    def object(self, name: str) -> type:
        """The type of an object that is built from its attributes."""
        found = self._trusted(name) if name in self.trusted else _known_object(name)
        return _type(found, name)

    def value(self, name: str) -> type:
        """A type that stands for itself."""
        if name in VALUES:
            return VALUES[name]
        return self.object(name)

    def loss(self, name: str) -> type:
        """A loss in compiled code."""
        if name not in LOSSES:
            raise untrusted(name)
        return _type(_defined(name), name)

    def function(self, name: str) -> Any:
        """A function: one of the scores for labels, or one that the caller vouches for."""
        found = self._trusted(name) if name in self.trusted else _known_function(name)
        if found is None:
            raise untrusted(name)
        return found

    def _trusted(self, name: str) -> Any:
        try:
            found = pkgutil.resolve_name(name)
        except (ImportError, AttributeError, ValueError) as error:
            raise ModelFileError(f"{name}, which is trusted, is not there ({error})") from None
        if not callable(found):
            raise ModelFileError(f"{name}, which is trusted, is neither a type nor a function")
        return found


def untrusted(name: str) -> ModelFileError:
    """The error for a name that is not known."""
    return ModelFileError(
        f"the model refers to {name[:200]}, which is not among the types that model files hold; "
        "if it is yours, pass its name as trusted=[...]"
    )


def name_of(thing: Any) -> str:
    """The name under which a type or function is found."""
    return f"{thing.__module__}.{thing.__qualname__}"


def _type(found: Any, name: str) -> type:
    if not isinstance(found, type):
        raise untrusted(name)
    return found


@lru_cache
def _methods() -> dict[str, type]:
    from .._registry import all_methods

    return {name_of(method.estimator): method.estimator for method in all_methods().values()}


def _known_object(name: str) -> Any:
    if name in OURS or name in HELPERS:
        return _defined(name)
    if name.startswith("surelabel.tables._columns."):
        columns = import_module("surelabel.tables._columns").ENCODERS.values()
        return {name_of(column): column for column in columns}.get(name)
    if name.startswith("surelabel."):
        return _methods().get(name)
    package, _, rest = name.partition(".")
    parts = rest.split(".")
    if package == "sklearn" and parts[0] in FOLDERS and "tests" not in parts:
        found = _defined(name)
        private = parts[-1].startswith("_") and parts[-1] not in PRIVATE
        if isinstance(found, type) and issubclass(found, BaseEstimator) and not private:
            return found
    return None


def _known_function(name: str) -> Any:
    if name.startswith("sklearn.metrics.") and SCORE.fullmatch(name.rpartition(".")[2]):
        found = _defined(name)
        if isinstance(found, python_types.FunctionType):
            return found
    return None


def _defined(name: str) -> Any:
    """What a module of surelabel or scikit-learn defines under a name, or None."""
    module, _, inner = name.rpartition(".")
    if not re.fullmatch(r"(surelabel|sklearn)(\.\w+)+", module, re.ASCII):
        return None
    try:
        found = vars(import_module(module)).get(inner)
    except ImportError:
        return None
    own = (getattr(found, "__module__", None), getattr(found, "__qualname__", None))
    return found if own == (module, inner) else None
