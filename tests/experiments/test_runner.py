"""Runs: killed, failed, resumed, on any number of workers, the records are the same."""

import multiprocessing
import random
import signal
import time
from dataclasses import replace

import pytest

from surelabel.experiments import runner
from surelabel.experiments import trials as trials_module
from surelabel.experiments.records import read
from surelabel.experiments.runner import run_study
from surelabel.experiments.study import read_study
from surelabel.experiments.trials import evaluate, trials_of
from tests.dead_scheduler import cluster


def records_by_cell(folder):
    """The records without what differs from run to run: times."""
    found = read(folder).records
    return {
        record["cell"]: {k: v for k, v in record.items() if k not in ("seconds", "finished")}
        for record in found
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("undisturbed")


@pytest.fixture(scope="module")
def study(folder, small):
    (folder / "small.toml").write_text(small)
    return read_study(folder / "small.toml")


@pytest.fixture(scope="module")
def undisturbed(study, folder):
    """The records of a run in one process."""
    outcome = run_study(study, folder, workers=1)
    assert (outcome.finished, outcome.failed, outcome.skipped, outcome.before) == (30, 0, 0, 0)
    return records_by_cell(folder)


def test_killed_ten_times_the_records_are_those_of_an_undisturbed_run(
    study, undisturbed, folder, tmp_path
):
    path = tmp_path / "records.jsonl"
    whole = (folder / "records.jsonl").stat().st_size
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["surelabel.experiments.runner"])
    chance = random.Random(0)
    for kill in range(10):
        before = records_by_cell(tmp_path) if path.exists() else {}
        run = processes.Process(
            target=run_study, args=(study, tmp_path), kwargs={"workers": 2 if kill == 5 else 1}
        )
        run.start()
        # Somewhere within the next twentieth of the work, then at any moment of a trial.
        size = (path.stat().st_size if path.exists() else 0) + chance.random() * whole / 20
        while not path.exists() or path.stat().st_size < size:
            assert run.is_alive()
            time.sleep(0.001)
        time.sleep(chance.random() * 0.01)
        run.kill()
        run.join()
        assert run.exitcode == -signal.SIGKILL
        after = records_by_cell(tmp_path)
        assert before.items() <= after.items(), "a finished trial was lost or repeated"
        assert after.items() <= undisturbed.items()
    run_study(study, tmp_path, workers=1)
    assert records_by_cell(tmp_path) == undisturbed
    assert path.read_text().count("\n") == len(undisturbed), "a finished trial was run again"


def test_two_workers_give_the_same_records(study, undisturbed, tmp_path):
    assert run_study(study, tmp_path, workers=2).finished == 30
    assert records_by_cell(tmp_path) == undisturbed


def test_dask_gives_the_same_records(study, undisturbed, tmp_path):
    pytest.importorskip("distributed")
    with cluster() as (address, _):
        assert run_study(study, tmp_path, dask=address).finished == 30
    assert records_by_cell(tmp_path) == undisturbed


def test_a_failed_cell_is_logged_and_tried_again(study, tmp_path, monkeypatch):
    broken = list(trials_of(study))[3]

    def fails_once(trial, chosen):
        if trial.id == broken.id:
            raise ZeroDivisionError("as it happens")
        return evaluate(trial, chosen)

    monkeypatch.setattr(runner, "evaluate", fails_once)
    part = list(trials_of(study, folds=2))
    outcome = run_study(study, tmp_path, part, workers=1)
    assert (outcome.finished, outcome.failed) == (len(part) - 1, 1)
    log = (tmp_path / "failures.log").read_text()
    assert f"{broken.id} glass · II p=0.1 r=1 · PLKNN n_neighbors=5 · fold 1" in log
    assert "Traceback" in log
    assert "ZeroDivisionError: as it happens" in log
    assert broken.id not in records_by_cell(tmp_path)
    assert "1 failed" in str(outcome)

    monkeypatch.setattr(runner, "evaluate", evaluate)
    outcome = run_study(study, tmp_path, part, workers=1)
    assert (outcome.finished, outcome.failed, outcome.before) == (1, 0, len(part) - 1)
    assert broken.id in records_by_cell(tmp_path)


def test_a_part_first_then_the_whole(study, undisturbed, tmp_path):
    run_study(study, tmp_path, list(trials_of(study, methods=["PLKNN"], folds=2)), workers=1)
    outcome = run_study(study, tmp_path, workers=1)
    assert (outcome.before, outcome.finished) == (6, 24)
    assert records_by_cell(tmp_path) == undisturbed


def test_absent_data_is_told_once_and_skipped(study_file, tmp_path, monkeypatch):
    monkeypatch.setenv("SURELABEL_DATA", str(tmp_path / "data"))
    study = read_study(
        study_file(
            ('["glass"]', '["glass", "lost"]'),
            ("[[configurations]]", '[[configurations]]\nkind = "real"\n\n[[configurations]]'),
        )
    )
    told = []
    outcome = run_study(
        study, tmp_path / "results", trials_of(study, folds=1), workers=1, tell=told.append
    )
    assert (outcome.finished, outcome.skipped) == (6, 2)
    assert len(told) == 1
    assert str(tmp_path / "data" / "realworld" / "lost.mat") in told[0]
    assert "2 skipped because their data are missing" in str(outcome)


def test_later_repetitions_take_the_parameters_of_the_first(study, tmp_path, monkeypatch):
    twice = replace(study, repetitions=2)
    trials = [trial for trial in trials_of(twice, methods=["SURE"]) if trial.fold % twice.folds < 2]
    searches = []
    search = trials_module.select_parameters
    monkeypatch.setattr(
        trials_module, "select_parameters", lambda *a, **k: searches.append(1) or search(*a, **k)
    )
    run_study(twice, tmp_path, trials, workers=1)
    records = {record["cell"]: record for record in read(tmp_path).records}
    assert len(searches) == len(trials) / 2
    later = [trial for trial in trials if trial.repetition]
    assert {trial.first.id for trial in later} == {t.id for t in trials if not t.repetition}
    for trial in later:
        assert records[trial.id]["parameters"] == records[trial.first.id]["parameters"]
        assert records[trial.id]["seconds"]["select"] == 0
    alone = evaluate(later[0])  # without the record of the first
    for key in ("parameters", "scores"):
        assert alone[key] == records[later[0].id][key]
