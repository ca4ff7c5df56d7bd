"""Votes against labels, and labels that a cell repeats, from a file to the result."""

import json
import os

import numpy as np
import pyarrow as pa
import pytest

import surelabel
from surelabel import CandidateSets
from surelabel.data.table_files import read_table, write_table

NAMES = np.array(["cat", "cow", "dog"])


@pytest.fixture
def truth(tmp_path, monkeypatch):
    """A folder with votes.csv, in which tim and zoe only say what a row is not, zoe at random."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    y = np.arange(120) % 3
    wrong = (y + rng.integers(1, 3, (2, 120))) % 3
    ann, bob = NAMES[np.where(rng.random((2, 120)) < [[0.7], [0.6]], y, wrong)]
    columns = {
        "x": y + rng.normal(0, 0.5, 120),
        "z": rng.normal(0, 1, 120),
        "ann": ann,
        "bob": bob,
        "tim": [f"!{name}" for name in NAMES[(y + rng.integers(1, 3, 120)) % 3]],
        "zoe": [f"!{name}" for name in rng.permutation(NAMES[y])],
    }
    write_table(pa.table(columns), tmp_path / "votes.csv")
    return NAMES[y]


def test_votes_against_are_used(cli, truth):
    options = "--votes ann,bob,tim,zoe --not-prefix !"
    seen = json.loads(cli(f"inspect votes.csv {options} --json").output)
    assert seen["votes_against"] == 240
    assert [entry["label"] for entry in seen["classes"]] == list(NAMES)
    assert "240 of all 480 say what a row is not" in cli(f"inspect votes.csv {options}").output
    result = cli(f"clean votes.csv -o cleaned.csv {options} --model votes.model")
    assert result.exit_code in (0, 1), result.output  # 1: no label is sure enough to be kept
    label = np.array(read_table("cleaned.csv")["label"].to_pylist())
    ignored = surelabel.clean("votes.csv", votes="ann,bob", features="x,z").frame["label"]
    assert np.mean(label == truth) > np.mean(np.array(ignored.to_pylist()) == truth) + 0.03
    found = surelabel.clean("votes.csv", votes="ann,bob,tim,zoe", not_prefix="!")
    people = {person["name"]: person for person in found.to_dict()["annotators"]}
    assert people["zoe (against)"]["remark"] == "answers at random"
    assert people["tim (against)"]["agreement"] > 0.95
    assert cli("predict votes.model votes.csv -o new.csv").exit_code == 0
    assert cli(f"convert votes.csv long.csv {options} --to long").exit_code == 0
    long = "--labels labels --id id --long --annotator annotator --not-prefix !"
    again = json.loads(cli(f"inspect long.csv {long} --json").output)
    assert again["votes_against"] == 240


def test_without_the_option_they_are_told_of(cli, truth):
    output = cli("inspect votes.csv --votes ann,bob,tim,zoe").output
    assert "--not-prefix '!'" in " ".join(output.split())


def test_a_label_that_a_cell_repeats_has_as_many_votes(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    votes = np.where(rng.random((90, 5)) < 0.6, y[:, None], rng.integers(0, 3, (90, 5)))
    rows = [NAMES[row].tolist() for row in votes]
    x = y + rng.normal(0, 0.4, 90)
    write_table(pa.table({"x": x, "said": ["|".join(row) for row in rows]}), tmp_path / "said.csv")
    write_table(pa.table({"x": x, "said": rows}), tmp_path / "said.parquet")
    counts = CandidateSets.from_lists(rows).to_counts()
    assert counts.sum() == 90 * 5
    found = []
    for name in ("said.csv", "said.parquet"):
        read = surelabel.clean(name, labels="said")
        assert np.array_equal(read.labels.candidates.to_counts(), counts)
        assert cli(f"clean {name} -o cleaned.csv --labels said").exit_code in (0, 1)
        found.append(read_table("cleaned.csv")["label"].to_pylist())
        assert found[-1] == read.frame["label"].to_pylist()
    assert found[0] == found[1]
    once = surelabel.clean(
        pa.table({"x": x, "said": [sorted(set(row)) for row in rows]}), labels="said"
    )
    assert once.labels.candidates.counts is None
    assert np.mean(np.array(found[0]) == NAMES[y]) >= np.mean(
        np.array(once.frame["label"].to_pylist()) == NAMES[y]
    )


def test_what_is_known_of_annotators(cli, truth):
    """Two who always differ: which of them is right, only what is known of them can tell."""
    y = np.searchsorted(NAMES, truth)
    votes = {"good": truth, "bad": NAMES[(y + 1) % 3]}
    write_table(pa.table({"n": np.zeros(120), **votes}), "two.csv")
    rows = [
        (who, a, b, 40)
        for who, turn in (("good", 0), ("bad", 1))
        for a, b in zip(NAMES, np.roll(NAMES, -turn), strict=True)
    ]
    columns = zip(*rows, strict=True)
    known = dict(zip(("annotator", "truth", "vote", "count"), map(list, columns), strict=True))
    write_table(pa.table(known), "known.csv")
    options = "two.csv -o out.csv --votes good,bad --exclude n"
    assert cli(f"clean {options} --confusions known.csv").exit_code in (0, 1)
    assert read_table("out.csv")["label"].to_pylist() == truth.tolist()
    turned = known | {
        "annotator": [{"good": "bad", "bad": "good"}[who] for who in known["annotator"]]
    }
    found = surelabel.clean("two.csv", votes="good,bad", exclude="n", confusions=pa.table(turned))
    assert np.mean(np.array(found.frame["label"].to_pylist()) == truth) < 0.1


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("annotator", "annn", "there is no annotator 'annn'; did you mean 'ann'"),
        ("truth", "cats", "row 1, column 'truth': the label 'cats' is unknown; did you mean 'cat'"),
        ("count", "many", "row 1, column 'count': there should be a number of votes, 0 or more"),
        ("count", "-1", "row 1, column 'count': there should be a number of votes, 0 or more"),
        (None, None, "there is no column 'vote'"),
    ],
)
def test_what_is_wrong_with_a_table_of_confusions(cli, truth, column, cell, message):
    known = {"annotator": "ann", "truth": "cat", "vote": "cat", "count": "20"}
    known = {name: [value] for name, value in (known | {column: cell}).items() if name}
    if column is None:
        del known["vote"]
    write_table(pa.table(known), "known.csv")
    result = cli("clean votes.csv -o out.csv --votes ann,bob --features x,z --confusions known.csv")
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_confusions_are_for_votes(cli, truth):
    result = cli("clean votes.csv -o out.csv --labels ann --exclude bob,tim,zoe --confusions k.csv")
    assert result.exit_code == 2
    assert "how far to trust the votes of annotators" in " ".join(result.output.split())


@pytest.mark.parametrize(
    "words", ["clean votes.csv -o out.csv --model m.model", "fit votes.csv -o m.model"]
)
def test_a_model_that_could_not_be_saved_is_refused_before_anything_is_read(cli, words):
    result = cli(f"{words} --votes ann,bob --estimator sklearn.tree:DecisionTreeClassifier")
    assert result.exit_code == 2
    said = " ".join(result.output.split())
    assert "--estimator and --" in said
    assert "not a model around sklearn.tree:DecisionTreeClassifier; joblib and skops" in said
    assert not {"out.csv", "m.model"} & set(os.listdir())
