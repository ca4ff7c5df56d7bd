import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from surelabel import CandidateSets, make_partial
from surelabel.tables.calibration import Calibration, fit_calibration, fit_gold, separable


def simulated(m=3000, l=5, seed=0):
    """True probabilities of rows, labels drawn from them, and false candidates that come
    by chance.
    """
    rng = np.random.default_rng(seed)
    truth = softmax(2.5 * rng.standard_normal((m, l)), axis=1)
    y = (truth.cumsum(axis=1) > rng.random((m, 1))).argmax(axis=1)
    return truth, y, make_partial(y, p=0.8, r=1, classes=np.arange(l), random_state=seed)


def gap(p, y):
    """How far the mean probability of the prediction is from how often it is right."""
    return abs(p.max(axis=1).mean() - np.mean(p.argmax(axis=1) == y))


@pytest.mark.parametrize("power", [0.4, 3.0])
def test_a_temperature_is_found_from_candidates_alone(power):
    truth, y, sets = simulated()
    model = truth**power / np.sum(truth**power, axis=1, keepdims=True)
    calibration = fit_calibration(model, sets, np.random.default_rng(0))
    assert calibration.sharpness == pytest.approx(1 / power, rel=0.12)
    assert calibration.failure < 0.02
    assert gap(calibration(model), y) < 0.02 < gap(model, y)


def test_a_bias_towards_a_class_is_found():
    truth, y, sets = simulated()
    bias = np.array([1.5, 0, 0, -1.0, 0])
    model = softmax(np.log(truth) + bias, axis=1)
    calibration = fit_calibration(model, sets, np.random.default_rng(0))
    found = calibration.bias - calibration.bias.mean()
    np.testing.assert_allclose(found, -(bias - bias.mean()), atol=0.25)
    assert (
        np.mean(calibration(model).argmax(axis=1) == y) > np.mean(model.argmax(axis=1) == y) + 0.03
    )


def test_rows_on_which_the_features_say_nothing_are_found():
    truth, _, sets = simulated()
    rng = np.random.default_rng(1)
    model = truth.copy()
    lost = rng.random(len(model)) < 0.2
    model[lost] = rng.permuted(model[lost], axis=1)
    calibration = fit_calibration(model, sets, np.random.default_rng(0))
    assert 0.1 < calibration.failure < 0.3
    assert calibration(model).max() <= 1 - calibration.failure * 4 / 5


def test_labels_that_occur_together_are_judged_by_each_other():
    """Classes 0 and 1 are confused by the model and by people: being right elsewhere must not make
    it look sure between them.
    """
    rng = np.random.default_rng(0)
    m = 2000
    y = rng.integers(0, 12, m)
    twin = np.where(y < 2, 1 - y, -1)
    seen = np.where((twin >= 0) & (rng.random(m) < 0.4), twin, y)
    scores = rng.standard_normal((m, 12))
    scores[np.arange(m), seen] += 8
    lists = [
        [a, b] if b >= 0 and both else [a]
        for a, b, both in zip(y, twin, rng.random(m) < 0.7, strict=True)
    ]
    model = softmax(scores, axis=1)
    p = fit_calibration(
        model, CandidateSets.from_lists(lists, classes=range(12)), np.random.default_rng(0)
    )(model)
    pair = p[twin >= 0][:, :2]
    assert np.mean(pair.max(axis=1) / pair.sum(axis=1)) == pytest.approx(0.6, abs=0.08)


def test_few_rows_leave_things_as_they_are():
    truth, _, sets = simulated(m=6)
    calibration = fit_calibration(truth, sets, np.random.default_rng(0))
    assert 1 / 3 < calibration.sharpness < 3
    assert np.abs(calibration.bias).max() < 1.5


def test_same_seed_same_calibration():
    truth, _, sets = simulated(m=200)
    first, second = (fit_calibration(truth, sets, np.random.default_rng(3)) for _ in range(2))
    assert first.sharpness == second.sharpness
    assert np.array_equal(first.bias, second.bias)


def test_probabilities_of_zero_are_read_as_small():
    p = Calibration(1.0, np.zeros(2), 0.0)(np.array([[0.0, 1.0]], np.float32))
    assert 0 < p[0, 0] < 1e-6
    assert p.dtype == np.float32


@given(st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=1, max_size=12), st.data())
@settings(max_examples=60)
def test_rows_in_which_labels_are_apart_are_counted(rows, data):
    sets = CandidateSets.from_lists([sorted(row) for row in rows], classes=range(5))
    label = np.array([data.draw(st.sampled_from(sorted(row))) for row in rows])
    for i, row in enumerate(rows):
        share = 1.0
        for rival in row - {label[i]}:
            apart = sum(rival in other and label[i] not in other for other in rows)
            share *= 1 - 0.5 / (apart + 1)
        assert separable(sets, sets, label)[i] == pytest.approx(share)


def test_gold_rows_separate_what_candidates_cannot():
    sets = CandidateSets.from_lists([["a", "b"]] * 9)
    known = CandidateSets.from_lists([["a", "b"]] * 6 + [["b"]] * 3, classes=["a", "b"])
    label = np.zeros(9, int)
    assert separable(sets, sets, label)[0] == 0.5
    assert separable(known, sets, label)[0] == pytest.approx(1 - 0.5 / 4)


def test_gold_corrects_confidence():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.6, 0.999, 3000)
    right = rng.random(3000) < 0.5 + 0.5 * (confidence - 0.5)  # far too sure
    corrected = fit_gold(confidence, right)(confidence)
    assert abs(corrected.mean() - right.mean()) < 0.01
    assert np.all(np.diff(corrected[np.argsort(confidence)]) >= 0), "the order must stay"
    few = fit_gold(confidence[:3], np.ones(3, bool))(confidence)
    assert np.abs(few - confidence).max() < 0.15, "three rows must not move much"


def test_confidence_is_lost_more_easily_than_gained():
    confidence = np.full(40, 0.8)
    gained = fit_gold(confidence, np.arange(40) < 38)(confidence)[0]
    lost = fit_gold(confidence, np.arange(40) < 20)(confidence)[0]
    assert 0.5 < lost < 0.6
    assert 0.8 < gained < 0.9


def test_gold_that_agrees_changes_little():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, 2000)
    corrected = fit_gold(confidence, rng.random(2000) < confidence)(confidence)
    assert np.abs(corrected - confidence).max() < 0.04
