"""SURE on a Dask cluster of two processes: the answer in memory, with the rows apart and workers
that die.
"""

import logging
import os
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification

import surelabel
from surelabel import CandidateSets, make_partial
from surelabel.exceptions import CandidateError, InputError, ParameterError

pytest.importorskip("distributed")

import cloudpickle
import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster, WorkerPlugin

from surelabel.distributed import ClusterError, SUREClassifier, _passes
from tests.dead_scheduler import cluster

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import the tests

M, N, CHUNK = 900, 6, 250
FIXED = {"gamma": 0.05, "n_components": 40, "tol": 2e-2}


@contextmanager
def two_workers():
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **quiet) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.run(__import__, "surelabel.distributed")
        yield client


@pytest.fixture(scope="module")
def two_processes():
    with two_workers() as client:
        yield client


@pytest.fixture
def mortal():
    """A cluster of one test, which may kill its workers: a busy machine may not bring them back."""
    with two_workers() as client, client.as_current():
        yield client


@pytest.fixture
def client(two_processes):
    two_processes.wait_for_workers(2, timeout=60)
    with two_processes.as_current():
        yield two_processes


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        M, N, n_informative=5, n_redundant=0, n_classes=4, n_clusters_per_class=1, random_state=0
    )
    return X, y, make_partial(y, p=0.8, r=2, random_state=0)


@pytest.fixture(scope="module")
def in_memory(data):
    X, _, candidates = data
    return surelabel.SUREClassifier(solver="nystroem", **FIXED).fit(X, candidates)


def blocks(X):
    return da.from_array(X, chunks=(CHUNK, -1))


def assert_same(model, expected, X):
    """Equal to 1e-6, as promised; ways of summing differ by rounding only."""
    np.testing.assert_allclose(
        model.confidence_.toarray(), expected.confidence_.toarray(), atol=1e-6
    )
    assert np.array_equal(model.transduction_, expected.transduction_)
    np.testing.assert_allclose(model.objective_path_, expected.objective_path_, rtol=1e-6)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-6)
    assert (model.n_iter_, model.converged_) == (expected.n_iter_, expected.converged_)


# ---------------------------------------------------------------- the same answer


@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": "nystroem"},
        {"solver": "nystroem", "kernel": "laplacian", "init": "uniform", "gamma": "mean_distance"},
        {"kernel": "linear"},
        {"solver": "nystroem", "ordered": True},
    ],
)
def test_confidences_equal_those_in_memory(client, data, parameters):
    X, _, candidates = data
    expected = surelabel.SUREClassifier(**FIXED | parameters).fit(X, candidates)
    assert expected.n_iter_ > 3
    model = SUREClassifier(**FIXED | parameters).fit(blocks(X), candidates)
    assert_same(model, expected, X)
    if "ordered" in parameters:
        found = model.predict(blocks(X), loss="absolute").compute()
        assert np.array_equal(found, expected.predict(X, loss="absolute"))


def test_weights_and_votes(client, data):
    X, y, _ = data
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (M, 4))
    counts[np.arange(M), y] += 1
    candidates, weight = CandidateSets.from_counts(counts), rng.integers(0, 4, M)
    expected = surelabel.SUREClassifier(solver="nystroem", **FIXED).fit(
        X, candidates, sample_weight=weight
    )
    assert_same(
        SUREClassifier(**FIXED).fit(blocks(X), candidates, sample_weight=weight), expected, X
    )
    weight = da.from_array(weight, chunks=CHUNK)
    parts = [
        dask.delayed(CandidateSets.from_counts)(counts[start : start + CHUNK])
        for start in range(0, M, CHUNK)
    ]
    assert_same(SUREClassifier(**FIXED).fit(blocks(X), parts, sample_weight=weight), expected, X)


def test_features_made_again_in_small_pieces(client, data, in_memory, monkeypatch):
    X, _, candidates = data
    monkeypatch.setattr(_passes, "keeps_features", lambda *_: False)
    monkeypatch.setattr(_passes, "feature_rows", lambda _: 50)
    assert_same(SUREClassifier(**FIXED).fit(blocks(X), candidates), in_memory, X)


