"""Linear methods with many more features than rows learn in the space of the rows."""

import time

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from surelabel import CandidateSets, CLPLClassifier, PLSVMClassifier, WeightedCandidatesClassifier
from surelabel.estimators import _linear

MODELS = [
    CLPLClassifier(fit_intercept=True),
    CLPLClassifier(),
    PLSVMClassifier(tol=1e-6),
    WeightedCandidatesClassifier(),
]


def make(n, m=12):
    rng = np.random.default_rng(0)
    labels = [["a", "b"], ["b", "c"], ["a", "c"], ["a"], ["b"], ["c"]]
    return rng.normal(size=(m, n)), CandidateSets.from_lists([labels[i % 6] for i in range(m)])


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_same_model_as_in_the_space_of_the_features(model, monkeypatch):
    X, sets = make(40)
    queries = np.random.default_rng(1).normal(size=(30, 40))
    found = model.fit(X, sets).predict_proba(queries)
    for module in ("_linear", "weighted_candidates"):
        monkeypatch.setattr(f"surelabel.estimators.{module}.in_row_space", lambda X: (X, None))
    np.testing.assert_allclose(found, model.fit(X, sets).predict_proba(queries), atol=2e-3)


def test_the_row_space():
    X, _ = make(40)
    L, Q = _linear.in_row_space(X)
    assert L.shape == (12, 12)
    np.testing.assert_allclose(L @ Q.T, X, atol=1e-12)
    np.testing.assert_allclose(Q.T @ Q, np.eye(12), atol=1e-12)
    assert _linear.in_row_space(X[:, :24])[1] is None


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_very_many_features(model):
    X, sets = make(100_000)
    begun = time.process_time()
    model.fit(X, sets)
    assert time.process_time() - begun < 5
    assert model.predict(X).shape == (12,)


def test_an_estimator_that_is_given_sees_the_features():
    X, sets = make(40)
    model = WeightedCandidatesClassifier(LogisticRegression()).fit(X, sets)
    assert model.estimator_.n_features_in_ == 40
