import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from surelabel import CandidateSets, SUREClassifier, make_partial
from surelabel.solvers.kernels import kernel_matrix

KERNELS = ["rbf", "laplacian", "linear"]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, y, make_partial(y, p=0.7, r=1, random_state=0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_learns(iris, kernel):
    X, y, candidates = iris
    model = SUREClassifier(kernel=kernel).fit(X, candidates)
    assert model.converged_
    assert np.mean(model.transduction_ == y) > 0.9
    assert model.score(X, y) > 0.8
    assert (hasattr(model, "coef_"), hasattr(model, "dual_coef_")) == (
        kernel == "linear",
        kernel != "linear",
    )


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_precomputed_equals_the_named_kernel(iris, kernel):
    X, _, candidates = iris
    named = SUREClassifier(kernel=kernel, gamma=0.2).fit(X, candidates)
    K = kernel_matrix(kernel, X, gamma=0.2)
    precomputed = SUREClassifier(kernel="precomputed").fit(K, candidates)
    np.testing.assert_allclose(precomputed.dual_coef_, named.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(
        precomputed.predict_proba(K[:9]), named.predict_proba(X[:9]), atol=1e-8
    )


def test_precomputed_kernel_with_zero_weights(iris):
    X, _, candidates = iris
    K = kernel_matrix("rbf", X, gamma=0.2)
    weight = (np.arange(len(X)) % 3 > 0).astype(float)
    model = SUREClassifier(kernel="precomputed").fit(K, candidates, sample_weight=weight)
    used = weight > 0
    left_out = SUREClassifier(gamma=0.2).fit(X[used], candidates[used])
    np.testing.assert_allclose(model.predict_proba(K), left_out.predict_proba(X), atol=1e-8)


def wide(X):
    """The same instances in more columns than rows, where the dual is not the larger system."""
    return X @ np.random.default_rng(0).standard_normal((X.shape[1], len(X) + 20)) / 10


def test_primal_equals_dual(iris):
    X, _, candidates = iris
    X = wide(X)
    primal = SUREClassifier(kernel="linear", solver="primal").fit(X, candidates)
    dual = SUREClassifier(kernel="linear", solver="dual").fit(X, candidates)
    assert (primal.solver_, dual.solver_) == ("primal", "dual")
    np.testing.assert_allclose(primal.coef_, dual.coef_, atol=1e-8)
    np.testing.assert_allclose(primal.objective_path_, dual.objective_path_, atol=1e-8)


def test_sparse_equals_dense(iris):
    X, _, candidates = iris
    for form in (X, wide(X)):
        _check_sparse(form * (np.abs(form) > 0.5), candidates)


def _check_sparse(X, candidates):
    dense = SUREClassifier(kernel="linear").fit(X, candidates)
    for convert in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix):
        for solver in ("primal", "dual"):
            model = SUREClassifier(kernel="linear", solver=solver).fit(convert(X), candidates)
            np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-8)
            np.testing.assert_allclose(
                model.predict_proba(convert(X)), dense.predict_proba(X), atol=1e-8
            )


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_singletons_are_kernel_ridge_and_ridge(seed):
    """The supervised model of scikit-learn, which nobody here wrote."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((25, 3)), rng.integers(0, 3, 25)
    Y = np.eye(3)[y]
    if len(np.unique(y)) < 3:
        return
    linear = SUREClassifier(kernel="linear", beta=0.2).fit(X, y)
    ridge = Ridge(alpha=0.2).fit(X, Y)
    np.testing.assert_allclose(linear.coef_, ridge.coef_, atol=1e-8)
    np.testing.assert_allclose(linear.intercept_, ridge.intercept_, atol=1e-8)
    # KernelRidge has no intercept: centre the kernel and the targets for it.
    K = kernel_matrix("rbf", X, gamma=0.3)
    H = np.eye(25) - 1 / 25
    expected = KernelRidge(alpha=0.2, kernel="precomputed").fit(H @ K @ H, H @ Y)
    model = SUREClassifier(beta=0.2, gamma=0.3).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_, expected.dual_coef_, atol=1e-8)
    assert model.n_iter_ == 1
    assert model.converged_


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["rbf", "linear"]),
    st.sampled_from([0.0, 0.1, 0.5, 2.0]),
)
@settings(max_examples=40)
def test_properties(seed, kernel, lam):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((40, 3)), rng.permutation(np.arange(40) % 4)
    candidates = make_partial(y, p=0.8, r=int(rng.integers(1, 3)), random_state=int(seed % 1000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SUREClassifier(lam=lam, kernel=kernel, tol=1e-10, max_iter=60).fit(X, candidates)
        order = rng.permutation(40)
        moved = SUREClassifier(lam=lam, kernel=kernel, tol=1e-10, max_iter=60).fit(
            X[order], candidates[order]
        )
    assert np.all(np.diff(model.objective_path_) <= 1e-9)
    assert len(model.delta_path_) == len(model.objective_path_) == model.n_iter_
    np.testing.assert_allclose(model.confidence_.sum(axis=1), 1, atol=1e-9)
    assert model.confidence_.data.min() >= 0
    np.testing.assert_allclose(
        model.confidence_.toarray()[order], moved.confidence_.toarray(), atol=1e-6
    )
    np.testing.assert_allclose(model.decision_function(X), moved.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(
        model.decision_function(X).sum(axis=1), 1, atol=1e-8
    )  # Q1 = 1, always
    proba = model.predict_proba(X)
    assert np.array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))


def test_early_stop_warns(iris):
    X, _, candidates = iris
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=2 iterations"):
        model = SUREClassifier(max_iter=2).fit(X, candidates)
    assert not model.converged_
    assert model.n_iter_ == 2


def test_callback_sees_every_iteration_and_can_stop(iris):
    X, _, candidates = iris
    seen = []
    model = SUREClassifier(callback=seen.append).fit(X, candidates)
    assert [step.number for step in seen] == list(range(1, model.n_iter_ + 1))
    np.testing.assert_array_equal([step.delta for step in seen], model.delta_path_)
    stopped = SUREClassifier(callback=lambda step: step.number == 2).fit(X, candidates)
    assert stopped.n_iter_ == 2
    assert not stopped.converged_


def test_verbose(iris, capsys):
    X, _, candidates = iris
    SUREClassifier(verbose=1).fit(X, candidates)
    assert capsys.readouterr().out.startswith("solver: dual\niteration 1: change ")


def test_unlabelled_rows_help():
    """Semi-supervised: five labelled digits of each class and 500 unlabelled ones, against the
    labelled ones alone.
    """
    X, y = load_digits(return_X_y=True)
    X = X / 16
    labelled = np.concatenate([np.flatnonzero(y == c)[:5] for c in range(10)])
    rest = np.setdiff1d(np.arange(len(y)), labelled)
    rows = np.concatenate([labelled, rest[:500]])
    sets = CandidateSets.from_lists(
        [[label] for label in y[labelled]] + [[]] * 500, classes=range(10), unlabelled="all"
    )
    semi = SUREClassifier(lam=0.1, beta=0.1).fit(X[rows], sets)
    alone = SUREClassifier(lam=0.1, beta=0.1).fit(X[labelled], y[labelled])
    held_out = rest[500:]
    assert semi.score(X[held_out], y[held_out]) > alone.score(X[held_out], y[held_out])


@pytest.mark.parametrize(("dtype", "beta"), [(np.float32, 1e-3), (np.float64, 1e-8)])
def test_outputs_of_the_model_are_those_of_the_fit_at_small_beta(iris, dtype, beta):
    """Rounding along the constant vector, where the inverse is largest, must not reach the
    predictions.
    """
    X, y, _ = iris
    model = SUREClassifier(beta=beta).fit(X.astype(dtype), y)
    assert model.score(X.astype(dtype), y) > 0.97
    np.testing.assert_allclose(
        model.dual_coef_.sum(axis=0) / np.abs(model.dual_coef_).sum(axis=0), 0, atol=1e-5
    )


def test_float32_with_a_numpy_beta(iris):
    X, _, candidates = iris
    plain = SUREClassifier(beta=0.1).fit(X.astype(np.float32), candidates)
    numpy_beta = SUREClassifier(beta=np.float64(0.1)).fit(X.astype(np.float32), candidates)
    np.testing.assert_array_equal(plain.dual_coef_, numpy_beta.dual_coef_)
    assert numpy_beta.dual_coef_.dtype == np.float32


def test_score_reads_the_columns_of_a_matrix_as_the_classes(iris):
    X, y, _ = iris
    names = np.array(["a", "b", "c"])[y]
    model = SUREClassifier().fit(X, names)
    assert model.score(X, np.eye(3)[y]) == model.score(X, names) > 0.9
