import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import pairwise_kernels

from surelabel.solvers.kernels import (
    distances,
    gamma_of,
    kernel_matrix,
    mean_distance,
    median_distance,
)


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((30, 4)) * 5 + 100


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ("rbf", {"gamma": 0.1}),
        ("laplacian", {"gamma": 0.1}),
        ("polynomial", {"gamma": 1e-3, "degree": 2, "coef0": 0.5}),
        ("linear", {}),
        ("cosine", {}),
    ],
)
def test_kernels_equal_scikit_learn(X, kernel, options):
    expected = pairwise_kernels(X, metric=kernel, **options)
    np.testing.assert_allclose(kernel_matrix(kernel, X, **options), expected, rtol=1e-9)
    np.testing.assert_allclose(kernel_matrix(kernel, X[:7], X, **options), expected[:7], rtol=1e-9)


def test_callable_kernel(X):
    K = kernel_matrix(lambda x, z: 1 / (1 + np.sum((x - z) ** 2)), X)
    assert K[2, 5] == pytest.approx(1 / (1 + np.sum((X[2] - X[5]) ** 2)))


@pytest.mark.parametrize(("kernel", "metric"), [("rbf", "euclidean"), ("laplacian", "cityblock")])
def test_bandwidths_are_those_of_pdist(X, kernel, metric):
    D = distances(kernel, X)
    squared = kernel == "rbf"
    assert mean_distance(D, squared=squared) == pytest.approx(pdist(X, metric).mean())
    assert median_distance(D, squared=squared) == pytest.approx(np.median(pdist(X, metric)))
    sigma = 2 * pdist(X, metric).mean()
    expected = 1 / (2 * sigma**2) if squared else 1 / sigma
    assert gamma_of(kernel, "mean_distance", 2.0, X, None, None) == pytest.approx(expected)


@pytest.mark.parametrize("function", [mean_distance, median_distance])
def test_a_weight_counts_copies(X, function):
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    expected = function(distances("rbf", repeated), squared=True)
    assert function(distances("rbf", X), squared=True, weight=weight) == pytest.approx(expected)


def test_mean_distance_of_small_weights_is_finite(X):
    D = distances("rbf", X)
    normalised = mean_distance(D, squared=True, weight=np.full(len(X), 1 / len(X)))
    assert normalised == pytest.approx(mean_distance(D, squared=True))


def test_scale_and_degenerate_data(X):
    assert gamma_of("rbf", "scale", 1.0, X, None, None) == pytest.approx(1 / (4 * X.var()))
    same = np.ones((5, 2))
    assert gamma_of("rbf", "mean_distance", 1.0, same, None, None) == 1
    assert gamma_of("rbf", "scale", 1.0, same, None, None) == 1
    assert gamma_of("cosine", "mean_distance", 1.0, X, None, None) is None


@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial", "cosine"])
def test_blocks_of_the_kernel_matrix_fit_together(kernel):
    X = np.random.default_rng(0).normal(size=(4500, 3))  # more than two blocks
    K = kernel_matrix(kernel, X, gamma=0.2)
    np.testing.assert_allclose(K, kernel_matrix(kernel, X, X.copy(), gamma=0.2), atol=1e-10)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
