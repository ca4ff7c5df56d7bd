"""scikit-learn's checks and ours, on every estimator of the package."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from surelabel.estimators import (
    SURECV,
    PUREClassifier,
    SUREClassifier,
    SURERetrainer,
    all_methods,
)
from surelabel.estimators.checks import CHECKS

SMALL = {"lams": (0.1, 0.3), "betas": (0.05, 0.5)}
ESTIMATORS = [
    *(method.estimator() for method in all_methods().values()),
    SUREClassifier(kernel="linear"),
    SUREClassifier(kernel="laplacian", init="uniform"),
    PUREClassifier(kernel="rbf"),
    PUREClassifier(kernel="linear"),
    SURECV(**SMALL),
    SURECV(**SMALL, kernel="linear", scoring="approximated_accuracy"),
    SURERetrainer(),
]

# Warnings that scikit-learn's checks provoke on purpose; anything else is an error.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
    pytest.mark.filterwarnings("ignore:The least populated class in y:UserWarning"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_partial_label(estimator, check):
    check(estimator)
