"""Run a study: keep finished trials and try failed ones again, whatever stopped the last run."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import joblib

from ..data import catalog
from ..exceptions import DataMissingError
from ..files import checked_path, naming
from ..progress import track
from ..text import count
from .backends import run_with_dask, run_with_joblib
from .records import Record, RecordWriter
from .study import Study
from .trials import Trial, evaluate, trials_of

FAILURE_LOG = "failures.log"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes
    ----------
    folder : Path
        Where the records are.
    before, finished, failed, skipped : int
        Number of trials that had finished before this run, that finished in it, that failed, and
        that were skipped because their data are missing.
    """

    folder: Path
    before: int
    finished: int
    failed: int
    skipped: int

    def __str__(self) -> str:
        text = f"{count(self.finished, 'trial', 'trials')} finished, {self.before} finished before"
        text += f", {self.skipped} skipped because their data are missing" if self.skipped else ""
        text += (
            f", {self.failed} failed (see {self.folder / FAILURE_LOG}; run again to try again)"
            if self.failed
            else ""
        )
        return f"{text}: {self.folder}"


def run_study(
    study: Study,
    folder: str | Path,
    trials: Iterable[Trial] | None = None,
    *,
    workers: int | None = None,
    dask: str | None = None,
    tell: Callable[[str], Any] = print,
) -> Outcome:
    """Run the trials of a study that are not finished yet.

    Parameters
    ----------
    study : Study
    folder : path-like
        The results folder of this study.
    trials : iterable of Trial, default=None
        The part of ``trials_of(study)`` to run; by default all.
    workers : int, default=None
        Number of processes; by default one per core. The records do not depend on it.
    dask : str, default=None
        Address of a Dask scheduler; its workers are used instead of processes.
    tell : callable, default=print
        Called with each message for the user.

    Returns
    -------
    Outcome
    """
    wanted = list(trials_of(study) if trials is None else trials)
    workers = workers or joblib.cpu_count()
    folder = checked_path(folder)
    with RecordWriter(folder, study) as writer:
        todo = [trial for trial in wanted if trial.id not in writer.finished]
        absent = _absent_data(study, todo, tell)
        ready = [trial for trial in todo if trial.dataset not in absent]

        def run() -> Generator[Record | _Failure]:
            for repeated, group in groupby(ready, lambda trial: trial.repetition > 0):
                # Later repetitions take the parameters that the first one chose.
                jobs = [
                    (trial, _chosen(trial, writer.finished) if repeated else None)
                    for trial in group
                ]
                yield from (
                    run_with_dask(_attempt, jobs, dask)
                    if dask
                    else run_with_joblib(_attempt, jobs, workers)
                )

        results = run()
        failed = 0
        with closing(results):
            for result in track(results, study.name, len(ready), verbose=True):
                if isinstance(result, _Failure):
                    failed += 1
                    result.log(writer.folder / FAILURE_LOG)
                else:
                    writer.append(result)
    before, skipped = len(wanted) - len(todo), len(todo) - len(ready)
    return Outcome(folder, before, len(ready) - failed, failed, skipped)


def _absent_data(study: Study, trials: list[Trial], tell: Callable[[str], Any]) -> set[str]:
    """The missing data sets; each is reported once, with the place where its file belongs."""
    absent = set()
    for dataset in dict.fromkeys(trial.dataset for trial in trials):
        try:
            if dataset not in study.data:
                catalog.locate(dataset)
        except DataMissingError as error:
            tell(f"skipped: {error}")
            absent.add(dataset)
    return absent


@dataclass(frozen=True)
class _Failure:
    """A trial that raised an error."""

    trial: Trial
    trace: str

    def log(self, path: Path) -> None:
        with naming(path), open(path, "a", encoding="utf-8") as file:
            file.write(
                f"{datetime.now(UTC).isoformat(timespec='seconds')} {self.trial.id} "
                f"{self.trial}\n{self.trace}\n"
            )


def _chosen(trial: Trial, finished: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """What the first repetition has chosen; None if it has not chosen yet."""
    parameters, names = finished.get(trial.first.id, {}), trial.method.grid.keys()
    return {name: parameters[name] for name in names} if names <= parameters.keys() else None


def _attempt(job: tuple[Trial, dict[str, Any] | None]) -> Record | _Failure:
    trial, chosen = job
    try:
        return evaluate(trial, chosen)
    except Exception:
        return _Failure(trial, traceback.format_exc())
