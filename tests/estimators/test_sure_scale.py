"""SURE on landmarks and instances larger than memory: the same answers by the same face."""

import os
import subprocess
import sys
import tracemalloc

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import zarr
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

import surelabel.estimators._lowrank as lowrank
import surelabel.estimators.limits as limits
from surelabel import SURECV, CandidateSets, SUREClassifier, make_partial
from surelabel.data.rows import ParquetRows
from surelabel.estimators.checks import CHECKS
from surelabel.exceptions import InputError, ParameterError
from surelabel.solvers.kernels import kernel_matrix

LOW_RANK = SUREClassifier(solver="nystroem", n_components=60)


def blobs(m=400, n=4, l=5, seed=0, r=1):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(l), rng.integers(0, l, m - l)])
    X = 2 * rng.standard_normal((l, n))[y] + rng.standard_normal((m, n))
    return X, y, make_partial(y, p=0.7, r=r, random_state=seed)


def same(model, other, exactly=True):
    """Whether two fitted models are the same, to the last bit or to rounding."""
    atol = 0 if exactly else 1e-8
    coefficients = "coef_" if hasattr(model, "coef_") else "dual_coef_"
    for name in ("intercept_", coefficients):
        np.testing.assert_allclose(getattr(model, name), getattr(other, name), rtol=0, atol=atol)
    confidence = other.confidence_.data
    np.testing.assert_allclose(model.confidence_.data, confidence, rtol=0, atol=atol)
    assert model.n_iter_ == other.n_iter_


@parametrize_with_checks([LOW_RANK])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_partial_label(check):
    # All rows are landmarks: fewer are drawn by position, so the order of rows would matter.
    check(SUREClassifier(solver="nystroem"))


# ---------------------------------------------------------------- the model


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_all_rows_as_landmarks_are_the_exact_model(kernel):
    X, _, candidates = blobs(150)
    said = np.random.default_rng(0).integers(0, 3, candidates.shape) + candidates.to_indicator()
    votes = CandidateSets.from_votes(said)
    weight = np.random.default_rng(1).integers(1, 4, 150)
    for y in (candidates, votes):
        exact = SUREClassifier(kernel=kernel, solver="dual").fit(X, y, sample_weight=weight)
        landmarks = SUREClassifier(kernel=kernel, solver="nystroem")
        landmarks.fit(X, y, sample_weight=weight)
        assert landmarks.gamma_ == pytest.approx(exact.gamma_)
        np.testing.assert_allclose(landmarks.confidence_.data, exact.confidence_.data, atol=1e-7)
        np.testing.assert_allclose(
            landmarks.decision_function(X), exact.decision_function(X), atol=1e-7
        )
        np.testing.assert_allclose(landmarks.objective_path_, exact.objective_path_, rtol=1e-8)


def test_single_labels_are_scikit_learns_nystroem_and_ridge():
    X, y, _ = blobs()
    model = SUREClassifier(solver="nystroem", n_components=40, beta=0.5, gamma=0.1).fit(X, y)
    nystroem = Nystroem(gamma=0.1, n_components=40).fit(X)
    nystroem.components_ = model.X_fit_  # the same landmarks
    nystroem.normalization_ = np.linalg.inv(
        np.linalg.cholesky(kernel_matrix("rbf", model.X_fit_, gamma=0.1))
    )
    ridge = Ridge(0.5).fit(nystroem.transform(X), np.eye(5)[y])
    new = np.random.default_rng(1).standard_normal((50, 4))
    np.testing.assert_allclose(
        model.decision_function(new), ridge.predict(nystroem.transform(new)), atol=1e-6
    )
    assert model.transduction_.tolist() == y.tolist()
    assert model.n_iter_ == 1


def test_half_the_features_lose_little_accuracy():
    X, y, candidates = blobs(600)
    exact = SUREClassifier(solver="dual").fit(X, candidates)
    low = clone(LOW_RANK).fit(X, candidates)
    assert np.mean(low.predict(X) == exact.predict(X)) > 0.97
    assert np.mean(low.transduction_ == y) > np.mean(exact.transduction_ == y) - 0.01
    assert np.all(np.diff(low.objective_path_) <= 1e-9 * abs(low.objective_path_[0]))


def test_number_of_threads_and_where_features_are_kept_change_no_bit(monkeypatch):
    X, _, candidates = blobs(1200)
    monkeypatch.setattr("surelabel.solvers.memory.BLOCK", 1)  # 256 rows at a time
    reference = clone(LOW_RANK).set_params(n_jobs=1).fit(X, candidates)
    for keep in ("memory", "disk", "recompute"):
        monkeypatch.setattr(lowrank, "choose_keep", lambda *_, keep=keep: keep)
        for n_jobs in (None, 1, 3):
            other = clone(LOW_RANK).set_params(n_jobs=n_jobs).fit(X, candidates)
            same(other, reference)
            assert np.array_equal(other.decision_function(X), reference.decision_function(X))


