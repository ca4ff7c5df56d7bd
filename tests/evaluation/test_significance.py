"""Tests of significance against scipy, against published tables, and at the edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from surelabel.evaluation.significance import (
    corrected_paired_t,
    critical_difference,
    friedman,
    two_sample_t,
)
from surelabel.exceptions import ParameterError

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=60)
@given(SEEDS, st.floats(-0.1, 0.1), st.sampled_from([0.01, 0.05, 0.2]))
def test_the_two_sample_test_is_that_of_scipy(seed, shift, alpha):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.7 + shift, 0.04, 10), rng.normal(0.7, 0.05, 8)
    found = stats.ttest_ind(a, b, equal_var=True)
    expected = "tie" if found.pvalue >= alpha else "win" if found.statistic > 0 else "loss"
    assert two_sample_t(a, b, alpha) == expected
    assert two_sample_t(b, a, alpha) == {"win": "loss", "loss": "win", "tie": "tie"}[expected]


@pytest.mark.parametrize(
    ("ours", "theirs", "marked"),
    [
        # Table 4: SURE against others, as mean and standard deviation over ten folds, and whether
        # the paper marks a win.
        ((0.781, 0.039), (0.742, 0.038), True),
        ((0.515, 0.027), (0.529, 0.039), False),
        ((0.078, 0.021), (0.063, 0.027), False),
        ((0.615, 0.019), (0.596, 0.017), True),
    ],
)
def test_verdicts_of_table_4_follow_from_its_means_and_deviations(ours, theirs, marked):
    shape = np.array([-1.5, -1.2, -0.8, -0.4, -0.1, 0.1, 0.4, 0.8, 1.2, 1.5])
    shape /= shape.std(ddof=1)
    a, b = (mean + std * shape for mean, std in (ours, theirs))
    assert two_sample_t(a, b) == ("win" if marked else "tie")


@settings(max_examples=60)
@given(SEEDS)
def test_without_correction_the_paired_test_is_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(0.7, 0.05, 10)
    b = a - rng.normal(0.01, 0.02, 10)
    assert corrected_paired_t(a, b, n_train=1e12, n_test=1) == pytest.approx(
        stats.ttest_rel(a, b).pvalue, rel=1e-6
    )


@settings(max_examples=60)
@given(SEEDS)
def test_the_correction_is_that_of_nadeau_and_bengio(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.72, 0.05, 10), rng.normal(0.7, 0.05, 10)
    d = a - b
    t = d.mean() / np.sqrt((1 / 10 + 100 / 900) * d.var(ddof=1))
    assert corrected_paired_t(a, b, 900, 100) == pytest.approx(2 * stats.t.sf(abs(t), 9))
    assert corrected_paired_t(a, b, 900, 100) > stats.ttest_rel(a, b).pvalue


def test_scores_without_variance():
    same = [0.7] * 10
    assert two_sample_t(same, same) == "tie"
    assert two_sample_t([0.71] * 10, same) == "win"
    assert two_sample_t(same, [0.71] * 10) == "loss"
    assert corrected_paired_t(same, same, 90, 10) == 1
    # The same difference in every fold, up to rounding.
    varied = np.linspace(0.5, 0.8, 10)
    assert corrected_paired_t(varied + 0.01, varied, 90, 10) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: two_sample_t([0.5], [0.5, 0.6]), "at least two folds"),
        (lambda: two_sample_t([0.5, np.nan], [0.5, 0.6]), "without gaps"),
        (lambda: corrected_paired_t([0.5, 0.6, 0.7], [0.5, 0.6], 9, 1), "there are 3 and 2 scores"),
        (lambda: corrected_paired_t([0.5, 0.6], [0.5, 0.6], 0, 1), "numbers of rows"),
        (lambda: friedman([0.5, 0.6]), "at least two data sets and two methods"),
        (lambda: friedman([[0.5, np.nan], [0.5, 0.6]]), "without gaps"),
        (lambda: critical_difference(1, 10), "at least two methods"),
        (lambda: critical_difference(3, 10, 1.5), "alpha between 0 and 1"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


@settings(max_examples=60)
@given(SEEDS, st.integers(3, 8), st.integers(2, 15), st.sampled_from([1, 2]))
def test_friedman_is_that_of_scipy_with_and_without_ties(seed, k, n, digits):
    scores = np.random.default_rng(seed).random((n, k)).round(digits)
    scores[0] = np.arange(k) / k  # one row without ties, so that ranks differ at all
    found = friedman(scores)
    expected = stats.friedmanchisquare(*scores.T)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)
    np.testing.assert_allclose(found.average_ranks, stats.rankdata(-scores, axis=1).mean(axis=0))
    assert found.average_ranks.sum() == pytest.approx(k * (k + 1) / 2)


def test_friedman_of_methods_that_never_differ():
    statistic, p_value, ranks = friedman(np.full((5, 3), 0.7))
    assert (statistic, p_value, ranks.tolist()) == (0, 1, [2, 2, 2])


def test_scores_that_differ_by_rounding_are_ties():
    one, other = np.mean([0.1, 0.2, 0.3, 0.7]), np.mean([0.7, 0.3, 0.2, 0.1])
    found = friedman([[one, np.nextafter(one, 1), 0.9], [-1e9, -1e9 - 1e-6, 2.0]])
    assert found.average_ranks.tolist() == [2.5, 2.5, 1]
    assert friedman([[one, other], [0.0, 0.0]]).average_ranks.tolist() == [1.5, 1.5]


def test_the_best_method_has_rank_1():
    assert friedman([[0.9, 0.5, 0.7], [0.8, 0.2, 0.3]]).average_ranks.tolist() == [1, 3, 2]


@pytest.mark.parametrize(
    ("alpha", "q"),
    [
        # Demšar (2006), Table 5a: critical values for the Nemenyi test of 2 to 10 methods.
        (0.05, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
        (0.10, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
    ],
)
def test_critical_differences_follow_the_published_critical_values(alpha, q):
    for k, value in enumerate(q, start=2):
        # The published values are cut or rounded to three digits.
        assert critical_difference(k, 30, alpha) == pytest.approx(
            value * np.sqrt(k * (k + 1) / 180), rel=4e-4
        )
