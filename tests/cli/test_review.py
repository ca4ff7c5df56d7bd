"""``surelabel review``: started, used and ended as a person would."""

import json
import os
import signal
import subprocess
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from typer.testing import CliRunner

from surelabel.cli import app
from surelabel.tables.answers import read_answers

pytest.importorskip("uvicorn", reason="needs surelabel[review]")


@pytest.fixture
def table(tmp_path):
    lines = ["name,size,labels"]
    lines += [f"c{i},{i / 20},cat" + "|cow" * (i % 3 == 0) for i in range(30)]
    lines += [f"w{i},{5 + i / 20},cow" + "|cat" * (i % 3 == 0) for i in range(30)]
    (tmp_path / "pets.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "pets.csv"


def start(table, *options):
    command = [sys.executable, "-m", "surelabel", "review", str(table), "--labels", "labels",
               "--id", "name", "--no-browser", *options]  # fmt: skip
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    address = server.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:"), server.communicate()
    assert server.stdout.readline().startswith("answers go to")
    return server, address


def ask(address, action, **said):
    body = json.dumps({"client": "c"} | said).encode()
    with urlopen(Request(address + action, body, {"Content-Type": "application/json"})) as reply:
        return json.load(reply)


def test_start_answer_kill_go_on_finish_and_end(table):
    before = table.read_bytes()
    server, address = start(table, "--max-error", "0.2")
    row = ask(address, "next")["row"]
    given = []
    for _ in range(3):
        label = "cat" if row["name"].startswith("c") else "cow"
        given.append(row["name"])
        row = ask(address, "answer", ticket=row["ticket"], verdict="label", label=label)["row"]
    server.kill()
    server.communicate()
    answers = table.with_name("pets.answers.jsonl")
    assert [answer.row for answer in read_answers(answers).answers] == given

    with open(answers, "ab") as file:
        file.write(b'{"row": "c1", "lab')
    server, other = start(table, "--max-error", "0.2")
    assert other.rpartition(":")[2] != address.rpartition(":")[2]
    with pytest.raises(HTTPError, match="404") as refused:
        ask(other[:-2] + ("y/" if other[-2] == "x" else "x/"), "next")
    refused.value.close()
    found = ask(other, "next")
    assert found["progress"]["answers"] == 3
    assert found["row"]["name"] not in given
    written = ask(other, "finish")["written"]
    assert [path.rpartition("/")[2] for path in written] == [
        "pets.cleaned.csv", "pets.cleaned.html", "pets.cleaned.model",
    ]  # fmt: skip
    assert all(os.path.getsize(path) > 100 for path in written)
    assert "certified" in table.with_name("pets.cleaned.csv").read_text()
    server.send_signal(signal.SIGINT)
    errors = server.communicate(timeout=20)[1]
    assert server.returncode == 130
    assert "an unfinished line at its end was removed" in errors
    assert errors.endswith("stopped; run the same command again to continue\n")
    assert "Traceback" not in errors
    assert table.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--port", "99999"], "Invalid value for '--port'"),
        (["--image", "picture"], "there is no column 'picture'"),
        (["--answers", "pets.csv"], "pets.csv is read by the same command"),
        (["-o", "no/cleaned.csv"], "there is no folder"),
        (["-o", "cleaned.doc"], "cleaned.doc"),
    ],
)
def test_what_cannot_be(table, monkeypatch, options, complaint):
    monkeypatch.chdir(table.parent)
    done = CliRunner().invoke(app, ["review", "pets.csv", "--labels", "labels", *options])
    assert done.exit_code == 2
    assert complaint in done.output
    assert not table.with_name("pets.answers.jsonl").exists()


def test_a_broken_answers_file(table, monkeypatch):
    monkeypatch.chdir(table.parent)
    table.with_name("pets.answers.jsonl").write_text("not JSON\n{}\n")
    for verb in (["review"], ["clean", "-o", "c.csv", "--answers", "pets.answers.jsonl"],
                 ["fit", "-o", "p.model", "--answers", "pets.answers.jsonl"]):  # fmt: skip
        done = CliRunner().invoke(app, [*verb, "pets.csv", "--labels", "labels"])
        assert done.exit_code == 2
        assert "pets.answers.jsonl, line 1: this is not JSON" in done.output


def test_what_is_missing_is_said(table, monkeypatch):
    monkeypatch.delitem(sys.modules, "surelabel.review.server", raising=False)
    monkeypatch.delattr("surelabel.review.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = CliRunner().invoke(app, ["review", str(table), "--labels", "labels"])
    assert done.exit_code == 2
    message = 'error: the review page needs uvicorn: pip install "surelabel[review]"\n'
    assert done.output == message


def test_standard_input_is_refused():
    result = CliRunner().invoke(app, ["review", "-", "--labels", "labels"], input="a,labels\n1,x\n")
    assert result.exit_code == 2
    assert "a review needs the file of a table, not standard input" in result.stderr
