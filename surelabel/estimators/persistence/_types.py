"""Which types and functions a model file may name. A name alone is never enough: it is looked up,
and the object found must be the one listed.
"""

from __future__ import annotations

import collections
import pkgutil
import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ...exceptions import ModelFileError, ParameterError

#: Compiled code trusts the content of this type, so it is allowed only in its place, and checked.
BIN_MAPPER = "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper"
#: Our types other than the methods of the registry. Those of the layers above are named but not
#: imported.
OURS = (
    "surelabel.data.candidates.CandidateSets",
    "surelabel.distributed.PUREClassifier",
    "surelabel.distributed.SUREClassifier",
    "surelabel.estimators._annotators.Annotator",
    "surelabel.estimators.crowd.CrowdClassifier",
    "surelabel.estimators.paloc._GaussianMachines",
    "surelabel.estimators.paloc._Machines",
    "surelabel.estimators.sure_cv.SURECV",
    "surelabel.estimators.sure_retrainer.SURERetrainer",
    "surelabel.tables.encoding.Feature",
    "surelabel.tables.encoding.TableEncoder",
)


def _by_module(names: dict[str, str]) -> dict[str, frozenset[str]]:
    return {module: frozenset(inner.split()) for module, inner in names.items()}


#: The estimators of scikit-learn that may be built, by the module that users import them from.
SKLEARN = _by_module(
    {
        "calibration": "CalibratedClassifierCV",
        "cluster": "KMeans MiniBatchKMeans",
        "compose": "ColumnTransformer",
        "decomposition": "FastICA IncrementalPCA KernelPCA PCA TruncatedSVD",
        "discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
        "dummy": "DummyClassifier DummyRegressor",
        "ensemble": "AdaBoostClassifier AdaBoostRegressor BaggingClassifier BaggingRegressor "
        "ExtraTreesClassifier ExtraTreesRegressor GradientBoostingClassifier "
        "GradientBoostingRegressor HistGradientBoostingClassifier HistGradientBoostingRegressor "
        "RandomForestClassifier RandomForestRegressor StackingClassifier StackingRegressor "
        "VotingClassifier VotingRegressor",
        "feature_extraction": "DictVectorizer FeatureHasher",
        "feature_extraction.text": "CountVectorizer HashingVectorizer TfidfTransformer "
        "TfidfVectorizer",
        "feature_selection": "RFE RFECV SelectFdr SelectFpr SelectFromModel SelectFwe SelectKBest "
        "SelectPercentile SequentialFeatureSelector VarianceThreshold",
        "frozen": "FrozenEstimator",
        "impute": "KNNImputer MissingIndicator SimpleImputer",
        "isotonic": "IsotonicRegression",
        "kernel_approximation": "Nystroem RBFSampler",
        "kernel_ridge": "KernelRidge",
        "linear_model": "BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lasso LassoCV "
        "LinearRegression LogisticRegression LogisticRegressionCV Perceptron Ridge RidgeCV "
        "RidgeClassifier RidgeClassifierCV SGDClassifier SGDRegressor",
        "model_selection": "GridSearchCV RandomizedSearchCV",
        "multiclass": "OneVsOneClassifier OneVsRestClassifier",
        "naive_bayes": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB",
        "neighbors": "KNeighborsClassifier KNeighborsRegressor NearestCentroid",
        "neural_network": "MLPClassifier MLPRegressor",
        "pipeline": "FeatureUnion Pipeline",
        "preprocessing": "Binarizer FunctionTransformer KBinsDiscretizer KernelCenterer "
        "LabelBinarizer LabelEncoder MaxAbsScaler MinMaxScaler Normalizer OneHotEncoder "
        "OrdinalEncoder PolynomialFeatures PowerTransformer QuantileTransformer RobustScaler "
        "StandardScaler TargetEncoder",
        "random_projection": "GaussianRandomProjection SparseRandomProjection",
        "svm": "LinearSVC LinearSVR NuSVC NuSVR SVC SVR",
        "tree": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier "
        "ExtraTreeRegressor",
    }
)
#: Types inside these estimators, which users do not import.
HELPERS = frozenset(
    f"sklearn.{module}.{name}"
    for module, names in {
        "_loss.link": "HalfLogitLink IdentityLink Interval LogLink LogitLink MultinomialLogit",
        "_loss.loss": "AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss "
        "HalfMultinomialLoss HalfPoissonLoss HalfSquaredError HalfTweedieLoss "
        "HalfTweedieLossIdentity HuberLoss PinballLoss",
        "calibration": "_CalibratedClassifier _SigmoidCalibration",
        "ensemble._hist_gradient_boosting.binning": "_BinMapper",
        "metrics._scorer": "_MultimetricScorer _PassthroughScorer _Scorer",
        "model_selection._split": "GroupKFold GroupShuffleSplit KFold LeaveOneGroupOut LeaveOneOut "
        "LeavePGroupsOut LeavePOut PredefinedSplit RepeatedKFold RepeatedStratifiedKFold "
        "ShuffleSplit StratifiedGroupKFold StratifiedKFold StratifiedShuffleSplit TimeSeriesSplit "
        "_CVIterableWrapper",
        "multiclass": "_ConstantPredictor",
        "neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
        "utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
    }.items()
    for name in names.split()
)
#: Losses in compiled code, which are built again from their parameters.
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
#: Mappings that may be built.
MAPPINGS: dict[str, type] = {
    "dict": dict,
    "Bunch": Bunch,
    "OrderedDict": collections.OrderedDict,
}
#: Types that may be the value of a parameter, such as ``dtype=np.float64``.
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
#: Functions of scikit-learn that score labels or features, allowed as ``score_func`` only.
FUNCTIONS = _by_module(
    {
        "feature_selection": "chi2 f_classif f_regression mutual_info_classif "
        "mutual_info_regression r_regression",
        "metrics": "accuracy_score average_precision_score balanced_accuracy_score "
        "brier_score_loss cohen_kappa_score d2_absolute_error_score explained_variance_score "
        "f1_score jaccard_score log_loss matthews_corrcoef max_error mean_absolute_error "
        "mean_absolute_percentage_error mean_squared_error mean_squared_log_error "
        "median_absolute_error precision_score r2_score recall_score roc_auc_score "
        "root_mean_squared_error root_mean_squared_log_error top_k_accuracy_score",
    }
)


