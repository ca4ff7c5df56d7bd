"""The records of finished trials: one JSON line each, on disk before the next one is written."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from ..files import naming, replacing, sync_folder
from .methods import defaults_of, known_methods
from .study import Study, StudyError, check_published, is_number, load_toml
from .trials import trials_of

#: The files of a results folder.
STUDY = "study.toml"
RECORDS = "records.jsonl"


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_configuration(value: Any) -> bool:
    """A kind and settings; all settings are numbers, except a name."""
    return (
        isinstance(value, dict)
        and _is_text(value.get("kind"))
        and _is_text(value.get("name", ""))
        and all(
            part is None or is_number(part)
            for key, part in value.items()
            if key not in ("kind", "name")
        )
    )


def _table(check: Callable[[Any], bool] = lambda value: True) -> Callable[[Any], bool]:
    """A check for dicts whose values all pass another check."""
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _list(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A check for lists whose values all pass another check."""
    return lambda value: isinstance(value, list) and all(map(check, value))


Record = dict[str, Any]
#: The fields of a record, each with a check of its value. ``cell`` is the id of the trial,
#: ``parameters`` are those chosen or given, ``defaults`` all others; ``n_select`` is 0 if nothing
#: was chosen, and ``curves`` is empty except in studies of convergence.
RECORD: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("cell", "study", "dataset", "method", "selection", "scaling", "finished"), _is_text
    ),
    **dict.fromkeys(("fold", "n_folds", "n_train", "n_test", "n_select"), _is_count),
    "configuration": _is_configuration,
    "scores": _table(is_number),
    "seconds": lambda value: (
        _table(is_number)(value) and value.keys() >= {"select", "fit", "predict"}
    ),
    "curves": _table(_list(is_number)),
    **dict.fromkeys(("parameters", "defaults", "versions", "machine"), _table()),
    "converged": lambda value: value in (True, False, None),
}
#: Checks of these fields of a study; a study may lack any of them.
STUDIES: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("name", "title", "kind"), _is_text),
    "datasets": _list(_is_text),
    "methods": lambda value: _table()(value) or _list(_is_text)(value),
}


class Run(NamedTuple):
    """The content of a results folder."""

    study: dict[str, Any]  # its tables as it was run, with every default written out
    records: list[Record]  # in the order in which they finished
    #: Records of methods whose defaults have changed since the trial ran; they are never mixed with
    #: current ones. Running the study again repeats these trials.
    outdated: list[Record]


def read(folder: str | Path) -> Run:
    """Read the records of a run, finished or not.

    Parameters
    ----------
    folder : path-like
        The results folder of one study. ``records.jsonl`` may have been compressed with ``gzip``;
        later records are then in a new ``records.jsonl`` beside ``records.jsonl.gz``.

    Returns
    -------
    Run
    """
    folder = Path(folder)
    if not (folder / STUDY).is_file():
        raise StudyError(f"{folder}: this is not a results folder: it has no {STUDY}")
    path = folder / RECORDS
    try:
        content = path.read_bytes() if path.is_file() else b""
    except OSError as error:
        raise StudyError(f"{path}: the records cannot be read ({error.strerror})") from None
    study = _load_study(folder / STUDY)
    run = Run(study, [], [])
    found = [*_earlier(folder), *_parse(path, content)]
    # If both files have a record of a trial, the later one counts.
    for record in {record["cell"]: record for record in found}.values():
        (run.outdated if is_outdated(record, study) else run.records).append(record)
    return run


def is_outdated(record: Record, study: Mapping[str, Any]) -> bool:
    """Whether a record relies on defaults that have changed since the trial ran."""
    methods, name = study.get("methods", {}), record["method"]
    plan = methods.get(name) if isinstance(methods, Mapping) else None
    estimator = str(plan.get("estimator", name) if isinstance(plan, Mapping) else name)
    return estimator in known_methods() and record["defaults"] != defaults_of(
        estimator, record["parameters"]
    )


def _load_study(path: Path) -> dict[str, Any]:
    """The tables of a study that was run; it may name methods and data that are no longer known."""
    study = {"name": None} | load_toml(path)
    for key, fits in STUDIES.items():
        if key in study and not fits(study[key]):
            raise StudyError(f"{path}: {key} has an impossible value; run the study again")
    check_published(study.get("published", {}), str(path))
    return study


