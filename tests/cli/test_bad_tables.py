"""What people get wrong: one line that says what, where and what to do; exit code 2; every file as
it was.
"""

import errno
import gzip
import io
import json
import os
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from surelabel import PLKNNClassifier, files, save_model
from surelabel.data import table_files, unpacking
from surelabel.data.table_files import write_table
from tests.cli.pets import make_table

#: of the column truth, which most commands here do not name
pytestmark = pytest.mark.filterwarnings("ignore:.*class names")

CLEAN = "clean bad.csv -o out.csv --labels candidates"
COMPARE = "compare bad.csv --labels candidates"
LONG = "clean bad.csv -o out.csv --labels label --id name --long"
PREDICT = "predict pets.model bad.csv -o out.csv"


def csv_text(table=None):
    """The table as text."""
    file = io.BytesIO()
    table_files.write_as_text(make_table() if table is None else table, file)
    return file.getvalue().decode()


def replaced(column, values, table=None):
    """The table with other values in a column."""
    table = make_table() if table is None else table
    return table.set_column(table.column_names.index(column), column, pa.array(values))


def with_column(column, values):
    """The table as text, with other values in a column."""
    return csv_text(replaced(column, values))


def with_cell(column, row, value):
    """The table as text, with another value in one cell (rows count from 1)."""
    values = [None if cell is None else str(cell) for cell in make_table()[column].to_pylist()]
    values[row - 1] = value
    return with_column(column, values)


def parquet(table):
    file = io.BytesIO()
    pa.parquet.write_table(table, file)
    return file.getvalue()


def long_form(**changes):
    """Two rows for each animal, one per label."""
    table = make_table(12).take(pa.array(np.repeat(np.arange(12), 2)))
    table = table.drop_columns(["candidates", "truth", "note"]).append_column(
        "label", pa.array(["cat", "dog"] * 12)
    )
    for name, values in changes.items():
        old = [name] if name in table.column_names else []
        table = table.drop_columns(old).append_column(name, pa.array(values))
    return csv_text(table)


def png():
    file = io.BytesIO()
    Image.new("RGB", (30, 20)).save(file, "PNG")
    return file.getvalue()


def workbook():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return file.getvalue()


class Payload:
    """Unpickled, it makes a file."""

    def __reduce__(self):
        return os.system, ("touch harmed",)


def matrix_model():
    model = PLKNNClassifier().fit(np.random.default_rng(0).normal(size=(20, 3)), ["a", "b"] * 10)
    save_model(model, "matrix.model")
    content = Path("matrix.model").read_bytes()
    os.remove("matrix.model")
    return content


def vectors(length, at=None):
    """The table with a vector of numbers in each row, one of another length in row ``at``."""
    rows = np.random.default_rng(0).normal(size=(60, length)).tolist()
    if at is not None:
        rows[at - 1] = rows[at - 1][:-1]
    return make_table().append_column("embedding", pa.array(rows))


M = 60

