"""``surelabel convert``: files of other formats, and one line for an error."""

import csv
import io
import json
import os
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.io import savemat
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


def test_for_machines(call):
    found = json.loads(call("convert pets.csv a.parquet --json").stdout)
    assert found == {
        "output": "a.parquet",
        "rows": 3,
        "columns": ["name", "size", "labels", "truth"],
    }


def test_mat_files_are_read(call, tmp_path):
    matrix = np.array([[1, 0], [1, 1], [0, 1]])
    target = np.array([[1, 0], [0, 0], [0, 1]])
    data = {"data": [[3.5, 1], [0, 2]], "partial_target": matrix, "target": target}
    savemat(tmp_path / "a.mat", data)
    assert call("convert a.mat back.csv").output == "back.csv: 2 rows, 4 columns\n"
    assert Path("back.csv").read_text() == "x1,x2,labels,gold\n3.5,1,0|1,0\n0,2,1|2,2\n"


def test_how_the_text_is_written_can_be_said(call, tmp_path):
    (tmp_path / "odd.csv").write_bytes("größe:n\n1,5:é\n".encode("latin-1"))
    assert (
        call(
            "convert odd.csv good.parquet -s encoding=latin-1 -s delimiter=: -s decimal=,"
        ).exit_code
        == 0
    )
    assert read_table("good.parquet").to_pydict() == {"größe": [1.5], "n": ["é"]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("none.csv a.csv", "none.csv: the file cannot be read (No such file or directory)"),
        ("none.mat a.csv", "none.mat: No such file or directory"),
        ("pets.csv a.xls", "a.xls: the extension of a table must be one of"),
        ("pets.csv none/a.csv", "none/a.csv: there is no folder "),
        (
            "pets.csv pets.csv",
            "pets.csv: pets.csv is read by the same command; choose another name",
        ),
        (
            "pets.csv a.csv --to lists",
            "there is no form 'lists'; the forms are answers, label-studio, argilla",
        ),
        (
            "pets.csv a.csv --exclude sizes",
            "pets.csv: there is no column 'sizes'; did you mean 'size'?",
        ),
        ("pets.csv a.csv --to argilla", "a.csv: tasks are written as JSON; use a name that ends"),
        ("pets.csv a.mat", "a.mat: the extension of a table must be one of"),
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
    for words in ("pets.csv a.xlsx", "a.xlsx a.json", "a.json part-1.csv.gz", "p*.csv b.csv"):
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
