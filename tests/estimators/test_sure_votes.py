"""SURE with votes behind the candidates."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, KFold

from surelabel import SURECV, CandidateSets, SUREClassifier


def ask(y, accuracy, rng):
    votes = np.stack(
        [
            np.where(rng.random(len(y)) < right, y, rng.integers(0, y.max() + 1, len(y)))
            for right in accuracy
        ],
        axis=1,
    )
    return CandidateSets.from_counts(
        np.stack([(votes == k).sum(axis=1) for k in range(y.max() + 1)], axis=1)
    )


@pytest.fixture(scope="module")
def asked():
    X, y = load_iris(return_X_y=True)
    return (
        (X - X.mean(axis=0)) / X.std(axis=0),
        y,
        ask(y, (0.8, 0.7, 0.6, 0.6), np.random.default_rng(0)),
    )


def without_counts(sets):
    return CandidateSets(sets.indptr, sets.indices, sets.classes)


def assert_identical(first, second):
    assert np.array_equal(first.confidence_.data, second.confidence_.data)
    assert np.array_equal(first.dual_coef_, second.dual_coef_)
    assert np.array_equal(first.objective_path_, second.objective_path_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nothing_changes_without_votes_or_weight(asked, dtype):
    X, _, sets = asked
    X, bare = X.astype(dtype), without_counts(sets)
    plain = SUREClassifier(prior=0).fit(X, bare)
    assert_identical(SUREClassifier(prior=0).fit(X, sets), plain)
    assert_identical(SUREClassifier(prior=3).fit(X, bare), plain)
    assert not np.array_equal(
        SUREClassifier(prior=3).fit(X, sets).confidence_.data, plain.confidence_.data
    )


def test_even_votes_change_nothing(asked):
    X, _, sets = asked
    even = CandidateSets(sets.indptr, sets.indices, sets.classes, np.full(len(sets.indices), 2))
    first, second = SUREClassifier().fit(X, even), SUREClassifier().fit(X, without_counts(sets))
    np.testing.assert_allclose(first.confidence_.data, second.confidence_.data, atol=1e-10)


def test_strong_votes_decide(asked):
    X, _, sets = asked
    model = SUREClassifier(prior=100).fit(X, sets)
    dense = np.zeros(sets.shape)
    dense[sets.rows, sets.indices] = sets.counts
    clear = np.sort(dense, axis=1)[:, -1] > np.sort(dense, axis=1)[:, -2]
    assert np.array_equal(model.transduction_[clear], dense.argmax(axis=1)[clear])


def test_votes_help(asked):
    X, y, sets = asked
    with_votes, without = (
        np.mean(SUREClassifier(prior=prior).fit(X, sets).transduction_ == y) for prior in (1.0, 0.0)
    )
    assert with_votes >= without
    assert with_votes > 0.93


def test_the_search_passes_votes_on(asked):
    X, _, sets = asked
    cv = KFold(3, shuffle=True, random_state=0)
    ours = SURECV((0.01, 0.5), (0.01, 0.5), kernel="rbf", prior=2.0, gamma=0.1, cv=cv).fit(X, sets)
    grid = {"lam": [0.01, 0.5], "beta": [0.01, 0.5]}
    theirs = GridSearchCV(SUREClassifier(prior=2.0, gamma=0.1), grid, cv=cv).fit(X, sets)
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-12
    )
    assert ours.best_estimator_.prior == 2.0
    np.testing.assert_allclose(
        ours.confidence_.data, theirs.best_estimator_.confidence_.data, atol=1e-10
    )


@pytest.mark.parametrize("model", [SUREClassifier(), SURECV((0.1, 0.3), (0.05, 0.5), cv=3)])
def test_probabilities_of_every_class_can_be_learned_from(model):
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), len(y)) * 0.6  # half of the rows name another class first
    proba[np.arange(len(y)), y] += 0.4
    assert np.mean(proba.argmax(axis=1) == y) < 0.9
    soft = CandidateSets.from_counts(proba)
    assert np.all(soft.sizes == 3)
    model.fit(X, soft)
    assert np.mean(model.transduction_ == y) > 0.94
    assert model.score(X, y) > 0.94
    if isinstance(model, SURECV):  # the scores are not those of sets that cover everything
        assert model.cv_results_["mean_test_score"].max() < 1