def read_all(path: str | Path) -> list[Run]:
    """The runs with finished trials: that of a results folder, or those of all results folders in
    a folder.
    """
    path = Path(path)
    studies = [path / STUDY] if (path / STUDY).is_file() else sorted(path.glob(f"*/{STUDY}"))
    runs = {study.parent: read(study.parent) for study in studies}
    if not any(run.records for run in runs.values()):
        outdated = sum(len(run.outdated) for run in runs.values())
        old = f" ({outdated} are outdated)" if outdated else ""
        raise StudyError(
            f"{path}: there are no finished trials here{old}; run some with surelabel reproduce or "
            "surelabel run"
        )
    return [run for run in runs.values() if run.records]


class RecordWriter:
    """The only writer of a results folder, which it creates. If it is killed at any moment, at most
    the record being written is lost. The study must contain every trial that the folder has a
    record of.
    """

    def __init__(self, folder: str | Path, study: Study) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = open(self.folder / RECORDS, "a+b", buffering=0)  # noqa: SIM115 (closed by __exit__)
        try:
            self._lock()
            self.finished = self._repair()
            self._check_belong(study)
            _write_durably(self.folder / STUDY, study.to_toml())
        except BaseException:
            self._file.close()
            raise

    def append(self, record: Record) -> None:
        """Write a record and wait until it is on disk; a second record of the same trial is
        dropped.
        """
        if record["cell"] in self.finished:
            return
        line = json.dumps(record, allow_nan=False, ensure_ascii=False)
        content, size = line.encode() + b"\n", os.fstat(self._file.fileno()).st_size
        with naming(self.folder / RECORDS):
            try:
                while content:
                    content = content[self._file.write(content) :]
                os.fsync(self._file.fileno())
            except OSError:
                self._file.truncate(size)
                raise
        self.finished[record["cell"]] = record["parameters"]

    def _lock(self) -> None:
        # The lock is released when the process ends, however it ends.
        try:
            import fcntl
        except ImportError:  # Windows: a second run is not prevented
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StudyError(
                f"{self.folder}: another run is writing to this folder; wait for it, or use "
                "another one"
            ) from None

    def _repair(self) -> dict[str, dict[str, Any]]:
        """Remove a line that was being written when the last run was killed; return the parameters
        of the recorded trials by id.
        """
        self._file.seek(0)
        content = self._file.read()
        end_of_lines = content.rfind(b"\n") + 1
        if end_of_lines < len(content):
            self._file.truncate(end_of_lines)
            os.fsync(self._file.fileno())
        study = load_toml(self.folder / STUDY) if (self.folder / STUDY).is_file() else {}
        return {
            record["cell"]: record["parameters"]
            for record in [*_earlier(self.folder), *_parse(self.folder / RECORDS, content)]
            if not is_outdated(record, study)
        }

    def _check_belong(self, study: Study) -> None:
        """Refuse a folder with records of trials that the study does not have."""
        if not self.finished:
            return
        strange = self.finished.keys() - {trial.id for trial in trials_of(study)}
        if strange:
            raise StudyError(
                f"{self.folder}: {len(strange)} of its {len(self.finished)} records were made with "
                f"settings that the study {study.name!r} no longer has; use another results "
                "folder, or remove this one"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _earlier(folder: Path) -> list[Record]:
    """The records in the compressed file, if there is one."""
    path = folder / f"{RECORDS}.gz"
    if not path.is_file():
        return []
    try:
        return _parse(path, gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, zlib.error) as error:
        raise StudyError(
            f"{path}: the compressed records are damaged ({error}); restore the file, or "
            "remove it and run the study again"
        ) from None


def _parse(path: Path, content: bytes) -> list[Record]:
    """The first record of each trial, from all complete lines; a last line without a line break
    was not written to its end.
    """
    records: dict[str, Record] = {}
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            record = json.loads(line)
            wrong = [
                key for key, fits in RECORD.items() if key not in record or not fits(record[key])
            ]
            records.setdefault(record["cell"], record)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise StudyError(
                f"{path}: line {number} is not a record; remove that line and run the study again"
            ) from None
        if wrong:
            raise StudyError(
                f"{path}: line {number}: {wrong[0]!r} is missing, or has an impossible value; "
                "remove that line and run the study again"
            )
    return list(records.values())


def _write_durably(path: Path, text: str) -> None:
    """Replace a file in one step; it and other new files of its folder survive a power cut."""
    with replacing(path) as file:
        file.write(text.encode())
    sync_folder(path.parent)
