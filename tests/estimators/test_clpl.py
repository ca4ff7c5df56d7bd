import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from surelabel.estimators.checks import CHECKS
from surelabel.estimators.clpl import CLPLClassifier
from tests.reference.clpl import binary_problem
from tests.solvers.test_clpl import problem


@parametrize_with_checks([CLPLClassifier(fit_intercept=True)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", CHECKS)
def test_partial_label_checks(check):
    check(CLPLClassifier(fit_intercept=True))


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_equals_liblinear_on_the_binary_problem(fit_intercept):
    X, Y, _ = problem(0, 60, 3, 4)
    features, targets = binary_problem(np.hstack([X, np.ones((60, int(fit_intercept)))]), Y)
    svm = LinearSVC(dual=False, fit_intercept=False, C=0.5, tol=1e-10, max_iter=100_000).fit(
        features, targets
    )
    expected = svm.coef_.reshape(4, -1)
    model = CLPLClassifier(0.5, fit_intercept=fit_intercept).fit(X, Y)
    np.testing.assert_allclose(model.coef_, expected[:, :3], atol=1e-6)
    np.testing.assert_allclose(model.intercept_, expected[:, 3] if fit_intercept else 0, atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_single_labels_give_the_one_vs_rest_machine(fit_intercept):
    X, _, _ = problem(1, 90, 4, 3)
    y = np.random.default_rng(0).integers(0, 3, 90)
    svm = LinearSVC(dual=False, fit_intercept=fit_intercept, C=2, tol=1e-10, max_iter=100_000).fit(
        X, y
    )
    model = CLPLClassifier(2, fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(X), atol=1e-6)
    assert model.transduction_.tolist() == y.tolist()


def test_candidate_with_the_highest_score_is_transduced():
    X, Y, _ = problem(3, 60, 4, 5)
    model = CLPLClassifier().fit(X, Y)
    best = np.where(Y == 1, model.decision_function(X), -np.inf).argmax(axis=1)
    assert model.transduction_.tolist() == best.tolist()
    inside = model.predict_proba(X) * Y
    np.testing.assert_allclose(
        model.confidence_.toarray(), inside / inside.sum(axis=1, keepdims=True)
    )


def test_too_few_iterations_warn():
    X, Y, _ = problem(4, 60, 4, 4)
    with pytest.warns(ConvergenceWarning, match=r"did not reach tol=1e-08 in 2 iterations"):
        model = CLPLClassifier(max_iter=2).fit(X, Y)
    assert not model.converged_
    assert model.n_iter_ == 2
