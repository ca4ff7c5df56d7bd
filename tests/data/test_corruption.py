"""Candidates made from true labels keep what the docstrings promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surelabel.data import catalog
from surelabel.data.corruption import make_partial
from surelabel.exceptions import CandidateError, ParameterError
from tests.hostile import VALUES, call

SHARE = st.floats(0, 1)


@st.composite
def labels(draw, min_classes=2):
    """True labels and a label space that may be larger than those that occur."""
    l = draw(st.integers(min_classes, 7))
    y = draw(st.lists(st.integers(0, l - 1), min_size=1, max_size=40))
    return np.array(y), np.arange(l)


def truth_inside(sets, y):
    return (sets.to_indicator()[np.arange(len(y)), y] == 1).all()


# ---------------------------------------------------------------- make_partial


@settings(max_examples=60)
@given(labels(), SHARE, st.data())
def test_counts_of_the_controlled_protocol_are_exact(problem, p, data):
    y, classes = problem
    r = data.draw(st.integers(0, len(classes) - 1))
    sets = make_partial(y, p, r, classes=classes, random_state=data.draw(st.integers(0, 9)))
    assert truth_inside(sets, y)
    expected = [1 + r] * round(p * len(y)) + [1] * (len(y) - round(p * len(y)))
    assert sorted(sets.sizes) == sorted(expected)
    assert sets.classes.tolist() == classes.tolist()


@settings(max_examples=60)
@given(labels(min_classes=3), SHARE, SHARE, st.integers(0, 9))
def test_with_eps_there_is_one_false_candidate_per_ambiguous_row(problem, p, eps, seed):
    y, classes = problem
    sets = make_partial(y, p, 1, eps, classes=classes, random_state=seed)
    assert truth_inside(sets, y)
    assert np.count_nonzero(sets.sizes == 2) == round(p * len(y))
    assert sets.sizes.max() <= 2


def false_labels(sets, y):
    indicator = sets.to_indicator()
    indicator[np.arange(len(y)), y] = 0
    return indicator


def test_the_coupled_label_comes_with_probability_eps_and_the_others_alike():
    y = np.repeat(np.arange(5), 4000)
    false = false_labels(make_partial(y, 1.0, 1, 0.7, random_state=0), y)
    share = np.array(
        [[false[y == c, (c + step) % 5].mean() for c in range(5)] for step in range(1, 5)]
    )
    np.testing.assert_allclose(share[0], 0.7, atol=0.03)
    np.testing.assert_allclose(share[1:], 0.1, atol=0.02)


def test_without_eps_all_false_labels_are_equally_likely():
    y = np.repeat(np.arange(5), 4000)
    false = false_labels(make_partial(y, 1.0, 2, random_state=0), y)
    share = np.array([[false[y == c, j].mean() for j in range(5) if j != c] for c in range(5)])
    np.testing.assert_allclose(share, 0.5, atol=0.03)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"p": 1.1}, "p must be a number from 0 to 1"),
        ({"p": float("nan")}, "p must be a number from 0 to 1"),
        ({"r": 3}, "below the 3 classes"),
        ({"r": -1}, "below the 3 classes"),
        ({"eps": 0.5, "r": 2}, "eps must be a probability, and needs r=1"),
        ({"eps": 2.0}, "eps must be a probability"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        make_partial([0, 1, 2], **parameters)


def test_eps_has_no_meaning_for_two_classes():
    with pytest.raises(CandidateError, match="two classes"):
        make_partial([0, 1], 1.0, 1, 0.5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_hostile_values_end_in_one_sentence(value):
    y = [0, 1, 2] * 4
    for function, options in (
        (make_partial, {"y": y, "p": 0.5, "r": 1, "eps": None, "classes": None}),
        (catalog.load, {"name": "glass"}),
        (catalog.describe, {"name": "glass"}),
    ):
        for name in options:
            call(function, (), options | {name: value})
    call(make_partial, (y,), {"random_state": value})
