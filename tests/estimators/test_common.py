"""scikit-learn's checks and ours, on every estimator of the package."""

import pytest
from sklearn.utils import get_tags
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


def not_for(estimator):
    """Checks of scikit-learn that an estimator cannot pass, and why."""
    weights = "check_sample_weight_equivalence_on_{}_data"
    if isinstance(estimator, PUREClassifier):
        why = (
            "a row of weight 2 is left out as a whole; of two equal rows each has the other as a "
            "peer"
        )
        return {weights.format(kind): why for kind in ("dense", "sparse")}
    # scikit-learn 1.6 runs this one on estimators that take no sparse X, too
    sparse = get_tags(estimator).input_tags.sparse
    return {} if sparse else {weights.format("sparse"): "X may not be sparse"}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=not_for)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_partial_label(estimator, check):
    check(estimator)
