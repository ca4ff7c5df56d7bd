import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy.optimize import minimize_scalar

from surelabel import CandidateSets
from surelabel.solvers.sparse_rows import row_softmax
from surelabel.solvers.temperature import softmax_scale
from tests.solvers.test_clpl import problem


def loss(t, scores, Y, weight):
    inside = (special.softmax(t * scores, axis=1) * Y).sum(axis=1)
    told = Y.sum(axis=1) < Y.shape[1]
    epsilon = 1 / (weight[told].sum() + 2)
    return -weight[told] @ (
        (1 - epsilon) * np.log(inside[told]) + epsilon * np.log1p(-inside[told])
    )


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([1e-3, 1.0, 50.0]))
def test_scale_makes_the_candidates_most_likely(seed, size):
    _, Y, weight = problem(seed, 40, 1, 4)
    rng = np.random.default_rng(seed)
    scores = Y * rng.random(Y.shape) + rng.normal(size=Y.shape)
    sets = CandidateSets.from_indicator(Y)
    t = softmax_scale(size * scores, sets.indptr, sets.indices, weight) * size
    best = minimize_scalar(
        lambda log_t: loss(np.exp(log_t), scores, Y, weight), bounds=(-4, 3), method="bounded"
    )
    assert loss(t, scores, Y, weight) <= best.fun + 1e-6


def test_scores_that_fit_every_set_get_a_finite_scale():
    Y = np.eye(3, dtype=int)[np.arange(30) % 3]
    sets = CandidateSets.from_indicator(Y)
    t = softmax_scale(Y.astype(float), sets.indptr, sets.indices, np.ones(30))
    assert special.softmax(t * Y, axis=1)[0].max() == pytest.approx(31 / 32)  # Platt's target


def test_scores_without_information():
    Y = np.ones((5, 3), int)
    Y[0, 0] = 0
    sets = CandidateSets.from_indicator(Y)
    assert softmax_scale(np.zeros((5, 3)), sets.indptr, sets.indices, np.ones(5)) == 1
    everything = CandidateSets.from_indicator(np.ones((5, 3), int))
    assert softmax_scale(np.eye(5, 3), everything.indptr, everything.indices, np.ones(5)) == 1


def test_row_softmax_equals_scipys():
    scores = 300 * np.random.default_rng(0).normal(size=(20, 5))
    np.testing.assert_allclose(
        row_softmax(scores.ravel(), np.arange(0, 101, 5)), special.softmax(scores, axis=1).ravel()
    )
