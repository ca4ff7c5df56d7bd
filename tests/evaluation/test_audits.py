"""The bound after checks, against its literal form and by simulation."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surelabel.evaluation.audits import (
    checks_needed,
    most_wrong,
    out_of_reach,
    share_still_wrong,
)


def literal(n_rows, n_checked, n_wrong, risk):
    """The largest E₀ with e(E₀) ≤ 1/δ, in whole numbers."""

    def likelihood(wrong):
        return comb(wrong, n_wrong) * comb(n_rows - wrong, n_checked - n_wrong)

    allowed = []
    for wrong in range(n_rows + 1):
        if own := likelihood(wrong):
            half = [likelihood(fewer) for fewer in range(wrong // 2 + 1)]
            if sum(half) * Fraction(str(risk)) <= own * len(half):
                allowed.append(wrong)
    return max(allowed)


@settings(max_examples=150)
@given(st.data())
def test_the_bound_is_the_literal_one(data):
    n_rows = data.draw(st.integers(1, 80))
    n_checked = data.draw(st.integers(0, n_rows))
    n_wrong = data.draw(st.integers(0, n_checked))
    risk = data.draw(st.sampled_from([0.01, 0.1, 0.3]))
    assert most_wrong(n_rows, n_checked, n_wrong, risk) == literal(n_rows, n_checked, n_wrong, risk)


def test_answers_needed():
    found = {level: [checks_needed(1000, level, 0, k) for k in range(3)] for level in (0.02, 0.05)}
    assert found == {0.02: [128, 213, 277], 0.05: [55, 95, 127]}
    assert share_still_wrong(1000, 100, 0) == pytest.approx(0.027)
    assert share_still_wrong(1000, 1000, 30) == 0
    assert most_wrong(10**6, 10**5, 0) < 10**6 * 1e-3


def test_what_is_out_of_reach():
    assert out_of_reach(0.02, 30, 4)
    assert not out_of_reach(0.02, 10, 1)
    assert not out_of_reach(0.02, 30, 0)


@pytest.mark.parametrize(("n_rows", "n_wrong"), [(60, 3), (200, 10), (400, 60)])
def test_the_bound_holds_whenever_one_stops(n_rows, n_wrong):
    """Over the whole way, not at one moment: for at most a tenth of the orders it ever fails."""
    rng = np.random.default_rng(0)
    known, broken, n_orders = {}, 0, 400
    for _ in range(n_orders):
        found = np.cumsum(rng.permutation(n_rows) < n_wrong)
        path = [(n, int(found[n - 1])) for n in range(1, min(n_rows, 120) + 1)]
        for place in path:
            if place not in known:
                known[place] = most_wrong(n_rows, *place)
        broken += min(known[place] for place in path) < n_wrong
    # The binomial 99 % quantile around a tenth.
    assert broken / n_orders <= 0.1 + 2.33 * np.sqrt(0.09 / n_orders)
