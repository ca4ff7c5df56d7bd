"""The command line: exit codes, one line for an error, and that stopping is harmless."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from sklearn import datasets
from typer.testing import CliRunner

from surelabel.cli import app
from surelabel.cli.reproduce import TARGETS
from surelabel.experiments.records import read
from surelabel.experiments.study import PAPERS

STUDY = """
name = "tiny"
datasets = ["glass", "ecoli"]
folds = 3
inner_folds = 2

[methods.SURE]
grid = { lam = [0.05, 0.3], beta = [0.05] }

[methods.PLKNN]
parameters = { n_neighbors = 5 }

[[configurations]]
kind = "controlled"
name = "II"
p = 0.4
r = 1
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Run a command in a folder that holds tiny.toml, without data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SURELABEL_DATA", str(tmp_path / "data"))
    (tmp_path / "tiny.toml").write_text(STUDY)
    return lambda words: CliRunner().invoke(app, words.split())


def test_the_demo_calls_no_row_of_its_table_a_limit_for_the_others(call, monkeypatch):
    digits = datasets.load_digits(n_class=5, return_X_y=True)
    monkeypatch.setattr(datasets, "load_digits", lambda **_: tuple(part[:300] for part in digits))
    result = call("demo")
    assert result.exit_code == 0
    table = [line.split("│") for line in result.output.splitlines() if line.startswith("│")]
    rows = {cells[1].strip() for cells in table}
    assert {f"{name}, tuned without true labels" for name in ("PURE", "SURE")} <= rows
    assert "SVM, with all true labels" in rows
    # PURE and SURE may be above the SVM that knows the labels: it is not their upper bound.
    assert not re.search("ceiling|bound|limit|best|at most", result.output)


def test_run_and_run_again(call, tmp_path):
    result = call("run tiny.toml --workers 1")
    assert result.exit_code == 0
    assert result.output.startswith("tiny: 12 trials finished, 0 finished before: results/tiny\n")
    assert len(read(tmp_path / "results" / "tiny")[1]) == 12
    again = call("run tiny.toml").output
    assert again.startswith("tiny: 0 trials finished, 12 finished before: results/tiny\n")


def test_a_part_of_a_study(call, tmp_path):
    words = "run tiny.toml --workers 1 --results there --datasets glass"
    first = call(f"{words} --datasets ecoli --folds 1 --methods PLKNN,SURE")
    assert "4 trials finished" in first.output
    more = call(f"{words} --folds 2 --methods PLKNN")
    assert "1 trial finished, 1 finished before" in more.output


def test_some_levels_of_a_study(call, tmp_path):
    (tmp_path / "tiny.toml").write_text(STUDY.replace("p = 0.4", "p = [0.1, 0.4, 0.7]"))
    words = "run tiny.toml --workers 1 --folds 1 --methods PLKNN --datasets glass"
    assert "2 trials finished" in call(f"{words} --levels 0.1,0.7").output
    records = read(tmp_path / "results" / "tiny").records
    assert {record["configuration"]["p"] for record in records} == {0.1, 0.7}
    result = call(f"{words} --levels 0.5")
    assert result.exit_code == 2
    assert "there is no level '0.5' here; choose from 0.1, 0.4, 0.7" in result.output


