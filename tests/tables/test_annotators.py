import numpy as np
import pytest
from scipy.special import softmax

from surelabel.tables.annotators import annotator_agreement, vote_likelihood


def test_agreement_counts_votes():
    votes = np.array([[0, 1, -1], [1, 1, -1], [2, 0, -1], [2, 0, -1], [-1, 2, -1]])
    label = np.array([0, 1, 2, 2, 2])
    gold = np.array([-1, 1, 0, -1, -1])
    ann, bob, eve = annotator_agreement(votes, ("ann", "bob", "eve"), label, gold, 3)
    assert (ann.name, ann.n_votes, ann.agreement, ann.n_gold, ann.gold_agreement) == (
        "ann",
        4,
        1.0,
        2,
        0.5,
    )
    assert ann.most_confused is None
    assert (bob.n_votes, bob.agreement, bob.gold_agreement) == (5, 0.4, 1.0)
    assert bob.most_confused == (2, 0, 2)
    assert bob.confusion.tolist() == [[0, 1, 0], [0, 1, 0], [2, 0, 1]]
    assert eve.n_votes == 0
    assert np.isnan(eve.agreement)
    assert eve.gold_agreement is None


def crowd(m=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, m)
    spam, liar = rng.integers(0, 3, m), (y + 1) % 3
    good = [np.where(rng.random(m) < 0.85, y, rng.integers(0, 3, m)) for _ in range(3)]
    return y, np.stack([*good, spam, spam, np.where(rng.random(m) < 0.9, liar, y)], axis=1)


def accuracy(votes, y, proba, gold=None):
    gold = np.full(len(y), -1) if gold is None else gold
    likelihood = vote_likelihood(votes, proba, gold, np.random.default_rng(0))
    return np.mean(softmax(np.log(proba) + likelihood, axis=1).argmax(axis=1) == y)


def test_votes_are_weighed_by_annotator():
    """Two who copy each other at random and one who is always wrong in the same way: majority vote
    fails, the model does not.
    """
    y, votes = crowd()
    counts = np.stack([(votes == k).sum(axis=1) for k in range(3)], axis=1)
    flat = np.full((len(y), 3), 1 / 3)
    assert accuracy(votes, y, flat) > np.mean(counts.argmax(axis=1) == y) + 0.1


def test_features_are_a_prior():
    """Two who copy each other outvote the one who knows, unless the features speak for the one."""
    y, votes = crowd()
    nobody = np.full(len(y), -1)
    flat, clear = np.full((len(y), 3), 1 / 3), np.where(np.arange(3) == y[:, None], 0.9, 0.05)
    alone, backed = (
        vote_likelihood(votes[:, 2:5], p, nobody, np.random.default_rng(0)).argmax(axis=1)
        for p in (flat, clear)
    )
    assert np.mean(alone == y) < 0.5
    assert np.mean(backed == y) > 0.75


def test_gold_tells_who_is_right_where_votes_cannot():
    """Half the annotators name another class throughout: without gold nobody knows which half is
    right.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    votes = np.stack([y, y, (y + 1) % 3, (y + 1) % 3, (y + 1) % 3], axis=1)
    gold = np.where(np.arange(300) < 60, y, -1)
    flat = np.full((300, 3), 1 / 3)
    assert accuracy(votes, y, flat, gold) > 0.99


def test_no_votes_say_nothing():
    votes = np.array([[0, 1], [-1, -1], [1, 1], [0, 0]])
    likelihood = vote_likelihood(
        votes, np.full((4, 2), 0.5), np.full(4, -1), np.random.default_rng(0)
    )
    assert likelihood[1].tolist() == [0, 0]
    assert likelihood[2, 1] > likelihood[2, 0]
    assert likelihood[0] == pytest.approx(likelihood[0, ::-1], abs=2), "a split vote decides little"
