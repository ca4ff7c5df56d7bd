import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from surelabel import CandidateSets
from surelabel.estimators.checks import CHECKS
from surelabel.estimators.plsvm import METHOD, PLSVMClassifier
from surelabel.exceptions import NumericalError, ParameterError
from tests.reference.plsvm import plsvm_objective
from tests.solvers.test_clpl import problem


@pytest.mark.parametrize("check", CHECKS)
def test_partial_label_checks(check):
    check(PLSVMClassifier(fit_intercept=True))


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_single_labels_give_the_machine_of_crammer_and_singer(fit_intercept):
    X, Y, _ = problem(1, 90, 4, 3)
    y = Y.argmax(axis=1)
    options = {
        "fit_intercept": fit_intercept,
        "C": 1 / (0.05 * 90),
        "tol": 1e-8,
        "max_iter": 200_000,
        "random_state": 0,
    }
    svm = LinearSVC(multi_class="crammer_singer", **options).fit(X, y)
    model = PLSVMClassifier(0.05, fit_intercept=fit_intercept, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(X), atol=1e-3)
    wide = np.hstack([X, np.ones((90, 1))])
    W = np.vstack([svm.coef_.T, svm.intercept_ if fit_intercept else np.zeros(3)])
    expected = plsvm_objective(W, wide, np.eye(3, dtype=int)[y], 0.05, np.ones(90))
    assert model.objective_[-1] == pytest.approx(expected, rel=1e-6)
    assert model.transduction_.tolist() == y.tolist()


def test_attributes_tell_the_rounds():
    X, Y, weight = problem(2, 80, 4, 5)
    model = PLSVMClassifier(0.05).fit(X, Y, sample_weight=weight)
    assert model.converged_
    assert len(model.objective_) == model.n_iter_ + 1
    assert np.all(np.diff(model.objective_) <= 1e-9)
    assert model.objective_[-1] == pytest.approx(plsvm_objective(model.coef_.T, X, Y, 0.05, weight))
    best = np.where(Y == 1, model.decision_function(X), -np.inf).argmax(axis=1)
    assert model.transduction_.tolist() == best.tolist()


def test_too_few_rounds_warn():
    X, Y, _ = problem(5, 60, 4, 4)
    with pytest.warns(ConvergenceWarning, match=r"tol=0.001 in 1 iterations .* tol or max_iter$"):
        assert not PLSVMClassifier(max_iter=1).fit(X, Y).converged_
    with pytest.warns(ConvergenceWarning, match="scale the features, or raise tol$"):
        assert not PLSVMClassifier().fit(1e6 * X, Y).converged_


def test_a_search_refuses_bad_values():
    X, Y, _ = problem(7, 30, 4, 3)
    with pytest.raises(ParameterError, match="'lam' parameter"):
        METHOD.make_search(grid={"lam": [0.1, -1.0]}).fit(X, CandidateSets.from_indicator(Y))
    with pytest.raises(ParameterError, match="parameters can be selected by covering_rate"):
        METHOD.make_search("accuracy")


@pytest.mark.filterwarnings("ignore:overflow")
def test_features_of_absurd_size_are_refused():
    X, Y, _ = problem(1, 90, 4, 3)
    with pytest.raises(NumericalError, match="scale them"):
        PLSVMClassifier().fit(X * 1e150, CandidateSets.from_indicator(Y))
