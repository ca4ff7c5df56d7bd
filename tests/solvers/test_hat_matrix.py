"""Models that are kept while the labels change."""

import numpy as np
import pytest

from surelabel.solvers.confidence import SortedSets
from surelabel.solvers.hat_matrix import FeatureHat, KernelHat, Outputs, SetsModel
from surelabel.solvers.kernels import kernel_matrix
from surelabel.solvers.leave_one_out import LeftOut, alternate_peers
from surelabel.solvers.ridge import KernelRidge

BETA = 0.05


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1100, 3))
    K = kernel_matrix("rbf", X, gamma=0.2)
    P = rng.dirichlet(np.ones(4), len(X))
    return X, K, P


def literal(K, P):
    """Kernel ridge with an intercept, as the paper has it."""
    m = len(K)
    H = np.eye(m) - 1 / m
    A = np.linalg.solve(H @ K @ H + BETA * np.eye(m), H @ P)
    return P - BETA * A


def test_outputs_are_those_of_the_literal_model(problem):
    _, K, P = problem
    hat = KernelHat(K.copy(), BETA, np.float32)
    np.testing.assert_allclose(hat.apply(P.astype(np.float32)), literal(K, P), atol=2e-5)
    A, b = KernelHat(K.copy(), BETA).coefficients(P)
    np.testing.assert_allclose(K @ A + b, literal(K, P), atol=1e-9)
    S = literal(K, np.eye(len(K)))
    np.testing.assert_allclose(hat.leverage, S.diagonal(), atol=1e-6)
    np.testing.assert_allclose(hat.columns(np.array([3, 700])), S[:, [3, 700]], atol=1e-6)


def test_features_with_the_same_kernel_give_the_same_model(problem):
    X, _, P = problem
    Z = np.column_stack([X, X**2])
    by_features, by_kernel = (
        FeatureHat(Z.copy(), BETA, np.float32),
        KernelHat(Z @ Z.T, BETA, np.float32),
    )
    W, b = FeatureHat(Z.copy(), BETA).coefficients(P)
    np.testing.assert_allclose(Z @ W + b, literal(Z @ Z.T, P), atol=1e-9)
    P = P.astype(np.float32)
    np.testing.assert_allclose(by_features.apply(P), by_kernel.apply(P), atol=1e-4)
    np.testing.assert_allclose(by_features.leverage, by_kernel.leverage, atol=1e-5)
    rows = np.array([0, 5])
    np.testing.assert_allclose(by_features.columns(rows), by_kernel.columns(rows), atol=1e-5)


def test_what_is_remembered_changes_nothing(problem):
    _, K, P = problem
    hat = KernelHat(K.copy(), BETA, np.float32)
    outputs, P = Outputs(hat), P.astype(np.float32)
    rng = np.random.default_rng(1)
    for n_changed in (0, 1, 3, 200, 1, 0, 1):
        P = P.copy()
        P[rng.choice(len(P), n_changed, replace=False)] = [1, 0, 0, 0]
        np.testing.assert_allclose(outputs(P), hat.apply(P), atol=1e-5)


def test_many_small_changes_do_not_add_up(problem):
    _, K, P = problem
    hat = KernelHat(K[:50, :50].copy(), BETA, np.float32)
    outputs, P, rng = Outputs(hat), P[:50].astype(np.float32), np.random.default_rng(2)
    for _ in range(450):
        P = P.copy()
        P[rng.integers(50)] = rng.dirichlet(np.ones(4))
        outputs(P)
    np.testing.assert_allclose(outputs(P), hat.apply(P), atol=2e-5)


def test_the_alternation_needs_no_order(problem):
    """Certain rows anywhere: the same as the dual model, which has them first."""
    _, K, _ = problem
    rng, m, l = np.random.default_rng(3), 300, 5
    K = K[:m, :m]
    sizes = rng.integers(1, 4, m)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    indices = np.concatenate([np.sort(rng.choice(l, size, replace=False)) for size in sizes])
    sets = SortedSets(indptr, indices, l, None, np.float64)
    dual = KernelRidge(np.ascontiguousarray(K[np.ix_(sets.row_order, sets.row_order)]), BETA, sets)
    exact = alternate_peers(dual, sets, LeftOut(dual.leverage()), max_iter=30, tol=1e-6)
    single = SortedSets(indptr, indices, l, None, np.float32)
    hat = KernelHat(K.copy(), BETA, np.float32)
    model = SetsModel(Outputs(hat), single)
    leverage = hat.leverage[single.row_order]
    path = alternate_peers(model, single, LeftOut(leverage), max_iter=30, tol=1e-6)
    np.testing.assert_allclose(path.p, exact.p, atol=1e-4)
    P = model.dense(path.p)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-5)
    again = alternate_peers(
        model, single, LeftOut(leverage), max_iter=30, tol=1e-3,
        shift=path.shift,
        start=model.start(P, np.empty(0, int)),
    )  # fmt: skip
    assert len(again.delta_path) == 1  # it is there already
    changed = model.start(P, np.array([int(single.row_order[-1])]))
    last = single.rows == single.rows.max()
    np.testing.assert_allclose(changed[last], 1 / last.sum())
