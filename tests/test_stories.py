"""The stories and the how-to pages are followed block by block, as a newcomer would, and what they
show is what comes out.
"""

import doctest
import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from surelabel.cli import app

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "stories").glob("*.md"))
HOW_TO = sorted((ROOT / "docs" / "howto").glob("*.md"))
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.])")
SECONDS = re.compile(r"\d[\d.]* s\b")


def blocks(page):
    """The blocks of code of a page in their order: the language, and the text."""
    return re.findall(r"^ *```(\w*)\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.M | re.S)


def steps(block):
    """The commands of a block, each with the lines shown below it."""
    found = []
    for line in block.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def follow(page, folder, monkeypatch):
    """Run the commands and the Python of a page in their order; return the last folder."""
    known = {}
    for language, block in blocks(page):
        if language == "console":
            for command, shown in steps(block):
                if command.startswith("cd "):
                    folder = folder / command[3:]
                else:
                    check(command, shown, run(command, folder, monkeypatch))
        elif ">>>" in block:
            monkeypatch.chdir(folder)
            test = doctest.DocTestParser().get_doctest(block, known, page.name, str(page), 0)
            result = doctest.DocTestRunner().run(test, clear_globs=False)
            assert not result.failed
            known = test.globs
    return folder


def run(command, folder, monkeypatch):
    """What a command prints; those of surelabel run in this process, which spares starting Python
    anew for each.
    """
    monkeypatch.chdir(folder)
    words = shlex.split(command)
    if words[0] == "surelabel":
        done = CliRunner().invoke(app, words[1:])
        code, printed = done.exit_code, done.output
    else:
        words[0] = sys.executable if words[0] == "python" else words[0]
        done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        code, printed = done.returncode, done.stdout
    assert code == 0, f"{command}\n{printed}"
    return printed


def like(shown, printed):
    """Whether a line is as shown: the same words, and numbers that differ no more than
    machines do.
    """
    shown, printed = (" ".join(SECONDS.sub("? s", line).split()) for line in (shown, printed))
    words = ".*".join(re.escape(part) for part in NUMBER.sub("#", shown).split("…"))
    if not re.fullmatch(words, NUMBER.sub("#", printed)):
        return False
    pairs = zip(
        NUMBER.findall(shown.split("…")[0]), NUMBER.findall(printed), strict="…" not in shown
    )
    return all(
        abs(number(a) - number(b)) <= max(0.05 * number(a), 0.05 if "." in a else 2)
        for a, b in pairs
    )


def number(text):
    return float(text.replace(",", ""))


def check(command, shown, printed):
    """The lines shown follow each other in what was printed; a line of … stands for any number of
    them.
    """
    lines, place, skip = [line for line in printed.splitlines() if line.strip()], 0, False
    for line in filter(str.strip, shown):
        if line.strip() == "…":
            skip = True
            continue
        while skip and place < len(lines) and not like(line, lines[place]):
            place += 1
        found = lines[place] if place < len(lines) else "nothing more"
        assert like(line, found), f"$ {command}\nshown:   {line}\nprinted: {found}\n\n{printed}"
        place, skip = place + 1, False
    assert skip or place == len(lines), f"$ {command}\nnot shown: {lines[place:]}"


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_story(page, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    verbs = {
        command.split()[1]
        for language, block in blocks(page)
        if language == "console"
        for command, _ in steps(block)
        if command.startswith("surelabel ")
    }
    assert {"inspect", "clean", "predict"} <= verbs
    folder = follow(page, tmp_path, monkeypatch)

    # The truth was not among what the commands read, and the labels found are nearer to it than the
    # naive choice is.
    stories = example("check_story")
    truth = dict(line.split(",") for line in (folder / "truth.csv").read_text().splitlines())
    cleaned = stories.read(folder, "cleaned", truth)
    assert "truth" not in cleaned[0][0]
    naive = sum(stories.naive_share(row, true) for row, true in cleaned) / len(cleaned)
    right = [(row["label"] == true, row["status"]) for row, true in cleaned]
    kept = [good for good, status in right if status != "look"]
    assert sum(good for good, _ in right) / len(right) > naive + 0.05
    assert len(kept) > len(cleaned) / 3
    assert sum(kept) / len(kept) > 0.97
    pages = list(folder.glob("*.html"))
    assert pages
    assert all("<html" in page.read_text()[:500].lower() for page in pages)


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_how_to(page, tmp_path, monkeypatch):
    for file in (page.parent / "files").iterdir():
        shutil.copy(file, tmp_path)
    follow(page, tmp_path, monkeypatch)
    text = page.read_text(encoding="utf-8")
    words = re.sub(r"(?s)<!--.*?-->|\|.*?\n|```.*?```", " ", text).split()
    assert len(words) <= 700
    assert "\n## How far to trust it\n" in text


def test_files_of_the_how_to_pages_are_those_of_the_script(tmp_path):
    example("make_howto").main(tmp_path)
    for file in (ROOT / "docs" / "howto" / "files").iterdir():
        assert file.read_bytes() == (tmp_path / file.name).read_bytes(), file.name


def test_files_are_the_same_every_time(tmp_path):
    stories = example("make_stories")
    for name in stories.STORIES:
        stories.make(name, tmp_path / "first")
        stories.make(name, tmp_path / "second")
    first = sorted(
        path.relative_to(tmp_path / "first") for path in (tmp_path / "first").rglob("*.*")
    )
    assert first
    assert all(
        (tmp_path / "first" / path).read_bytes() == (tmp_path / "second" / path).read_bytes()
        for path in first
    )
    faces = pq.read_table(tmp_path / "first" / "captions" / "faces.parquet")
    assert all(
        (tmp_path / "first" / "captions" / image).is_file() for image in faces["image"].to_pylist()
    )


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("12 rows, 3.1 s", "12 rows,  44.7 s", True),
        ("93.5 % right", "94.1 % right", True),
        ("93.5 % right", "73.5 % right", False),
        ("93.5 % right", "93.5 % wrong", False),
        ("12 rows, … is cut", "12 rows, the rest is cut", True),
        ("12 rows, … is cut", "20 rows, the rest is cut", False),
        ("the rest … is cut", "the rest of the line stays", False),
    ],
)
def test_what_is_like(shown, printed, same):
    assert like(shown, printed) is same


@pytest.mark.parametrize(
    ("shown", "complaint"),
    [
        (["one", "three"], "shown:   three"),
        (["one", "two"], "not shown"),
        (["…", "two"], "not shown"),
        (["one", "two", "three", "four"], "nothing more"),
    ],
)
def test_what_is_not_as_shown(shown, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check("count", shown, "one\ntwo\nthree\n")
