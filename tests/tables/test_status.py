"""Which labels are kept, and which rows a person should look at."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from surelabel import make_partial
from surelabel.tables.calibration import judge_sets
from surelabel.tables.status import LOOK, decide, gain_of_answers, status_of


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 1000)
    return y, make_partial(y, p=0.6, r=1, classes=np.arange(5), random_state=0)


def test_the_status_is_decided_once():
    confidence = np.array([0.95, 0.9, 0.89, 0.2])
    known = np.array([False, False, False, True])
    expected = ["probable", "probable", "look", "certified"]
    assert status_of(confidence, known, 0.1).tolist() == expected


def test_what_is_known_goes_before_what_was_judged(problem, make_labels):
    y, sets = problem
    proba = softmax(2 * np.eye(5)[y] + np.random.default_rng(7).standard_normal((1000, 5)), axis=1)
    gold = np.where(np.arange(1000) % 4 == 0, (y + 1) % 5, -1)
    labels = make_labels(sets, gold=gold)
    judged = judge_sets(proba, proba, labels)
    found, known = decide(judged, labels, 0.3), gold >= 0
    assert np.array_equal(found.label[known], gold[known])
    assert np.all(found.confidence[known] == 1)
    assert set(found.status[known]) == {"certified"}
    assert np.all(found.second[known] == -1)
    assert not found.outside[known].any()
    assert not found.gain[known].any()
    np.testing.assert_allclose(found.shares[known].max(axis=1), 1)
    assert np.array_equal(found.confidence[~known], judged.confidence[~known])
    probable = found.status == "probable"
    assert np.array_equal(probable, ~known & (judged.confidence >= 0.7))
    assert found.n_kept == np.sum(probable | known)
    kept = probable | known
    assert found.expected_error == pytest.approx(np.mean(1 - found.confidence[kept]))
    rows = np.arange(1000)
    margin = found.confidence - np.where(found.second < 0, 0, found.shares[rows, found.second])
    np.testing.assert_allclose(found.margin, margin, atol=1e-6)
    assert np.all(margin >= -1e-6)
    nothing = decide(replace(judged, confidence=np.zeros(1000)), make_labels(sets), 0.1)
    assert np.isnan(nothing.expected_error)


def test_an_answer_helps_most_where_doubts_are_alike():
    doubt = np.array([0.4, 0.4, 0.4, 0.4, 0.0])
    gain = gain_of_answers(np.array([0, 1, 0, 2, 0]), np.array([1, 0, 1, 3, -1]), doubt, 4)
    assert gain[0] == gain[1] == gain[2] == pytest.approx(0.4 * np.sqrt(1.2))
    assert gain[3] == pytest.approx(0.4 * np.sqrt(0.4))
    assert gain[4] == 0


def test_classes_come_and_go(problem, make_labels):
    y, sets = problem
    proba = softmax(2 * np.eye(5)[y], axis=1)
    found = decide(judge_sets(proba, proba, make_labels(sets)), make_labels(sets), 0.3)
    more = found.with_classes(np.array([0, 1, 2, 9, 3, 4]))
    assert np.array_equal(more.classes[more.label], found.classes[found.label])
    assert np.array_equal(more.shares[:, [0, 1, 2, 4, 5]], found.shares)
    assert np.array_equal(more.second < 0, found.second < 0)
    told = more.with_known(np.array([7]), np.array([3]))
    assert told.classes[told.label[7]] == 9
    assert told.with_classes(more.classes) is told
    back = told.with_classes(found.classes)  # nothing is known of the row any more
    assert back.status[7] == LOOK
    assert back.confidence[7] == pytest.approx(0.2)
    others = np.arange(1000) != 7
    assert np.array_equal(back.label[others], found.label[others])
    assert np.array_equal(back.status[others], found.status[others])
