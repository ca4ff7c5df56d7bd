import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import LinearSVC

from surelabel import CandidateSets
from surelabel.solvers.clpl import fit_clpl
from tests.reference.clpl import binary_problem, clpl_objective


def problem(seed, m, n, n_classes):
    rng = np.random.default_rng(seed)
    Y = (rng.random((m, n_classes)) < 0.4).astype(int)
    truth = rng.integers(0, n_classes, m)
    Y[np.arange(m), truth] = 1
    X = rng.normal(size=(m, n)) + rng.normal(size=(n_classes, n))[truth]
    return X, Y, rng.uniform(0.2, 3, m)


def solve(X, Y, cost, tol=1e-10, max_iter=5000):
    sets = CandidateSets.from_indicator(Y)
    return fit_clpl(X, sets.indptr, sets.indices, Y.shape[1], cost, tol, max_iter)


sizes = st.tuples(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 6), st.integers(2, 5))


@settings(max_examples=40)
@given(sizes, st.sampled_from([0.01, 1.0, 10.0]))
def test_weights_are_those_of_liblinear_on_the_binary_problem(size, C):
    X, Y, _ = problem(*size)
    features, targets = binary_problem(X, Y)
    if len(set(targets)) < 2:
        return  # every row has every label as a candidate
    svm = LinearSVC(
        loss="squared_hinge", dual=False, fit_intercept=False, C=C, tol=1e-10, max_iter=100_000
    )
    expected = svm.fit(features, targets).coef_.reshape(Y.shape[1], -1).T
    found = solve(X, Y, np.full(len(X), C))
    assert found.converged
    np.testing.assert_allclose(found.weights, expected, atol=2e-5 * np.abs(expected).max())
    ones = np.ones(len(X))
    assert clpl_objective(found.weights, X, Y, C, ones) <= clpl_objective(
        expected, X, Y, C, ones
    ) * (1 + 1e-12)


@settings(max_examples=30)
@given(sizes)
def test_weighted_objective_is_at_its_minimum(size):
    X, Y, weight = problem(*size)
    W = solve(X, Y, 2 * weight).weights
    value = clpl_objective(W, X, Y, 2, weight)
    rng = np.random.default_rng(size[0])
    for _ in range(5):
        step = rng.normal(size=W.shape)
        for length in (1e-3, -1e-3):
            assert clpl_objective(W + length * step, X, Y, 2, weight) > value


@pytest.mark.parametrize("n", [4, 2500])  # with and without the change of variables
def test_sparse_instances_give_the_same_weights(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, n)) * (rng.random((30, n)) < 0.3)
    Y = problem(0, 30, 1, 3)[1]
    dense, thin = (solve(form, Y, np.ones(30)).weights for form in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(thin, dense, atol=1e-7)


def test_badly_scaled_features_are_no_obstacle():
    X, Y, _ = problem(1, 200, 5, 4)
    found = solve(X * 10.0 ** np.arange(-2, 3), Y, np.ones(200), tol=1e-8, max_iter=1000)
    assert found.converged
    assert found.n_iter < 100


def test_too_few_iterations_are_told():
    X, Y, weight = problem(2, 30, 4, 3)
    assert not solve(X, Y, weight, max_iter=2).converged
    nothing = solve(
        np.zeros((5, 2)), np.eye(5, 3, dtype=int) | 1 - np.eye(5, 3, dtype=int), np.ones(5)
    )
    assert nothing.converged
    assert not nothing.weights.any()
