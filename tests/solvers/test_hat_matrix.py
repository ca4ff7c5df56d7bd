"""The model as a matrix."""

from functools import partial

import numpy as np
import pytest

from surelabel.solvers.features import Landmarks
from surelabel.solvers.hat_matrix import KernelHat, LandmarkHat
from surelabel.solvers.kernels import kernel_matrix

BETA = 0.05


def literal(K, P):
    """Kernel ridge with an intercept, as the paper has it."""
    m = len(K)
    H = np.eye(m) - 1 / m
    A = np.linalg.solve(H @ K @ H + BETA * np.eye(m), H @ P)
    return P - BETA * A


@pytest.mark.parametrize("landmarks", [False, True])
def test_outputs_leverage_and_coefficients_are_those_of_the_literal_model(landmarks):
    """All rows as landmarks are the exact model."""
    rng = np.random.default_rng(0)
    X, P = rng.standard_normal((300, 3)), rng.dirichlet(np.ones(4), 300)
    K = kernel_matrix("rbf", X, gamma=0.2)
    hat = (
        LandmarkHat(Landmarks(X, partial(kernel_matrix, "rbf", gamma=0.2)), X, BETA)
        if landmarks
        else KernelHat(K.copy(), BETA)
    )
    np.testing.assert_allclose(hat.apply(P), literal(K, P), atol=1e-9)
    np.testing.assert_allclose(hat.leverage, literal(K, np.eye(300)).diagonal(), atol=1e-9)
    A, b = hat.coefficients(P)
    np.testing.assert_allclose(K @ A + b, literal(K, P), atol=1e-8)
