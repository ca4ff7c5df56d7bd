import numpy as np
import pytest

from surelabel import CandidateSets
from surelabel.tables.annotators import annotator_agreement, krippendorff_alpha
from surelabel.tables.choosing import _beside_votes
from tests.tables.conftest import as_labels


def test_agreement_counts_votes():
    votes = np.array([[0, 1, -1], [1, 1, -1], [2, 0, -1], [2, 0, -1], [-1, 2, -1]])
    label = np.array([0, 1, 2, 2, 2])
    gold = np.array([-1, 1, 0, -1, -1])
    names = ("ann", "bob", "eve")
    found = annotator_agreement(votes, names, label, gold, {"bob": "copies"})
    bob, ann, eve = found  # the worst first
    assert (ann.remark, bob.remark) == ("", "copies")
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
    return np.mean(judged(votes, proba, gold).label == y)


def judged(votes, proba, gold=None):
    """Judge by votes, and by probabilities that a method found from the features."""
    sets = CandidateSets.from_lists([[0, 1, 2]] * len(votes))
    names = [f"annotator {a}" for a in range(votes.shape[1])]
    return _beside_votes(proba, votes, as_labels(sets, votes=votes, names=names, gold=gold))


def test_votes_are_weighed_by_annotator():
    """Two who copy each other at random and one who is always wrong in the same way: majority vote
    fails, the model does not.
    """
    y, votes = crowd()
    counts = np.stack([(votes == k).sum(axis=1) for k in range(3)], axis=1)
    flat = np.full((len(y), 3), 1 / 3)
    assert accuracy(votes, y, flat) > np.mean(counts.argmax(axis=1) == y) + 0.1


def test_features_are_a_prior():
    """Two who copy each other count as one, and the features speak for who knows."""
    y, votes = crowd()
    flat, clear = np.full((len(y), 3), 1 / 3), np.where(np.arange(3) == y[:, None], 0.9, 0.05)
    assert accuracy(votes[:, 2:5], y, clear) > max(0.85, accuracy(votes[:, 2:5], y, flat))


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
    y, votes = crowd()
    votes[:5] = -1
    proba = np.tile([0.5, 0.3, 0.2], (len(y), 1))
    found = judged(votes, proba)
    assert len(set(found.label[:5])) == 1
    assert np.all(found.confidence[:5] < 0.7)


def test_alpha_of_the_textbook():
    a = [None, None, None, None, None, 3, 4, 1, 2, 1, 1, 3, 3, None, 3]
    b = [1, None, 2, 1, 3, 3, 4, 3, None, None, None, None, None, None, None]
    c = [None, None, 2, 1, 3, 4, 4, None, 2, 1, 1, 3, 3, None, 4]
    votes = np.array([[-1 if v is None else v - 1 for v in coder] for coder in (a, b, c)]).T
    assert krippendorff_alpha(votes, 4) == pytest.approx(0.691, abs=5e-4)


def test_alpha_at_its_ends():
    votes = np.array([[0, 0], [1, 1], [2, 2]])
    assert krippendorff_alpha(votes, 3) == 1
    assert krippendorff_alpha(np.array([[0, 0], [0, 0]]), 3) is None
    assert krippendorff_alpha(np.array([[0, -1], [-1, 1]]), 2) is None
    assert krippendorff_alpha(np.array([[0, 1], [1, 0]]), 2) < 0
