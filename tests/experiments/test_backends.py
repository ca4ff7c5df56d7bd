"""Backends: every item once, and errors that say what to do."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from surelabel.exceptions import MissingExtraError
from surelabel.experiments import backends
from surelabel.experiments.backends import BackendError, run_with_dask, run_with_joblib
from tests.dead_scheduler import cluster


@pytest.mark.parametrize("workers", [1, 2])
def test_every_item_once(workers):
    assert sorted(run_with_joblib(abs, [-3, 1, -2], workers)) == [1, 2, 3]
    assert list(run_with_joblib(abs, [], workers)) == []


def test_results_do_not_wait_for_those_that_are_not_asked_for():
    seen = []
    results = run_with_joblib(seen.append, [1, 2, 3], 1)
    next(results)
    assert seen == [1]


def test_a_worker_that_dies_is_an_error():
    with pytest.raises(BackendError, match=r"a worker process died, .* what is finished is kept"):
        list(run_with_joblib(_dies_at_two, [0, 1, 2, 3], 2))


def _dies_at_two(item):
    if item == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def test_temporary_files_of_workers_go_with_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = list(run_with_joblib(_leave_a_file, [1, 2], 2))
    assert all(str(tmp_path) in name for name in left)
    assert not list(tmp_path.iterdir())


def _leave_a_file(item):
    return tempfile.mkstemp()[1]


def test_workers_end_with_a_killed_parent(tmp_path):
    code = """
import os, pathlib, time
from surelabel.experiments.backends import run_with_joblib

def work(item):
    (pathlib.Path(FOLDER) / str(os.getpid())).touch()
    time.sleep(60)

list(run_with_joblib(work, [1, 2], 2))
"""
    code = code.replace("FOLDER", repr(str(tmp_path)))
    parent = subprocess.Popen([sys.executable, "-c", code])
    while len(workers := [int(path.name) for path in tmp_path.iterdir()]) < 2:
        assert parent.poll() is None
        time.sleep(0.01)
    parent.kill()
    parent.wait()
    end = time.monotonic() + 20
    while any(_runs(worker) for worker in workers):
        assert time.monotonic() < end, "a worker outlived its parent"
        time.sleep(0.05)


def _runs(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_every_item_once_with_dask(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(backends, "WINDOW", 2)
    with cluster() as (address, _):
        assert sorted(run_with_dask(abs, [-3, 1, -2, 5, -4], address)) == [1, 2, 3, 4, 5]


def test_without_dask_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r'pip install "surelabel\[dask\]"'):
        next(run_with_dask(abs, [1], "tcp://here:1"))


def test_a_scheduler_that_does_not_answer():
    pytest.importorskip("distributed")
    with pytest.raises(BackendError, match="no Dask scheduler answers at 'nowhere'"):
        next(run_with_dask(abs, [1], "nowhere"))


def test_a_dead_scheduler_is_one_error_that_says_so():
    pytest.importorskip("distributed")
    with cluster() as (address, process):
        results = run_with_dask(abs, range(100_000), address)
        next(results)
        process.kill()
        begun = time.monotonic()
        with pytest.raises(BackendError, match=r"scheduler .* no longer responds") as error:
            list(results)
        assert time.monotonic() - begun < 30
        assert "memory" not in str(error.value)
