from math import ceil, log2

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from surelabel.data.candidates import CandidateSets
from surelabel.estimators.lsbcmm import LSBCMMClassifier


def partial_problem(seed=0, m=150, n_classes=5, extra=1):
    rng = np.random.default_rng(seed)
    X, y = make_classification(
        m,
        8,
        n_informative=6,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=2,
        random_state=seed,
    )
    Y = np.eye(n_classes, dtype=int)[y]
    for i in rng.permutation(m)[: int(0.7 * m)]:
        Y[i, rng.choice(np.delete(np.arange(n_classes), y[i]), extra, replace=False)] = 1
    return StandardScaler().fit_transform(X), Y, y


def test_learns_through_ambiguity():
    X, Y, y = partial_problem(m=400, extra=2)
    model = LSBCMMClassifier().fit(X[:300], Y[:300])
    supervised = LogisticRegression(max_iter=1000).fit(X[:300], y[:300]).score(X[300:], y[300:])
    assert np.mean(model.predict(X[300:]) == y[300:]) > supervised - 0.08
    assert np.mean(model.transduction_ == y[:300]) > 0.85


def test_fitted_attributes():
    X, Y, _ = partial_problem()
    model = LSBCMMClassifier().fit(X, Y)
    n_components = ceil(10 * log2(5))
    assert model.coef_.shape == (n_components - 1, 8)
    assert model.intercept_.shape == (n_components - 1,)
    assert model.posterior_.shape == (n_components, 5)
    assert len(model.lower_bound_path_) == model.n_iter_
    assert model.converged_
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba, model.decision_function(X))
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(model.confidence_.sum(axis=1), 1)
    with pytest.warns(ConvergenceWarning, match="did not reach tol=0.001 in max_iter=2 rounds"):
        assert LSBCMMClassifier(max_iter=2).fit(X, Y).converged_ is False


def test_balanced_classes_do_not_depend_on_their_order():
    X, y = load_iris(return_X_y=True)
    proba = LSBCMMClassifier().fit(X, y).predict_proba(X)
    moved = LSBCMMClassifier().fit(X[::-1], (2 - y)[::-1]).predict_proba(X)
    np.testing.assert_allclose(moved[:, ::-1], proba, rtol=1e-6, atol=1e-8)


def test_few_components_and_rows_without_a_label():
    X, Y, y = partial_problem()
    one = LSBCMMClassifier(n_components=1).fit(X, Y)
    assert len(np.unique(one.predict(X))) == 1
    unlabelled = Y.copy()
    unlabelled[:20] = 0
    candidates = CandidateSets.from_indicator(unlabelled, unlabelled="all")
    assert np.mean(LSBCMMClassifier(n_components=3).fit(X, candidates).predict(X) == y) < np.mean(
        LSBCMMClassifier().fit(X, candidates).predict(X) == y
    )


def test_constant_and_wide_features():
    _, Y, _ = partial_problem(m=20)
    flat = LSBCMMClassifier().fit(np.ones((20, 3)), Y).predict_proba(np.ones((2, 3)))
    np.testing.assert_allclose(flat.sum(axis=1), 1)
    wide = np.random.default_rng(0).normal(size=(20, 200))
    assert LSBCMMClassifier().fit(wide, Y).score(wide, Y) == 1


def test_smallest_concentration_is_finite():
    X, Y, _ = partial_problem()
    model = LSBCMMClassifier(concentration=0.01, n_components=2, precision=1e-6).fit(X * 100, Y)
    assert np.all(np.isfinite(model.lower_bound_path_))
