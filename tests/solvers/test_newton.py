import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from surelabel.solvers import newton
from surelabel.solvers.newton import ScoreHessian, diagonal, lower_triangle


def literal_hessian(X, B, ridge):
    """``ridge·I + Σ_i x_i x_iᵀ ⊗ B_i``, for weights in the order (feature, label)."""
    n, l = X.shape[1], B.shape[1]
    return ridge * np.eye(n * l) + sum(
        np.kron(np.outer(x, x), b) for x, b in zip(X, B, strict=True)
    )


sizes = st.tuples(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 5), st.integers(1, 4))


@settings(max_examples=80)
@given(sizes, st.sampled_from([1e-3, 1.0]), st.booleans(), st.booleans())
def test_the_hessian_is_the_literal_one(size, ridge, thin, in_blocks):
    seed, m, n, l = size
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.7)
    vectors = rng.normal(size=(l, m))
    hessian = ScoreHessian(sparse.csr_array(X) if thin else X, l)
    with pytest.MonkeyPatch.context() as patch:
        if in_blocks:
            patch.setattr(newton, "block_rows", lambda width: 3)
            patch.setattr(newton, "KEPT", 0)
        expected = literal_hessian(X, np.einsum("im,jm->mij", vectors, vectors), ridge)
        assert_allclose(
            hessian.matrix(lower_triangle(vectors), ridge), expected, atol=1e-12, rtol=1e-10
        )
        gradient = rng.normal(size=(n, l))
        solution = np.linalg.solve(expected, gradient.ravel()).reshape(n, l)
        found = hessian.solve(lower_triangle(vectors), ridge, gradient)
        assert_allclose(found, solution, atol=1e-4 * np.abs(solution).max())  # the ridge


def test_lower_triangles():
    vectors = np.arange(1.0, 7.0).reshape(3, 2)
    found = lower_triangle(vectors)
    for column, v in zip(found.T, vectors.T, strict=True):
        assert column.tolist() == np.outer(v, v)[np.tril_indices(3)].tolist()
    assert found[diagonal(3)].tolist() == (vectors**2).tolist()


def test_newton_needs_few_steps_and_says_if_they_are_not_enough():
    """The slope of the function has a kink at 0, and half its curvature is used."""
    scales = np.array([[1.0, 10.0], [100.0, 1e-3]])

    def function(W):
        return float((scales * (W**2 + np.maximum(W, 0) ** 2)).sum()), 2 * scales * (
            W + np.maximum(W, 0)
        )

    def direction(gradient):
        return gradient / (2 * scales)  # half the curvature where W > 0

    start = np.array([[1.0, -2.0], [3.0, 4.0]])
    found = newton.newton(function, direction, start, 1e-8, 50)
    assert found.converged
    assert_allclose(found.weights, 0, atol=1e-6)
    short = newton.newton(function, direction, start, 1e-30, 1)
    assert not short.converged
    assert short.n_iter == 1


def test_a_step_that_is_far_too_long_is_cut():
    """The function falls until a kink at 0.0015; without it, the step would be 1e9."""
    ridge, last = 1e-9, [np.zeros((1, 1))]

    def function(w):
        last[0] = w
        near = np.clip(w - 1e-3, 0, 1e-3)
        value = ridge / 2 * w**2 - w + 1e3 * near**2 + 2 * np.maximum(0, w - 2e-3)
        return float(value.sum()), ridge * w - 1 + 2e3 * near

    def direction(gradient):
        return gradient / (ridge + 2e3 * ((last[0] > 1e-3) & (last[0] < 2e-3)))

    found = newton.newton(function, direction, np.zeros((1, 1)), 1e-8, 100)
    assert found.converged
    assert found.weights.item() == pytest.approx(1.5e-3)


def test_rounding_errors_end_it():
    """At the minimum, nothing is lower; a direction that does not fall is no minimum."""

    def function(W):
        return 1.0 + float((W**2).sum()), 2 * W + 1e-14

    found = newton.newton(function, lambda gradient: gradient / 2, np.zeros((1, 1)), 0.1, 10)
    assert found.converged
    assert found.gradient == 0
    stuck = newton.newton(
        lambda W: (1.0, np.ones((1, 1))), lambda gradient: gradient, np.zeros((1, 1)), 0.1, 10
    )
    assert not stuck.converged
    assert stuck.gradient == 1


def test_a_singular_hessian_gets_a_little_ridge():
    hessian = ScoreHessian(np.full((3, 2), 1e6), 2)
    curved = lower_triangle(np.ones((2, 3)))
    gradient = np.array([[1.0, -1.0], [2.0, 0.5]])
    found = hessian.solve(curved, 1e-12, gradient)
    assert np.isfinite(found).all()
    assert np.vdot(found, gradient) > 0


def test_it_is_for_few_weights_in_memory():
    assert ScoreHessian(np.zeros((10, 5)), 10).cheap
    assert not ScoreHessian(np.zeros((10, 50)), 10).cheap
    assert ScoreHessian(np.zeros((10, 50)), 10).possible
    assert not ScoreHessian(np.zeros((10, 60)), 10).possible
    assert not ScoreHessian(np.zeros((100_000, 2)), 70).possible  # many pairs of labels
