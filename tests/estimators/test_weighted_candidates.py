import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from surelabel import CandidateSets
from surelabel.estimators.weighted_candidates import WeightedCandidatesClassifier
from surelabel.exceptions import CandidateError, ParameterError


def problem(seed, m=60, n=3, labels=4, rate=0.3):
    rng = np.random.default_rng(seed)
    X, y = make_blobs(m, n, centers=labels, random_state=seed, cluster_std=2.0)
    Y = rng.random((m, labels)) < rate
    Y[np.arange(m), y] = True
    return X, y, Y


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_weighted_is_each_candidate_with_weight_one_over_its_set(seed):
    X, _, Y = problem(seed)
    rows = [(X[i], j, 1 / Y[i].sum()) for i in range(len(X)) for j in range(4) if Y[i, j]]
    features, labels, weights = map(np.array, zip(*rows, strict=True))
    for inner in (GaussianNB(), DecisionTreeClassifier(random_state=0, max_depth=3)):
        ours = WeightedCandidatesClassifier(inner).fit(X, Y)
        theirs = inner.fit(features, labels, sample_weight=weights)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)


def test_unambiguous_learns_from_certain_rows_only():
    X, y, Y = problem(0)
    certain = Y.sum(axis=1) == 1
    ours = WeightedCandidatesClassifier(strategy="unambiguous").fit(X, Y)
    theirs = LogisticRegression(max_iter=1000).fit(X[certain], y[certain])
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))


@pytest.mark.parametrize("strategy", ["weighted", "unambiguous"])
def test_singletons_give_the_inner_classifier(strategy):
    X, y, _ = problem(2)
    ours = WeightedCandidatesClassifier(strategy=strategy).fit(X, y)
    theirs = LogisticRegression(max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6)


def test_unseen_classes_have_probability_zero():
    sets = CandidateSets.from_lists(
        [["b"], ["d"], ["b", "c"], ["d", "a"]], classes=["d", "c", "b", "a"]
    )
    X = np.array([[0.0], [1.0], [0.1], [0.9]])
    model = WeightedCandidatesClassifier(strategy="unambiguous").fit(X, sets)
    assert set(model.trained_classes_) == {"b", "d"}
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(proba[:, [1, 3]], 0)
    np.testing.assert_array_equal(model.predict(X), ["b", "d", "b", "d"])
    np.testing.assert_array_equal(model.transduction_, ["b", "d", "b", "d"])


@pytest.mark.parametrize("inner", [RidgeClassifier(), LinearSVC()])
@pytest.mark.parametrize("labels", [2, 4])
def test_classifiers_without_probabilities(inner, labels):
    X, y, _ = problem(3, labels=labels)
    sets = CandidateSets.from_labels(y, classes=range(labels + 1))
    model = WeightedCandidatesClassifier(inner).fit(X, sets)
    np.testing.assert_array_equal(model.predict(X), inner.fit(X, y).predict(X))
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(proba[:, labels], 0)


def test_inner_classifier_without_weights_is_refused_only_where_weights_are_needed():
    X, _, Y = problem(4)
    with pytest.raises(ParameterError, match="KNeighborsClassifier does not accept sample_weight"):
        WeightedCandidatesClassifier(KNeighborsClassifier()).fit(X, Y)
    model = WeightedCandidatesClassifier(KNeighborsClassifier(), "unambiguous").fit(X, Y)
    with pytest.raises(ParameterError, match="sample_weight"):
        model.fit(X, Y, sample_weight=np.arange(60.0))


def test_nothing_unambiguous_is_an_error():
    X = np.arange(6.0)[:, None]
    sets = [{0, 1}, {1, 2}, {0, 2}] * 2
    with pytest.raises(CandidateError, match=r"'unambiguous' finds examples of 0 class\(es\)"):
        WeightedCandidatesClassifier(strategy="unambiguous").fit(X, sets)


@pytest.mark.parametrize(
    ("strategy", "advice"),
    [("weighted", "needs two$"), ("unambiguous", "try strategy='weighted'$")],
)
def test_advice_is_another_strategy(strategy, advice):
    sets = CandidateSets.from_lists([["a"]] * 4, classes=["a", "b"])
    with pytest.raises(CandidateError, match=advice):
        WeightedCandidatesClassifier(strategy=strategy).fit(np.eye(4), sets)
