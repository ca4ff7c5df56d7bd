"""CLPL and PLSVM on sparse instances, and on instances that are read in blocks of rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from surelabel import CLPLClassifier, PLSVMClassifier
from surelabel.exceptions import InputError
from surelabel.solvers import row_blocks as module
from surelabel.solvers.row_blocks import RowBlocks, row_blocks, weighted_gram
from tests.estimators.test_sure_scale import SOURCES, memory_map
from tests.solvers.test_clpl import problem

METHODS = [CLPLClassifier(tol=1e-10), PLSVMClassifier(tol=1e-6)]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "CELLS", 200)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("estimator", METHODS, ids=["CLPL", "PLSVM"])
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_instances_out_of_core_give_the_same_model(source, estimator, fit_intercept, tmp_path):
    X, Y, weight = problem(2, 150, 4, 4)
    inside = clone(estimator).set_params(fit_intercept=fit_intercept).fit(X, Y, sample_weight=weight)
    rows = source(tmp_path, X)
    outside = clone(estimator).set_params(fit_intercept=fit_intercept).fit(rows, Y, sample_weight=weight)
    np.testing.assert_allclose(outside.coef_, inside.coef_, atol=1e-5)
    np.testing.assert_allclose(outside.intercept_, inside.intercept_, atol=1e-5)
    np.testing.assert_allclose(outside.confidence_.data, inside.confidence_.data, atol=1e-4)
    np.testing.assert_allclose(
        outside.decision_function(rows), outside.decision_function(rows[:] if hasattr(rows, "dtype") else rows)
    )
    assert outside.predict(rows).tolist() == inside.predict(X).tolist()
    np.testing.assert_allclose(outside.predict_proba(rows), inside.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("estimator", METHODS, ids=["CLPL", "PLSVM"])
def test_sparse_instances_in_blocks_give_the_same_model(estimator, monkeypatch):
    X, Y, weight = problem(3, 150, 5, 4)
    X = np.where(X > 0.3, X, 0)
    in_blocks = clone(estimator).fit(sparse.csr_array(X), Y, sample_weight=weight)
    monkeypatch.setattr(module, "CELLS", 2**22)
    whole = clone(estimator).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(in_blocks.coef_, whole.coef_, atol=1e-5)


@pytest.mark.parametrize("estimator", METHODS, ids=["CLPL", "PLSVM"])
def test_rows_of_weight_zero(estimator, tmp_path):
    X, Y, _ = problem(4, 150, 4, 4)
    weight = (np.arange(150) % 3).astype(float)
    inside = clone(estimator).fit(X, Y, sample_weight=weight)
    outside = clone(estimator).fit(memory_map(tmp_path, X), Y, sample_weight=weight)
    np.testing.assert_allclose(outside.coef_, inside.coef_, atol=1e-5)
    np.testing.assert_allclose(outside.confidence_.data, inside.confidence_.data, atol=1e-4)


@pytest.mark.parametrize("estimator", METHODS, ids=["CLPL", "PLSVM"])
def test_single_precision_and_bad_cells(estimator, tmp_path):
    X, Y, _ = problem(5, 150, 4, 4)
    single = X.astype(np.float32)
    model = clone(estimator).fit(memory_map(tmp_path, single), Y)
    np.testing.assert_allclose(model.coef_, clone(estimator).fit(single.astype(float), Y).coef_, atol=1e-5)
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
    blocks = RowBlocks(lambda step: (X[start : start + step] for start in range(0, 101, step)), X.shape, constant)
    whole = np.hstack([X, np.ones((101, int(constant)))])
    assert blocks.shape == whole.shape
    np.testing.assert_allclose(blocks @ W, whole @ W)
    np.testing.assert_allclose(blocks.T @ values, whole.T @ values)
    for matrix in (blocks, whole, sparse.csr_array(whole)):
        np.testing.assert_allclose(weighted_gram(matrix, weight), whole.T @ (weight[:, None] * whole))
        parts = list(row_blocks(matrix, 3))
        assert len(parts) > 1
        assert [part.start for part, _ in parts] == [0, *(part.stop for part, _ in parts[:-1])]
        assert parts[-1][0].stop == 101
