from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from surelabel.solvers.pairwise import keep_elected, pair_problems, pair_votes, sparse_rows


def candidates(seed, labels):
    rng = np.random.default_rng(seed)
    Y = rng.random((12, labels)) < 0.4
    Y[np.arange(12), rng.integers(labels, size=12)] = True
    return rng, Y, sparse.csr_array(Y)


@settings(max_examples=50)
@given(seed=st.integers(0, 10**6), labels=st.integers(2, 7))
def test_pairs_hold_the_rows_with_exactly_one_of_two(seed, labels):
    _, Y, sets = candidates(seed, labels)
    problems = list(pair_problems(sets.indptr, sets.indices, labels))
    assert len(problems) == labels * (labels - 1) // 2
    for (j, k), (rows, is_first) in zip(combinations(range(labels), 2), problems, strict=True):
        np.testing.assert_array_equal(rows, np.flatnonzero(Y[:, j] != Y[:, k]))
        np.testing.assert_array_equal(is_first, Y[rows, j])


@settings(max_examples=50)
@given(seed=st.integers(0, 10**6), labels=st.integers(2, 7))
def test_votes_and_election(seed, labels):
    rng, Y, sets = candidates(seed, labels)
    outputs = rng.integers(-1, 2, (12, labels * (labels - 1) // 2)).astype(float)
    votes = pair_votes(outputs, labels)
    kept = np.zeros(Y.shape, bool)
    kept[Y] = keep_elected(votes, sets.indptr, sets.indices)
    for i in range(12):
        count = [0] * labels
        for (j, k), output in zip(combinations(range(labels), 2), outputs[i], strict=True):
            if output:
                count[j if output > 0 else k] += 1
        assert votes[i].tolist() == count
        elected = {j for j in range(labels) if Y[i, j] and count[j] == max(count)}
        assert set(np.flatnonzero(kept[i])) == (elected or set(np.flatnonzero(Y[i])))


def test_sparse_rows():
    made = sparse_rows(
        [
            (np.array([2, 0]), np.array([1.5, -1.0])),
            (np.array([], int), np.array([])),
            (np.array([1]), np.array([4.0])),
        ],
        3,
    )
    np.testing.assert_array_equal(made.toarray(), [[-1, 0, 1.5], [0, 0, 0], [0, 4, 0]])
