import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import rankdata
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import StandardScaler

from surelabel.solvers.kernels import (
    SCALINGS,
    distances,
    gamma_of,
    kernel_matrix,
    learn_scaling,
    mean_distance,
    rescale,
)


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((30, 4)) * 5 + 100


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ("rbf", {"gamma": 0.1}),
        ("laplacian", {"gamma": 0.1}),
        ("linear", {}),
    ],
)
def test_kernels_equal_scikit_learn(X, kernel, options):
    expected = pairwise_kernels(X, metric=kernel, **options)
    np.testing.assert_allclose(kernel_matrix(kernel, X, **options), expected, rtol=1e-9)
    np.testing.assert_allclose(kernel_matrix(kernel, X[:7], X, **options), expected[:7], rtol=1e-9)


@pytest.mark.parametrize(("kernel", "metric"), [("rbf", "euclidean"), ("laplacian", "cityblock")])
def test_bandwidths_are_those_of_pdist(X, kernel, metric):
    D = distances(kernel, X)
    squared = kernel == "rbf"
    assert mean_distance(D, squared=squared) == pytest.approx(pdist(X, metric).mean())
    sigma = 2 * pdist(X, metric).mean()
    expected = 1 / (2 * sigma**2) if squared else 1 / sigma
    assert gamma_of(kernel, "mean_distance", 2.0, X, None, None) == pytest.approx(expected)


def test_a_weight_counts_copies(X):
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    expected = mean_distance(distances("rbf", repeated), squared=True)
    found = mean_distance(distances("rbf", X), squared=True, weight=weight)
    assert found == pytest.approx(expected)


def test_mean_distance_of_small_weights_is_finite(X):
    D = distances("rbf", X)
    normalised = mean_distance(D, squared=True, weight=np.full(len(X), 1 / len(X)))
    assert normalised == pytest.approx(mean_distance(D, squared=True))


def test_scale_and_degenerate_data(X):
    assert gamma_of("rbf", "scale", 1.0, X, None, None) == pytest.approx(1 / (4 * X.var()))
    same = np.ones((5, 2))
    assert gamma_of("rbf", "mean_distance", 1.0, same, None, None) == 1
    assert gamma_of("rbf", "scale", 1.0, same, None, None) == 1
    assert gamma_of("linear", "mean_distance", 1.0, X, None, None) is None


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_blocks_of_the_kernel_matrix_fit_together(kernel):
    X = np.random.default_rng(0).normal(size=(4500, 3))  # more than two blocks
    K = kernel_matrix(kernel, X, gamma=0.2)
    np.testing.assert_allclose(K, kernel_matrix(kernel, X, X.copy(), gamma=0.2), atol=1e-10)
    np.testing.assert_allclose(K, K.T, atol=1e-12)


def test_standard_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(3, [1, 50, 0], (40, 3)), rng.integers(1, 4, 40)
    ours = rescale("standard", learn_scaling("standard", X, weight), X)
    np.testing.assert_allclose(ours, StandardScaler().fit(X, sample_weight=weight).transform(X))


def test_ranks():
    """The share of the training rows below, ties in the middle; new values stay within 0 and 1."""
    X = np.random.default_rng(0).integers(0, 9, (50, 2)).astype(float)
    learned = learn_scaling("rank", X)
    np.testing.assert_allclose(rescale("rank", learned, X), (rankdata(X, axis=0) - 0.5) / 50)
    np.testing.assert_array_equal(rescale("rank", learned, np.array([[-5.0, 99.0]])), [[0, 1]])
    assert len(learn_scaling("rank", np.zeros((5000, 1)))) <= 1000


def test_roots():
    X = np.array([[-4.0, 9.0]])
    np.testing.assert_array_equal(rescale("root", learn_scaling("root", X), X), [[-2, 3]])


@pytest.mark.parametrize("name", SCALINGS)
def test_precision_stays(name):
    X = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    assert rescale(name, learn_scaling(name, X), X).dtype == np.float32


def test_a_weight_is_a_row_several_times():
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((30, 3)).round(1), rng.integers(1, 4, 30).astype(float)
    for name in SCALINGS:
        learned = learn_scaling(name, X, weight)
        repeated = learn_scaling(name, np.repeat(X, weight.astype(int), axis=0))
        np.testing.assert_allclose(rescale(name, learned, X), rescale(name, repeated, X))
        same = learn_scaling(name, X, np.ones(30))
        np.testing.assert_allclose(same, learn_scaling(name, X))
    half = learn_scaling("rank", X, weight / 2)
    np.testing.assert_allclose(
        rescale("rank", half, X), rescale("rank", learn_scaling("rank", X, weight), X), atol=0.05
    )
