"""The posterior of groups against the sum over all labellings."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from surelabel.solvers.confidence import SortedSets
from surelabel.solvers.groups import GroupPosterior, group_posterior


def by_labellings(P):
    """Every labelling of the rows, with a tenth of its chance where it leaves a label out."""
    n, u = P.shape
    posterior = np.zeros(P.shape)
    for labels in product(range(u), repeat=n):
        chance = np.prod([P[k, j] for k, j in enumerate(labels)])
        chance *= 1.0 if len(set(labels)) == u else 0.1
        for k, j in enumerate(labels):
            posterior[k, j] += chance
    return posterior / posterior.sum(axis=1, keepdims=True)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 4))
@settings(max_examples=100)
def test_posterior(seed, n, u):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(u, 0.3), n)
    P[rng.random(n) < 0.3] = np.eye(u)[0]  # certain rows
    np.testing.assert_allclose(group_posterior(P), by_labellings(P), atol=1e-10)


def sorted_sets(lists, n_classes):
    indptr = np.concatenate([[0], np.cumsum([len(labels) for labels in lists])])
    return SortedSets(indptr, np.concatenate(lists), n_classes, None, np.float64)


def test_groups_find_their_rows():
    """Certain rows count, groups do not mix, and lists that are too long stay as they are."""
    lists = [[0, 1], [0], [0, 1], [2, 3], [2, 3], [4, 5], list(range(9)), list(range(9))]
    groups = np.array([7, 7, 3, 5, 5, 9, 2, 2])
    sets = sorted_sets(lists, 9)
    p = sets.initial("uniform", 1)[0]
    rng = np.random.default_rng(0)
    p = sets.normalise(p[None] * rng.uniform(0.5, 1.5, len(p)))[0]
    before = sets.all_entries(p)
    after = sets.all_entries(GroupPosterior(sets, groups)(p))
    rows = np.split(after, np.cumsum([len(labels) for labels in lists])[:-1])
    given_rows = np.split(before, np.cumsum([len(labels) for labels in lists])[:-1])
    # Row 1 is certainly 0, so row 0 is probably 1.
    pair = by_labellings(np.stack([given_rows[0], [1, 0]]))
    np.testing.assert_allclose(rows[0], pair[0])
    np.testing.assert_allclose(
        np.stack(rows[3:5]), by_labellings(np.stack(given_rows[3:5])), atol=1e-12
    )
    for alone in (1, 2, 5, 6, 7):
        np.testing.assert_array_equal(rows[alone], given_rows[alone])