def test_features_stay_where_a_share_of_them_fits_into_half_of_a_worker(client, data):
    rows = _passes.DaskRows(blocks(data[0]), client)  # 4 blocks: 2 for each worker
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limit = min(worker["memory_limit"] for worker in workers)
    most = limit // 2 // (2 * CHUNK * 8)
    assert _passes.keeps_features(rows, most)
    assert not _passes.keeps_features(rows, most + 1)


def test_float32_stays_float32(client, data):
    X, _, candidates = data
    X = X.astype(np.float32)
    expected = surelabel.SUREClassifier(solver="nystroem", **FIXED).fit(X, candidates)
    model = SUREClassifier(**FIXED).fit(blocks(X), candidates)
    for array in (model.confidence_, model.dual_coef_, model.predict_proba(blocks(X[:9]))):
        assert array.dtype == np.float32
    np.testing.assert_allclose(model.confidence_.data, expected.confidence_.data, atol=1e-2)


def test_arrays_in_memory_are_fitted_in_memory(data):
    X, _, candidates = data
    model = SUREClassifier(gamma=0.1).fit(X, candidates)
    expected = surelabel.SUREClassifier(gamma=0.1).fit(X, candidates)
    assert model.solver_ == "dual"
    assert np.array_equal(model.dual_coef_, expected.dual_coef_)
    assert clone(model).get_params() == expected.get_params()


# ---------------------------------------------------------------- forms of X and y


def test_data_frames(client, data, in_memory):
    X, _, candidates = data
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(N)]).assign(
        y=[set(row) for row in candidates.to_lists()]
    )
    with dask.config.set({"dataframe.convert-string": False}):
        frame = dd.from_pandas(table, npartitions=5)
    frame = frame[frame.x0 < 1e9]  # lengths are now unknown
    model = SUREClassifier(**FIXED).fit(frame.drop(columns="y"), frame["y"])
    np.testing.assert_allclose(model.confidence_.data, in_memory.confidence_.data, atol=1e-6)
    assert model.feature_names_in_.tolist() == table.columns[:-1].tolist()
    predicted = model.predict(frame.drop(columns="y")).compute()
    assert np.array_equal(predicted, in_memory.predict(X))
    assert predicted.index.equals(table.index)
    proba = model.predict_proba(frame.drop(columns="y")).compute()
    assert proba.columns.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(proba, in_memory.predict_proba(X), atol=1e-6)
    with pytest.raises(InputError, match="feature names should match"):
        model.predict(frame.drop(columns="y").rename(columns={"x0": "z"}))
    with pytest.raises(InputError, match=r"columns that are not numbers: y;"):
        SUREClassifier().fit(frame, candidates)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # within Dask
def test_a_table_of_small_files(client, data, in_memory, tmp_path):
    """Dask puts small partitions of files together, in another way for other columns; X and y must
    stay together.
    """
    X, _, candidates = data
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(N)])
    strings = ["|".join(map(str, row)) for row in candidates.to_lists()]
    dd.from_pandas(table.assign(y=strings), npartitions=5).to_parquet(tmp_path / "in")
    files = dd.read_parquet(tmp_path / "in")
    instances, sets = files[table.columns.tolist()], files["y"].str.split("|")
    assert len({len(part.to_delayed()) for part in (files, instances, sets)}) > 1
    model = SUREClassifier(**FIXED).fit(instances, sets)
    assert model.classes_.tolist() == ["0", "1", "2", "3"]
    np.testing.assert_allclose(model.confidence_.data, in_memory.confidence_.data, atol=1e-6)
    files.assign(label=model.predict(instances)).to_parquet(tmp_path / "out")
    written = pd.read_parquet(tmp_path / "out")
    assert written["y"].tolist() == strings
    assert written["label"].astype(int).tolist() == in_memory.predict(X).tolist()


