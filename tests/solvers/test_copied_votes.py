import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surelabel.solvers.copied_votes import COPIED, COPIED_ROWS, merge_copies
from surelabel.solvers.crowds import Tally, alternate_crowd
from surelabel.solvers.dawid_skene import dawid_skene, majority
from tests.reference.crowds import literal_copies
from tests.solvers.test_crowds import draw_votes


def copied_votes(votes, who, share, rng):
    """Another annotator, who copies this share of somebody's votes and makes up the others."""
    own = rng.integers(0, votes.max() + 1, len(votes))
    return np.where(rng.random(len(votes)) < share, votes[:, who], own)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.8, 0.9, 0.95, 1.0]), st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_copies_are_those_who_share_what_others_do_not_say(seed, share, n_classes):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, 120)
    votes = draw_votes(y, [0.9, 0.8, 0.8, 0.5], n_classes, rng)
    votes = np.column_stack([votes, *(copied_votes(votes, 3, share, rng) for _ in range(2))])
    votes[rng.random(votes.shape) < 0.1] = -1
    merged, group = merge_copies(votes, n_classes)
    pairs = literal_copies(votes, n_classes, COPIED, COPIED_ROWS)
    assert all(group[a] == group[b] for a, b in pairs)
    assert len(np.unique(group)) >= votes.shape[1] - len(pairs)
    joined = {a for pair in pairs for a in pair}
    assert all(np.sum(group == group[a]) == 1 for a in set(range(6)) - joined)
    for i, row in enumerate(votes):
        for g in np.unique(group):
            cast = [a for a in np.flatnonzero(group == g) if row[a] != -1]
            left = [a for a in np.flatnonzero(group == g) if merged[i, a] != -1]
            assert left == cast[:1]
            assert all(merged[i, a] == row[a] for a in left)


def test_copies_count_as_one():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    votes = draw_votes(y, [0.75, 0.75, 0.75, 0.6], 4, rng)
    votes = np.column_stack([votes, *(copied_votes(votes, 3, 0.97, rng) for _ in range(3))])
    merged, group = merge_copies(votes, 4)
    assert len(np.unique(group)) == 4
    assert len(np.unique(group[3:])) == 1
    right = np.mean(alternate_crowd(Tally(merged, 4)).posterior.argmax(axis=1) == y)
    apart = np.mean(alternate_crowd(Tally(votes[:, :4], 4)).posterior.argmax(axis=1) == y)
    assert right > apart - 0.01
    assert right > np.mean(majority(votes, 4).argmax(axis=1) == y) + 0.1
    assert right > np.mean(dawid_skene(votes, 4)[0].argmax(axis=1) == y) + 0.1


@pytest.mark.parametrize("accuracies", [[0.97, 0.97, 0.6, 0.6], [0.9] * 5, [0.6] * 5])
def test_who_agrees_because_of_being_right_is_no_copy(accuracies):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    votes = draw_votes(y, accuracies, 4, rng)
    merged, group = merge_copies(votes, 4)
    assert group.tolist() == list(range(len(accuracies)))
    assert merged is votes


def test_hard_rows_make_no_copies():
    """On a fifth of the rows everybody is mistaken alike, as people are."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 500)
    votes = draw_votes(y, [0.9] * 5, 4, rng)
    hard = rng.random(500) < 0.2
    seen = np.where(rng.random((500, 5)) < 0.7, ((y + 1) % 4)[:, None], votes)
    votes = np.where(hard[:, None], seen, votes)
    assert len(np.unique(merge_copies(votes, 4)[1])) == 5
