"""Errors that are not about the input: memory, threads, disk, pipes and those nobody foresaw."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from surelabel.data import table_files
from tests.cli.test_cli import STUDY


def raising(error):
    def read(*args, **kwargs):
        raise error

    return read


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ZeroDivisionError("as it happens"), 70, "unexpected: ZeroDivisionError: as it happens;"),
        (AssertionError(), 70, "unexpected: AssertionError: no message;"),
        (MemoryError(), 2, "memory ran out; use fewer rows or columns"),
        (
            np._core._exceptions._ArrayMemoryError((10**6, 10**6), np.dtype(float)),
            2,
            "memory ran out (Unable to allocate 7.28 TiB for an array with shape (1000000, "
            "1000000) and data type float64); use fewer rows",
        ),
        (pa.ArrowMemoryError("malloc failed"), 2, "memory ran out (malloc failed); use fewer rows"),
        (RuntimeError("can't start new thread"), 2, "memory ran out (can't start new thread);"),
        (ImportError("failed to map segment"), 2, "memory ran out (failed to map segment);"),
        (OSError(errno.ENOSPC, "No space", "out.csv"), 2, "out.csv: No space; free"),
    ],
)
def test_each_has_its_sentence_and_code(cli, monkeypatch, error, code, message):
    monkeypatch.setattr(table_files, "read_table", raising(error))
    result = cli("clean pets.csv -o out.csv --labels candidates")
    assert result.exit_code == code
    assert result.stderr.startswith(f"error: {message}")
    assert result.stderr.count("\n") == 1
    assert ("SURELABEL_TRACEBACK=1" in result.stderr) == (code == 70)
    assert not os.path.exists("out.csv")


def test_the_traceback_is_shown_to_those_who_ask(cli, monkeypatch):
    monkeypatch.setenv("SURELABEL_TRACEBACK", "1")
    monkeypatch.setattr(table_files, "read_table", raising(ZeroDivisionError("as it happens")))
    result = cli("clean pets.csv -o out.csv --labels candidates")
    assert result.exit_code == 70
    assert "Traceback" in result.stderr
    assert "in clean" in result.stderr


def run(words, **options):
    command = [sys.executable, "-m", "surelabel", *words.split()]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, **options)


def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


LABELS = "--labels candidates --exclude truth"
WRITERS = {
    "clean": f"clean pets.csv -o out.csv {LABELS} --report out.html --model out.model "
    "--method PLKNN",
    "audit": f"audit pets.csv -o out.csv {LABELS} --method PLKNN --max-error 0.3",
    "fit": f"fit pets.csv -o out.model {LABELS} --method PLKNN",
    "predict": "predict pets.model new.csv -o out.csv",
    "convert": "convert pets.csv out.csv",
    "run": "run tiny.toml --workers 1",
    "report": "report done --output page",
    "reproduce": "reproduce figure1 --datasets glass --methods PLKNN --workers 1",
}


def prepare(cli, tmp_path, verb):
    """The study that some verbs run, and its results if there is to be a report."""
    (tmp_path / "tiny.toml").write_text(STUDY)
    if verb == "report":
        words = "run tiny.toml --workers 1 --folds 1 --datasets glass --results done"
        assert cli(words).exit_code == 0


@pytest.mark.parametrize("verb", WRITERS)
def test_a_full_disk(cli, tmp_path, verb):
    """A limit of the size of files stands for the disk: Python meets both as an OSError."""
    prepare(cli, tmp_path, verb)
    (tmp_path / "out.csv").write_text("old")
    before = sorted(filter(Path.is_file, tmp_path.rglob("*")))
    result = run(WRITERS[verb], preexec_fn=limit)
    assert result.returncode == 2, result.stderr
    assert result.stderr.count("\n") == 1
    assert "File too large" in result.stderr
    named = {"run": "results/tiny/", "reproduce": "results/", "report": "page/"}.get(verb, "out.")
    assert named in result.stderr
    assert (tmp_path / "out.csv").read_text() == "old"
    assert not list(tmp_path.rglob(".*"))
    if verb in ("run", "reproduce"):  # finished records stay, a part of one does not
        assert "what is finished is kept" in result.stderr
        for records in tmp_path.glob("results/*/records.jsonl"):
            assert records.read_bytes()[-1:] in (b"", b"\n")
    else:
        assert sorted(filter(Path.is_file, tmp_path.rglob("*"))) == before


MIDDLE = {
    "clean": "surelabel.tables.clean",
    "audit": "surelabel.tables.clean",
    "fit": "surelabel.tables.fit",
    "predict": "surelabel.tables.predict",
    "convert": "surelabel.data.table_files.write_table",
    "run": "surelabel.experiments.runner.run_study",
    "report": "surelabel.report.write_files",
    "reproduce": "surelabel.experiments.runner.run_study",
}


@pytest.mark.parametrize("verb", MIDDLE)
def test_memory_that_runs_out_in_each_verb(cli, tmp_path, monkeypatch, verb):
    prepare(cli, tmp_path, verb)
    before = sorted(os.listdir())
    monkeypatch.setattr(MIDDLE[verb], raising(MemoryError("for 9 GiB")))
    result = cli(WRITERS[verb])
    assert result.exit_code == 2, result.stderr
    assert result.stderr.startswith("error: memory ran out (for 9 GiB)")
    assert result.stderr.count("\n") == 1
    resumed = verb in ("run", "reproduce")
    assert ("what is finished is kept" if resumed else "nothing was wr") in result.stderr
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "words", ["inspect pets.csv --labels candidates", "predict pets.model new.csv"]
)
def test_a_closed_pipe_ends_quietly(cli, words):
    reading, writing = os.pipe()
    os.close(reading)
    result = run(words, stdout=writing)
    os.close(writing)
    assert (result.returncode, result.stderr) == (141, "")


def test_a_full_disk_behind_standard_output(cli):
    with open("/dev/full", "w") as full:
        result = run("predict pets.model new.csv", stdout=full)
    assert (result.returncode, result.stderr) == (
        2,
        "error: standard output: No space left on device; free some space, or write to another "
        "disk; nothing was written\n",
    )


EMBED = "inspect pets.csv --labels candidates --as note="
NOISY = "clean pets.csv -o out.csv --labels truth --exclude candidates --noisy -s estimator="
QUITTER = """
import sys
from sklearn.linear_model import LogisticRegression

