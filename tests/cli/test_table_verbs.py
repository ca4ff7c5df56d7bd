"""The verbs for tables on a good table: what they write, what they print, and how they end."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from surelabel import load_model
from surelabel.cli import app
from surelabel.data.table_files import read_table, write_table
from surelabel.tables import choosing
from tests.cli.pets import CLASSES, make_table, without_labels

LABELS = "--labels candidates --gold truth --id name --exclude note"
NEW = [
    "label", "confidence", "margin", "second", "status", "outside", "best", "outside_probability",
    "look",
]  # fmt: skip
TRUTH = [CLASSES[i % 3] for i in range(60)]


def test_help_shows_examples_and_exit_codes():
    text = CliRunner().invoke(app, ["--help"]).output
    assert text.index("Your tables") < text.index("inspect") < text.index("Experiments")
    assert "130 stopped" in text
    for verb in ("datasets", "demo", "report", "reproduce", "run"):
        assert verb in text
    for verb in ("inspect", "clean", "audit", "fit", "predict", "compare", "convert"):
        result = CliRunner().invoke(app, [verb, "--help"])
        assert result.exit_code == 0
        assert f"surelabel {verb} " in result.output


def test_the_shell_can_complete():
    words = {"_SURELABEL_COMPLETE": "complete_bash", "COMP_WORDS": "surelabel c", "COMP_CWORD": "1"}
    result = CliRunner().invoke(app, prog_name="surelabel", env=words)
    assert result.output.split() == ["clean", "compare", "convert"]


# -------------------------------------------------------------------- inspect


def test_inspect(cli):
    result = cli(f"inspect pets.csv {LABELS}")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0] == "pets.csv: 60 rows, 3 classes"
    assert "learned from" in result.output
    assert "number: size, weight; category: colour" in result.output
    assert "note: it was left out" in result.output


def test_inspect_for_machines(cli, tmp_path):
    table = make_table()
    write_table(
        table.set_column(4, "candidates", pa.array([None, *table["candidates"].to_pylist()[1:]])),
        tmp_path / "pets.csv",
    )
    result = cli("inspect pets.csv --labels candidates --json --features size,weight")
    found = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert (found["rows"], found["rows_without_label"]) == (60, 1)
    assert [entry["label"] for entry in found["classes"]] == list(CLASSES)
    assert found["features"] == {"size": "number", "weight": "number"}
    assert {"kind": "unlabelled", "rows": [1]}.items() <= found["problems"][0].items()
    assert cli("inspect pets.csv --labels candidates --strict").exit_code == 1
    assert cli("inspect pets.csv --labels candidates").exit_code == 0


def test_what_a_table_holds_does_not_move_the_cursor(cli, tmp_path):
    table = make_table()
    names = [cell.replace("cow", "c\x1b[31mow [bold]") for cell in table["candidates"].to_pylist()]
    write_table(table.set_column(4, "candidates", pa.array(names)), tmp_path / "pets.csv")
    text = cli("inspect pets.csv --labels candidates").output
    assert "\x1b" not in text
    assert "c [31mow [bold]" in text


# -------------------------------------------------------------------- clean


@pytest.fixture
def cleaned(cli, tmp_path):
    """The table cleaned, and what was printed."""
    result = cli(
        f"clean pets.csv -o out.csv {LABELS} --report page.html --model new.model --json "
        "--max-error 0.3"
    )
    assert result.exit_code == 0, result.output
    return read_table(tmp_path / "out.csv"), json.loads(result.stdout)


def test_clean_adds_columns_and_keeps_the_others(cleaned, tmp_path):
    table, found = cleaned
    before = read_table(tmp_path / "pets.csv")
    assert table.column_names == [*before.column_names, *NEW]
    assert table.select(before.column_names).to_pylist() == before.to_pylist()
    assert table["label"].to_pylist() == TRUTH
    status = np.array(table["status"].to_pylist())
    assert {
        name: int(np.sum(status == name)) for name in ("certified", "probable", "look")
    } == found["status"]
    rank = table["look"].drop_null().cast(pa.int64()).to_pylist()
    assert sorted(rank) == list(range(1, found["status"]["look"] + 1))
    confidence, margin = (
        table[name].cast(pa.float64()).to_numpy() for name in ("confidence", "margin")
    )
    assert np.all(
        (confidence[status == "probable"] >= 0.7) & (margin <= confidence)[status == "probable"]
    )
    assert found["solver"] == "dual"


def test_clean_writes_a_page_and_a_model(cleaned, cli, tmp_path):
    assert "<title>" in (tmp_path / "page.html").read_text()
    assert load_model(tmp_path / "new.model").classes_.tolist() == list(CLASSES)
    result = cli("predict new.model new.csv -o labelled.csv")
    assert result.output == "labelled.csv: 30 rows\n"
    assert read_table(tmp_path / "labelled.csv")["label"].to_pylist() == TRUTH[:30]


def test_clean_ends_with_1_if_no_label_is_probable(cli, tmp_path, monkeypatch):
    judge = choosing.judge_sets

    def doubt(*args):
        found = judge(*args)
        found.confidence[:] = 0.5
        return found

    monkeypatch.setattr(choosing, "judge_sets", doubt)
    result = cli(
        "clean pets.csv -o out.csv --labels candidates --exclude note,truth --method PLKNN"
    )
    assert result.exit_code == 1
    assert "no label is probable" in result.output
    assert set(read_table(tmp_path / "out.csv")["status"].to_pylist()) == {"look"}


def test_long_form_becomes_one_row_each(cli, tmp_path):
    table = make_table()
    pairs = [
        (row, label)
        for row, cell in enumerate(table["candidates"].to_pylist())
        for label in cell.split("|")
    ]
    long = table.drop_columns(["candidates", "truth", "note"]).take(
        pa.array([row for row, _ in pairs])
    )
    write_table(
        long.append_column("label", pa.array([label for _, label in pairs])), tmp_path / "long.csv"
    )
    result = cli(
        "clean long.csv -o out.parquet --labels label --id name --long --method PLKNN "
        "--settings prefix=found_ --max-error 0.3"
    )
    assert result.exit_code == 0, result.output
    found = read_table(tmp_path / "out.parquet")
    assert found["name"].to_pylist() == table["name"].to_pylist()
    assert found["label"].to_pylist() == [
        cell.split("|") for cell in table["candidates"].to_pylist()
    ]
    assert found["found_label"].to_pylist() == TRUTH


def test_votes_by_pattern(cli, tmp_path):
    rng = np.random.default_rng(0)
    votes = {
        f"who_{k}": [
            CLASSES[i % 3] if rng.random() < 0.8 else CLASSES[rng.integers(3)] for i in range(60)
        ]
        for k in "abc"
    }
    table = without_labels(make_table())
    for name, column in votes.items():
        table = table.append_column(name, pa.array(column))
    write_table(table, tmp_path / "votes.jsonl")
    result = cli(
        "clean", "votes.jsonl", "-o", "out.jsonl", "--votes", "who_*", "--exclude", "note", "--json"
    )
    assert result.exit_code == 0, result.output
    people = json.loads(result.stdout)["annotators"]
    assert {person["name"] for person in people} == set(votes)
    agreement = [person["agreement"] for person in people]
    assert agreement == sorted(agreement)  # the one first who agrees least
    assert (
        np.mean(np.array(read_table(tmp_path / "out.jsonl")["label"].to_pylist()) == TRUTH) > 0.95
    )


# -------------------------------------------------------------------- fit and predict


def test_fit_says_what_it_learned(cli, tmp_path):
    result = cli(f"fit pets.csv -o new.model {LABELS} --method PLKNN --as weight=category --json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert found["features"] == {"size": "number", "weight": "category", "colour": "category"}
    assert (found["rows"], found["classes"], found["method"]) == (60, list(CLASSES), "PLKNN")
    assert (
        "surelabel predict new.model"
        in cli(f"fit pets.csv -o new.model {LABELS} --method PLKNN").output
    )


def test_predict_to_standard_output(cli):
    result = cli("predict pets.model new.csv")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "name,size,weight,colour,note,label,confidence,second"
    assert [line.rsplit(",", 3)[1] for line in lines[1:]] == TRUTH[:30]
    assert [line.rsplit(",", 3)[0] for line in lines] == Path("new.csv").read_text().splitlines()


def test_predict_for_machines(cli):
    result = cli("predict pets.model new.csv -o out.csv --json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["output"], found["rows"]) == (0, "out.csv", 30)
    assert found["labels"] == {name: TRUTH[:30].count(name) for name in CLASSES}


def test_a_model_knows_which_columns_it_needs(cli, tmp_path):
    shuffled = without_labels(make_table(30, seed=1)).select(["weight", "note", "colour", "size"])
    write_table(shuffled, tmp_path / "other.parquet")
    assert cli("predict pets.model other.parquet -o out.parquet").exit_code == 0
    assert read_table(tmp_path / "out.parquet")["label"].to_pylist() == TRUTH[:30]


# -------------------------------------------------------------------- compare


def test_compare(cli):
    result = cli(f"compare pets.csv {LABELS} --methods PLKNN,SURE --folds 3")
    assert result.exit_code == 0
    assert "methods compared on 60 rows" in result.output
    result = cli(f"compare pets.csv {LABELS} --methods PLKNN --max-rows 40")
    assert "on 40 rows of 60" in result.output
    found = json.loads(cli(f"compare pets.csv {LABELS} --methods PLKNN --json").stdout)
    assert found["results"][0]["method"] == "PLKNN"
    assert 0.9 < found["results"][0]["covering_rate"] <= 1
    assert found["results"][0]["error"] is None


def test_audit_to_standard_output(cli):
    result = cli("audit pets.csv -o - --labels candidates --exclude note,truth")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "check,row,name,size,weight,colour,candidates,truth,note,label,answer,audit"
    assert lines[1].startswith("1,")
    assert "rows to be kept" in result.stderr
    assert "rows to be kept" not in result.stdout


def test_compare_ends_with_1_if_a_method_cannot_be_run(cli, monkeypatch):
    from surelabel.estimators import PLKNNClassifier
    from surelabel.exceptions import ParameterError

    def refuse(*args):
        raise ParameterError("not on this table")

    monkeypatch.setattr(PLKNNClassifier, "_fit", refuse)
    result = cli(f"compare pets.csv {LABELS} --methods PLKNN,SURE --folds 3")
    assert result.exit_code == 1
    assert "PLKNN could not be run: not on this table" in result.output
