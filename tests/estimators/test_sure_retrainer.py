import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from surelabel import PUREClassifier, SUREClassifier, SURERetrainer, make_partial
from surelabel.exceptions import InputError, ParameterError


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, y, make_partial(y, p=0.7, r=1, random_state=0)


def test_ridge_makes_it_the_linear_sure(iris):
    X, _, candidates = iris
    retrained = SURERetrainer(Ridge(alpha=0.3), lam=0.2, max_iter=200, tol=1e-6).fit(X, candidates)
    direct = SUREClassifier(0.2, 0.3, kernel="linear", init="uniform", tol=1e-6).fit(X, candidates)
    assert retrained.n_iter_ == direct.n_iter_
    np.testing.assert_allclose(
        retrained.confidence_.toarray(), direct.confidence_.toarray(), atol=1e-8
    )
    np.testing.assert_allclose(retrained.delta_path_, direct.delta_path_, atol=1e-8)
    np.testing.assert_allclose(
        retrained.decision_function(X), direct.decision_function(X), atol=1e-8
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        RandomForestRegressor(30, min_samples_leaf=5, random_state=0),
        RandomForestClassifier(30, min_samples_leaf=5, random_state=0),
        SVR(),  # one output: fitted once per class
    ],
)
def test_any_model(iris, estimator):
    X, y, candidates = iris
    model = SURERetrainer(estimator).fit(X, candidates)
    assert np.mean(model.transduction_ == y) > 0.9
    assert model.score(X, y) > 0.9
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.array_equal(proba.argmax(axis=1), model.predict(X))


def test_a_classifier_without_weights_is_refused(iris):
    X, _, candidates = iris
    with pytest.raises(ParameterError, match="KNeighborsClassifier cannot be retrained"):
        SURERetrainer(KNeighborsClassifier()).fit(X, candidates)


def test_early_stop_warns(iris):
    X, _, candidates = iris
    with pytest.warns(ConvergenceWarning, match="max_iter=1 refits"):
        SURERetrainer(max_iter=1).fit(X, candidates)


