"""A fitted model, written with few landmarks."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from surelabel import SURECV, SUREClassifier, load_model, save_model
from surelabel.exceptions import InputError, ParameterError
from surelabel.solvers.kernels import kernel_matrix
from tests.estimators.test_sure_scale import blobs, memory_map


def loss(model, small, X):
    difference = model._outputs(X) - small._outputs(X)
    return {
        "n_rows": len(X),
        "changed": float(np.mean(model.predict(X) != small.predict(X))),
        "rms": float(np.sqrt(np.mean(difference**2))),
    }


@pytest.mark.parametrize("landmarks", ["uniform", "kmeans++", "leverage"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "cosine"])
def test_outputs_are_the_nearest_that_the_landmarks_allow(kernel, landmarks):
    X, _, candidates = blobs()
    model = SUREClassifier(kernel=kernel, landmarks=landmarks).fit(X, candidates)
    small = model.compress(25)
    assert len(small.X_fit_) <= 25
    assert {tuple(row) for row in small.X_fit_} <= {tuple(row) for row in X}
    K = kernel_matrix(kernel, X, small.X_fit_, gamma=model.gamma_, degree=3, coef0=1)
    features = np.column_stack([K, np.ones(len(X))])
    best = features @ np.linalg.lstsq(features, model._outputs(X))[0]
    np.testing.assert_allclose(small._outputs(X), best, atol=1e-6)
    assert small.compression_ == pytest.approx(loss(model, small, X))


def test_all_rows_as_landmarks_lose_nothing():
    X, _, candidates = blobs(150)
    small = SUREClassifier().fit(X, candidates).compress(10**6)
    assert len(small.X_fit_) == 150
    assert small.compression_["changed"] == 0
    assert small.compression_["rms"] < 1e-6


def test_more_landmarks_lose_less():
    X, _, candidates = blobs(1000, n=8)
    model = SUREClassifier().fit(X, candidates)
    lost = [model.compress(count).compression_["rms"] for count in (10, 50, 200, 800)]
    assert lost == sorted(lost, reverse=True)
    assert lost[-1] < 0.1 * lost[0]


def test_it_predicts_as_any_model_and_can_be_saved(tmp_path):
    X, _, candidates = blobs()
    model = SUREClassifier(beta=0.5).fit(X, candidates)
    small = model.compress(30)
    assert small.get_params() == {**model.get_params(), "solver": "nystroem", "n_components": 30}
    assert not hasattr(small, "confidence_")
    np.testing.assert_allclose(small.predict_proba(X).sum(axis=1), 1)
    assert np.mean(small.predict(X) == model.predict(X)) == 1 - small.compression_["changed"]
    save_model(small, tmp_path / "small.model")
    save_model(model, tmp_path / "model.model")
    assert (tmp_path / "small.model").stat().st_size < (tmp_path / "model.model").stat().st_size / 2
    loaded = load_model(tmp_path / "small.model")
    assert np.array_equal(loaded.decision_function(X), small.decision_function(X))
    assert loaded.compression_ == small.compression_
    with pytest.raises(InputError, match="3 features"):
        loaded.predict(X[:, :3])
    clone(small).fit(X, candidates)


def test_the_same_seed_gives_the_same_and_the_model_stays_as_it_was():
    X, _, candidates = blobs()
    model = SUREClassifier(n_jobs=1).fit(X, candidates)
    before = model.decision_function(X)
    first = model.compress(20)
    second = model.set_params(n_jobs=3).compress(20)
    assert np.array_equal(first.dual_coef_, second.dual_coef_)
    assert np.array_equal(model.decision_function(X), before)
    assert model.solver_ == "dual"


def test_instances_of_ones_own(tmp_path):
    X, _, candidates = blobs()
    model = SUREClassifier().fit(X, candidates)
    other = blobs(300, seed=1)[0]
    small = model.compress(20, other)
    assert {tuple(row) for row in small.X_fit_} <= {tuple(row) for row in other}
    assert small.compression_ == pytest.approx(loss(model, small, other))
    out_of_core = model.compress(20, memory_map(tmp_path, other))
    assert np.array_equal(out_of_core.dual_coef_, small.dual_coef_)
    other[17, 2] = np.nan
    for instances in (other, memory_map(tmp_path, other)):
        with pytest.raises(InputError, match=r"\(17, 2\)"):
            model.compress(20, instances)


def test_low_rank_models():
    X, _, candidates = blobs(800)
    model = SUREClassifier(solver="nystroem", n_components=300).fit(X, candidates)
    assert model.compress(50).compression_["n_rows"] == 300
    assert model.compress(50, X).compression_["n_rows"] == 800
    fourier = SUREClassifier(solver="fourier", n_components=300).fit(X, candidates)
    with pytest.raises(ParameterError, match="pass some as X"):
        fourier.compress(50)
    small = fourier.compress(100, X)
    assert not hasattr(small, "frequencies_")
    assert small.compression_["changed"] < 0.05
    assert small.compression_ == pytest.approx(loss(fourier, small, X))


def test_single_precision():
    X, _, candidates = blobs(600)
    model = SUREClassifier().fit(X.astype(np.float32), candidates)
    small = model.compress(60)
    assert small.dual_coef_.dtype == small.X_fit_.dtype == small.intercept_.dtype == np.float32
    double = SUREClassifier().fit(X, candidates).compress(60)
    assert small.compression_["rms"] < 1.5 * double.compression_["rms"] + 1e-4


def test_weights_and_search():
    X, _, candidates = blobs(150)
    model = SUREClassifier().fit(X, candidates, sample_weight=(np.arange(150) % 3).astype(float))
    assert model.compress(20).compression_["n_rows"] == 100
    search = SURECV((0.1,), (0.05,)).fit(X, candidates)
    assert search.best_estimator_.compress(40).compression_["changed"] < 0.1


def test_what_is_lost_in_accuracy():
    X, y, candidates = blobs(150)
    model = SUREClassifier().fit(X, candidates)
    found = model.compress(5, X, y)
    assert found.compression_["score_before"] == np.mean(model.predict(X) == y)
    assert (
        found.compression_["score"]
        == np.mean(found.predict(X) == y)
        < found.compression_["score_before"]
    )
    assert model.compress(150, X, candidates).compression_["score"] == model.score(X, candidates)
    with pytest.raises(ParameterError, match="y holds the labels of X: pass both"):
        model.compress(5, y=y)


def test_models_that_have_nothing_to_compress():
    X, _, candidates = blobs(50)
    with pytest.raises(ParameterError, match="kernel='linear' has no landmarks"):
        SUREClassifier(kernel="linear").fit(X, candidates).compress(10)
    with pytest.raises(ParameterError, match="kernel='precomputed' has no landmarks"):
        SUREClassifier(kernel="precomputed").fit(X @ X.T, candidates).compress(10)
    with pytest.raises(ParameterError, match="n_components"):
        SUREClassifier().fit(X, candidates).compress(0)
    with pytest.raises(NotFittedError):
        SUREClassifier().compress(10)
