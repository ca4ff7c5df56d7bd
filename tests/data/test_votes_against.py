import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surelabel import CandidateSets
from surelabel.data.labelling import Labelling, read_labels
from surelabel.exceptions import CandidateError, ParameterError, TableError
from tests.reference.crowds import literal_net
from tests.solvers.test_crowds import ballots

WIDE = {
    "x": ["1", "2", "3", "4"],
    "ann": ["cat", "!cat", "dog", "cow"],
    "bob": ["!dog", None, "! dog", "dog"],
}


def read(columns, **labelling):
    return read_labels(pa.table(columns), Labelling(**labelling))


@given(st.integers(2, 4), st.integers(0, 999))
@settings(max_examples=50)
def test_a_vote_against_takes_a_vote_away(n_classes, seed):
    rng = np.random.default_rng(seed)
    said = rng.integers(-1, n_classes, (12, 3))
    against = rng.random(said.shape) < 0.5
    against[0, 0], said[0] = True, 0  # one vote against at least
    columns = {
        f"v{a}": ["" if k < 0 else "!" * no + f"c{k}" for k, no in zip(ks, nos, strict=True)]
        for a, (ks, nos) in enumerate(zip(said.T.tolist(), against.T.tolist(), strict=True))
    }
    every = {"gold": [f"c{k % n_classes}" for k in range(12)]}  # the classes
    labels = read(columns | every, votes=tuple(columns), gold="gold", not_prefix="!")
    sets = labels.candidates
    assert sets.votes is None
    rows = [
        [(k, no) for k, no in zip(ks, nos, strict=True) if k >= 0]
        for ks, nos in zip(said.tolist(), against.tolist(), strict=True)
    ]
    for i, expected in enumerate(literal_net(rows, n_classes)):
        found = sets.to_lists()[i]
        if expected is None:
            assert len(found) == n_classes
            continue
        assert found == [f"c{k}" for k in sorted(expected)]
        if sets.counts is not None:
            assert sets.to_counts()[i].tolist() == [expected.get(k, 0) for k in range(n_classes)]


@given(ballots())
@settings(max_examples=30)
def test_votes_survive_rows_classes_and_copies(problem):
    votes, n_classes = problem
    sets = CandidateSets.from_ballots(votes, np.arange(n_classes))
    assert np.array_equal(sets[::-1].votes, votes[::-1])
    backwards = np.arange(n_classes + 1)[::-1]
    again = sets.with_classes(backwards).with_classes(np.arange(n_classes))
    assert np.array_equal(again.votes, votes)


def test_wide_and_long_read_the_same():
    wide = read(WIDE, votes=("ann", "bob"), not_prefix="!")
    assert wide.candidates.to_lists() == [
        ["cat"],
        ["cow", "dog"],
        ["cat", "cow", "dog"],
        ["cow", "dog"],
    ]
    assert wide.votes is None
    rows = [(i, who, WIDE[who][i]) for i in range(4) for who in ("ann", "bob")]
    ids, who, said = zip(*rows, strict=True)
    long = {"id": ids, "who": who, "said": said}
    options = {"labels": "said", "id": "id", "annotator": "who", "long": True}
    assert read(long, **options, not_prefix="!").candidates == wide.candidates


def test_numbers_words_spellings_and_lists():
    numbers = read({"a": ["3", "!4", "5"], "b": ["!5", "!3", ""]}, votes=("a", "b"), not_prefix="!")
    assert numbers.candidates.classes.tolist() == ["3", "4", "5"]
    words = read(
        {"a": ["Cat", "not cat", "notch"], "b": ["not notch", "CAT", "cat"]},
        votes=("a", "b"),
        not_prefix="not",
        normalise=True,
    )
    assert words.candidates.classes.tolist() == ["cat", "notch"]
    assert words.candidates.to_lists() == [["cat"], ["cat", "notch"], ["cat", "notch"]]
    lists = read(
        {"a": ["cat|!dog", "!cat|!dog", "dog|dog|!dog"], "b": ["cow"] * 3},
        labels="a",
        gold="b",
        not_prefix="!",
    )
    assert lists.candidates.to_lists() == [["cat"], ["cow"], ["dog"]]


def test_what_cannot_be_is_refused():
    with pytest.raises(TableError, match=r"row 2, column 'a': '!' alone rules out no label"):
        read({"a": ["cat", "!"], "b": ["dog", "cat"]}, votes=("a", "b"), not_prefix="!")
    for prefix in ("", " ", 3):
        with pytest.raises(ParameterError, match="not_prefix is what stands before"):
            read({"a": ["cat"], "b": ["dog"]}, votes=("a", "b"), not_prefix=prefix)
    with pytest.raises(ParameterError, match="a column per class"):
        read({"a": [1, 0], "b": [0, 1]}, indicator=("a", "b"), not_prefix="!")
    with pytest.raises(CandidateError, match="or -1 where there is none; see row 0"):
        CandidateSets([0, 1], [0], ["a", "b"], [1], votes=[[-4]])
