import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.datasets import load_iris

import surelabel
from surelabel import CandidateSets, make_partial
from surelabel.tables.judging import judge


def good_model(y, n_classes, strength=8.0):
    scores = np.random.default_rng(7).standard_normal((len(y), n_classes))
    scores[np.arange(len(y)), y] += strength
    return softmax(scores, axis=1)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 1000)
    return y, make_partial(y, p=0.6, r=1, classes=np.arange(5), random_state=0)


def test_the_best_candidate_wins_and_the_next_is_second(problem, make_labels):
    y, sets = problem
    found = judge(good_model(y, 5), make_labels(sets), sets, np.random.default_rng(0))
    assert np.array_equal(found.label, y)
    single = sets.sizes == 1
    assert np.all(found.second[single] == -1)
    pairs = sets.to_indicator()[~single].astype(bool)
    pairs[np.arange(len(pairs)), y[~single]] = False
    assert np.array_equal(found.second[~single], pairs.argmax(axis=1))
    assert not found.outside.any()
    assert np.all(found.confidence > 0.95)
    assert np.all((found.margin >= 0) & (found.margin <= found.confidence))


def test_sets_that_the_features_contradict_are_found(problem, make_labels):
    """In 30 rows every candidate is wrong, in others the features are clear: these 30 lack the
    truth.
    """
    y, sets = problem
    wrong = np.arange(30)
    lists = sets.to_lists()
    for i in wrong:
        lists[i] = [int(y[i] + 1) % 5]
    sets = CandidateSets.from_lists(lists, classes=np.arange(5))
    found = judge(good_model(y, 5), make_labels(sets), sets, np.random.default_rng(0))
    assert np.flatnonzero(found.outside).tolist() == wrong.tolist()
    assert np.array_equal(found.best[wrong], y[wrong])
    assert np.array_equal(found.best[30:], found.label[30:])
    assert np.all(found.best_confidence[wrong] > 0.5)
    assert found.confidence[wrong].max() < 0.5


def test_no_set_is_blamed_by_a_model_that_knows_nothing(problem, make_labels):
    _, sets = problem
    proba = np.random.default_rng(1).dirichlet(np.full(5, 0.2), 1000)
    found = judge(proba, make_labels(sets), sets, np.random.default_rng(0))
    assert found.outside.mean() < 0.02
    assert np.median(found.confidence[sets.sizes > 1]) < 0.7


def test_what_the_even_model_does_not_confirm_counts_half(problem, make_labels):
    y, sets = problem
    labels, proba = make_labels(sets), good_model(y, 5)
    alone = judge(proba, labels, sets, np.random.default_rng(0))
    blind = judge(proba, labels, sets, np.random.default_rng(0), np.full((1000, 5), 0.2))
    agreeing = judge(proba, labels, sets, np.random.default_rng(0), proba)
    contrary = judge(proba, labels, sets, np.random.default_rng(0), 1 - proba)
    pair = sets.sizes == 2
    assert np.array_equal(alone.label, contrary.label)
    np.testing.assert_allclose(blind.confidence, alone.confidence * np.where(pair, 0.75, 1))
    np.testing.assert_allclose(agreeing.confidence, alone.confidence, rtol=1e-3)
    np.testing.assert_allclose(contrary.confidence[pair], alone.confidence[pair] / 2, rtol=0.05)


def test_gold_says_how_often_sets_lack_the_truth(problem, make_labels):
    """Features that are no help, and sets of one label that are wrong in a fifth of the gold rows:
    no longer certain.
    """
    y, _ = problem
    given = np.where(np.arange(1000) % 5 == 0, (y + 1) % 5, y)
    sets = CandidateSets.from_labels(given, classes=np.arange(5))
    gold = np.where(np.arange(1000) < 200, y, -1)
    known = CandidateSets.from_labels(np.where(gold >= 0, gold, given), classes=np.arange(5))
    flat = np.full((1000, 5), 0.2)
    trusting = judge(flat, make_labels(sets), sets, np.random.default_rng(0))
    knowing = judge(flat, make_labels(sets, gold=gold), known, np.random.default_rng(0))
    assert trusting.confidence.mean() > 0.93
    assert knowing.confidence.mean() == pytest.approx(0.8, abs=0.05)
    assert knowing.gold_right.mean() == pytest.approx(0.8)


def test_confidence_on_gold_rows_is_corrected_by_other_gold_rows_only(problem, make_labels):
    y, sets = problem
    proba = good_model(y, 5, strength=2)
    gold = np.full(1000, -1)
    gold[:40] = y[:40]
    row = np.flatnonzero(sets.sizes == 2)[0]
    other = next(label for label in sets[row] if label != y[row])
    once = judge(proba, make_labels(sets, gold=gold), sets, np.random.default_rng(0))
    gold[row] = other  # another truth changes what is right, not the confidence of the row itself
    twice = judge(proba, make_labels(sets, gold=gold), sets, np.random.default_rng(0))
    assert once.gold_right[row] != twice.gold_right[row]
    assert once.gold_confidence[row] == pytest.approx(twice.gold_confidence[row], abs=1e-12)
    assert np.sum(once.gold_confidence != twice.gold_confidence) >= 20


def test_votes_count(make_labels, crowd):
    _, y, votes, sets = crowd
    flat = np.full((len(y), 3), 1 / 3)
    found = judge(
        flat, make_labels(sets, votes=votes, names=("x", "y", "z")), sets, np.random.default_rng(0)
    )
    assert np.mean(found.label == y) > 0.85
    unanimous = (sets.sizes == 1) & ((votes >= 0).sum(axis=1) == 3)
    split = sets.sizes == 3
    assert found.confidence[unanimous].mean() > found.confidence[split].mean() + 0.1


@pytest.mark.parametrize("constant", [0, 1])
def test_nothing_is_probable_if_no_annotator_is_informative(constant):
    """Where a random annotator agrees with a constant one, both are right by chance alone."""
    X = load_iris().data
    rng = np.random.default_rng(constant)
    votes = {"r_random": rng.integers(3, size=150), "r_constant": np.full(150, constant)}
    frame = pd.DataFrame(X).add_prefix("x").assign(**votes)
    found = surelabel.clean(frame, votes="r_*")
    assert set(found.frame["status"]) == {"look"}
    assert found.frame["confidence"].max() <= 0.5
    assert f"always says {constant}" in str(found)
    assert "nothing confirms these votes" in str(found)
