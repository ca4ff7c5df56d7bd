import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from surelabel.solvers import lsbcmm
from tests.reference import lsbcmm as reference


def problem(seed, m=None, weighted=False):
    rng = np.random.default_rng(seed)
    m = m or int(rng.integers(4, 40))
    n, n_classes = int(rng.integers(1, 6)), int(rng.integers(2, 6))
    X = rng.normal(size=(m, n)) * rng.choice([0.1, 1, 30])
    Y = rng.random((m, n_classes)) < rng.uniform(0.1, 0.6)
    Y[np.arange(m), rng.integers(0, n_classes, m)] = True
    weight = rng.uniform(0.2, 3, m) if weighted else np.ones(m)
    return rng, X, Y, weight


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_e_step_is_the_literal_one(seed):
    rng, X, Y, weight = problem(seed, weighted=True)
    n_components = int(rng.integers(1, 7))
    scores = rng.normal(size=(len(X), n_components - 1)) * 3
    posterior = rng.gamma(1, size=(n_components, Y.shape[1])) + 0.05
    q = reference.joint_responsibilities(
        scores, [np.flatnonzero(row).tolist() for row in Y], posterior
    )

    candidates = sparse.csr_array(Y.astype(float))
    weights = np.exp(lsbcmm.log_stick_weights(scores))
    by_component, counts, _ = lsbcmm.e_step(weights, candidates, posterior, weight)
    confidence = lsbcmm.candidate_confidence(weights, candidates, posterior)

    dense = np.zeros((len(X), n_components, Y.shape[1]))
    for i, row in enumerate(q):
        for (k, y), value in row.items():
            dense[i, k, y] = value
    np.testing.assert_allclose(by_component, dense.sum(axis=2), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(
        counts, np.einsum("i,iky->ky", weight, dense), rtol=1e-10, atol=1e-14
    )
    np.testing.assert_allclose(confidence, dense.sum(axis=1)[Y], rtol=1e-10, atol=1e-14)


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_lower_bound_never_falls_and_is_the_literal_one(seed):
    rng, X, Y, weight = problem(seed, weighted=True)
    settings_ = {
        "n_components": int(rng.integers(1, 12)),
        "concentration": rng.choice([0.05, 0.5, 2]),
        "precision": rng.choice([0.01, 1, 10]),
    }
    mixture = lsbcmm.fit_mixture(
        X, sparse.csr_array(Y.astype(float)), weight, max_iter=40, tol=0, **settings_
    )
    path = mixture.lower_bound_path
    assert np.all(np.diff(path) >= -1e-11 * np.abs(path[:-1])), np.diff(path).min()
    literal = reference.lower_bound(
        np.clip(
            X @ mixture.coef + mixture.intercept, -30, 30
        ),  # the literal weights have no logarithm beyond
        [np.flatnonzero(row).tolist() for row in Y],
        mixture.posterior,
        mixture.coef,
        settings_["concentration"],
        settings_["precision"],
        weight,
    )
    assert path[-1] == pytest.approx(literal, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_a_stick_is_a_logistic_regression(seed):
    rng, X, _, _ = problem(seed, m=60)
    taken = rng.random(60)
    basis = lsbcmm.stick_basis(X, np.ones(60), 1.0)
    start = np.zeros((basis.features.shape[1], 1))
    sticks, _ = lsbcmm.ascend_sticks(
        basis, start, np.zeros((60, 1)), taken[:, None], np.ones((60, 1)), n_steps=200
    )
    coef, intercept = basis.coefficients(sticks)
    model = LogisticRegression(C=1.0, tol=1e-10, max_iter=10000, solver="newton-cholesky")
    model.fit(
        np.vstack([X, X]), np.repeat([1, 0], 60), sample_weight=np.concatenate([taken, 1 - taken])
    )
    np.testing.assert_allclose(coef.ravel(), model.coef_.ravel(), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(intercept, model.intercept_, rtol=1e-5, atol=1e-7)


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_no_stick_is_lowered_by_a_step(seed):
    rng, X, _, weight = problem(seed, weighted=True)
    basis = lsbcmm.stick_basis(X, weight, rng.choice([1e-3, 1.0]))
    sticks = rng.normal(size=(basis.features.shape[1], 4)) * rng.choice([0.1, 3, 30])
    reach = weight[:, None] * rng.random((len(X), 4))
    take = reach * rng.random((len(X), 4)) ** 8

    def value(sticks):
        scores = basis.features @ sticks
        terms = take * scores - reach * np.logaddexp(0, scores)
        return terms.sum(axis=0) - (basis.ridge[:, None] * sticks**2).sum(axis=0) / 2

    for _ in range(6):
        before = value(sticks)
        sticks, _ = lsbcmm.ascend_sticks(
            basis, sticks, basis.features @ sticks, take, reach, n_steps=1
        )
        assert np.all(value(sticks) >= before - 1e-11 * (1 + np.abs(before)))


def test_stick_weights_are_stable_with_many_extreme_sticks():
    scores = np.random.default_rng(0).normal(size=(50, 77)) * 1e3
    log_weights = lsbcmm.log_stick_weights(scores)
    assert np.all(np.isfinite(log_weights))
    np.testing.assert_allclose(np.exp(log_weights).sum(axis=1), 1, rtol=1e-12)
    two = np.array([[2.0], [-700.0]])
    np.testing.assert_allclose(
        lsbcmm.log_stick_weights(two),
        log_softmax(np.column_stack([two, np.zeros(2)]), axis=1),
        rtol=1e-13,
        atol=1e-15,
    )


def test_order_of_rows_and_classes_leaves_no_trace():
    rng, X, _, weight = problem(3, m=60, weighted=True)
    Y = np.eye(4)[np.arange(60) % 4]
    Y[:30] = np.maximum(Y[:30], np.roll(Y[:30], 1, axis=1))
    X[40:50] = X[30:40]  # the same features, other candidates
    rows, columns = rng.permutation(60), rng.permutation(4)
    options = {
        "n_components": 10,
        "concentration": 0.05,
        "precision": 1.0,
        "max_iter": 30,
        "tol": 0,
    }
    one = lsbcmm.fit_mixture(X, sparse.csr_array(Y), weight, **options)
    moved = lsbcmm.fit_mixture(
        X[rows], sparse.csr_array(Y[rows][:, columns]), weight[rows], **options
    )
    np.testing.assert_array_equal(moved.coef, one.coef)
    np.testing.assert_array_equal(moved.posterior, one.posterior[:, columns])
    np.testing.assert_array_equal(moved.lower_bound_path, one.lower_bound_path)


def test_number_of_threads_leaves_no_trace():
    _, X, Y, weight = problem(1, m=800)
    options = {
        "n_components": 30,
        "concentration": 0.05,
        "precision": 1.0,
        "max_iter": 10,
        "tol": 0,
    }
    paths = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            paths.append(
                lsbcmm.fit_mixture(
                    X, sparse.csr_array(Y.astype(float)), weight, **options
                ).lower_bound_path
            )
    np.testing.assert_array_equal(*paths)