def test_forms_of_candidates(client, data, in_memory):
    X, y, candidates = data
    indicator = candidates.to_indicator()
    names = ["d", "b", "c", "a"]
    columns = dd.from_pandas(pd.DataFrame(indicator.astype(bool), columns=names), chunksize=CHUNK)
    starts = range(0, M, CHUNK)
    bag = db.from_delayed(
        [dask.delayed(candidates[start : start + CHUNK].to_lists()) for start in starts]
    )
    for form in (da.from_array(indicator, chunks=(CHUNK, 3)), bag, columns):
        model = SUREClassifier(**FIXED).fit(blocks(X), form)
        assert_same(model, in_memory, X) if form is not columns else np.testing.assert_allclose(
            model.confidence_.toarray(), in_memory.confidence_.toarray(), atol=1e-6
        )
    assert model.classes_.tolist() == names
    # Labels of one partition are not those of another: the classes are all of them.
    order = np.argsort(y, kind="stable")
    model = SUREClassifier(**FIXED).fit(blocks(X[order]), da.from_array(y[order], chunks=CHUNK))
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert np.array_equal(model.transduction_, y[order])


def test_empty_partitions(client, data, in_memory):
    X, _, candidates = data
    frame = dd.from_pandas(pd.DataFrame(X), chunksize=CHUNK)
    halves = dd.concat([frame, frame[frame[0] > 1e9]])  # as many partitions again, without a row
    assert halves.npartitions == 2 * frame.npartitions
    model = SUREClassifier(**FIXED).fit(halves, candidates)
    assert_same(model, in_memory, X)
    assert model.predict_proba(halves).compute().shape == (M, 4)
    parts = [candidates[start : start + CHUNK].to_lists() for start in range(0, M, CHUNK)]
    parts = [dask.delayed(part) for part in parts + [[]] * len(parts)]
    assert_same(SUREClassifier(**FIXED).fit(halves, parts), in_memory, X)


# ---------------------------------------------------------------- where the rows are


class RowsHeld(WorkerPlugin):
    """Keeps the largest number of instances, or of features made of them, that a worker process had
    at once.
    """

    name = "rows-held"

    def setup(self, worker):
        self.worker, self.most, self.times = worker, 0, 0

    def transition(self, key, start, finish, **_):
        if finish != "memory":
            return
        held = 0
        for value in list(self.worker.data.values()):
            if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == 200:
                held += len(value)
            elif isinstance(value, list) and value and isinstance(value[0], _passes.Piece):
                held += sum(len(piece.values) for piece in value)
        self.most, self.times = max(self.most, held), self.times + 1


def four_clouds(block_id):
    """A thousand rows of 200 features, in four classes by turns."""
    rng = np.random.default_rng(block_id[0])
    return rng.standard_normal((1000, 200)) + 3 * np.eye(4, 200)[np.arange(1000) % 4]


def rows_held(dask_worker):
    plugin = dask_worker.plugins["rows-held"]
    return plugin.most, plugin.times


@pytest.mark.parametrize("keep", [True, False])
def test_no_worker_ever_holds_all_of_X(client, monkeypatch, keep):
    m, y = 12_000, np.arange(12_000) % 4
    # made on the workers
    X = da.map_blocks(four_clouds, chunks=((1000,) * 12, (200,)), dtype=float)
    monkeypatch.setattr(_passes, "keeps_features", lambda *_: keep)
    client.register_plugin(RowsHeld())
    model = SUREClassifier(gamma=1e-3, n_components=200, tol=0.01).fit(
        X, make_partial(y, p=0.8, r=1, random_state=0)
    )
    assert model.n_iter_ > 2
    assert np.mean(model.transduction_ == y) > 0.9
    held = client.run(rows_held)
    client.unregister_worker_plugin("rows-held")
    assert len(held) == 2
    assert all(times > 20 for _, times in held.values())  # the record is one
    assert sum(most for most, _ in held.values()) >= m  # and sees the blocks
    assert max(most for most, _ in held.values()) < m


def test_what_the_scheduler_remembers_does_not_grow_with_iterations(client, data):
    X, _, candidates = data
    tasks = []
    count = lambda dask_scheduler: len(dask_scheduler.tasks)  # noqa: E731
    model = SUREClassifier(
        **FIXED | {"tol": 1e-3}, callback=lambda _: tasks.append(client.run_on_scheduler(count))
    )
    model.fit(blocks(X), candidates)
    assert model.n_iter_ > 10
    # Each iteration has 10 tasks; a few may wait to be forgotten, but not those of all iterations.
    assert max(tasks) <= min(tasks) + 30


