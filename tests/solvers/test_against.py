import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from surelabel.solvers.against import AGAINST, simple_against, simple_both, split_ballots
from surelabel.solvers.crowds import Tally, alternate_crowd, beyond_chance, majority
from tests.reference.crowds import literal_against
from tests.solvers.test_crowds import draw_votes


@st.composite
def signed_ballots(draw, least=2):
    """Votes for and against labels, many missing, and the number of classes."""
    n_classes, annotators = draw(st.integers(least, 4)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    votes = rng.integers(0, n_classes, (draw(st.integers(1, 25)), annotators))
    votes = np.where(rng.random(votes.shape) < rng.random(annotators), AGAINST - votes, votes)
    votes[rng.random(votes.shape) < draw(st.sampled_from([0, 0.3, 0.7]))] = -1
    return votes, n_classes


@given(signed_ballots(least=3))
@settings(max_examples=50)
def test_every_vote_is_in_one_column_of_its_annotator(problem):
    votes, n_classes = problem
    ballots = split_ballots(votes, n_classes)
    again = np.full(votes.shape, -1)
    for column, against, who in zip(ballots.votes.T, ballots.against, ballots.owner, strict=True):
        given_here = column >= 0
        assert np.all(again[given_here, who] == -1)
        again[given_here, who] = (AGAINST - column if against else column)[given_here]
        assert given_here.any() or not against
    np.testing.assert_array_equal(again, votes)
    assert set(ballots.owner) == set(range(votes.shape[1]))


def test_of_two_classes_one_against_is_one_for_the_other():
    ballots = split_ballots(np.array([[0, AGAINST], [AGAINST - 1, 1], [-1, -1]]), 2)
    assert ballots.votes.tolist() == [[0, 1], [0, 1], [-1, -1]]
    assert not ballots.against.any()


@given(st.integers(2, 5), st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 30]))
@settings(max_examples=50)
def test_simple_matrices_are_the_literal_ones(n_classes, seed, size):
    counts = np.random.default_rng(seed).random((1, n_classes, n_classes)) * size
    simple, knows = simple_against(counts)
    matrix, alpha = literal_against(counts[0].tolist(), 20)
    np.testing.assert_allclose(simple[0], matrix, atol=1e-9)
    np.testing.assert_allclose(knows[0], alpha)


@given(signed_ballots())
@settings(max_examples=50)
def test_votes_against_are_shared_by_all_others(problem):
    votes, n_classes = problem
    ballots = split_ballots(votes, n_classes)
    expected = np.full((len(votes), n_classes), 1 / n_classes)
    for i, row in enumerate(votes):
        parts = [
            np.eye(n_classes)[v]
            if v >= 0
            else (1 - np.eye(n_classes)[AGAINST - v]) / (n_classes - 1)
            for v in row
            if v != -1
        ]
        if parts:
            expected[i] = np.mean(parts, axis=0)
    np.testing.assert_allclose(majority(ballots.votes, n_classes, ballots.against), expected)
    fit = alternate_crowd(ballots.votes, n_classes, against=ballots.against)
    np.testing.assert_allclose(fit.posterior.sum(axis=1), 1)
    np.testing.assert_allclose(fit.confusion.sum(axis=2), 1)


def test_who_rules_out_well_is_told_from_who_does_at_random():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 600)
    named = draw_votes(y, [0.7, 0.65], 4, rng)
    another = (y[:, None] + rng.integers(1, 4, (600, 2))) % 4
    well = np.where(rng.random((600, 2)) < 0.97, another, y[:, None])
    votes = np.hstack([named, AGAINST - well, AGAINST - rng.integers(0, 4, (600, 1))])
    ballots = split_ballots(votes, 4)
    fit = alternate_crowd(ballots.votes, 4, against=ballots.against)
    assert fit.knows[2:4].min() > fit.knows[4] + 0.2
    right = np.mean(fit.posterior.argmax(axis=1) == y)
    ignored = alternate_crowd(named, 4).posterior.argmax(axis=1)
    assert right > np.mean(ignored == y) + 0.08
    for a, expected in ((2, 0.7), (4, -0.2)):
        assert beyond_chance(ballots.votes[:, a], np.eye(4)[y], True)[0] > expected
    assert abs(beyond_chance(ballots.votes[:, 4], np.eye(4)[y], True)[0]) < 0.2


def test_votes_against_are_no_disagreement():
    tally = Tally(np.array([[0, 0, 0], [0, 1, -1]]), 3, np.array([False, False, True]))
    rows, disagreement = tally.disagreement()
    assert rows.tolist() == [0, 1]
    assert disagreement.tolist() == [0, 1]


def yes_or_no(y, n_classes, right, rng):
    """Answers of people who are shown any label."""
    shown = rng.integers(0, n_classes, (len(y), len(right)))
    yes = (shown == y[:, None]) == (rng.random(shown.shape) < right)
    return np.where(yes, shown, AGAINST - shown)


@given(knows=st.sampled_from([0.0, 0.6, 1.0]), seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_one_number_for_both_kinds_of_votes(knows, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 4000)
    shown = rng.integers(0, 4, 4000)
    yes = np.where(rng.random(4000) < knows, shown == y, rng.random(4000) < 0.5)
    truth = np.eye(4)[y]
    ballots = split_ballots(np.where(yes, shown, AGAINST - shown)[:, None], 4)
    assert ballots.mixed
    tally = Tally(ballots.votes, 4, ballots.against, ballots.owner)
    assert tally.pairs == [(0, 1)]
    simple, found = simple_both(tally.counts(truth)[list(tally.pairs[0])])
    np.testing.assert_allclose(simple.sum(axis=2), 1)
    assert (found > 0.95) == (knows == 1)
    assert (found < 0.15) == (knows == 0)


def test_two_classes_do_not_explain_all_that_is_ruled_out():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 400)
    votes = yes_or_no(y, 10, np.array([0.95, 0.9, 0.85, 0.8, 0.5]), rng)
    ballots = split_ballots(votes, 10)
    fit = alternate_crowd(ballots.votes, 10, against=ballots.against, owner=ballots.owner)
    found = fit.posterior.argmax(axis=1)
    assert len(np.unique(found)) == 10
    apart = alternate_crowd(ballots.votes, 10, against=ballots.against)
    assert np.mean(found == y) > np.mean(apart.posterior.argmax(axis=1) == y)
