import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from surelabel.tables.calibration import (
    COMPLETE,
    OUTSIDE,
    SETS,
    SUREST,
    VOTES,
    calibrated,
    fit_calibration,
    log_odds,
)


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