class Types:
    """The types and functions that a file may name.

    Parameters
    ----------
    trusted : sequence of str
        Names that the caller trusts.
    """

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        if isinstance(trusted, str):
            raise ParameterError(f"trusted must be a list of names: trusted=[{trusted!r}]")
        self.trusted = frozenset(trusted)

    def object(self, name: str) -> type:
        """The type of an object that is built from its attributes."""
        return _type(self._vouched(name) or _known_object(name), name)

    def value(self, name: str) -> type:
        """A type that is itself a value."""
        if name in VALUES:
            return VALUES[name]
        return _type(self._vouched(name) or (_defined(name) if name in HELPERS else None), name)

    def loss(self, name: str) -> type:
        """A loss in compiled code."""
        if name not in LOSSES:
            raise untrusted(name)
        return _type(_defined(name), name)

    def function(self, name: str) -> Any:
        """A function: one of the scores, or one that the caller trusts."""
        found = self._vouched(name) or _listed(name, FUNCTIONS)
        if found is None:
            raise untrusted(name)
        return found

    def _vouched(self, name: str) -> Any:
        """The object that the caller trusts under a name, or None."""
        if name not in self.trusted:
            return None
        try:
            found = pkgutil.resolve_name(name)
        except (ImportError, AttributeError, ValueError) as error:
            raise ModelFileError(f"{name}, which is trusted, cannot be found ({error})") from None
        if not callable(found):
            raise ModelFileError(f"{name}, which is trusted, is neither a type nor a function")
        return found


def untrusted(name: str) -> ModelFileError:
    """The error for a name that is not known."""
    return ModelFileError(
        f"the model refers to {name[:200]}, which is not among the types that model files may "
        "contain; if you trust it, pass its name as trusted=[...]"
    )


def name_of(thing: Any) -> str:
    """The name under which a type or function can be found."""
    # Compiled parts of scikit-learn up to 1.8 omit their package.
    module = "sklearn._loss._loss" if thing.__module__ == "_loss" else thing.__module__
    return f"{module}.{thing.__qualname__}"


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
    if re.match(r"surelabel\.tables\._(columns|times|pictures)\.", name):
        columns = import_module("surelabel.tables._columns").ENCODERS.values()
        return {name_of(column): column for column in columns}.get(name)
    if name.startswith("surelabel."):
        return _methods().get(name)
    return _listed(name, SKLEARN)


def _listed(name: str, known: dict[str, frozenset[str]]) -> Any:
    """A listed object of scikit-learn, if this is its own name."""
    for module, names in known.items():
        inner = name.rpartition(".")[2]
        if name.startswith(f"sklearn.{module}.") and inner in names:
            found = vars(import_module(f"sklearn.{module}")).get(inner)
            if found is not None and name_of(found) == name:
                return found
    return None


def _defined(name: str) -> Any:
    """The object that a module of surelabel or scikit-learn defines under a name, or None."""
    module, _, inner = name.rpartition(".")
    if not re.fullmatch(r"(surelabel|sklearn)(\.\w+)+", module, re.ASCII):
        return None
    try:
        found = vars(import_module(module)).get(inner)
    except ImportError:
        return None
    return found if hasattr(found, "__qualname__") and name_of(found) == name else None