# ---------------------------------------------------------------- workers that die


def test_a_worker_killed_in_the_middle_of_a_fit_leaves_the_same_answer(mortal, data):
    X, _, candidates = data
    undisturbed = SUREClassifier(**FIXED).fit(blocks(X), candidates)
    killed = []

    def kill(iteration):
        if iteration.number != 4:
            return
        blocks = {
            address: sum(str(key).startswith("_make_block") for key in keys)
            for address, keys in mortal.has_what().items()
        }
        victim = max(blocks, key=blocks.get)
        assert blocks[victim] > 0  # something is lost
        killed.append(mortal.run(os.getpid)[victim])
        os.kill(killed[0], signal.SIGKILL)

    model = SUREClassifier(**FIXED, callback=kill).fit(blocks(X), candidates)
    assert killed
    assert killed[0] not in mortal.run(os.getpid).values()
    # not a bit is different
    assert np.array_equal(model.confidence_.data, undisturbed.confidence_.data)
    assert np.array_equal(model.objective_path_, undisturbed.objective_path_)


def test_a_worker_that_dies_in_a_task_leaves_the_same_answer(mortal, data, in_memory, tmp_path):
    X, _, candidates = data

    def read(block, block_id):
        if block_id[0] == 2 and not (mark := tmp_path / "died").exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    dying = da.map_blocks(read, blocks(X), meta=X[:0])
    assert_same(SUREClassifier(**FIXED).fit(dying, candidates), in_memory, X)
    assert (Path(tmp_path) / "died").exists()


def test_a_block_that_always_kills_its_worker_is_an_error(mortal, data):
    X, _, candidates = data

    def allow(failures, dask_scheduler):
        dask_scheduler.allowed_failures = failures

    mortal.run_on_scheduler(allow, 0)
    dying = da.map_blocks(
        lambda block: os.kill(os.getpid(), signal.SIGKILL), blocks(X)[:CHUNK], meta=X[:0]
    )
    message = "workers of the Dask cluster died, perhaps because memory ran out"
    with pytest.raises(ClusterError, match=message):
        SUREClassifier(**FIXED).fit(dying, candidates[:CHUNK])
    mortal.run_on_scheduler(allow, 3)


def test_a_dead_scheduler_is_one_error_that_says_so(data):
    X, _, candidates = data
    with cluster() as (address, process), Client(address, set_as_default=False) as client:
        model = SUREClassifier(**FIXED, callback=lambda _: process.kill())
        begun = time.monotonic()
        with (
            client.as_current(),
            pytest.raises(ClusterError, match=r"the scheduler .* no longer responds") as error,
        ):
            model.fit(blocks(X), candidates)
        assert time.monotonic() - begun < 30
        assert "memory" not in str(error.value)
        assert "\n" not in str(error.value)


# ---------------------------------------------------------------- prediction


def test_prediction_is_lazy_and_blockwise(client, data, in_memory, tmp_path):
    X, _, candidates = data
    model = SUREClassifier(**FIXED).fit(blocks(X), candidates)

    def read(block, block_id):
        (tmp_path / str(block_id[0])).touch()
        return block

    read_blocks = da.map_blocks(read, blocks(X), meta=X[:0])
    for method in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(model, method)(read_blocks)
        expected = getattr(in_memory, method)(X)
        assert isinstance(lazy, da.Array)
        assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
        assert lazy.chunks[0] == read_blocks.chunks[0]
        assert not any(tmp_path.iterdir())
        some = slice(CHUNK, CHUNK + 5)
        np.testing.assert_allclose(lazy[some].compute(), expected[some], atol=1e-6)
        assert [file.name for file in tmp_path.iterdir()] == ["1"]  # other blocks were not needed
        (tmp_path / "1").unlink()
        np.testing.assert_allclose(getattr(model, method)(blocks(X)).compute(), expected, atol=1e-6)
    assert model.score(blocks(X), candidates) == in_memory.score(X, candidates)