def test_seeds():
    X, _, candidates = blobs()
    first = clone(LOW_RANK).fit(X, candidates)
    same(clone(LOW_RANK).fit(X, candidates), first)
    for state in (1, np.random.RandomState(1), None):
        other = clone(LOW_RANK).set_params(random_state=state).fit(X, candidates)
        assert not np.array_equal(other.decision_function(X), first.decision_function(X))


def test_odd_data():
    X, y, candidates = blobs(120)
    one = [{int(label)} for label in y]
    one[7] = {int(y[7]), (int(y[7]) + 1) % 5}
    for instances, sets in (
        (np.repeat(X[:12], 10, axis=0), candidates),  # copies
        (np.ones_like(X), candidates),  # nothing to tell rows apart by
        (X[:, :1], candidates),
        (X, one),
        (X, y),
        (X, make_partial(y % 2, p=0.5, r=1, random_state=0)),  # l = 2
        (X * 1e-140, candidates),
    ):
        model = clone(LOW_RANK).fit(instances, sets)
        assert np.isfinite(model.decision_function(instances)).all()
        np.testing.assert_allclose(model.confidence_.sum(axis=1), 1)
        assert np.all(np.diff(model.objective_path_[1:]) <= 1e-8 * abs(model.objective_path_[0]))


def test_more_landmarks_than_rows():
    X, _, candidates = blobs(30)
    model = SUREClassifier(solver="nystroem", n_components=1000).fit(X, candidates)
    np.testing.assert_array_equal(model.X_fit_, X)
    weight = (np.arange(30) % 2).astype(float)
    assert (
        len(SUREClassifier(solver="nystroem").fit(X, candidates, sample_weight=weight).X_fit_) == 15
    )


def test_stops():
    X, _, candidates = blobs()
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = SUREClassifier(solver="nystroem", max_iter=2, tol=0).fit(X, candidates)
    assert model.n_iter_ == 2
    assert not model.converged_
    third = lambda iteration: iteration.number == 3  # noqa: E731
    stopped = SUREClassifier(solver="nystroem", callback=third).fit(X, candidates)
    assert stopped.n_iter_ == 3
    assert len(stopped.objective_path_) == 3


def test_bad_parameters():
    X, _, candidates = blobs(50)
    for options, message in (
        ({"solver": "nystroem", "kernel": "linear"}, "nothing to approximate"),
        ({"solver": "nystroem", "n_components": 0}, "n_components"),
    ):
        with pytest.raises(ParameterError, match=message):
            SUREClassifier(**options).fit(X, candidates)


def test_search_with_landmarks_is_the_search_with_the_exact_kernel():
    X, y = load_iris(return_X_y=True)
    candidates = make_partial(y, p=0.8, r=1, random_state=0)
    grid = {"lams": (0.1, 0.5), "betas": (0.05, 0.5)}
    exact = SURECV(**grid, solver="dual").fit(X, candidates)
    landmarks = SURECV(**grid, solver="nystroem").fit(X, candidates)
    np.testing.assert_allclose(
        landmarks.cv_results_["mean_test_score"], exact.cv_results_["mean_test_score"]
    )


# ------------------------------ which solver, where features are kept


def test_the_memory_that_is_there_decides(monkeypatch, capsys):
    X, _, candidates = blobs(100)
    need = limits.exact_need(100, candidates.shape[1], 8)
    cases = (None, "dual"), (2 * need, "dual"), (need, "nystroem"), (0, "nystroem")
    for available, expected in cases:
        monkeypatch.setattr(limits, "available_memory", lambda value=available: value)
        model = SUREClassifier(verbose=1).fit(X, candidates)
        assert model.solver_ == expected
        assert f"solver: {expected}" in capsys.readouterr().out
    # Half the memory for half the precision.
    monkeypatch.setattr(limits, "available_memory", lambda: need / 2 / 0.8)
    assert SUREClassifier().fit(X.astype(np.float32), candidates).solver_ == "dual"
    assert SUREClassifier().fit(X, candidates).solver_ == "nystroem"
    assert SUREClassifier(kernel="linear").fit(X, candidates).solver_ == "primal"
    monkeypatch.setattr(limits, "available_memory", lambda: None)
    monkeypatch.setattr(limits, "EXACT_ROWS", 99)
    assert SUREClassifier().fit(X, candidates).solver_ == "nystroem"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_exact_fit_takes_little_more_than_its_kernel_matrix(dtype):
    X, _, candidates = blobs(1500)
    X = X.astype(dtype)
    SUREClassifier(solver="dual").fit(X[:50], candidates[:50])  # late imports do not count
    tracemalloc.start()
    try:
        SUREClassifier(solver="dual").fit(X, candidates)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.5 * X.itemsize * 1500**2


