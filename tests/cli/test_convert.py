"""``surelabel convert``: files and forms of labels, and one line for an error."""

import csv
import io
import json
import os
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from surelabel.cli import app
from surelabel.data.table_files import read_table
from surelabel.tables.reading import column_names

PETS = "name,size,labels,truth\nrex,3.5,cat|dog,dog\ntom,1,cat,cat\nmoo,90,,cow\n"
VOTES = "id,ann_1,ann_2\n007,cat,dog\n008,dog,\n"


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Run a command in a folder that holds two tables."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pets.csv").write_text(PETS)
    (tmp_path / "votes.csv").write_text(VOTES)
    return lambda words: CliRunner().invoke(app, shlex.split(words))


def test_a_file_of_another_kind(call):
    result = call("convert pets.csv pets.parquet")
    assert (result.exit_code, result.output) == (0, "pets.parquet: 3 rows, 4 columns\n")
    assert pq.read_table("pets.parquet")["size"].to_pylist() == [3.5, 1, 90]
    assert call("convert pets.parquet back.csv").exit_code == 0
    with open("back.csv") as file:
        assert file.read() == PETS


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "pets.csv out.csv --labels labels --to lists",
            'name,size,truth,labels\nrex,3.5,dog,"[""cat"", ""dog""]"\n',
        ),
        (
            "pets.csv out.csv --labels labels --gold truth --to indicator",
            "name,size,truth,cat,cow,dog\nrex,3.5,dog,1,0,1\n",
        ),
        (
            "pets.csv out.csv --labels labels --id name --to long",
            "name,size,truth,labels\nrex,3.5,dog,cat\nrex,3.5,dog,dog\n",
        ),
        (
            "pets.csv out.csv --labels labels --separator / --to labels",
            "name,size,truth,labels\nrex,3.5,dog,cat|dog\n",
        ),
        (
            "pets.csv out.csv --labels labels --exclude name,size --to lists",
            'truth,labels\ndog,"[""cat"", ""dog""]"\n',
        ),
        ("votes.csv out.csv --votes 'ann_*' --to labels", "id,labels\n007,cat|dog\n008,dog\n"),
        (
            "votes.csv out.csv --votes ann_1,ann_2 --id id --to long",
            "id,annotator,labels\n007,ann_1,cat\n007,ann_2,dog\n",
        ),
        (
            "votes.csv out.tsv --votes ann_1 --votes ann_2 --to lists",
            'id\tlabels\n007\t"[""cat"", ""dog""]"\n',
        ),
    ],
)
def test_labels_in_another_form(call, words, expected):
    result = call(f"convert {words}")
    assert result.exit_code == 0, result.output
    with open(words.split()[1]) as file:
        assert file.read().startswith(expected)


def test_for_machines(call):
    found = json.loads(call("convert pets.csv a.parquet --json").stdout)
    assert found == {
        "output": "a.parquet",
        "rows": 3,
        "columns": ["name", "size", "labels", "truth"],
    }


def test_mat_files_there_and_back(call):
    assert (
        call("convert pets.csv pets.mat --labels labels --gold truth --exclude name").exit_code == 0
    )
    assert call("convert pets.mat back.csv").output == "back.csv: 3 rows, 3 columns\n"
    with open("back.csv") as file:
        assert file.read() == "size,gold,labels\n3.5,dog,cat|dog\n1,cat,cat\n90,cow,cat|cow|dog\n"
    assert call("convert pets.mat back.parquet --to lists").exit_code == 0
    assert read_table("back.parquet")["labels"].to_pylist()[1] == ["cat"]


