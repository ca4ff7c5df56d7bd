"""Votes that tell nothing are no candidates."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from surelabel import SURECV, CandidateSets, PUREClassifier
from surelabel.data.ballots import weighed_votes


def ballots(seed=0):
    """Iris: three annotators of 75 %, one at random, one who always says the same."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(seed)
    good = [np.where(rng.random(150) < 0.75, y, rng.integers(0, 3, 150)) for _ in range(3)]
    return X, y, np.column_stack([*good, rng.integers(0, 3, 150), np.full(150, 2)])


def test_random_and_constant_votes_are_left_out():
    _, _, votes = ballots()
    sets = CandidateSets.from_votes(votes)
    assert weighed_votes(sets) == CandidateSets(
        np.arange(151) * 3, votes[:, :3].ravel(), [0, 1, 2], np.ones(450, int)
    )


def test_copies_count_as_one():
    _, y, votes = ballots()
    rng = np.random.default_rng(1)
    good, bad = np.where(rng.random((2, 150)) < [[0.85], [0.6]], y, (y + 1) % 3)
    copied = np.column_stack([votes[:, :3], good, bad, bad])
    found = weighed_votes(CandidateSets.from_votes(copied))
    total = np.zeros(found.shape)
    total[found.rows, found.indices] = found.counts
    assert total.sum(axis=1).tolist() == [5] * 150


def test_sets_and_single_annotators_stay():
    for sets in (
        CandidateSets.from_strings(["a|b", "b"]),
        CandidateSets.from_votes([["a"], ["b"]]),
        CandidateSets.from_votes([["a", "b"], ["b", "a"]]),
    ):
        assert np.array_equal(weighed_votes(sets).to_indicator(), sets.to_indicator())


def test_rows_of_useless_votes_may_have_every_label():
    _, _, votes = ballots()
    votes[0, :3] = -1
    sets = CandidateSets.from_votes(np.where(votes < 0, None, votes))
    assert weighed_votes(sets)[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("model", [PUREClassifier(), SURECV(kernel="rbf")])
def test_methods_for_sets_are_not_fooled(model):
    X, y, votes = ballots()
    assert np.mean(model.fit(X, CandidateSets.from_votes(votes)).predict(X) == y) > 0.9