#: What commands must say of the table.
WORDS = {
    # ---- columns
    CLEAN.replace("candidates", "candidats"): "no column 'candidats'; did you mean 'candidates'?",
    f"{CLEAN} --gold Truht": "there is no column 'Truht'; did you mean 'truth'?",
    f"{CLEAN} --id number": "there is no column 'number'",
    f"{CLEAN} --features size,wieght": "there is no column 'wieght'; did you mean 'weight'?",
    f"{CLEAN} --exclude nota": "there is no column 'nota'; did you mean 'note'?",
    f"{CLEAN} --as notes=text": "there is no column 'notes'; did you mean 'note'?",
    f"{CLEAN} -s image=picture --report r.html": "there is no column 'picture'",
    "clean bad.csv -o out.csv --votes note,trut": "no column 'trut'; did you mean 'truth'?",
    "clean bad.csv -o out.csv --votes x_*": "there is no column 'x_*'",
    f"{CLEAN} --id name --features name,size": "'name' holds labels or names of rows",
    f"{CLEAN} --as candidates=category": "column 'candidates' holds labels",
    f"{CLEAN} --exclude size,weight,colour,note,truth,name": "no column is left to learn from",
    f"{CLEAN} --votes truth": "or --counts COLUMNS; given: labels and votes",
    "clean bad.csv -o out.csv": "say where the labels are in exactly one way",
    # ---- files
    CLEAN.replace("bad", "none"): "none.csv: the file cannot be read (No such file or directory)",
    CLEAN.replace("bad", "folder"): "folder.csv: the file cannot be read (Is a directory)",
    CLEAN.replace("bad.csv", "bad.doc"): "the extension of a table must be one of .csv",
    CLEAN.replace("out.csv", "there/out.csv"): "there is no folder",
    CLEAN.replace("out.csv", "./bad.csv"): "bad.csv is read by the same command; choose another",
    "predict pets.model pets.csv -o pets.csv": "pets.csv is read by the same command",
    f"{CLEAN} --report out.csv": "out.csv is written by the same command",
    CLEAN.replace("out.csv", "out.xls"): "the extension of a table must be one of",
    CLEAN.replace("out.csv", "out"): "the extension of a table must be one of .csv",
    CLEAN.replace("out.csv", "folder.csv"): "folder.csv is not a file; choose another name",
    "fit bad.csv -o /dev/null --labels candidates": "/dev/null is not a file; choose another name",
    # ---- options
    f"{CLEAN} --max-error 2": "share of wrong labels, above 0 and below 1, such as 0.05 for 5 %",
    f"{CLEAN} --method SUR": "there is no method 'SUR'; did you mean 'SURE'?",
    f"{COMPARE} --methods SURE,KNN": "there is no method 'KNN'; did you mean",
    f"{COMPARE} --folds 1": "60 rows with labels cannot be split into 1 folds",
    f"{COMPARE} --folds 61": "60 rows with labels cannot be split into 61 folds",
    f"{CLEAN} --glod truth": "No such option",
    f"{CLEAN} --max-error two": "Invalid value for '--max-error'",
    "clean bad.csv --labels a": "Missing option '--output' / '-o'; see surelabel clean --help",
    "predict pets.model new.csv --json": "--json prints a report in place of the table: name",
    "claen bad.csv": "No such command 'claen'. Did you mean 'clean'?",
    "predict none.model pets.csv": "none.model: the model file cannot be read (No such file or",
    "predict bad.csv pets.csv": "bad.csv: this is not a surelabel model file, or it is truncated",
}
#: What commands must say of a file that is named in them.
CONTENTS = {
    # ---- columns and labels
    "columns 2 and 3 are both named 'size'": (CLEAN, csv_text().replace("weight", "size", 1)),
    "the table already has a column 'label'": (CLEAN, csv_text().replace("note", "label", 1)),
    "the table already has a column 'second'": (PREDICT, csv_text().replace("note", "second", 1)),
    "'candidates' holds only one label (cat)": (
        CLEAN,
        with_column("candidates", ["cat"] * M),
    ),
    "has every label as a candidate in every row": (
        CLEAN,
        with_column("candidates", ["cat|dog"] * M),
    ),
    "name 'animal 2' has different values in column 'size', in rows 3 and 4": (
        LONG,
        long_form(size=[1.0, 1.0, 1.0, *np.arange(21.0)]),
    ),
    "'ann' gives two labels to the id of row 1": (
        f"{LONG} --annotator who",
        long_form(who=["ann"] * 24),
    ),
    # ---- cells
    "row 17, column 'size': 'unknown' in a column of numbers": (
        CLEAN,
        with_cell("size", 17, "unknown"),
    ),
    "row 8, column 'weight': 'inf' cannot be used": (CLEAN, with_cell("weight", 8, "inf")),
    "column 'size' cannot be learned from: it holds numbers with a comma": (
        f"{CLEAN} --features size",
        with_column("size", [f"{i},5" for i in range(M)]),
    ),
    "column 'note' cannot be learned from: it is empty": (
        f"{CLEAN} --features size,note",
        with_column("note", pa.nulls(M)),
    ),
    "row 21, column 'embedding': a vector of 3 numbers where 4": (
        CLEAN.replace("bad.csv", "bad.parquet"),
        parquet(vectors(4, at=21)),
    ),
    "column 'size' cannot be learned from: it has only one value": (
        f"{CLEAN} --features size",
        with_column("size", [1.0] * M),
    ),
    "3 different row(s) of features: too few": (
        f"{CLEAN} --features size",
        with_column("size", [1.0, 2.0, 3.0] * 20),
    ),
    # ---- files
    "line 1 holds a NUL byte": (CLEAN, bytes(range(256)) * 9),
    "bad.xlsx: the file is damaged, or not what its name says": (
        CLEAN.replace("bad.csv", "bad.xlsx"),
        workbook(),
    ),
    "line 5 holds the byte 0xe4, which is not UTF-8; name the file's encoding, often latin-1": (
        CLEAN,
        with_cell("note", 4, "später").encode("latin-1"),
    ),
    "the file is empty; a table has a header line and rows": (CLEAN, b""),
    "1 row(s) are too few": (CLEAN, csv_text(make_table().slice(1, 1))),
    "2 row(s) are too few": (CLEAN, csv_text(make_table().slice(0, 2))),
    # ---- models
    "bad.model: this is not a surelabel model file": (
        "predict bad.model pets.csv",
        pickle.dumps(Payload()),
    ),
    "the model file is damaged": (
        "predict bad.model new.csv",
        lambda model: model[:200] + b"\0" * 50 + model[250:],
    ),
    "the model did not learn from a table": (
        "predict bad.model new.csv",
        lambda model: matrix_model(),
    ),
    "the model needs a column 'weight', which is not there; did you mean 'weigth'?": (
        PREDICT,
        csv_text().replace("weight", "weigth", 1),
    ),
    "row 2, column 'size': 'large' where a number is needed": (
        PREDICT,
        with_cell("size", 2, "large"),
    ),
    "column 'size' holds": (
        PREDICT.replace("bad.csv", "bad.parquet"),
        parquet(replaced("size", [[1.0]] * M)),
    ),
    "row 8, column 'weight': '-inf' cannot be used": (PREDICT, with_cell("weight", 8, "-inf")),
}
CASES = {words: (message, csv_text()) for words, message in WORDS.items()}
CASES |= {
    f"{words} # {message}": (message, content) for message, (words, content) in CONTENTS.items()
}


