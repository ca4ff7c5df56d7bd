"""Ctrl-C and SIGTERM at many moments of every verb: one line, the right code, nothing left."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from surelabel.cli import TABLE_VERBS
from surelabel.interrupts import RESUMED
from tests.cli.test_cli import STUDY

LABELS = "--labels candidates --exclude truth"
VERBS = {
    "inspect": "inspect pets.csv --labels candidates",
    "clean": f"clean pets.csv -o out.csv {LABELS} --report out.html --model out.model "
    "--method PLKNN",
    "review": f"review pets.csv {LABELS} --answers results/a.jsonl --no-browser",
    "audit": f"audit pets.csv -o out.csv {LABELS} --method PLKNN --max-error 0.6",
    "fit": f"fit pets.csv -o out.model {LABELS} --method PLKNN",
    "predict": "predict pets.model new.csv -o out.csv",
    "compare": f"compare pets.csv {LABELS} --methods PLKNN",
    "convert": "convert pets.csv out.csv",
    "report": "report done --output page",
    "datasets": "datasets",
    "demo": "demo",
    "run": "run tiny.toml --workers 1",
    "reproduce": "reproduce figure1 --datasets glass --methods PLKNN --workers 1",
}
OUTPUTS = ("out.csv", "out.html", "out.model")


def start(words, folder):
    """The command in a session of its own, with temporary files in a folder that is looked at."""
    return subprocess.Popen(
        [sys.executable, "-m", "surelabel", *words.split()],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(folder / "tmp"), "MPLCONFIGDIR": str(folder.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Shells switch the signal off for what runs in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if "results" not in path.relative_to(folder).parts
    }


def wait_until_first_line(process):
    """Until our first line has run: what happens before is Python's, and not ours to help."""
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt"))
        if int(caught.split()[1], 16) & (1 << (signal.SIGALRM - 1)):  # the last one to be set
            return
        time.sleep(0.002)


def in_session(process):
    """The processes that the command left behind."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == process.pid and fields[0] != "Z":
            found.append(stat.parent.name)
    return found


def check(process, number, folder, before, *, resumed=False):
    _, errors = process.communicate(timeout=120)
    line = "run the same command again to continue" if resumed else "no file is half-written"
    after = files(folder)
    if process.returncode == 0:  # all was done before the signal came
        assert errors == ""
        assert not resumed or (folder / "results").exists()
    else:
        assert (process.returncode, errors) == (128 + number, f"stopped; {line}\n")
        assert after == before
    assert not list(folder.rglob(".*"))
    assert not list((folder / "tmp").iterdir())
    end = time.monotonic() + 20
    while in_session(process):
        assert time.monotonic() < end, "a process outlived the command"
        time.sleep(0.1)


@pytest.fixture
def folder(cli, tmp_path):
    """What the commands read, and old outputs."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "results").mkdir()
    (tmp_path / "tiny.toml").write_text(STUDY.replace("folds = 3", "folds = 20"))
    for name in OUTPUTS:
        (tmp_path / name).write_text("old")
    return tmp_path


@pytest.fixture(scope="module")
def usual_time(tmp_path_factory):
    """How long a command takes here and now."""
    folder = tmp_path_factory.mktemp("time")
    (folder / "tmp").mkdir()
    begun = time.monotonic()
    start("datasets", folder).communicate()
    return time.monotonic() - begun


def test_every_verb_is_stopped_somewhere():
    assert set(VERBS) >= set(TABLE_VERBS)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux' /proc")
@pytest.mark.parametrize("verb", VERBS)
def test_a_signal_at_any_moment(folder, cli, usual_time, verb):
    if verb == "report":
        words = "run tiny.toml --workers 1 --folds 1 --datasets glass --results done"
        assert cli(words).exit_code == 0
    chance = random.Random(verb)
    for moment in range(2):
        for name in OUTPUTS:
            (folder / name).write_text("old")
        before = files(folder)
        number = chance.choice([signal.SIGINT, signal.SIGTERM])
        process = start(VERBS[verb], folder)
        wait_until_first_line(process)
        # once while Python imports, once while the command works
        time.sleep((moment + chance.random()) * 0.6 * usual_time)
        process.send_signal(number)
        if chance.random() < 0.5:
            time.sleep(0.01)
            process.send_signal(number)
        check(process, number, folder, before, resumed=verb in RESUMED)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux' /proc")
def test_workers_end_with_the_command(folder, usual_time):
    words = "run tiny.toml --workers 2"
    chance = random.Random(words)
    for whole_group in (True, False):  # a terminal sends Ctrl-C to all processes
        before = files(folder)
        number = chance.choice([signal.SIGINT, signal.SIGTERM])
        process = start(words, folder)
        wait_until_first_line(process)
        time.sleep(usual_time * (0.8 + 2 * chance.random()))
        if process.poll() is None:
            (os.killpg if whole_group else os.kill)(process.pid, number)
        check(process, number, folder, before, resumed=True)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux' /proc")
def test_an_interrupt_that_python_drops_is_raised_again(tmp_path):
    """Exceptions in finalizers go nowhere; the command ends all the same, without a traceback,
    and what libraries say of tasks that were cut off is not shown.
    """
    code = """
import atexit, logging, signal, sys, time
from surelabel import interrupts
from surelabel.__main__ import main
import surelabel.cli

class Dropped:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)

def app(prog_name):
    atexit.register(print, "closed late", file=sys.stderr)
    try:
        Dropped()
        time.sleep(60)
    finally:
        logging.getLogger("asyncio").error("Task exception was never retrieved")

surelabel.cli.app = app
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "clean"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (143, "stopped; no file is half-written\n")


@pytest.mark.parametrize(("wrote", "expected"), [(False, 143), (True, 0)])
def test_a_signal_at_the_very_end(wrote, expected):
    """While Python shuts down: the command has ended well only if its outputs are in place."""
    code = f"""
import atexit, signal, sys
from surelabel import interrupts
from surelabel.__main__ import main
import surelabel.cli

def app(prog_name):
    print("all there is")
    atexit.register(signal.raise_signal, signal.SIGTERM)
    interrupts.outputs_in_place = {wrote}

class Late:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)

sys.late = Late()
surelabel.cli.app = app
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "inspect"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == expected
    assert done.stderr == ("" if wrote else "stopped; no file is half-written\n")
    assert done.stdout == ("all there is\n" if wrote else done.stdout)
