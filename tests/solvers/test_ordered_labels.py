"""Smoothing over neighbouring labels, checked against the literal version and SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter1d

from surelabel.solvers.ordered_labels import (
    choose_width,
    median_label,
    smoothing_matrix,
    widths_to_try,
)
from tests.reference.ordered import likelihood, nearest_in_expectation, smoothing


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=9, unique=True),
    st.floats(0.3, 20) | st.just(0),
)
def test_the_matrix_is_the_literal_one(places, width):
    positions = np.array(places, float)
    G = smoothing_matrix(positions, width)
    np.testing.assert_allclose(G, smoothing(positions, width), atol=1e-12)
    np.testing.assert_allclose(G.sum(axis=0), 1)


def test_far_from_the_ends_it_is_a_gaussian_filter():
    outputs = np.zeros((1, 61))
    outputs[0, 25:35] = np.random.default_rng(0).normal(size=10)
    G = smoothing_matrix(np.arange(61.0), 2.0)
    wanted = gaussian_filter1d(outputs, 2.0, axis=1, mode="constant", truncate=15)
    np.testing.assert_allclose(outputs @ G, wanted, atol=1e-6)


def test_widths_follow_the_gaps_of_the_labels():
    ages = np.array([3.0, 7.0, 20.0, 40.0])
    np.testing.assert_allclose(widths_to_try(10 * ages), 10 * widths_to_try(ages))
    assert widths_to_try(ages)[0] == 0
    assert widths_to_try(np.array([0.0, 1.0])).tolist() == [0]
    assert widths_to_try(np.array([0.0])).tolist() == [0]
    assert len(widths_to_try(np.arange(3.0))) > 1


@pytest.mark.parametrize("seed", range(6))
def test_the_width_is_the_most_likely_one(seed):
    rng = np.random.default_rng(seed)
    m, l = 60, 12
    truth = rng.integers(0, l, m)
    Y = np.zeros((m, l), bool)
    Y[np.arange(m), truth] = True
    Y |= rng.random((m, l)) < 0.2
    near = np.exp(-((np.arange(l) - truth[:, None]) ** 2) / 4)
    outputs = near + rng.normal(0, 0.6, (m, l))
    positions = np.arange(l, dtype=float)
    indptr = np.append(0, Y.sum(axis=1).cumsum())
    width, scale = choose_width(outputs, positions, indptr, np.nonzero(Y)[1])
    found = {w: likelihood(outputs @ smoothing(positions, w), Y) for w in widths_to_try(positions)}
    assert found[width] == pytest.approx(max(found.values()), abs=0.05)
    assert width > 0
    assert scale > 0


@given(st.integers(1, 8), st.integers(0, 1000))
def test_the_median_has_the_smallest_expected_distance(l, seed):
    rng = np.random.default_rng(seed)
    positions = rng.permutation(20)[:l].astype(float)
    proba = rng.dirichlet(np.full(l, 0.5), 5)
    best, expected = nearest_in_expectation(proba, positions)
    chosen = median_label(proba, positions)
    rows = np.arange(5)
    np.testing.assert_allclose(expected[rows, chosen], expected[rows, best], atol=1e-9)