def test_features_stay_where_there_is_room(monkeypatch):
    disk = [0]
    monkeypatch.setattr(limits.shutil, "disk_usage", lambda _: type("Usage", (), {"free": disk[0]}))
    for available, free, n, expected in (
        (None, 0, 100, "memory"),
        (16_000_000, 0, 100, "memory"),
        (15_999_999, 16_000_000, 100, "disk"),
        (15_999_999, 15_999_999, 100, "recompute"),
        (15_999_999, 10**12, 9, "recompute"),  # cheap to make again
    ):
        monkeypatch.setattr(limits, "available_memory", lambda value=available: value)
        disk[0] = free
        assert limits.choose_keep(10_000, 100, n, 8) == expected


# ---------------------------------------------------------------- out of core


def memory_map(path, X):
    np.concatenate([np.full((5, X.shape[1]), np.nan, X.dtype), X]).tofile(path / "x")
    return np.memmap(path / "x", X.dtype, "r", shape=(len(X) + 5, X.shape[1]))[5:]


def fortran_map(path, X):
    (path / "f").write_bytes(X.tobytes(order="F"))
    return np.memmap(path / "f", X.dtype, "r", shape=X.shape, order="F")


def hdf5(path, X):
    return h5py.File(path / "x.h5", "w").create_dataset("x", data=X, chunks=(100, 2))


def zarr_array(path, X):
    return zarr.create_array(store=path / "x.zarr", data=X, chunks=(100, 2))


def parquet(path, X):
    names = [f"c{j}" for j in range(X.shape[1])]
    (path / "parts").mkdir()
    for number, part in enumerate(np.array_split(X, 3)):
        columns = dict(zip(names, map(np.ascontiguousarray, part.T), strict=True))
        pq.write_table(pa.table(columns), path / "parts" / f"{number}.parquet", row_group_size=77)
    return ds.dataset(path / "parts")


