import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from surelabel import CandidateSets
from surelabel.data.labelling import Labelling, read_labels
from surelabel.exceptions import CandidateError, ParameterError, TableError
from tests.reference.crowds import literal_net
from tests.solvers.test_crowds import signed_ballots

WIDE = {
    "x": ["1", "2", "3", "4"],
    "ann": ["cat", "!cat", "dog", "cow"],
    "bob": ["!dog", None, "! dog", "dog"],
}


def read(columns, **labelling):
    return read_labels(pa.table(columns), Labelling(**labelling))


@given(signed_ballots)
@settings(max_examples=50)
def test_a_vote_against_takes_a_vote_away(problem):
    votes, n_classes = problem
    sets = CandidateSets.from_ballots(votes, np.arange(n_classes))
    rows = [[(v, False) if v >= 0 else (-2 - v, True) for v in row if v != -1] for row in votes]
    for i, expected in enumerate(literal_net(rows, n_classes)):
        entries = slice(sets.indptr[i], sets.indptr[i + 1])
        found = dict(
            zip(sets.indices[entries].tolist(), sets.counts[entries].tolist(), strict=True)
        )
        assert found == (dict.fromkeys(range(n_classes), 0) if expected is None else expected)


@given(signed_ballots)
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
    assert wide.votes.tolist() == [[0, -4], [-2, -1], [2, -4], [1, 2]]
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
    assert words.votes.tolist() == [[0, -3], [-2, 0], [1, 0]]
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
    with pytest.raises(CandidateError, match="-2 - k against position k; see row 0"):
        CandidateSets([0, 1], [0], ["a", "b"], [1], votes=[[-4]])