def snapshot(folder):
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir()}


@pytest.mark.parametrize("case", CASES)
def test_bad_input(cli, tmp_path, model_file, case):
    words, (message, content) = case.partition(" # ")[0].split(), CASES[case]
    content = content(model_file) if callable(content) else content
    name = next((word for word in words if word.startswith("bad.")), "bad.csv")
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "out.csv").write_text("kept\n")
    (tmp_path / "folder.csv").mkdir()
    before = snapshot(tmp_path)
    result = cli(*words)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert re.fullmatch(r"error: [^\n]+\n", result.stderr), result.stderr
    assert message in result.stderr
    assert snapshot(tmp_path) == before


# -------------------------------------------------------------------- bad files, every verb


VERBS = (
    "inspect {} --labels candidates",
    "clean {} -o out.csv --labels candidates --report out.html --model out.model",
    "fit {} -o out.model --labels candidates",
    "predict pets.model {} -o out.csv",
    "compare {} --labels candidates",
    "convert {} out.parquet",
)


def arrow(table):
    file = io.BytesIO()
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def not_utf8():
    texts = pa.array([b"\xff\xfe"] * M).view(pa.string())
    return make_table().append_column("bad", texts)


FILES = {
    "bad.csv --settings encoding=base64": (csv_text(), "there is no text encoding 'base64'"),
    "bad.csv --settings encoding=undefined": (csv_text(), "there is no text encoding 'undefined'"),
    "null.jsonl": ('{"a": 1}\nnull\n', "line 2 is not in JSON"),
    "deep.jsonl": ('{"a": ' + "[" * 10**5, "line 1 is not in JSON"),
    "bad.parquet": (parquet(not_utf8()), "the file is damaged"),
    "bad.arrow": (arrow(not_utf8()), "the file is damaged"),
    "cut.arrow": (arrow(make_table())[:-300], "the file is damaged"),
    "cut.parquet": (parquet(make_table())[:-30] + b"PAR1", "the file is damaged"),
    "half.csv.gz": (gzip.compress(csv_text().encode(), mtime=0)[:300], "the file is damaged"),
    "bomb.csv.gz": (gzip.compress(b"a\n" + b"1" * 30_000_000), "unpacked, the file has more than"),
}


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.split()[0])
def test_bad_files_are_refused_by_every_verb(cli, tmp_path, monkeypatch, verb):
    monkeypatch.setattr(unpacking, "available_memory", lambda: 80_000_000)
    for words, (content, message) in FILES.items():
        name, *options = words.split()
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        before = snapshot(tmp_path)
        result = cli(" ".join([verb.format(name), *options]))
        assert (result.exit_code, result.stdout) == (2, ""), result.output
        assert re.fullmatch(r"error: [^\n]+\n", result.stderr), result.stderr
        assert message in result.stderr
        assert snapshot(tmp_path) == before


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.split()[0])
def test_names_of_files_need_not_be_utf8(cli, tmp_path, verb):
    (tmp_path / os.fsdecode(b"p\xe9ts.csv")).write_bytes((tmp_path / "pets.csv").read_bytes())
    words = verb.format(os.fsdecode(b"p\xe9ts.csv")).replace("out", os.fsdecode(b"\xff"))
    quick = ["--method", "PLKNN"] if verb.startswith(("clean", "fit")) else []
    quick += ["--methods", "PLKNN"] if verb.startswith("compare") else []
    quick += ["--max-error", "0.5"] if verb.startswith("clean") else []
    result = cli(*words.split(), *quick, "--json")
    # 1: no label is probable
    assert result.exit_code in ((0, 1) if verb.startswith("clean") else (0,)), result.output
    json.loads(result.stdout)
    result = cli(*words.replace("ts.csv", "ts2.csv").split(), *quick)
    assert result.exit_code == 2
    assert (
        result.stderr == "error: p ts2.csv: the file cannot be read (No such file or directory)\n"
    )


