"""CLPL and PLSVM on sparse instances, and on instances that are read in blocks of rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from surelabel import CLPLClassifier, PLSVMClassifier
from surelabel.exceptions import InputError
from surelabel.solvers import memory
from surelabel.solvers.out_of_core import RowBlocks, row_blocks, weighted_gram
from tests.estimators.test_sure_scale import SOURCES, memory_map
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


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("estimator", METHODS, ids=["CLPL", "PLSVM"])
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_instances_out_of_core_give_the_same_model(source, estimator, fit_intercept, tmp_path):
    X, Y, weight = problem(2, 120, 4, 3)
    inside = (
        clone(estimator).set_params(fit_intercept=fit_intercept).fit(X, Y, sample_weight=weight)
    )
    rows = source(tmp_path, X)
    outside = (
        clone(estimator).set_params(fit_intercept=fit_intercept).fit(rows, Y, sample_weight=weight)
    )
    assert_same(outside, inside)
    for method in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_allclose(
            getattr(outside, method)(rows), getattr(outside, method)(X), atol=1e-12
        )


@pytest.mark.parametrize("estimator", METHODS, ids=["CLPL", "PLSVM"])
def test_sparse_instances_in_blocks_give_the_same_model(estimator, monkeypatch):
    X, Y, weight = problem(3, 150, 5, 4)
    X = np.where(X > 0.3, X, 0)
    in_blocks = clone(estimator).fit(sparse.csr_array(X), Y, sample_weight=weight)
    monkeypatch.setattr(memory, "BLOCK", 2**22)
    whole = clone(estimator).fit(X, Y, sample_weight=weight)
    assert_same(in_blocks, whole)


@pytest.mark.parametrize("estimator", METHODS, ids=["CLPL", "PLSVM"])
def test_a_class_of_unused_rows_only_is_nobodys(estimator, tmp_path):
    X, Y, _ = problem(3, 150, 5, 4)
    weight = (Y[:, 2] == 0).astype(float)
    for rows in (X, memory_map(tmp_path, X)):
        model = clone(estimator).fit(rows, Y, sample_weight=weight)
        assert 2 not in model.predict(np.vstack([X, -X, 0 * X]))
        assert not model.predict_proba(X)[:, 2].any()
        assert np.all(np.isfinite(model.confidence_.data))


@pytest.mark.parametrize("estimator", METHODS, ids=["CLPL", "PLSVM"])
def test_rows_of_weight_zero(estimator, tmp_path):
    X, Y, _ = problem(4, 150, 4, 4)
    weight = (np.arange(150) % 3).astype(float)
    inside = clone(estimator).fit(X, Y, sample_weight=weight)
    outside = clone(estimator).fit(memory_map(tmp_path, X), Y, sample_weight=weight)
    assert_same(outside, inside)
    unused = outside.confidence_[np.flatnonzero(weight == 0)]
    expected = outside.predict_proba(X)[weight == 0] * Y[weight == 0]
    np.testing.assert_allclose(
        unused.toarray(), expected / expected.sum(axis=1, keepdims=True), atol=1e-12
    )


@pytest.mark.parametrize("estimator", METHODS, ids=["CLPL", "PLSVM"])
def test_single_precision_and_bad_cells(estimator, tmp_path):
    X, Y, _ = problem(5, 150, 4, 4)
    single = X.astype(np.float32)
    model = clone(estimator).fit(memory_map(tmp_path, single), Y)
    assert_same(model, clone(estimator).fit(single.astype(float), Y))
    with pytest.raises(InputError, match="expecting 4"):
        model.predict(memory_map(tmp_path, X[:, :3].copy()))
    X[120, 2] = np.inf
    rows = memory_map(tmp_path, X)
    for call in (lambda: clone(estimator).fit(rows, Y), lambda: model.predict(rows)):
        with pytest.raises(InputError, match=r"\(120, 2\)"):
            call()


@pytest.mark.parametrize("constant", [False, True])
def test_products(constant):
    rng = np.random.default_rng(0)
    X, W, values, weight = (
        rng.normal(size=(101, 7)),
        rng.normal(size=(7 + constant, 3)),
        rng.normal(size=(101, 3)),
        rng.random(101),
    )
    blocks = RowBlocks(
        lambda step: (X[start : start + step] for start in range(0, 101, step)), X.shape, constant
    )
    whole = np.hstack([X, np.ones((101, int(constant)))])
    assert blocks.shape == whole.shape
    np.testing.assert_allclose(blocks @ W, whole @ W)
    np.testing.assert_allclose(blocks.T @ values, whole.T @ values)
    for matrix in (blocks, whole, sparse.csr_array(whole)):
        np.testing.assert_allclose(
            weighted_gram(matrix, weight), whole.T @ (weight[:, None] * whole)
        )
        parts = list(row_blocks(matrix, 3))
        assert len(parts) > 1
        assert [part.start for part, _ in parts] == [0, *(part.stop for part, _ in parts[:-1])]
        assert parts[-1][0].stop == 101