def test_another_criterion_has_a_folder_of_its_own(call, tmp_path):
    words = "run tiny.toml --workers 1 --folds 1 --datasets glass"
    call(words)
    told = call(f"{words} --selection oracle").output.splitlines()[0]
    assert told == "tiny-oracle: 2 trials finished, 0 finished before: results/tiny-oracle"
    study, records, _ = read(tmp_path / "results" / "tiny-oracle")
    assert study["selection"] == "oracle"
    assert {record["selection"] for record in records} == {"oracle", "none"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run none.toml", "none.toml: the study cannot be read (No such file or directory)"),
        ("run tiny.toml --methods SURE,PLKN", "no method 'PLKN' here; choose from SURE, PLKNN"),
        ("run tiny.toml --datasets lost", "no data set 'lost' here; choose from glass, ecoli"),
        ("run tiny.toml --selection truth", "there is no criterion 'truth' here"),
        ("run tiny.toml --results tiny.toml", "tiny.toml/tiny: Not a directory"),
        ("reproduce figure6", "no target 'figure6' here; choose from table2, table4, figure1"),
        (
            "report results",
            "results: there are no finished trials here; run some with surelabel re",
        ),
        ("datasets --fetch loost", "there is no data set 'loost'"),
    ],
)
def test_bad_input_is_one_line_and_code_2(call, tmp_path, words, message):
    result = call(words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["tiny.toml"], "something half-made was left behind"


@pytest.mark.parametrize(
    "words", ["run", "run tiny.toml --folds 0", "run tiny.toml --workers many", "fly"]
)
def test_wrong_usage_is_code_2(call, words):
    assert call(words).exit_code == 2


def test_a_failed_cell_is_code_1(call, tmp_path):
    (tmp_path / "tiny.toml").write_text(STUDY.replace("n_neighbors = 5", "n_neighbors = 5000"))
    result = call("run tiny.toml --workers 1 --folds 1 --datasets glass")
    assert result.exit_code == 1
    assert "1 trial finished, 0 finished before, 1 failed (see results/tiny/fail" in result.output


def test_reproduce_says_which_data_is_absent(call, tmp_path):
    result = call("reproduce table4 --workers 1 --methods PLKNN")
    assert result.exit_code == 1
    assert "see the numbers" not in result.output
    for file in ("lost.mat", "Soccer Player.mat", "Yahoo! News.mat"):
        assert result.output.count(str(tmp_path / "data" / "realworld" / file)) == 1
    assert (
        result.output.splitlines()[-2] == "table4: 0 trials finished, 0 finished before, "
        "50 skipped because their data are missing: results/table4"
    )


def test_reproduce_runs_the_configurations_of_a_figure(call, tmp_path):
    result = call("reproduce figure1 --workers 1 --methods PALOC --datasets glass --folds 1")
    assert result.exit_code == 0
    for study, p in (("figure1", 1.0), ("table2", 0.1)):
        _, records, _ = read(tmp_path / "results" / study)
        assert [record["configuration"]["p"] for record in records] == [p] * 7
        eps = [record["configuration"]["eps"] for record in records]
        assert eps == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]


def test_every_study_of_the_package_can_be_reproduced():
    assert set(TARGETS["all"]) == {path.stem for path in PAPERS.glob("*.toml")}


def test_ctrl_c_stops_all_processes_and_keeps_what_is_finished(call, tmp_path):
    (tmp_path / "tiny.toml").write_text(STUDY.replace("folds = 3", "folds = 20"))
    command = [sys.executable, "-m", "surelabel", "run", "tiny.toml", "--workers", "2"]
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    records = tmp_path / "results" / "tiny" / "records.jsonl"
    while not records.exists() or not records.stat().st_size:
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "stopped; run the same command again to continue\n"
    finished = [record["fold"] for record in read(tmp_path / "results" / "tiny")[1]]
    assert finished
    before = finished.count(0)
    result = call("run tiny.toml --workers 1 --folds 1")
    told = f"tiny: {4 - before} trials finished, {before} finished before: results/tiny"
    assert result.output.splitlines()[0] == told


def test_datasets_lists_what_is_there_and_what_is_missing(call, tmp_path):
    result = call("datasets")
    assert result.exit_code == 0
    lines = {
        line.split()[0]: line.split()[1:] for line in result.output.splitlines() if line.strip()
    }
    assert lines["glass"] == ["embedded", "214", "9", "6", "–", "yes"]
    assert lines["lost"][0] == "missing"
    assert str(tmp_path / "data" / "realworld" / "lost.mat") in result.output


def test_report_is_made_from_all_studies_of_a_folder(call, tmp_path):
    call("run tiny.toml --workers 1 --datasets glass --results there")
    call("run tiny.toml --workers 1 --datasets glass --results there --selection oracle")
    result = call("report there --output page")
    assert result.exit_code == 0
    assert result.output.splitlines()[0] == "page/report.html"
    text = (tmp_path / "page" / "report.html").read_text()
    assert "tiny-oracle" in text
    assert all((tmp_path / line).is_file() for line in result.output.splitlines())
