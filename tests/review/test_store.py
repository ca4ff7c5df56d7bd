"""Nothing is lost: every answer is on the disk before the page moves on."""

import json
import os
import subprocess
import sys
import threading

import pytest

from surelabel.exceptions import TableError
from surelabel.review.store import AnswersFile
from surelabel.tables.answers import read_answers

HEADER = {"id": "pet", "columns": ["pet"]}
#: Two writers append answers and say so through a pipe; each is killed at a random moment, ten
#: times. What they said comes out: answers that were confirmed.
KILLER = """
import os, random, signal, sys, time
from pathlib import Path
from surelabel.review.store import AnswersFile

def write(name, pipe):
    file = AnswersFile(Path(sys.argv[1]), {"id": "pet", "columns": ["pet"]})
    for number in range(10**6):
        file.append({"row": f"{name}-{number}", "label": "cat" * 400, "who": name})
        os.write(pipe, f"{name}-{number}\\n".encode())

rng = random.Random(0)
for attempt in range(10):
    children = {}
    for name in "ab":
        read, pipe = os.pipe()
        child = os.fork()
        if not child:
            write(f"{attempt}{name}", pipe)
        os.close(pipe)
        children[child] = read
    time.sleep(0.02 + 0.05 * rng.random())
    for child, read in children.items():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with open(read) as said:
            sys.stdout.write(said.read())
"""


def test_lines_are_there_at_once_and_come_back(tmp_path):
    path = tmp_path / "a.jsonl"
    file = AnswersFile(path, HEADER)
    file.append({"row": "p1", "label": "cät"})
    file.append({"row": "p2", "verdict": "unknown"})
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == [{"surelabel": "answers 1"} | HEADER, *lines[1:]]
    assert lines[1]["label"] == "cät"
    again = AnswersFile(path, {"id": "other", "columns": []})
    assert [answer.row for answer in again.log.answers] == ["p1", "p2"]
    assert again.log.id == "pet"
    assert path.read_text(encoding="utf-8").count("surelabel") == 1


def test_others_are_read(tmp_path):
    path = tmp_path / "a.jsonl"
    first, second = AnswersFile(path, HEADER), AnswersFile(path, HEADER)
    first.append({"row": "p1", "label": "cat"})
    second.append({"row": "p2", "label": "cow"})
    assert [answer.row for answer in second.log.answers] == ["p1", "p2"]
    assert first.refresh()
    assert not first.refresh()
    assert [answer.row for answer in first.log.answers] == ["p1", "p2"]


def test_only_one_draws(tmp_path):
    path = tmp_path / "a.jsonl"
    first, second = AnswersFile(path, HEADER), AnswersFile(path, HEADER)
    for file, row in ((first, "p1"), (second, "p2")):
        file.draw({"draw_rows": [row], "draw_labels": ["cat"]}, 0)
    assert [draw.rows for draw in second.log.draws] == [("p1",)]
    assert len(read_answers(path).draws) == 1


@pytest.mark.parametrize(
    ("end", "kept", "removed"),
    [(b'{"row": "p2", "la', 1, 17), (b'{"row": "p2", "label": "cow"}', 2, 0), (b"\xff\xfe", 1, 2)],
)
def test_a_half_line_is_repaired(tmp_path, end, kept, removed):
    path = tmp_path / "a.jsonl"
    AnswersFile(path, HEADER).append({"row": "p1", "label": "cat"})
    with open(path, "ab") as file:
        file.write(end)
    again = AnswersFile(path, HEADER)
    assert again.repaired == removed
    again.append({"row": "p3", "label": "cat"})
    rows = [answer.row for answer in read_answers(path).answers]
    assert rows == ["p1", "p2", "p3"][: kept + 1] if kept == 2 else rows == ["p1", "p3"]


def test_broken_lines_and_a_cut_file_are_told_of(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"surelabel": "answers 1", "id": null, "columns": []}\nnonsense\n')
    with pytest.raises(TableError, match="line 2: this is not JSON"):
        AnswersFile(path, HEADER)
    path.unlink()
    file = AnswersFile(path, HEADER)
    file.append({"row": "p1", "label": "cat"})
    path.write_text("")
    with pytest.raises(TableError, match="lines were removed"):
        file.append({"row": "p2", "label": "cat"})


