"""Which label of a row is best, and how likely it is right."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy.special import expit, softmax
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import surelabel
from surelabel import CandidateSets, make_partial
from surelabel.tables.calibration import (
    COMPLETE,
    OUTSIDE,
    SETS,
    SUREST,
    VOTES,
    calibrated,
    fit_calibration,
    judge_sets,
    judge_votes,
    log_odds,
    with_confidence,
)
from tests.tables.conftest import as_labels


def draw(n, shift, slope, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(2, 3, n)
    return z, rng.random(n) < SUREST * expit(shift + slope * z)


@pytest.mark.parametrize("prior", [VOTES, SETS, COMPLETE, OUTSIDE])
def test_without_known_labels_it_is_the_prior(prior):
    found = fit_calibration(np.empty(0), np.empty(0, bool), prior)
    assert (found.shift, found.slope) == pytest.approx((prior.shift, prior.slope))
    z = np.linspace(-10, 10, 7)
    np.testing.assert_allclose(found(z), 0.99 / (1 + np.exp(-prior.shift - prior.slope * z)))


def test_many_known_labels_give_the_logistic_regression():
    """Without prior and with nothing surer than 0.99, it would be exactly that."""
    z, right = draw(50_000, 0.4, 0.8)
    found = fit_calibration(z, right, VOTES)
    assert (found.shift, found.slope) == pytest.approx((0.4, 0.8), abs=0.05)
    usual = LogisticRegression(C=np.inf).fit(z[:, None], right)
    np.testing.assert_allclose(found(z), usual.predict_proba(z[:, None])[:, 1], atol=0.02)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_it_is_the_most_probable_line(seed, n):
    z, right = draw(n, 0.3, 0.4, seed)
    found = fit_calibration(z, right, VOTES)

    def loss(parameters):
        a, log_b = parameters
        value = ((a - VOTES.shift) / VOTES.spread[0]) ** 2 / 2
        value += ((log_b - np.log(VOTES.slope)) / VOTES.spread[1]) ** 2 / 2
        for each, is_right in zip(z, right, strict=True):
            sure = 0.99 / (1 + np.exp(-a - np.exp(log_b) * each))
            value -= np.log(sure if is_right else 1 - sure)
        return value

    start = (VOTES.shift, np.log(VOTES.slope))
    best = optimize.minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-6}).fun
    assert loss((found.shift, np.log(found.slope))) == pytest.approx(best, abs=1e-3)


@given(st.integers(0, 2**32 - 1), st.integers(0, 30))
@settings(max_examples=25, deadline=None)
def test_the_order_of_rows_stays_and_nothing_is_surer_than_known_labels(seed, n):
    z, right = draw(n, -1, 0.3, seed)
    grid = np.linspace(-40, 40, 200)
    sure = fit_calibration(z, right, SETS)(grid)
    assert np.all(np.diff(sure) >= 0)
    assert sure.min() >= 0
    assert sure.max() <= 0.99


def test_known_labels_pull():
    z = np.full(40, 4.0)
    prior = fit_calibration(z[:0], np.empty(0, bool), VOTES)(z)[0]
    share = {
        n_right: fit_calibration(z, np.arange(40) < n_right, VOTES)(z)[0]
        for n_right in (20, 30, 39)
    }
    assert share[20] < share[30] < share[39]
    assert share[20] < prior - 0.15
    assert share[39] > prior + 0.03
    # Three known labels must not move much.
    few = fit_calibration(z[:3], np.ones(3, bool), VOTES)(z)[0]
    assert prior < few < prior + 0.07


def test_known_rows_are_judged_by_other_known_rows_only():
    z, right = draw(40, 0, 0.5)
    every = np.concatenate([z, np.linspace(-5, 5, 20)])
    known = np.arange(40)
    confidence, blind = calibrated(every, known, right, VOTES)
    np.testing.assert_allclose(confidence, fit_calibration(z, right, VOTES)(every))
    turned = right.copy()
    turned[7] = not turned[7]
    again, without = calibrated(every, known, turned, VOTES)
    assert without[7] == pytest.approx(blind[7], abs=1e-12)
    assert np.sum(without != blind) >= 20
    assert not np.allclose(again, confidence)


def test_one_known_label_is_judged_by_the_prior():
    z = np.array([3.0, 1.0])
    blind = calibrated(z, np.array([0]), np.array([False]), SETS)[1]
    np.testing.assert_allclose(blind, fit_calibration(z[:0], np.empty(0, bool), SETS)(z[:1]))


def test_certainty_has_finite_log_odds():
    z = log_odds(np.array([0.0, 0.5, 1.0], np.float32))
    assert np.isfinite(z).all()
    assert z[1] == 0
    assert z[0] == -z[2]


def good_model(y, n_classes, strength=8.0):
    scores = np.random.default_rng(7).standard_normal((len(y), n_classes))
    scores[np.arange(len(y)), y] += strength
    return softmax(scores, axis=1)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 1000)
    return y, make_partial(y, p=0.6, r=1, classes=np.arange(5), random_state=0)


def literal_share(r, given, best, lacking):
    """r_j / (Σ_{k∈S} r_k + λ/(1-λ) · s/(l-s) · Σ_{k∉S} r_k)."""
    s, l = len(given), len(r)
    inside = sum(r[k] for k in given)
    outside = sum(r[k] for k in range(l) if k not in given)
    missing = lacking / (1 - lacking) * s / (l - s) if s < l else 0
    return r[best] / (inside + missing * outside)


@given(
    st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=1, max_size=8),
    st.integers(0, 999),
    st.booleans(),
)
@settings(max_examples=60)
def test_sets_are_judged_as_the_formula_says(rows, seed, complete):
    rng = np.random.default_rng(seed)
    q, e = rng.dirichlet(np.full(5, 0.5), (2, len(rows))) + 1e-6
    sets = CandidateSets.from_lists([sorted(row) for row in rows], classes=range(5))
    found = judge_sets(q, e, as_labels(sets, complete=complete))
    lacking, a, b = (0, 0.6, 0.57) if complete else (0.05, 0.3, 0.45)
    for i, given_here in enumerate(rows):
        best = max(given_here, key=lambda k: q[i, k])
        assert found.label[i] == best
        if complete and len(given_here) == 1:
            assert found.confidence[i] == 0.99
            continue
        P, E = (literal_share(r[i], given_here, best, lacking) for r in (q, e))
        p = min(max(P * (1 + E) / 2, 1e-15), 1 - 1e-15)
        z = min(max(math.log(p / (1 - p)), -10), 10)
        assert found.score[i] == pytest.approx(z, abs=1e-6)
        assert found.confidence[i] == pytest.approx(max(0.99 / (1 + math.exp(-a - b * z)), 0.2))
    assert np.isnan(found.outside_probability).all()
    if complete:
        assert not found.outside.any()


def test_the_best_candidate_wins_and_the_next_is_second(problem, make_labels):
    y, sets = problem
    proba = good_model(y, 5)
    found = judge_sets(proba, proba, make_labels(sets))
    assert np.array_equal(found.label, y)
    pair = sets.sizes == 2
    others = sets.to_indicator()[pair].astype(bool)
    others[np.arange(len(others)), y[pair]] = False
    clear = proba[pair][others] > 1e-3
    assert np.array_equal(found.second[pair][clear], others.argmax(axis=1)[clear])
    assert not found.outside.any()
    assert found.confidence.min() > 0.75
    assert np.median(found.confidence) > 0.95


def test_single_candidates_are_judged_like_any_other(problem, make_labels):
    y, _ = problem
    sets = CandidateSets.from_labels(y, classes=np.arange(5))
    proba = good_model((y + 1) % 5, 5)
    doubted = judge_sets(proba, proba, make_labels(sets))
    assert doubted.confidence.max() < 0.6
    assert doubted.confidence.mean() < 0.25
    certain = judge_sets(proba, proba, make_labels(sets, complete=True))
    assert np.all(certain.confidence == 0.99)


def test_sets_that_the_features_contradict_are_ranked(problem, make_labels):
    """In 30 rows every candidate is wrong, in others the features are clear: these 30 come first,
    those of the clearest features before others.
    """
    y, sets = problem
    wrong = np.arange(30)
    lists = sets.to_lists()
    for i in wrong:
        lists[i] = [int(y[i] + 1) % 5]
    sets = CandidateSets.from_lists(lists, classes=np.arange(5))
    proba = good_model(y, 5)
    found = judge_sets(proba, proba, make_labels(sets))
    assert np.flatnonzero(found.outside).tolist() == wrong.tolist()
    assert sorted(found.outside[wrong]) == list(range(1, 31))
    outside = 1 - proba[wrong, found.label[wrong]]
    assert np.all(np.diff(outside[np.argsort(found.outside[wrong])]) <= 0)
    assert np.array_equal(found.best[wrong], y[wrong])
    assert np.array_equal(found.best[30:], found.label[30:])
    assert found.confidence[wrong].max() < 0.5
    assert np.isnan(found.outside_probability).all()
    gold = np.where(np.arange(1000) % 3 == 0, y, -1)
    told = judge_sets(proba, proba, make_labels(sets, gold=gold)).outside_probability
    assert told[wrong].min() > 0.5
    assert told[30:].max() < 0.2


def test_what_the_even_model_does_not_confirm_counts_half(problem, make_labels):
    y, sets = problem
    proba = good_model(y, 5)
    labels = make_labels(sets, complete=True)
    agreeing, blind, contrary = (
        judge_sets(proba, even, labels) for even in (proba, np.full((1000, 5), 0.2), 1 - proba)
    )
    pair = sets.sizes == 2
    assert np.array_equal(agreeing.label, contrary.label)
    np.testing.assert_allclose(blind.score[pair], math.log(3), atol=0.15)
    assert np.abs(contrary.score[pair]).max() < 0.1
    assert agreeing.score[pair].min() > 2.5


def test_gold_says_how_often_labels_are_right(problem, make_labels):
    """Features that are no help, and sets of one label that are wrong in a fifth of the rows."""
    y, _ = problem
    given_here = np.where(np.arange(1000) % 5 == 0, (y + 1) % 5, y)
    sets = CandidateSets.from_labels(given_here, classes=np.arange(5))
    gold = np.where(np.arange(1000) < 200, y, -1)
    flat = np.full((1000, 5), 0.2)
    knowing = judge_sets(flat, flat, make_labels(sets, gold=gold))
    assert knowing.confidence.mean() == pytest.approx(0.8, abs=0.05)
    assert knowing.gold_right.mean() == pytest.approx(0.8)
    assert knowing.outside_probability.mean() == pytest.approx(0.2, abs=0.05)


def test_shared_mistakes_make_many_votes_count_for_less(make_labels):
    votes = np.zeros((4, 10), int)
    for i, n in enumerate((1, 2, 5, 10)):
        votes[i, n:] = -1
    sets = CandidateSets.from_ballots(votes, ["a", "b"])
    posterior = np.tile([0.999, 0.001], (4, 1))
    found = judge_votes(posterior, make_labels(sets, votes=votes, names="abcdefghij"))
    expected = math.log(999) / (1 + 0.15 * np.array([0, 1, 4, 9]))
    np.testing.assert_allclose(found.score, expected)
    sure = 0.99 / (1 + np.exp(0.5 - 0.55 * expected))
    np.testing.assert_allclose(found.confidence, sure)


def test_labels_that_nobody_voted_for_are_outside(make_labels):
    votes = np.array([[0, 0], [0, 1], [1, 1], [2, 2]])
    sets = CandidateSets.from_ballots(votes, ["a", "b", "c"])
    posterior = np.array([[0.1, 0.8, 0.1], [0.1, 0.8, 0.1], [0.02, 0.03, 0.95], [0.1, 0.1, 0.8]])
    found = judge_votes(posterior, make_labels(sets, votes=votes, names=("x", "y")))
    assert found.label.tolist() == [1, 1, 2, 2]
    assert found.outside.tolist() == [2, 0, 1, 0]
    assert np.array_equal(found.best, found.label)
    assert np.isnan(found.outside_probability).all()  # without known labels


@pytest.mark.parametrize("seed", range(3))
def test_single_votes_that_nothing_confirms_are_not_sure(seed):
    rng = np.random.default_rng(seed)
    names = np.array(list("abcd"))
    frame = pd.DataFrame(rng.normal(size=(300, 6))).add_prefix("x")
    frame["label_given"] = names[rng.integers(4, size=300)]
    found = surelabel.clean(frame, labels="label_given", noisy=True)
    assert np.mean(found.frame["label"] == frame["label_given"]) > 0.97
    assert set(found.status) == {"look"}
    assert found.confidence.mean() < 0.5


@pytest.mark.parametrize("constant", [0, 1])
def test_nothing_is_probable_if_no_annotator_is_informative(constant):
    """Where a random annotator agrees with a constant one, both are right by chance alone."""
    X = load_iris().data
    rng = np.random.default_rng(constant)
    votes = {"r_random": rng.integers(3, size=150), "r_constant": np.full(150, constant)}
    frame = pd.DataFrame(X).add_prefix("x").assign(**votes)
    found = surelabel.clean(frame, votes="r_*")
    assert np.mean(found.frame["status"] == "look") > 0.95
    assert f"always says {constant}" in str(found)


@pytest.mark.parametrize(
    ("shares", "confidence", "expected"),
    [
        ([0.5, 0.3, 0.2], 0.9, [0.9, 0.06, 0.04]),  # gains: the rivals lose in proportion
        ([0.5, 0.3, 0.2], 0.4, [0.4, 0.36, 0.24]),  # loses: the rivals gain
        ([0.4, 0.6, 0.0], 0.28, [0.28, 0.28, 0.0]),  # no rival is above the label chosen
        ([0.0, 1.0, 0.0], 0.3, [0.3, 0.3, 0.0]),
        ([1.0, 0.0, 0.0], 1.0, [1.0, 0.0, 0.0]),
    ],
)
def test_probabilities_agree_with_the_label_chosen(shares, confidence, expected):
    found = with_confidence(np.array([shares]), np.zeros(1, int), np.array([confidence]))
    np.testing.assert_allclose(found[0], expected, atol=1e-6)
