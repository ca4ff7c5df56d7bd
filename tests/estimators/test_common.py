"""scikit-learn's checks and ours, on every estimator of the package."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

from surelabel import CandidateSets, make_partial
from surelabel.estimators import SURECV, PUREClassifier, SUREClassifier, SURERetrainer, all_methods
from surelabel.estimators.checks import CHECKS
from surelabel.estimators.weighted_candidates import WeightedCandidatesClassifier
from surelabel.exceptions import CandidateError

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


def ambiguous(m=90):
    """Three clouds with zeros among their features, and rows of two candidates among them."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(m) % 3)
    X = 3 * np.eye(3, 4)[y] + rng.standard_normal((m, 4))
    return X * (np.abs(X) > 0.3), make_partial(y, p=0.6, r=1, random_state=0)


LEARNERS = [*ESTIMATORS, WeightedCandidatesClassifier(strategy="unambiguous")]


#: A search would have other rows in its folds.
WEIGHTED = [
    learner
    for learner in LEARNERS
    if has_fit_parameter(learner, "sample_weight") and not isinstance(learner, SURECV)
]


@pytest.mark.parametrize("estimator", WEIGHTED, ids=repr)
def test_a_weight_is_that_many_copies(estimator):
    """scikit-learn asks for this, too, but with one label a row."""
    X, candidates = ambiguous()
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    weighted = clone(estimator).fit(X, candidates, sample_weight=weight).predict_proba(X)
    copied = clone(estimator).fit(X[rows], candidates[rows]).predict_proba(X)
    np.testing.assert_allclose(weighted, copied, atol=1e-3 if "PLSVM" in repr(estimator) else 1e-8)


@pytest.mark.parametrize(
    "estimator", [e for e in LEARNERS if e.__sklearn_tags__().input_tags.sparse], ids=repr
)
def test_sparse_instances_give_the_same_model(estimator):
    X, candidates = ambiguous()
    dense = clone(estimator).fit(X, candidates)
    for form in (sparse.csr_array(X), sparse.csr_matrix(X)):
        thin = clone(estimator).fit(form, candidates)
        tolerance = 1e-3 if "PLSVM" in repr(estimator) else 1e-6
        np.testing.assert_allclose(thin.predict_proba(form), dense.predict_proba(X), atol=tolerance)
        confidence = dense.confidence_.toarray()
        np.testing.assert_allclose(thin.confidence_.toarray(), confidence, atol=tolerance)


@pytest.mark.parametrize("estimator", LEARNERS, ids=repr)
def test_nothing_to_learn_is_refused(estimator):
    X, _ = ambiguous()
    every = CandidateSets.from_indicator(np.ones((len(X), 3), int))
    with pytest.raises(CandidateError, match=r"nothing to learn|finds examples of 0"):
        clone(estimator).fit(X, every)
