import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.preprocessing import StandardScaler

from surelabel.solvers.kernels import SCALINGS, learn_scaling, rescale


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
