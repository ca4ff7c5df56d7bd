"""The model as a matrix: the same as the literal one."""

import numpy as np
import pytest

from surelabel.solvers.hat_matrix import FeatureHat, KernelHat
from surelabel.solvers.kernels import kernel_matrix

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
    hat = KernelHat(K.copy(), BETA)
    np.testing.assert_allclose(hat.apply(P), literal(K, P), atol=1e-9)
    A, b = hat.coefficients(P)
    np.testing.assert_allclose(K @ A + b, literal(K, P), atol=1e-9)
    np.testing.assert_allclose(hat.leverage, literal(K, np.eye(len(K))).diagonal(), atol=1e-9)


def test_features_with_the_same_kernel_give_the_same_model(problem):
    X, _, P = problem
    Z = np.column_stack([X, X**2])
    by_features, by_kernel = FeatureHat(Z.copy(), BETA), KernelHat(Z @ Z.T, BETA)
    W, b = by_features.coefficients(P)
    np.testing.assert_allclose(Z @ W + b, literal(Z @ Z.T, P), atol=1e-9)
    np.testing.assert_allclose(by_features.apply(P), by_kernel.apply(P), atol=1e-9)
    np.testing.assert_allclose(by_features.leverage, by_kernel.leverage, atol=1e-9)
