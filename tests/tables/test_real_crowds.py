"""Votes of real people, whose true labels are known: what is found, and how sure it is."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import scale

from surelabel import CandidateSets
from surelabel.solvers.dawid_skene import majority
from surelabel.tables.choosing import choose_labels
from tests.tables.conftest import as_labels

#: The least share of labels that is found.
FOUND = {"labelme": 0.87, "temp": 0.94, "wsd": 0.99, "weather": 0.85, "popularity": 0.94}


def votes_of(name):
    """Features (of width 0 if there are none), votes and truth of a crowd."""
    home = os.environ.get("SURELABEL_DATA")
    if home is None:
        pytest.skip("SURELABEL_DATA does not name a data home")
    file = Path(home) / "crowds" / f"{name}.npz"
    if not file.exists():
        pytest.skip(f"crowds/{name}.npz is not in SURELABEL_DATA")
    with np.load(file) as data:
        truth, classes = data["truth"].astype(int), data["classes"]
        votes = np.full((len(truth), int(data["annotator"].max()) + 1), -1)
        votes[data["row"], data["annotator"]] = data["label"]
        X = data["X"] if "X" in data else np.empty((len(truth), 0))
    return X, votes, truth, classes


def chosen(X, votes, classes, **options):
    names = tuple(f"annotator {a + 1}" for a in range(votes.shape[1]))
    sets = CandidateSets.from_ballots(votes, classes)
    return choose_labels(X, as_labels(sets, votes=votes, names=names), **options)


@cache
def as_it_is(name):
    X, votes, _, classes = votes_of(name)
    return chosen(X, votes, classes)


@pytest.fixture(scope="module", params=FOUND)
def crowd(request):
    _, votes, truth, _ = votes_of(request.param)
    return request.param, votes, truth, as_it_is(request.param)


def test_labels_are_found(crowd):
    name, votes, truth, found = crowd
    right = np.mean(found.label == truth)
    assert right >= FOUND[name]
    usual = np.mean(majority(votes, len(found.classes)).argmax(axis=1) == truth)
    assert right >= usual - 0.005


def test_nothing_is_much_surer_than_it_is_right(crowd):
    _, _, truth, found = crowd
    assert found.confidence.mean() <= np.mean(found.label == truth) + 0.08
    assert found.confidence.max() <= 0.99


@pytest.mark.parametrize("max_error", [0.05, 0.1])
def test_no_more_is_wrong_than_was_allowed(crowd, max_error):
    _, _, truth, found = crowd
    kept = found.confidence >= 1 - max_error
    wrong = np.sum(found.label[kept] != truth[kept])
    n = max(kept.sum(), 1)
    assert wrong / n <= max_error + 2 * np.sqrt(max_error * (1 - max_error) / n)


def test_nobody_is_taken_for_a_copy_who_is_right(crowd):
    """Only two pairs of temp always answer alike; elsewhere people agree because they are right."""
    name, _, _, found = crowd
    copies = [person for person in found.annotators if "same votes as" in person.remark]
    assert len(copies) <= (6 if name == "temp" else 2)


@pytest.mark.parametrize("change", ["a tenth left out", "standardised"])
def test_small_changes_change_little(change):
    X, votes, truth, classes = votes_of("labelme")
    rows = np.random.default_rng(0).permutation(len(truth))[100:]
    rows = np.sort(rows) if change == "a tenth left out" else np.arange(len(truth))
    changed = X if change == "a tenth left out" else scale(X.astype(float))
    before = as_it_is("labelme").label[rows]
    after = chosen(changed[rows], votes[rows], classes).label
    assert abs(np.mean(after == truth[rows]) - np.mean(before == truth[rows])) <= 0.02


def test_single_votes_get_better_with_features():
    """The first vote of every row alone."""
    X, votes, truth, classes = votes_of("labelme")
    first = np.where(np.cumsum(votes >= 0, axis=1) > 1, -1, votes)
    found = chosen(X, first, classes)
    given = majority(first, len(classes)).argmax(axis=1)
    assert np.mean(found.label == truth) > np.mean(given == truth) + 0.03
    assert found.confidence.mean() <= np.mean(found.label == truth) + 0.1


def test_known_labels_correct_the_confidence():
    """With 50 known labels the mean confidence is nearer to how often labels are right."""
    X, votes, truth, classes = votes_of("weather")
    without = as_it_is("weather")
    names = tuple(f"annotator {a + 1}" for a in range(votes.shape[1]))
    gaps = []
    for seed in range(10):
        gold = np.full(len(truth), -1)
        rows = np.random.default_rng(seed).permutation(len(truth))[:50]
        gold[rows] = truth[rows]
        labels = as_labels(CandidateSets.from_ballots(votes, classes), gold, votes, names)
        found, hidden = choose_labels(X, labels), gold < 0
        gaps.append(found.confidence[hidden].mean() - np.mean((found.label == truth)[hidden]))
    assert np.mean(np.abs(gaps)) < 0.05
    before = without.confidence.mean() - np.mean(without.label == truth)
    assert np.mean(np.abs(gaps)) < abs(before)