if "at_once" in __name__:
    sys.exit(5)

def embed(cells):
    sys.exit(0)

def panics(cells):
    raise BaseException("as compiled code does")

def words(cells):
    return [["a"] for _ in cells]

class Made:
    def __init__(self):
        sys.exit(7)

class Model(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        sys.exit(0)
"""


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (f"{EMBED}../x:f", "'../x:f' cannot be found"),
        (f"{EMBED}.quits:f", "the name of a module"),
        (f"{EMBED}quits_at_once:f", "cannot be found (SystemExit: 5)"),
        (f"{EMBED}quits:embed", "the function that embeds it failed (SystemExit: 0)"),
        (f"{EMBED}quits:panics", "embeds it failed (BaseException: as compiled code does)"),
        (f"{EMBED}quits:words", "vectors of numbers, all of equal length, not [['a'], ['a'],"),
        (f"{EMBED}quits:Made", "the function Made cannot be created (SystemExit: 7)"),
        (f"{NOISY}quits_at_once:f", "cannot be found (SystemExit: 5)"),
        (f"{NOISY}quits:Model", "a module that the command was given tried to end it"),
    ],
)
def test_modules_of_the_user_do_not_set_the_exit_code(cli, tmp_path, words, complaint):
    for name in ("quits", "quits_at_once"):
        (tmp_path / f"{name}.py").write_text(QUITTER)
    try:
        result = cli(words)
    finally:
        for name in ("quits", "quits_at_once"):
            sys.modules.pop(name, None)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert not (tmp_path / "out.csv").exists()