def test_a_file_that_is_removed_comes_back(tmp_path):
    path = tmp_path / "a.jsonl"
    first, second = AnswersFile(path, HEADER), AnswersFile(path, HEADER)
    first.append({"row": "p1", "label": "cat"})
    second.append({"row": "p2", "label": "cow"})
    before = path.read_bytes()
    path.unlink()
    assert not first.refresh()
    second.append({"row": "p3", "label": "cow"})
    assert path.read_bytes().startswith(before)
    first.append({"row": "p4", "label": "cow"})
    assert [answer.row for answer in read_answers(path).answers] == ["p1", "p2", "p3", "p4"]


@pytest.mark.skipif(os.name == "nt", reason="Windows does not remove files that are open")
def test_a_file_that_is_removed_keeps_what_others_wrote(tmp_path):
    """Each server knows only the lines that it has read; the next answer brings back all."""
    path = tmp_path / "a.jsonl"
    first, second, third = (AnswersFile(path, HEADER) for _ in range(3))
    first.append({"row": "p1", "label": "cat"})
    second.append({"row": "p2", "label": "cow"})
    path.unlink()
    first.append({"row": "p3", "label": "cow"})
    second.append({"row": "p4", "label": "cow"})
    rows = ["p1", "p2", "p3", "p4"]
    assert [answer.row for answer in read_answers(path).answers] == rows
    # The same if somebody has started again in the meantime, or if the file is removed again.
    third.refresh()
    path.unlink()
    new = AnswersFile(path, HEADER)
    third.append({"row": "p5", "label": "cow"})
    path.unlink()
    new.append({"row": "p6", "label": "cow"})
    for file in (first, second, third, new):
        file.refresh()
        assert [answer.row for answer in file.log.answers] == [*rows, "p5", "p6"]


def test_a_file_of_other_answers_is_not_mixed_in(tmp_path):
    path = tmp_path / "a.jsonl"
    file = AnswersFile(path, HEADER)
    file.append({"row": "p1", "label": "cat"})
    other = AnswersFile(tmp_path / "b.jsonl", HEADER)
    other.append({"row": "q1", "label": "a label that is longer"})
    (tmp_path / "b.jsonl").replace(path)
    before = path.read_bytes()
    with pytest.raises(TableError, match="was replaced while the page was open; restart"):
        file.append({"row": "p2", "label": "cat"})
    assert path.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs limits of a process")
def test_a_full_disk_loses_nothing_that_was_confirmed(tmp_path):
    import resource
    import signal

    path = tmp_path / "a.jsonl"
    file, said = AnswersFile(path, HEADER), []

    def fill():
        for number in range(100):
            file.append({"row": f"p{number}", "label": "cat" * 20})
            said.append(f"p{number}")

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            fill()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert 5 < len(said) < 100
    file.append({"row": "last", "label": "cat"})
    assert [answer.row for answer in read_answers(path).answers] == [*said, "last"]


def test_two_writers_do_not_overwrite_each_other(tmp_path):
    path = tmp_path / "a.jsonl"

    def write(name):
        file = AnswersFile(path, HEADER)
        for number in range(40):
            file.append({"row": f"{name}{number}", "label": "cat"})

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = [answer.row for answer in read_answers(path).answers]
    assert sorted(rows) == sorted(f"{name}{number}" for name in "abc" for number in range(40))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_sigkill_loses_no_answer(tmp_path):
    """Twenty times at random moments, on the same file, two writers at a time."""
    path = tmp_path / "a.jsonl"
    said = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLER, str(path)],
        text=True,
        capture_output=True,
        check=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    confirmed = said.stdout.split()
    assert len(confirmed) > 20
    rows = [answer.row for answer in read_answers(path).answers]
    assert set(confirmed) <= set(rows)
    assert len(rows) == len(set(rows))
    AnswersFile(path, HEADER).append({"row": "last", "label": "cat"})
    assert read_answers(path).answers[-1].row == "last"
