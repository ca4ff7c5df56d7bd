"""Instances far from 0: the linear model and the Gaussian kernel do not depend on where 0 is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from surelabel import SURECV, SUREClassifier, SURERetrainer
from surelabel.data.rows import ArrayRows
from surelabel.exceptions import ParameterError
from surelabel.solvers.features import move_origin
from tests.reference.extended import extended_sure

TIGHT = {"lam": 0.3, "beta": 0.001, "kernel": "linear", "max_iter": 6, "tol": 0.0}


def problem(m, n, offset, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) + offset * rng.choice([-1.0, 1.0], n)
    Y = np.zeros((m, 3), int)
    Y[np.arange(m), np.arange(m) % 3] = 1
    Y[np.arange(m), rng.integers(0, 3, m)] = 1
    return X, Y


def fit(X, Y, **options):
    with pytest.warns(match="max_iter"):
        return SUREClassifier(**TIGHT | options).fit(X, Y)


@pytest.mark.parametrize("offset", [0, 1e3, 1e6])
@pytest.mark.parametrize(("m", "n"), [(18, 30), (24, 5)])
def test_the_linear_model_agrees_with_fifty_digits(m, n, offset):
    X, Y = problem(m, n, offset)
    P, Q = extended_sure(X, Y, 0.3, 0.001, 6)
    for solver in ("dual", "primal"):
        for form in (np.asarray, sparse.csr_array):
            model = fit(form(X), Y, solver=solver)
            np.testing.assert_allclose(model.confidence_.toarray(), P, atol=1e-8)
            np.testing.assert_allclose(model.decision_function(form(X)), Q, atol=1e-8)
            # Rows of another sparsity than those at fit.
            np.testing.assert_allclose(
                model.decision_function(form(np.zeros((1, n)))), [model.intercept_], atol=1e-6
            )
    rows = fit(ArrayRows(X), Y, solver="primal") if n < m else model
    np.testing.assert_allclose(rows.decision_function(X), Q, atol=1e-8)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("solver", ["auto", "dual", "primal"])
def test_large_features_agree_with_fifty_digits(solver, size):
    """The dual system has more rows than features, and is singular but for β: at 10⁶, its solution
    was off by 0.02.
    """
    X, Y = problem(24, 5, 0)
    P, Q = extended_sure(size * X, Y, 0.3, 0.05, 6)
    for form in (np.asarray, sparse.csr_array):
        model = fit(form(size * X), Y, solver=solver, beta=0.05)
        np.testing.assert_allclose(model.confidence_.toarray(), P, atol=1e-8)
        np.testing.assert_allclose(model.decision_function(form(size * X)), Q, atol=1e-8)


@settings(max_examples=20)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([10.0, 1e3, 1e5]),
    st.sampled_from(["linear", "rbf", "laplacian"]),
    st.booleans(),
)
def test_moving_all_instances_changes_nothing(seed, offset, kernel, wide):
    X, Y = problem(20, 30 if wide else 4, 0, seed)
    X = np.round(X, 3)  # so that the sum is exact but for the last digits
    options = {"kernel": kernel, "gamma": 0.1, "beta": 0.05, "max_iter": 500, "tol": 1e-3}
    here, there = SUREClassifier(**options).fit(X, Y), SUREClassifier(**options).fit(X + offset, Y)
    np.testing.assert_allclose(
        there.decision_function(X + offset), here.decision_function(X), atol=1e-7
    )


@pytest.mark.parametrize("wide", [True, False])
def test_the_search_sees_no_offset_either(wide):
    X, Y = problem(30, 40 if wide else 4, 0)
    scores = [
        SURECV((0.1, 0.3), (0.001, 0.1), kernel="linear", cv=3).fit(shifted, Y).cv_results_
        for shifted in (X, X + 1e6, sparse.csr_array(X + 1e6))
    ]
    for score in scores[1:]:
        np.testing.assert_array_equal(score["mean_test_score"], scores[0]["mean_test_score"])


def test_only_full_columns_of_a_sparse_matrix_move():
    X = sparse.csr_array(np.array([[5.0, 0.0, 1.0], [7.0, 2.0, 0.0]]))
    origin = move_origin(X, np.ones(2))
    assert origin.tolist() == [6, 0, 0]
    assert X.toarray().tolist() == [[-1, 0, 1], [1, 2, 0]]


def test_digits_that_are_lost_before_we_see_them():
    X, Y = problem(20, 30, 1e9)
    with pytest.warns(RuntimeWarning, match=r"times as far from 0 as .* subtract"):
        SUREClassifier(kernel="linear").fit(X, Y)
    X = problem(20, 30, 1e4)[0]
    K = (1 + X @ X.T) ** 3
    with pytest.warns(RuntimeWarning, match="are exact only to"):
        SUREClassifier(kernel="precomputed").fit(K, Y)


@pytest.mark.parametrize("model", [SUREClassifier, SURERetrainer])
def test_lam_from_2_on_is_all_the_same(model):
    X, Y = problem(30, 4, 0)
    confidences = [
        model(lam=lam, max_iter=50).fit(X, Y).confidence_.toarray() for lam in (2, 10, 1e8)
    ]
    for confidence in confidences:
        np.testing.assert_allclose(confidence.sum(axis=1), 1, atol=1e-12)
        np.testing.assert_allclose(confidence, confidences[0], atol=1e-12)
    for lam in (1.1e8, 1e17, 1e300):
        with pytest.raises(ParameterError, match="'lam' parameter"):
            model(lam=lam).fit(X, Y)
    with pytest.raises(ParameterError, match="'lam' parameter"):
        SURECV(lams=[0.1, 1e17]).fit(X, Y)