SOURCES = [memory_map, fortran_map, hdf5, zarr_array, parquet]
MODELS = [LOW_RANK, SUREClassifier(solver="dual"), SUREClassifier(kernel="linear", solver="dual")]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
@pytest.mark.parametrize("estimator", MODELS, ids=["nystroem", "exact", "linear"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_instances_out_of_core_give_the_same_bits(dtype, estimator, source, tmp_path, monkeypatch):
    X, _, candidates = blobs(700)
    X = X.astype(dtype)
    monkeypatch.setattr("surelabel.solvers.memory.BLOCK", 1)  # 256 rows at a time
    weight = np.random.default_rng(0).random(700) + 0.1
    inside = clone(estimator).fit(X, candidates, sample_weight=weight)
    rows = source(tmp_path, X)
    outside = clone(estimator).fit(rows, candidates, sample_weight=weight)
    same(outside, inside)
    assert outside.n_features_in_ == 4
    for method in ("predict", "predict_proba", "decision_function"):
        assert np.array_equal(getattr(outside, method)(rows), getattr(inside, method)(X))


def test_linear_model_out_of_core(tmp_path):
    """It is summed over blocks, in memory it is not: the same to rounding, also far from the
    origin.
    """
    X, _, candidates = blobs(700)
    weight = np.random.default_rng(0).integers(0, 3, 700)
    for dtype, offset, tolerance in (
        (np.float64, 0, 1e-10),
        (np.float64, 1e6, 1e-6),
        (np.float32, 1000, 2e-2),
    ):
        far = (X + offset).astype(dtype)
        inside, outside = SUREClassifier(kernel="linear"), SUREClassifier(kernel="linear")
        inside.fit(far.astype(float), candidates, sample_weight=weight)
        outside.fit(memory_map(tmp_path, far), candidates, sample_weight=weight)
        assert outside.solver_ == inside.solver_ == "primal"
        confidence, outputs = inside.confidence_.data, inside.decision_function(far.astype(float))
        np.testing.assert_allclose(outside.confidence_.data, confidence, atol=tolerance)
        np.testing.assert_allclose(outside.decision_function(far), outputs, atol=tolerance)


def test_rows_of_weight_zero_get_a_confidence_from_the_model(tmp_path):
    X, _, candidates = blobs()
    weight = (np.arange(400) % 3 > 0).astype(float)
    inside = clone(LOW_RANK).fit(X, candidates, sample_weight=weight)
    outside = clone(LOW_RANK).fit(memory_map(tmp_path, X), candidates, sample_weight=weight)
    same(outside, inside, exactly=False)
    assert np.array_equal(outside.support_, inside.support_)


def test_kernel_matrix_in_a_memory_map(tmp_path):
    X, _, candidates = blobs(100)
    K = X @ X.T
    inside = SUREClassifier(kernel="precomputed").fit(K, candidates)
    outside = SUREClassifier(kernel="precomputed").fit(memory_map(tmp_path, K), candidates)
    same(outside, inside)
    assert np.array_equal(outside.predict(memory_map(tmp_path, K)), inside.predict(K))


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_a_cell_that_is_no_number_is_named_by_its_row(source, tmp_path):
    X = np.zeros((20_000, 2))
    X[:, 0] = np.arange(20_000)
    candidates = CandidateSets.from_labels(np.arange(20_000) % 3)
    model = SUREClassifier(solver="nystroem", n_components=20).fit(X, candidates)
    X[12_345, 1] = np.nan
    rows = source(tmp_path, X)
    message = r"NaN .* in 1 cell\(s\), at \(row, column\) \(12345, 1\)"
    with pytest.raises(InputError, match=message):
        clone(model).fit(rows, candidates)
    for method in (model.predict, model.predict_proba):
        with pytest.raises(InputError, match=message):
            method(rows)


def test_sources_that_cannot_be_used(tmp_path):
    X, _, candidates = blobs(50)
    model = clone(LOW_RANK).fit(X, candidates)
    with pytest.raises(InputError, match="3 features, but SUREClassifier is expecting 4"):
        model.predict(memory_map(tmp_path, X[:, :3].copy()))
    with pytest.raises(InputError, match=r"1 sample\(s\)"):
        clone(model).fit(memory_map(tmp_path, X)[:1], candidates[:1])
    file = h5py.File(tmp_path / "empty.h5", "w")
    with pytest.raises(InputError, match=r"0 sample\(s\)"):
        model.predict(file.create_dataset("rows", data=X[:0]))
    with pytest.raises(InputError, match=r"0 feature\(s\)"):
        clone(model).fit(file.create_dataset("columns", data=X[:, :0]), candidates)
    with pytest.raises(InputError, match="Expected 2D array"):
        clone(model).fit(file.create_dataset("line", data=X[:, 0]), candidates)


def test_columns_of_a_data_set_keep_their_names(tmp_path):
    X, _, candidates = blobs(50)
    data = parquet(tmp_path, X)
    model = clone(LOW_RANK).fit(data, candidates)
    assert model.feature_names_in_.tolist() == ["c0", "c1", "c2", "c3"]
    with pytest.raises(InputError, match="order the columns as at fit"):
        model.predict(ParquetRows(data, ["c1", "c0", "c2", "c3"]))
    model.fit(memory_map(tmp_path, X), candidates)
    assert not hasattr(model, "feature_names_in_")


FLAT = """
import sys, numpy as np
import surelabel.estimators._lowrank as lowrank
from surelabel import CandidateSets, SUREClassifier
path, m, keep = sys.argv[1], int(sys.argv[2]), sys.argv[3]
lowrank.choose_keep = lambda *_: keep
X = np.memmap(path, np.float32, "r", shape=(m, 256))
first = np.arange(m, dtype=np.int32) % 4
pairs = np.stack([first, first + 1], axis=1).ravel()
candidates = CandidateSets(np.arange(0, 2 * m + 1, 2), pairs, np.arange(5))
model = SUREClassifier(
    solver="nystroem", n_components=256, max_iter=1, tol=9, gamma=0.002, n_jobs=1
).fit(X, candidates)
model.predict(X)
# Not ru_maxrss: a process inherits that of the one that started it.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(
    not os.path.exists("/proc/self/status"), reason="reads memory as Linux shows it"
)
def test_memory_does_not_grow_with_the_instances(tmp_path):
    """Of 80,000 further rows, 82 MB of instances and as much of features, neither stays unless it
    is meant to.
    """
    path = tmp_path / "x"
    with path.open("wb") as file:
        for seed in range(6):
            rng = np.random.default_rng(seed)
            file.write(rng.standard_normal((20_000, 256), np.float32).tobytes())

    def peak(m, keep):
        """In megabytes."""
        command = [sys.executable, "-c", FLAT, path, str(m), keep]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(tmp_path)}
        done = subprocess.run(command, env=environment, capture_output=True, check=True)
        return int(done.stdout) / 1000

    growth = {
        keep: peak(120_000, keep) - peak(40_000, keep) for keep in ("recompute", "disk", "memory")
    }
    assert growth["recompute"] < 60
    assert growth["disk"] < 60
    assert growth["memory"] > 75  # the measure sees what it should
    assert [file.name for file in tmp_path.iterdir()] == ["x"]
