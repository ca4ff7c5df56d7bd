"""Studies on data sets of one's own, from a fresh folder."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from typer.testing import CliRunner

from surelabel.cli import app
from surelabel.data import catalog
from surelabel.exceptions import TableError
from surelabel.experiments import trials
from surelabel.experiments.records import read
from surelabel.experiments.runner import run_study
from surelabel.experiments.study import read_study
from surelabel.experiments.trials import trials_of

STUDY = """
name = "mine"
datasets = ["pets", "votes", "faces", "glass"]
folds = 3
inner_folds = 2
scaling = "standard"

[data.pets]
file = "tables/pets.csv"
truth = "species"

[data.votes]
file = "votes.csv"
truth = "truth"
candidates = "labels"

[data.faces]
file = "faces.mat"

[methods.PLKNN]
parameters = { n_neighbors = 5 }

[methods.SURE]
grid = { lam = [0.05, 0.3], beta = [0.05] }
scaling = "minmax"

[[configurations]]
kind = "real"

[[configurations]]
kind = "controlled"
p = 0.5
r = 1
"""
OWN = ("pets", "votes", "faces")
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "paper.md"


def write_csv(path, columns):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@pytest.fixture
def folder(tmp_path):
    """A folder with three data sets and a study of them."""
    rng = np.random.default_rng(0)
    kinds = np.arange(60) % 3
    X = kinds[:, None] * 3 + rng.normal(size=(60, 2))
    names = np.array(["cat", "cow", "dog"])[kinds]
    numbers = {"size": X[:, 0].tolist(), "weight": X[:, 1].tolist()}
    (tmp_path / "tables").mkdir()
    write_csv(tmp_path / "tables" / "pets.csv", numbers | {"species": names})
    other = (kinds + 1 + np.arange(60) // 3 % 2) % 3
    others = np.array(["cat", "cow", "dog"])[other]
    labels = [f"{name}|{other}" for name, other in zip(names, others, strict=True)]
    write_csv(tmp_path / "votes.csv", {"labels": labels, "truth": names} | numbers)
    target = np.eye(3, dtype=int)[:, kinds]
    partial = np.maximum(target, np.eye(3, dtype=int)[:, other])
    savemat(tmp_path / "faces.mat", {"data": X, "partial_target": partial, "target": target})
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


@pytest.fixture
def call(folder, monkeypatch):
    """Run a command in another folder than that of the study."""
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    return lambda *words: CliRunner().invoke(app, words)


def test_run_and_report(folder, call):
    run = call("run", "../study.toml", "--workers", "1", "--datasets", ",".join(OWN))
    assert run.exit_code == 0, run.output
    records = read("results/mine").records
    assert len(records) == 3 * 2 * 3
    kinds = {record["dataset"]: record["configuration"]["kind"] for record in records}
    assert kinds == {"pets": "controlled", "votes": "real", "faces": "real"}
    means = {name: [r["scores"]["accuracy"] for r in records if r["dataset"] == name]
             for name in OWN}  # fmt: skip
    assert all(np.mean(scores) > 0.8 for scores in means.values())
    assert call("report", "results").exit_code == 0
    again = call("run", "../study.toml", "--workers", "1", "--datasets", ",".join(OWN))
    assert "18 finished before" in again.output
    # the study of the results folder runs from anywhere
    assert [t.id for t in trials_of(read_study("results/mine/study.toml"))] == [
        t.id for t in trials_of(read_study(folder / "study.toml"))
    ]


def test_the_example_of_the_documentation(folder):
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (folder / "votes.csv").write_text(
        (folder / "votes.csv").read_text().replace("truth", "checked")
    )
    (folder / "study.toml").write_text(text)
    study = read_study(folder / "study.toml")
    assert {(trial.dataset, trial.configuration.kind) for trial in trials_of(study)} == {
        ("votes", "real"),
        ("faces", "real"),
        ("pets", "controlled"),
        ("glass", "controlled"),
    }


def test_the_scaling_is_said(call):
    run = call("run", "../study.toml", "--workers", "1", "--folds", "1", "--datasets", "pets")
    assert (
        "mine: the features are scaled to mean 0 and standard deviation 1 (scaling = 'standard'); "
        "for SURE scaled to [0, 1]\n" in run.output
    )


def test_another_content_makes_other_trials(folder, call):
    before = {trial.id for trial in trials_of(read_study(folder / "study.toml"))}
    path = folder / "votes.csv"
    path.write_text(path.read_text() + "cat,cat,0,0\n")
    after = {trial.id for trial in trials_of(read_study(folder / "study.toml"))}
    assert len(before - after) == 2 * 3  # of one data set


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"votes.csv"', '"vote.csv"', r"data\.votes\.file cannot be read: .*vote\.csv \(No such"),
        ('truth = "truth"', 'truth = "thruth"', r"votes\.csv: there is no column 'thruth'.*truth"),
        ('truth = "truth"\n', "", r"study\.toml: data\.votes\.truth is missing"),
        ('candidates = "labels"', "", r"votes\.csv: row 1, column 'labels': 'cat\|cow' is not a "
         r"number; a study learns from numbers only: encode the column first, or remove it"),
        ('"faces.mat"', '"faces.mat"\ntruth = "x"', r"data\.faces\.truth is not a key of a study"),
        ("[data.pets]", "[data.glass]", r"data\.glass is the name of a published data set"),
        ('["pets",', '["pet",', r"datasets has 'pet', which is not one of pets.*did you mean"),
        ("folds = 3", "folds = 61", r"folds is 61, but pets has 60 rows"),
        ('kind = "real"', 'kind = "controlled"\np = 0.1\nr = 1', r"has none for votes"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_one_sentence(folder, call, old, new, message):
    text = (folder / "study.toml").read_text()
    assert old in text
    (folder / "study.toml").write_text(text.replace(old, new, 1))
    run = call("run", "../study.toml", "--workers", "1")
    assert run.exit_code == 2
    assert len(run.stderr.strip().splitlines()) == 1
    assert re.search(message, run.stderr)
    assert not (folder / "elsewhere" / "results").exists()


def test_rows_without_a_truth_are_refused(folder):
    path = folder / "tables" / "pets.csv"
    text = path.read_text().splitlines()
    text[4] = text[4].rpartition(",")[0] + ","
    path.write_text("\n".join(text) + "\n")
    with pytest.raises(TableError, match=r"column 'species' has no single label in row 4;"):
        read_study(folder / "study.toml")


def test_a_data_set_is_parsed_once(folder, monkeypatch, tmp_path):
    parsed = []
    for name in ("read_mat", "read_csv"):
        reader = getattr(catalog, name)
        monkeypatch.setattr(
            catalog, name, lambda path, reader=reader: parsed.append(path.name) or reader(path)
        )
    study = read_study(folder / "study.toml")
    assert parsed == ["faces.mat"]
    trials._load.cache_clear()
    for name in ("faces", "glass"):
        run_study(study, tmp_path / name, trials_of(study, datasets=[name]), workers=1)
    assert parsed == ["faces.mat", "glass.csv"]