def test_how_the_text_is_written_can_be_said(call, tmp_path):
    (tmp_path / "odd.csv").write_bytes("größe:n\n1,5:é\n".encode("latin-1"))
    assert (
        call("convert odd.csv good.parquet --encoding latin-1 --delimiter : --decimal ,").exit_code
        == 0
    )
    assert read_table("good.parquet").to_pydict() == {"größe": [1.5], "n": ["é"]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("none.csv a.csv", "none.csv: the file cannot be read (No such file or directory)"),
        ("none.mat a.csv", "none.mat: No such file or directory"),
        ("pets.csv a.xls", "a.xls: .xls files are not written; use .xlsx"),
        ("pets.csv none/a.csv", "none/a.csv: there is no folder "),
        (
            "pets.csv pets.csv",
            "pets.csv: pets.csv is read by the same command; choose another name",
        ),
        ("pets.csv a.csv --to lists", "say where the labels are in exactly one way"),
        ("pets.csv a.csv --to list --labels labels", "there is no form 'list'"),
        (
            "pets.csv a.csv --to lists --labels label",
            "pets.csv: there is no column 'label'; did you mean 'labels'?",
        ),
        (
            "votes.csv a.csv --to lists --votes 'x_*'",
            "votes.csv: there is no column 'x_*'; the columns are id, ann_1, ann_2",
        ),
        (
            "pets.csv a.csv --exclude sizes",
            "pets.csv: there is no column 'sizes'; did you mean 'size'?",
        ),
        ("pets.csv a.mat", "say where the labels are in exactly one way"),
        (
            "pets.csv a.mat --labels labels --to lists",
            "a .mat file has only one form of labels: leave --to out",
        ),
        (
            "pets.csv a.mat --labels labels",
            "pets.csv: a .mat file holds the true label of every row",
        ),
        (
            "pets.csv a.mat --labels labels --gold truth",
            "pets.csv: column 'name' holds no numbers, which a .mat file needs; exclude it",
        ),
        (
            "pets.csv none/a.mat --labels labels --gold truth --exclude name",
            "none/a.mat: there is no folder ",
        ),
    ],
)
def test_bad_input_is_one_line_and_code_2(call, tmp_path, words, message):
    result = call(f"convert {words}")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: {message}")
    assert result.stderr.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["pets.csv", "votes.csv"], (
        "something half-made was left behind"
    )


def test_a_name_with_a_comma_or_a_star_is_a_name():
    table = pa.table({"a,b": [1], "x*": [1], "x1": [1], "y": [1]})
    assert column_names(["a,b", "y"], table) == ("a,b", "y")
    assert column_names(["x*"], table) == ("x*",)
    assert column_names(["?1,y"], table) == ("x1", "y")
    assert column_names(None, table) == ()


def test_workbooks_patterns_and_standard_input(cli, tmp_path):
    for words in ("pets.csv a.xlsx", "a.xlsx a.json", "a.json part-1.csv.zip", "p*.csv b.csv"):
        result = cli(f"convert {words}")
        assert result.exit_code == 0, result.output
    assert read_table("b.csv").to_pydict() == read_table("pets.csv").to_pydict()
    result = cli("convert p*.csv pets.csv")
    assert result.exit_code == 2
    assert "pets.csv is read by the same command" in result.stderr
    words = ["inspect", "-", "--labels", "candidates", "--exclude", "truth"]
    result = CliRunner().invoke(app, words, input=(tmp_path / "pets.csv").read_bytes())
    assert result.exit_code == 0, result.output
    assert "60 rows" in result.output


def test_standard_output_holds_the_table_alone(cli):
    """``-o -`` writes CSV; what is said besides goes to standard error."""
    for words in ("convert pets.csv -", "clean pets.csv --labels candidates --exclude truth -o -"):
        result = cli(words)
        assert result.exit_code == 0, result.output
        table = read_delimited_text(result.stdout)
        assert table[0][:2] == read_delimited_text(Path("pets.csv").read_text())[0][:2]
        assert len(table) == 61
    assert "probable" in result.stderr
    result = cli("clean pets.csv --labels candidates -o - --json")
    assert result.exit_code == 2
    assert "name a file" in result.stderr
    assert not Path("-").exists()


def read_delimited_text(text):
    return list(csv.reader(io.StringIO(text)))