def test_as_many_folds_as_rows_make_it_the_linear_pure(iris):
    """Each row judged by a ridge regression on all other rows: PURE, without its closed form."""
    X, _, candidates = iris
    X, candidates = X[::4], candidates[::4]
    retrained = SURERetrainer(Ridge(alpha=0.3), cross_fit=len(X), max_iter=5, tol=0)
    with pytest.warns(ConvergenceWarning):
        retrained.fit(X, candidates)
    direct = PUREClassifier(0.3, kernel="linear", max_iter=5, tol=0).fit(X, candidates)
    assert retrained.prior_shift_ == direct.prior_shift_ == 0
    np.testing.assert_allclose(retrained.confidence_.data, direct.confidence_.data, atol=1e-8)
    np.testing.assert_allclose(
        retrained.decision_function(X), direct.decision_function(X), atol=1e-8
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_fitted_forest(iris, weighted):
    X, y, candidates = iris
    weight = np.random.default_rng(0).integers(0, 3, len(X)) if weighted else None
    model = SURERetrainer(ExtraTreesClassifier(20, random_state=0), cross_fit=3, max_iter=4)
    model.fit(X, candidates, sample_weight=weight)
    assert np.mean(model.transduction_ == y) > 0.9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_model_without_a_closed_form_is_cross_fitted():
    """A forest that judges the rows it has learned from repeats their candidates."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    candidates = make_partial(y, p=0.7, r=2, random_state=0)
    found = {}
    for cross_fit in ("auto", 5, None):
        forest = RandomForestClassifier(20, random_state=0)
        model = SURERetrainer(forest, cross_fit=cross_fit, max_iter=6).fit(X, candidates)
        found[cross_fit] = np.mean(model.transduction_ == y)
    assert SURERetrainer().cross_fit == "auto"
    assert found["auto"] == found[5] > 0.95
    assert found[None] < 0.85


@pytest.mark.parametrize(
    "estimator",
    [LinearRegression(), KernelRidge(), make_pipeline(StandardScaler(), Ridge(alpha=0.3))],
)
def test_least_squares_are_not_cross_fitted(iris, estimator):
    X, _, candidates = iris
    one, other = (
        SURERetrainer(estimator, max_iter=60, **options).fit(X, candidates)
        for options in ({}, {"cross_fit": None})
    )
    np.testing.assert_array_equal(one.confidence_.data, other.confidence_.data)
    assert not hasattr(one, "prior_shift_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_copy_does_not_confirm_a_row(iris):
    """A tree that has learned from a copy of a row knows its candidates by heart."""
    X, y, candidates = iris
    rows = np.random.default_rng(0).permutation(np.tile(np.arange(150), 2))
    model = SURERetrainer(DecisionTreeRegressor(random_state=0), max_iter=4)
    model.fit(X[rows], candidates[rows])
    assert np.mean(model.transduction_ == y[rows]) > 0.9


def test_rows_that_are_all_equal():
    with pytest.raises(InputError, match="all rows of X are equal"):
        SURERetrainer(LogisticRegression()).fit(np.ones((9, 2)), [[0], [1], [0, 1]] * 3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fewer_rows_than_folds(iris):
    X, _, candidates = iris
    rows = [0, 60, 120, 140]
    for cross_fit in ("auto", 7):
        model = SURERetrainer(LogisticRegression(), cross_fit=cross_fit, max_iter=2)
        assert model.fit(X[rows], candidates[rows]).predict(X[rows]).shape == (4,)


class Net:
    """A network of nobody's library: it has ``fit`` and ``predict``, and says nothing of itself."""

    def __init__(self):
        self.types = set()

    def fit(self, X, P):
        self.types |= {X.dtype, P.dtype}
        self.model = Ridge(alpha=0.3).fit(X, P)
        return self

    def predict(self, X):
        return self.model.predict(X)


@pytest.mark.parametrize("cross_fit", [None, 3])
def test_a_model_that_says_nothing_of_itself(iris, cross_fit):
    """It is fitted to the matrix of confidences, in the precision of the features, as ridge is."""
    X, _, candidates = iris
    options = {"cross_fit": cross_fit, "max_iter": 60}
    net = SURERetrainer(Net(), **options).fit(X.astype(np.float32), candidates)
    ridge = SURERetrainer(Ridge(alpha=0.3), **options).fit(X.astype(np.float32), candidates)
    assert net.estimator_.types == {np.dtype(np.float32)}
    np.testing.assert_array_equal(net.transduction_, ridge.transduction_)
    np.testing.assert_allclose(net.predict_proba(X), ridge.predict_proba(X), atol=1e-5)
    with pytest.raises(ParameterError, match="Net does not take sample_weight"):
        SURERetrainer(Net()).fit(X, candidates, sample_weight=np.full(len(X), 2.0))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_network_is_fitted_as_it_is(iris):
    X, y, candidates = iris
    net = MLPRegressor(
        hidden_layer_sizes=(10,), max_iter=30, solver="lbfgs", alpha=0.1, random_state=0
    )
    model = SURERetrainer(net, cross_fit=3, max_iter=4).fit(X, candidates)
    assert isinstance(model.estimator_, MLPRegressor)
    assert np.mean(model.transduction_ == y) > 0.9


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (lambda n: np.full((n, 3), np.nan), "predicts NaN or infinity: it has diverged"),
        (lambda n: np.zeros(n), r"shape \(30,\), expected \(30, 3\)"),
        (lambda n: np.zeros((n, 7)), r"shape \(30, 7\), expected \(30, 3\)"),
    ],
)
def test_outputs_that_do_not_fit_are_refused(iris, outputs, message):
    class Net:
        def fit(self, X, P):
            return self

        def predict(self, X):
            return outputs(len(X))

    X, candidates = iris[0], iris[-1]
    with pytest.raises(ParameterError, match=message):
        SURERetrainer(Net()).fit(X, candidates)
    with pytest.raises(ParameterError, match=r"estimator is the class Net: pass an instance"):
        SURERetrainer(Net).fit(X, candidates)
