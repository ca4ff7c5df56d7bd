import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear, nnls

from surelabel.solvers.nnls import (
    explained_shares,
    prefix_weights,
    reconstruction_products,
    reconstruction_weights,
)


def problems(seed, q, k, n, kind):
    rng = np.random.default_rng(seed)
    instances = rng.normal(size=(2 * k, n)) + (1 if kind == "shifted" else 0)
    if kind == "duplicates":
        instances[k:] = instances[:k]
    if kind == "zeros":
        instances[rng.random(2 * k) < 0.5] = 0
    neighbours = np.array([rng.choice(2 * k, k, replace=False) for _ in range(q)])
    targets = rng.normal(size=(q, n)) + (1 if kind == "shifted" else 0)
    targets[0] = instances[neighbours[0, 0]]
    return targets, instances, neighbours


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.integers(1, 20),
    st.sampled_from(["plain", "shifted", "duplicates", "zeros"]),
)
def test_weights_are_optimal(seed, k, n, kind):
    targets, instances, neighbours = problems(seed, 5, k, n, kind)
    weights = reconstruction_weights(targets, instances, neighbours)
    assert np.all(weights >= 0)
    for x, rows, w in zip(targets, neighbours, weights, strict=True):
        A = instances[rows].T
        np.testing.assert_array_equal(w, nnls(A, x)[0])
        # Karush-Kuhn-Tucker: no weight could grow with profit, and those above zero are in balance.
        slope = A.T @ (x - A @ w)
        assert np.all(slope <= 1e-8)
        np.testing.assert_allclose(slope * w, 0, atol=1e-8)
        other = lsq_linear(A, x, bounds=(0, np.inf), method="bvls")
        # Beside columns of zeros that one may stop above the minimum.
        assert np.sum((x - A @ w) ** 2) <= 2 * other.cost + 1e-8


@pytest.mark.parametrize("kind", ["plain", "duplicates", "zeros"])
def test_shares_are_what_each_label_alone_leaves(kind):
    targets, instances, neighbours = problems(3, 40, 6, 8, kind)
    targets[1] = 0
    labels = np.random.default_rng(0).integers(0, 3, len(instances))[neighbours]
    weights = reconstruction_weights(targets, instances, neighbours)
    products = reconstruction_products(targets, instances, neighbours, weights)
    shares = explained_shares(*products, labels)
    for x, rows, w, label, share in zip(targets, neighbours, weights, labels, shares, strict=True):
        for c in range(3):
            error = np.sum((x - (w * (label == c)) @ instances[rows]) ** 2)
            np.testing.assert_allclose((1 - share[label == c].sum()) * (x @ x), error, atol=1e-10)


@pytest.mark.parametrize("kind", ["plain", "duplicates", "zeros"])
def test_weights_of_the_first_neighbours_are_those_of_a_problem_of_their_own(kind):
    targets, instances, neighbours = problems(5, 60, 8, 8, kind)
    counts = [2, 3, 5, 8]
    for k, weights in zip(
        counts, prefix_weights(targets, instances, neighbours, counts), strict=True
    ):
        alone = reconstruction_weights(targets, instances, neighbours[:, :k])
        fitted, expected = (
            np.einsum("ik,ikn->in", w, instances[neighbours[:, :k]]) for w in (weights, alone)
        )
        np.testing.assert_allclose(fitted, expected, atol=1e-9)
        if kind == "plain":
            np.testing.assert_allclose(weights, alone, atol=1e-9)