@pytest.mark.filterwarnings("default:.*categories that the model")
def test_categories_never_seen_are_told(cli, tmp_path):
    write_table(replaced("colour", ["green"] * (M - 1) + ["red"]), tmp_path / "bad.csv")
    result = cli(PREDICT)
    assert result.exit_code == 0
    assert result.stderr == (
        "warning: bad.csv: categories that the model does not know carry no information: column "
        f"'colour' in {M - 1} row(s), the first of them row 1\n"
    )


# -------------------------------------------------------------------- no permission, full disk


WRITERS = {
    "clean": "clean pets.csv -o out.csv --labels candidates --exclude note,truth --method PLKNN",
    "clean, report": (
        "clean pets.csv -o out.csv --labels candidates --exclude note,truth --method PLKNN "
        "--report out.html"
    ),
    "fit": "fit pets.csv -o out.model --labels candidates --exclude note,truth --method PLKNN",
    "predict": "predict pets.model new.csv -o out.csv",
    "convert": "convert pets.csv out.csv",
}


@pytest.fixture
def kept(tmp_path):
    """Outputs of an earlier run."""
    for name in ("out.csv", "out.html", "out.model"):
        (tmp_path / name).write_text("kept\n")


@pytest.mark.parametrize("writer", WRITERS)
def test_no_permission_to_write(cli, monkeypatch, tmp_path, kept, writer):
    before = snapshot(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)

    def refused(path, **options):  # convert does not look before
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(files, "_create", refused)
    result = cli(WRITERS[writer])
    assert result.exit_code == 2
    assert re.fullmatch(r"error: \S*out\.\w+: [^\n]*[pP]ermission[^\n]*\n", result.stderr), (
        result.stderr
    )
    assert snapshot(tmp_path) == before


# -------------------------------------------------------------------- Ctrl-C


@pytest.mark.parametrize("writer", WRITERS)
def test_ctrl_c_while_writing(cli, tmp_path, kept, monkeypatch, writer):
    before = snapshot(tmp_path)

    def stopped(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stopped)
    result = cli(WRITERS[writer])
    assert (result.exit_code, result.stderr) == (130, "stopped; no file is half-written\n")
    assert snapshot(tmp_path) == before
