"""Feature maps against scikit-learn's, and against the kernels they approximate."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from surelabel.solvers.features import (
    LANDMARKS,
    FourierFeatures,
    Landmarks,
    choose_landmarks,
    fourier_features,
)
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


@pytest.mark.parametrize(
    ("kernel", "exact"), [("rbf", rbf_kernel), ("laplacian", laplacian_kernel)]
)
def test_fourier_features_approach_the_kernel(kernel, exact):
    X = instances(30)
    Z = fourier_features(kernel, 0.4, 3, 20_000, np.random.default_rng(0), np.float64)(X)
    np.testing.assert_allclose(Z @ Z.T, exact(X, gamma=0.4), atol=5 / np.sqrt(20_000))


def test_fourier_features_are_scikit_learns_for_the_same_frequencies():
    X = instances()
    sampler = RBFSampler(gamma=0.4, n_components=25, random_state=0).fit(X)
    features = FourierFeatures(sampler.random_weights_, sampler.random_offset_)
    np.testing.assert_allclose(features(X), sampler.transform(X), atol=1e-12)
    assert features.size == 25


def test_fourier_features_of_single_precision_stay_so():
    features = fourier_features("rbf", 0.4, 3, 7, np.random.default_rng(0), np.float32)
    Z = features(instances().astype(np.float32))
    assert Z.dtype == np.float32
    assert Z.shape == (80, 7)


@pytest.mark.parametrize("how", LANDMARKS)
def test_landmarks_are_chosen_in_order_without_repetition_and_by_seed(how):
    X = instances()
    for count in (1, 17, 80):
        chosen = choose_landmarks(X, count, how, rbf, np.random.default_rng(5))
        assert len(chosen) == count
        assert np.all(np.diff(chosen) > 0)
        assert chosen[0] >= 0
        assert chosen[-1] < 80
        assert np.array_equal(
            chosen, choose_landmarks(X, count, how, rbf, np.random.default_rng(5))
        )
    others = [
        choose_landmarks(X, 17, how, rbf, np.random.default_rng(seed)).tolist() for seed in range(3)
    ]
    assert others[0] != others[1] != others[2]


def test_far_apart_landmarks_cover_small_groups_that_chance_misses():
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [
            rng.standard_normal((2000, 2)),
            100 + rng.standard_normal((4, 2)),
            -100 + rng.standard_normal((4, 2)),
        ]
    )

    def covered(how):
        chosen = [
            choose_landmarks(X, 20, how, rbf, np.random.default_rng(seed)) for seed in range(10)
        ]
        return sum((rows >= 2000).any() for rows in chosen)

    assert covered("kmeans++") == 10
    assert covered("uniform") < 5


def test_leverage_scores_prefer_what_others_do_not_explain():
    """A crowd at one point counts as a few rows: spread rows are chosen more often than their
    share.
    """
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [
            np.full((900, 2), 0.0) + 1e-3 * rng.standard_normal((900, 2)),
            3 * rng.standard_normal((100, 2)),
        ]
    )
    shares = {
        how: np.mean(
            [
                (choose_landmarks(X, 50, how, rbf, np.random.default_rng(seed)) >= 900).mean()
                for seed in range(5)
            ]
        )
        for how in ("leverage", "uniform")
    }
    assert shares["leverage"] > 0.5 > 0.2 > shares["uniform"]


@pytest.mark.parametrize("how", LANDMARKS)
def test_choice_among_points_that_are_the_same_or_have_no_length(how):
    cosine = partial(kernel_matrix, "cosine")
    X = instances(100)
    X[np.arange(100) % 10 > 0] = 0
    assert len(choose_landmarks(X, 30, how, cosine, np.random.default_rng(0))) <= 30
    assert len(choose_landmarks(np.ones((40, 2)), 10, how, rbf, np.random.default_rng(0))) <= 10
    assert len(choose_landmarks(np.zeros((40, 2)), 10, how, cosine, np.random.default_rng(0))) <= 10