def test_a_model_is_saved_and_loaded(client, data, tmp_path):
    X, _, candidates = data
    model = SUREClassifier(**FIXED).fit(blocks(X), candidates)
    surelabel.save_model(model, tmp_path / "pure.model")
    loaded = surelabel.load_model(tmp_path / "pure.model")
    assert np.array_equal(loaded.predict(blocks(X)).compute(), model.predict(X))


def test_two_classes_and_no_cluster_to_predict(client, data, two_processes):
    X, y, _ = data
    model = SUREClassifier(**FIXED).fit(blocks(X), y > 1)
    with dask.config.set(scheduler="synchronous"):
        expected = model.decision_function(X)
        assert expected.shape == (M,)
        np.testing.assert_allclose(
            model.decision_function(blocks(X)).compute(), expected, atol=1e-12
        )
        broken = np.where(np.arange(M)[:, None] == CHUNK + 7, np.nan, X)
        with pytest.raises(InputError, match=r"in block 1 of X: X contains NaN .* \(7, 0\)"):
            model.predict(blocks(broken)).compute()
    with pytest.raises(InputError, match="X has 5 features, but SUREClassifier is expecting 6"):
        model.predict(blocks(X[:, 1:]))


# ---------------------------------------------------------------- errors


def test_no_cluster(data):
    message = r"no Dask cluster to fit on: start one first, .*Client\(\)"
    with pytest.raises(ClusterError, match=message):
        SUREClassifier().fit(blocks(data[0]), data[2])


@pytest.mark.parametrize("parameters", [{"kernel": "precomputed"}, {"solver": "dual"}])
def test_exact_solvers_are_refused(client, data, parameters):
    with pytest.raises(ParameterError, match="all pairs of rows in one place"):
        SUREClassifier(**parameters).fit(blocks(data[0]), data[2])


def test_bad_instances(client, data):
    X, _, candidates = data
    unknown = dd.from_pandas(pd.DataFrame(X), npartitions=2).to_dask_array()
    texts = da.from_array(np.full((4, 2), "cat"), chunks=(2, -1))
    for rows, message in (
        (unknown, r"unknown lengths; call X.compute_chunk_sizes\(\) first"),
        (blocks(X)[:, 0], "two dimensions"),
        (texts, "X holds <U3: it must hold numbers"),
        (blocks(X).map_blocks(sparse.csr_array), r"blocks of X are csr_\w+: they must be dense"),
        (blocks(X)[:0], r"X has 0 row\(s\)"),
        (blocks(np.where(np.arange(M)[:, None] == 257, np.inf, X)), r"infinity .* \(257, 0\)"),
    ):
        with pytest.raises(InputError, match=message):
            SUREClassifier(**FIXED).fit(rows, candidates)
    with pytest.raises(CandidateError, match="X has 900 rows but y has 899"):
        SUREClassifier().fit(blocks(X), candidates[:-1])


def test_a_broken_row_outside_the_sample_is_found_in_its_block(client):
    X = np.random.default_rng(0).standard_normal((6000, 2))
    model = SUREClassifier(**FIXED)
    # those that landmarks are chosen from
    drawn = np.random.default_rng(0).choice(6000, 4000, replace=False)
    row = np.setdiff1d(np.arange(6000), drawn)[-1]
    X[row, 1] = np.nan
    with pytest.raises(InputError, match=rf"in 1 cell\(s\), at \(row, column\) \({row}, 1\)"):
        model.fit(da.from_array(X, chunks=(2500, -1)), np.arange(6000) % 3)


def test_bad_partitions_of_candidates(client, data):
    X, y, candidates = data
    parts = [candidates[start : start + CHUNK].to_lists() for start in range(0, M, CHUNK)]
    parts[2][5] = []
    for labels, message in (
        (da.from_array(y, chunks=450), "X has 4 blocks but y has 2 partitions"),
        (
            da.from_array(y, chunks=((250, 250, 240, 160),)),
            "block 2 of X has 250 rows but partition 2 of y has 240",
        ),
        (
            [dask.delayed(part) for part in parts],
            r"in partition 2 of y: 1 row\(s\) have no candidate label: row 5",
        ),
    ):
        with pytest.raises(CandidateError, match=message):
            SUREClassifier().fit(blocks(X), labels)
