"""What ``compare`` says of the default of ``clean``, and that ``clean`` runs what it lists."""

import json

import numpy as np
import pytest

from surelabel.data.table_files import read_table, write_table
from surelabel.tables.comparison import Comparison, MethodResult, best_first
from tests.cli.pets import make_table

PETS = "pets.csv --labels candidates --exclude name,note,truth"


def said(result):
    return " ".join(result.output.split())


def comparison(rates, *, by_votes):
    """A comparison of methods with these rates of the folds."""
    nan = float("nan")
    results = [
        MethodResult(name, {}, float(np.mean(folds)), float(np.std(folds)), nan, nan, 0.1,
                     fold_rates=tuple(folds))
        for name, folds in rates.items()
    ]  # fmt: skip
    return Comparison(
        results=best_first(results), n_rows=60, n_table=60, n_known=0, by_votes=by_votes,
        soft=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("default", "other", "words"),
    [
        # By 0.1 on average, with a standard error of 0.02.
        (
            [0.6, 0.7, 0.8, 0.7],
            [0.65, 0.8, 0.95, 0.8],
            "clearly behind Self-training: 70.0 %",
        ),
        # By 0.1 on average, with a standard error of 0.06.
        ([0.6, 0.7, 0.8, 0.7], [0.7, 0.6, 0.9, 1.0], ""),
        ([0.6, 0.7, 0.8, 0.7], [0.5, 0.6, 0.7, 0.6], ""),
    ],
)
@pytest.mark.parametrize("by_votes", [False, True])
def test_a_default_that_is_clearly_behind_is_told_of(
    cli, monkeypatch, default, other, words, by_votes
):
    name = "Crowd" if by_votes else "PURE"
    found = comparison({name: default, "Self-training": other}, by_votes=by_votes)
    monkeypatch.setattr("surelabel.tables.compare", lambda *_, **__: found)
    plain = said(cli("compare pets.csv --labels candidates"))
    assert ("clearly behind" in plain) == bool(words)
    if words:
        assert f"{name}, the default of clean, is {words}" in plain
        assert "use --method Self-training" in plain
    told = json.loads(cli("compare pets.csv --labels candidates --json").stdout)
    assert told["better_than_default"] == ("Self-training" if words else None)


@pytest.fixture
def votes(cli, tmp_path):
    """The file of pets with votes of three people in place of candidates."""
    rng = np.random.default_rng(0)
    table = make_table(90).drop_columns(["candidates", "truth", "note"])
    names = np.array(["cat", "cow", "dog"])
    for who in ("ann", "bob", "cy"):
        y = np.arange(90) % 3
        cells = names[np.where(rng.random(90) < 0.8, y, rng.integers(0, 3, 90))]
        table = table.append_column(f"v_{who}", [cells.tolist()])
    write_table(table, tmp_path / "votes.csv")
    return "votes.csv --votes v_* --exclude name"


def test_clean_runs_every_method_that_compare_lists(cli, votes):
    listed = json.loads(cli(f"compare {votes} --folds 2 --max-rows 40 --json").stdout)["results"]
    names = [result["method"] for result in listed]
    assert {"Crowd", "majority", "Dawid-Skene", "PLKNN"} <= set(names)
    assert "PURE" not in names  # with votes, that is Crowd
    for name in ("Crowd", "majority", "Dawid-Skene", "PLKNN"):
        done = cli("clean", *votes.split(), "-o", "out.csv", "--method", name, "--json")
        assert done.exit_code in (0, 1), done.output
        told = json.loads(done.stdout)
        assert told["method"] == name
        assert bool(told["features"]) == (name in ("Crowd", "PLKNN"))
        drawn = cli("audit", *votes.split(), "-o", "a.csv", "--method", name, "--max-error", "0.5")
        assert drawn.exit_code == 0, drawn.output
    assert read_table("out.csv").num_rows == 90


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("clean PETS -o out.csv --method majority", "name them (votes)"),
        ("clean PETS -o out.csv --method Crowd", "leave the method out"),
        ("compare PETS --methods Crowd", "leave the method out"),
        ("fit VOTES -o m.model --method majority", "learns no model of the features"),
        ("clean VOTES -o out.csv --model m.model --method majority", "there is no model to write"),
    ],
)
def test_methods_that_do_not_suit_a_table(cli, votes, words, message):
    result = cli(words.replace("VOTES", votes).replace("PETS", PETS))
    assert result.exit_code == 2
    assert message in said(result)
