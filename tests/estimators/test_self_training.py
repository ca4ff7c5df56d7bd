import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from surelabel.estimators.self_training import SelfTrainingPLClassifier
from tests.reference.self_training import self_training


def problem(seed, m=40, n=3, labels=4, rate=0.3):
    rng = np.random.default_rng(seed)
    y = rng.integers(labels, size=m)
    X = rng.normal(size=(labels, n))[y] + 0.5 * rng.normal(size=(m, n))
    Y = rng.random((m, labels)) < rate
    Y[np.arange(m), y] = True
    return X, y, Y.astype(int)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    threshold=st.floats(0.35, 0.99),
    alpha=st.sampled_from([0.1, 1, 30]),
    rounds=st.integers(1, 20),
)
def test_agrees_with_the_reference(seed, threshold, alpha, rounds):
    X, _, Y = problem(seed)
    model = SelfTrainingPLClassifier(alpha, threshold, rounds).fit(X, Y)
    outputs, confidence, iterations = self_training(X, Y, alpha, threshold, rounds)
    assert model.n_iter_ == iterations
    np.testing.assert_allclose(model.decision_function(X), outputs(X), atol=1e-8)
    np.testing.assert_allclose(model.confidence_.toarray(), confidence, atol=1e-8)


@pytest.mark.parametrize("threshold", [1, 1.01, 7])
def test_a_threshold_nothing_exceeds_picks_nothing(threshold):
    X, _, Y = problem(0)
    model = SelfTrainingPLClassifier(threshold=threshold).fit(X, Y)
    once = Ridge().fit(X, Y / Y.sum(axis=1, keepdims=True))
    assert model.n_iter_ == 1
    assert model.converged_
    np.testing.assert_array_equal(model.picked_, Y.sum(axis=1) == 1)
    np.testing.assert_allclose(model.decision_function(X), once.predict(X), atol=1e-10)


def test_a_low_threshold_settles_every_row_at_once():
    X, _, Y = problem(2)
    model = SelfTrainingPLClassifier(threshold=0).fit(X, Y)
    assert model.picked_.all()
    assert model.n_iter_ == 2
    np.testing.assert_array_equal(model.confidence_.toarray().max(axis=1), 1)


def test_the_last_round_says_whether_it_was_the_end():
    X, _, Y = problem(3)
    model = SelfTrainingPLClassifier(threshold=0.5, max_iter=1).fit(X, Y)
    assert model.n_iter_ == 1
    assert not model.converged_


def test_equal_candidates_are_not_picked_by_rounding():
    X, y, _ = problem(4, labels=3)
    together = np.column_stack([np.eye(3, dtype=int)[y], y == 2]).astype(
        int
    )  # labels 2 and 3 always stand together
    model = SelfTrainingPLClassifier(threshold=0.5).fit(X, together)
    np.testing.assert_array_equal(model.picked_, y != 2)
    assert set(model.transduction_[y == 2]) == {2}
