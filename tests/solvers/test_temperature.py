import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy.optimize import minimize_scalar

from surelabel import CandidateSets
from surelabel.solvers.crowds import Tally
from surelabel.solvers.sparse_rows import row_softmax
from surelabel.solvers.temperature import softmax_scale, trust_features
from tests.reference import crowds as literal
from tests.solvers.test_clpl import problem
from tests.solvers.test_crowds import draw_votes


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


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 10))
@settings(max_examples=30)
def test_trust_makes_the_votes_most_likely(seed, spread):
    rng = np.random.default_rng(seed)
    outputs, evidence = rng.normal(0, spread, (8, 3)), rng.normal(-2, 3, (8, 3))
    outputs += rng.choice([0, spread]) * evidence  # useless, or useful
    P = rng.dirichlet(np.ones(3), 8)
    trust = trust_features(outputs, evidence, P)
    pi = (P.sum(axis=0) + 1) / (8 + 3)
    values = [
        literal.literal_likelihood(literal.literal_features(outputs, t, e, pi), evidence)
        for t in np.geomspace(0.25, 64, 17)
        for e in (0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1)
    ]
    f = literal.literal_features(outputs, trust.sharpness, trust.failure, pi)
    assert literal.literal_likelihood(f, evidence) == pytest.approx(max(values))
    np.testing.assert_allclose(trust(outputs), f, atol=1e-12)


def test_useless_features_switch_themselves_off():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    evidence = Tally(draw_votes(y, [0.8, 0.8], 3, rng), 3).evidence(
        np.tile(0.7 * np.eye(3) + 0.1, (2, 1, 1))
    )
    P = special.softmax(evidence, axis=1)
    for _ in range(10):
        useless = trust_features(rng.normal(size=(400, 3)), evidence, P)
        assert np.ptp(useless(rng.normal(size=(400, 3))), axis=0).max() < 0.25
    useful = trust_features(np.eye(3)[y] + 0.1 * rng.normal(size=(400, 3)), evidence, P)
    assert np.mean(useful(np.eye(3))[np.arange(3), np.arange(3)]) > 0.9
