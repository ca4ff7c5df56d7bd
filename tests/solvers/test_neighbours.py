import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from surelabel.solvers.neighbours import nearest


def brute(instances, k, queries=None):
    distances = cdist(instances if queries is None else queries, instances)
    if queries is None:
        np.fill_diagonal(distances, np.inf)
    rows = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, rows, axis=1), rows


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(1, 60),
    st.integers(1, 30),
    st.sampled_from([1, 3, 1000]),
    st.booleans(),
)
def test_equals_brute_force_and_ties_go_to_the_lower_row(seed, m, n, levels, own):
    rng = np.random.default_rng(seed)
    instances = rng.integers(0, levels, (m + 1, n)).astype(float)  # few levels: many ties
    queries = None if own else rng.integers(0, levels, (7, n)).astype(float)
    k = int(rng.integers(1, m + 1 if own else m + 2))
    distances, rows = nearest(instances, k, queries)
    expected_distances, expected_rows = brute(instances, k, queries)
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_allclose(distances, expected_distances)


@pytest.mark.parametrize("n", [3, 40])  # a tree, and blocked matrix products
def test_distances_far_below_the_length_of_the_instances(n):
    rng = np.random.default_rng(0)
    instances = 1e7 + rng.integers(0, 4, (300, n)).astype(float)
    distances, rows = nearest(instances, 5)
    expected_distances, expected_rows = brute(instances, 5)
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_array_equal(distances, expected_distances)


def test_same_neighbours_whatever_the_number_of_threads():
    instances = np.random.default_rng(1).integers(0, 2, (3000, 17)).astype(float)
    with threadpool_limits(1):
        one = nearest(instances, 10)
    with threadpool_limits(4):
        four = nearest(instances, 10)
    np.testing.assert_array_equal(one[0], four[0])
    np.testing.assert_array_equal(one[1], four[1])
