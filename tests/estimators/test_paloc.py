import pickle

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from surelabel.estimators.paloc import PALOCClassifier
from surelabel.progress import track
from tests.reference.paloc import paloc

# Machines that stop only at a very exact solution, so that the order of the rows and the last
# digits of a kernel do not matter.
EXACT = {"gamma": "auto", "tol": 1e-10}


class OtherSVC(SVC):
    """The same machine, but none of those that share a kernel."""


@parametrize_with_checks([PALOCClassifier(LogisticRegression(max_iter=1000))])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def problem(seed, m=40, n=3, labels=4, rate=0.3):
    rng = np.random.default_rng(seed)
    y = rng.integers(labels, size=m)
    X = 1.5 * rng.normal(size=(labels, n))[y] + 0.7 * rng.normal(size=(m, n))
    Y = rng.random((m, labels)) < rate
    Y[np.arange(m), y] = True
    return X, y, Y.astype(int)


@example(seed=25987, labels=5, rate=0.0, C=0.3, gamma="auto", mu=0)  # a class is nobody's
@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    labels=st.integers(2, 6),
    rate=st.floats(0, 0.6),
    C=st.sampled_from([0.3, 1, 20]),
    gamma=st.sampled_from(["auto", "scale", 0.7]),
    mu=st.sampled_from([0, 1.5, 10]),
)
def test_agrees_with_the_reference(seed, labels, rate, C, gamma, mu):
    X, _, Y = problem(seed, labels=labels, rate=rate)
    assume(not Y[:30].all())
    inner = SVC(C=C, gamma=gamma, tol=1e-10)
    model = PALOCClassifier(inner, mu=mu).fit(X[:30], Y[:30])
    scores, remaining = paloc(X[:30], Y[:30], inner, mu)
    np.testing.assert_array_equal(model.disambiguated_.to_indicator(), remaining)
    np.testing.assert_allclose(model._outputs(X), scores(X))


def test_default_width_does_not_depend_on_the_zero_of_features():
    X, _, Y = problem(3, labels=4, rate=0.3)
    scores, _ = paloc(X, Y, None, 10.0)
    moved = X + np.linspace(-20, 20, X.shape[1])
    np.testing.assert_array_equal(PALOCClassifier().fit(X, Y)._outputs(X), scores(X))
    np.testing.assert_array_equal(PALOCClassifier().fit(moved, Y)._outputs(moved), scores(X))


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_singletons_without_second_stage_are_one_vs_one_voting(load):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = PALOCClassifier(mu=0).fit(X, y)
    machine = SVC(gamma="auto", decision_function_shape="ovo").fit(X, y)
    pairs = machine.decision_function(X)  # (0, 1), (0, 2), (1, 2); positive for the first
    votes = np.column_stack(
        [
            (pairs[:, :2] > 0).sum(1),
            (pairs[:, 0] < 0) + 0 + (pairs[:, 2] > 0),
            (pairs[:, 1] < 0) + 0 + (pairs[:, 2] < 0),
        ]
    )
    np.testing.assert_array_equal(model.decision_function(X), votes)
    np.testing.assert_array_equal(model.predict(X), votes.argmax(axis=1))
    untied = np.sort(votes, axis=1)[:, -1] > np.sort(votes, axis=1)[:, -2]
    theirs = OneVsOneClassifier(SVC(gamma="auto")).fit(X, y).predict(X)
    np.testing.assert_array_equal(model.predict(X)[untied], theirs[untied])


def test_the_shared_kernel_is_the_same_model():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16, y[:300]
    Y = np.random.default_rng(0).random((300, 10)) < 0.2
    Y[np.arange(300), y] = True
    shared = PALOCClassifier(SVC(**EXACT)).fit(X[:200], Y[:200].astype(int))
    separate = PALOCClassifier(OtherSVC(**EXACT)).fit(X[:200], Y[:200].astype(int))
    np.testing.assert_allclose(shared._pairs.outputs(X), separate._pairs.outputs(X), atol=1e-6)
    np.testing.assert_array_equal(shared._outputs(X), separate._outputs(X))
    np.testing.assert_allclose(shared.confidence_.data, separate.confidence_.data)
    assert len(pickle.dumps(shared)) < len(pickle.dumps(separate)) / 3


@pytest.mark.parametrize("inner", [None, OtherSVC(gamma="auto")])
def test_threads_change_nothing(inner):
    X, _, Y = problem(0, m=80, labels=6)
    one = PALOCClassifier(inner).fit(X, Y)
    two = PALOCClassifier(inner, n_jobs=2, verbose=True).fit(X, Y)
    np.testing.assert_array_equal(one._pairs.outputs(X), two._pairs.outputs(X))
    np.testing.assert_array_equal(one._outputs(X), two._outputs(X))


def test_a_pair_with_one_side_abstains():
    X, y, _ = problem(1, labels=2)
    sets = [{"a", "never"} if label else {"b"} for label in y]  # "never" only ever beside "a"
    model = PALOCClassifier().fit(X, sets)
    columns = {
        tuple(pair): p for p, pair in enumerate([("a", "b"), ("a", "never"), ("b", "never")])
    }
    np.testing.assert_array_equal(model._pairs.outputs(X)[:, columns["a", "never"]], 0)
    sets = [{"a"} if label else {"a", "b"} for label in y]  # no row has "b" alone
    np.testing.assert_array_equal(PALOCClassifier().fit(X, sets)._pairs.outputs(X), 0)


def test_classes_that_are_never_candidates():
    X, _, Y = problem(2)
    wide = np.column_stack([np.zeros(len(X), int), Y])
    model = PALOCClassifier().fit(X, wide)
    np.testing.assert_array_equal(model.predict(X), PALOCClassifier().fit(X, Y).predict(X) + 1)


@pytest.mark.parametrize("inner", [GaussianNB(), Perceptron()])
def test_other_binary_learners(inner):
    X, y, Y = problem(3, m=150, rate=0.2)
    model = PALOCClassifier(inner).fit(X, Y)
    assert np.mean(model.predict(X) == y) > 0.6


def test_progress_passes_items_on():
    assert list(track(iter(range(5)), "five", 5, verbose=True)) == [0, 1, 2, 3, 4]
    assert list(track(range(3), "three", 3, verbose=False)) == [0, 1, 2]
