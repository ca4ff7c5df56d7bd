"""A small table with doubtful labels, a model of it, and the commands run on them."""

import pytest
from typer.testing import CliRunner

from surelabel.cli import app
from surelabel.data.table_files import write_table
from tests.cli.pets import make_table, without_labels


@pytest.fixture(scope="session")
def model_file(tmp_path_factory):
    """The bytes of a model of the table."""
    folder = tmp_path_factory.mktemp("model")
    write_table(make_table(), folder / "pets.csv")
    words = [
        "fit",
        str(folder / "pets.csv"),
        "-o",
        str(folder / "pets.model"),
        "--labels",
        "candidates",
        "--method",
        "PLKNN",
    ]
    result = CliRunner().invoke(app, [*words, "--exclude", "note,truth"])
    assert result.exit_code == 0, result.output
    return (folder / "pets.model").read_bytes()


@pytest.fixture
def cli(tmp_path, monkeypatch, model_file):
    """Run commands, words or one text, in a folder that holds pets.csv, new.csv and pets.model."""
    monkeypatch.chdir(tmp_path)
    write_table(make_table(), tmp_path / "pets.csv")
    write_table(without_labels(make_table(30, seed=1)), tmp_path / "new.csv")
    (tmp_path / "pets.model").write_bytes(model_file)
    return lambda *words: CliRunner().invoke(
        app, words[0].split() if len(words) == 1 else list(words)
    )


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Run a command in a folder of its own; it must do what it should."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        result = CliRunner().invoke(app, words)
        assert result.exit_code in (0, 1), result.output
        return result

    return run
