"""Feature maps against scikit-learn's, and against the kernels they approximate."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from surelabel.solvers.features import Landmarks
from surelabel.solvers.kernels import kernel_matrix

rbf = partial(kernel_matrix, "rbf", gamma=0.4)


def instances(m=80, n=3, seed=0):
    return np.random.default_rng(seed).standard_normal((m, n))


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
@settings(max_examples=20)
def test_landmarks_give_scikit_learns_approximation(seed, count):
    X = instances(seed=seed)
    nystroem = Nystroem(gamma=0.4, n_components=count, random_state=seed).fit(X)
    Z, theirs = Landmarks(nystroem.components_, rbf)(X), nystroem.transform(X)
    assert Z.shape == (80, count)
    np.testing.assert_allclose(Z @ Z.T, theirs @ theirs.T, atol=1e-6)


def test_all_rows_as_landmarks_give_the_kernel():
    X = instances()
    Z = Landmarks(X, rbf)(X)
    np.testing.assert_allclose(Z @ Z.T, rbf_kernel(X, gamma=0.4), atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_coefficients_of_plain_kernel_values(dtype):
    X = instances().astype(dtype)
    landmarks = Landmarks(X[:20], rbf)
    W = np.random.default_rng(1).standard_normal((20, 4))
    Z = landmarks(X)
    assert Z.dtype == dtype
    assert landmarks.size == 20
    expected = Z.astype(float) @ W
    found = rbf(X.astype(float), X[:20].astype(float)) @ landmarks.dual(W)
    np.testing.assert_allclose(found, expected, atol=1e-9 if dtype == np.float64 else 2e-2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_landmarks_that_are_the_same_point(dtype):
    X = np.repeat(instances(10), 4, axis=0).astype(dtype)
    Z = Landmarks(X, rbf)(X).astype(float)
    np.testing.assert_allclose(
        Z @ Z.T, rbf(X.astype(float), X.astype(float)), atol=1e-9 if dtype == np.float64 else 1e-4
    )


def test_single_precision_costs_little():
    """The factor is made in double precision: what is lost is the rounding of the features, not of
    their kernel matrix.
    """
    X = instances(400, 5)
    double, single = (
        Landmarks(X[:200].astype(dtype), rbf)(X.astype(dtype)) for dtype in (np.float64, np.float32)
    )
    difference = single.astype(float) @ single.astype(float).T - double @ double.T
    assert (
        np.abs(difference).max() < 5e-5
    )  # 3e-4 with the kernel matrix of the landmarks in single precision
