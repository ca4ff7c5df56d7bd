"""CLPL and PLSVM on sparse instances, in blocks of rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from surelabel import CLPLClassifier, PLSVMClassifier
from surelabel.solvers import memory
from surelabel.solvers.lbfgs import weighted_gram
from surelabel.solvers.memory import row_blocks
from tests.solvers.test_clpl import problem

METHODS = [CLPLClassifier(tol=1e-10), PLSVMClassifier(tol=1e-5)]


def assert_same(model, other):
    """Equal to rounding for CLPL; PLSVM stops where the objective is near enough, and rounding
    moves that place.
    """
    tolerance = 1e-6
    if isinstance(model, PLSVMClassifier):
        # The objective grows by λ/2 ‖ΔW‖² at least, and is known to tol of what was gained.
        assert model.objective_[-1] == pytest.approx(other.objective_[-1], rel=2 * model.tol)
        tolerance = 2 * np.sqrt(2 * model.tol * other.objective_[0] / model.lam)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=tolerance)
    np.testing.assert_allclose(model.intercept_, other.intercept_, atol=tolerance)
    assert np.mean(model.transduction_ == other.transduction_) > 0.98


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(memory, "BLOCK", 200)


@pytest.mark.parametrize("estimator", METHODS, ids=["CLPL", "PLSVM"])
def test_sparse_instances_in_blocks_give_the_same_model(estimator, monkeypatch):
    X, Y, weight = problem(3, 150, 5, 4)
    X = np.where(X > 0.3, X, 0)
    in_blocks = clone(estimator).fit(sparse.csr_array(X), Y, sample_weight=weight)
    monkeypatch.setattr(memory, "BLOCK", 2**22)
    whole = clone(estimator).fit(X, Y, sample_weight=weight)
    assert_same(in_blocks, whole)


@pytest.mark.parametrize("estimator", METHODS, ids=["CLPL", "PLSVM"])
def test_a_class_of_unused_rows_only_is_nobodys(estimator):
    X, Y, _ = problem(3, 150, 5, 4)
    weight = (Y[:, 2] == 0).astype(float)
    model = clone(estimator).fit(X, Y, sample_weight=weight)
    assert 2 not in model.predict(np.vstack([X, -X, 0 * X]))
    assert not model.predict_proba(X)[:, 2].any()
    assert np.all(np.isfinite(model.confidence_.data))


@pytest.mark.parametrize("estimator", METHODS, ids=["CLPL", "PLSVM"])
def test_rows_of_weight_zero(estimator):
    X, Y, _ = problem(4, 150, 4, 4)
    weight = (np.arange(150) % 3).astype(float)
    model = clone(estimator).fit(X, Y, sample_weight=weight)
    unused = model.confidence_[np.flatnonzero(weight == 0)]
    expected = model.predict_proba(X)[weight == 0] * Y[weight == 0]
    np.testing.assert_allclose(
        unused.toarray(), expected / expected.sum(axis=1, keepdims=True), atol=1e-12
    )


def test_products():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(101, 7)), rng.random(101)
    for matrix in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(weighted_gram(matrix, weight), X.T @ (weight[:, None] * X))
        parts = list(row_blocks(matrix, 3))
        assert len(parts) > 1
        assert [part.start for part, _ in parts] == [0, *(part.stop for part, _ in parts[:-1])]
        assert parts[-1][0].stop == 101
