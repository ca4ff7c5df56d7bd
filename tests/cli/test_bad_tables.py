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
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from surelabel import PLKNNClassifier, files, save_model
from surelabel.data import table_files, unpacking
from surelabel.data.table_files import write_table
from tests.cli.pets import make_table, without_labels

#: of the column truth, which most commands here do not name
pytestmark = pytest.mark.filterwarnings("ignore:.*class names")

CLEAN = "clean bad.csv -o out.csv --labels candidates"
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


def with_cell(column, row, value, table=None):
    """The table as text, with another value in one cell (rows count from 1)."""
    table = make_table() if table is None else table
    values = [None if cell is None else str(cell) for cell in table[column].to_pylist()]
    values[row - 1] = value
    return csv_text(replaced(column, values, table))


def with_line(number, change):
    """The text with one of its lines changed; line 1 is the header."""
    lines = csv_text().splitlines()
    lines[number - 1] = change(lines[number - 1])
    return "\n".join(lines) + "\n"


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
        table = (
            table.append_column(name, pa.array(values))
            if name not in table.column_names
            else replaced(name, values, table)
        )
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


def model_of(node, data=b""):
    """A model file with this in its header."""
    header = json.dumps({"surelabel": "0.2.0", "model": node}).encode()
    content = b"surelabel model 3\n" + len(header).to_bytes(8, "little") + header + data
    return content + sha256(content).digest()


def matrix_model():
    X = np.random.default_rng(0).normal(size=(20, 3))
    file = io.BytesIO()
    model = PLKNNClassifier().fit(X, ["a", "b"] * 10)
    save_model(model, "matrix.model")
    with open("matrix.model", "rb") as written:
        file.write(written.read())
    os.remove("matrix.model")
    return file.getvalue()


def vectors(length, at=None):
    """The table with a vector of numbers in each row, one of another length in row ``at``."""
    rows = np.random.default_rng(0).normal(size=(60, length)).tolist()
    if at is not None:
        rows[at - 1] = rows[at - 1][:-1]
    return make_table().append_column("embedding", pa.array(rows))


M = 60
VOTES = (
    make_table()
    .append_column("ann", pa.array(["cat", "dog"] * 30))
    .append_column("bob", pa.array(["dog"] * 60))
)

#: Command, what it must say, and the files it meets.
CASES = {
    # ---- columns
    "labels column misspelt": (
        CLEAN.replace("candidates", "candidats"),
        "there is no column 'candidats'; did you mean 'candidates'?",
    ),
    "gold column misspelt": (
        f"{CLEAN} --gold Truht",
        "there is no column 'Truht'; did you mean 'truth'?",
    ),
    "id column not there": (f"{CLEAN} --id number", "there is no column 'number'"),
    "feature not there": (
        f"{CLEAN} --features size,wieght",
        "there is no column 'wieght'; did you mean 'weight'?",
    ),
    "excluded column not there": (
        f"{CLEAN} --exclude nota",
        "there is no column 'nota'; did you mean 'note'?",
    ),
    "text column not there": (
        f"{CLEAN} --as notes=text",
        "there is no column 'notes'; did you mean 'note'?",
    ),
    "image column not there": (
        f"{CLEAN} -s image=picture --report r.html",
        "there is no column 'picture'",
    ),
    "votes columns not there": (
        "clean bad.csv -o out.csv --votes ann,bop",
        "there is no column 'bop'; did you mean 'bob'?",
        csv_text(VOTES),
    ),
    "pattern without columns": ("clean bad.csv -o out.csv --votes x_*", "there is no column 'x_*'"),
    "id used as feature": (
        f"{CLEAN} --id name --features name,size",
        "column 'name' holds labels or names of rows",
    ),
    "labels used as feature": (
        f"{CLEAN} --as candidates=category",
        "column 'candidates' holds labels",
    ),
    "two columns of one name": (
        CLEAN,
        "columns 2 and 3 are both named 'size'",
        with_line(1, lambda line: line.replace("weight", "size")),
    ),
    "no column to learn from": (
        f"{CLEAN} --exclude size,weight,colour,note,truth,name",
        "no column is left to learn from",
    ),
    "new name taken": (
        CLEAN,
        "the table already has a column 'label'",
        csv_text(make_table().append_column("label", pa.array([1] * M))),
    ),
    "new name taken in predict": (
        PREDICT,
        "the table already has a column 'second'",
        csv_text(without_labels(make_table()).append_column("second", pa.array([1] * M))),
    ),
    # ---- labels
    "only one class": (
        CLEAN,
        "column 'candidates' holds only one label (cat)",
        csv_text(replaced("candidates", ["cat"] * M)),
    ),
    "every label everywhere": (
        CLEAN,
        "has every label as a candidate in every row",
        csv_text(replaced("candidates", ["cat|dog"] * M)),
    ),
    "a fraction as label": (
        CLEAN,
        "row 7, column 'candidates': '1.5' is not a label",
        csv_text(replaced("candidates", [1.0] * 6 + [1.5] + [2.0] * 53)),
    ),
    "several labels in gold": (
        f"{CLEAN} --gold truth",
        "row 12, column 'truth': 'cat|dog' holds several labels",
        with_cell("truth", 12, "cat|dog"),
    ),
    "two ways to say labels": (
        f"{CLEAN} --votes truth",
        "say where the labels are in exactly one way: with --labels, --votes, --indicator or "
        "--counts; not --labels and --votes",
    ),
    "labels not said": ("clean bad.csv -o out.csv", "say where the labels are in exactly one way"),
    # ---- ids and long form
    "features of an id differ": (
        LONG,
        "name 'animal 2' has different values in column 'size', in rows 3 and 4",
        long_form(size=[1.0, 1.0, 1.0, *np.arange(21.0)]),
    ),
    "an annotator votes twice": (
        f"{LONG} --annotator who",
        "'ann' gives two labels to the id of row 1",
        long_form(who=["ann"] * 24),
    ),
    # ---- cells
    "text among numbers": (
        CLEAN,
        "row 17, column 'size': 'unknown' in a column of numbers",
        with_cell("size", 17, "unknown"),
    ),
    "infinity": (
        CLEAN,
        "row 8, column 'weight': 'inf' cannot be used",
        with_cell("weight", 8, "inf"),
    ),
    "decimal commas": (
        f"{CLEAN} --features size",
        "column 'size' cannot be learned from: it holds numbers with a comma",
        csv_text(replaced("size", [f"{i},5" for i in range(M)])),
    ),
    "an empty column chosen": (
        f"{CLEAN} --features size,empty",
        "column 'empty' cannot be learned from: it is empty",
        csv_text(make_table().append_column("empty", pa.nulls(M))),
    ),
    "vectors of two lengths": (
        "clean bad.parquet -o out.csv --labels candidates",
        "row 21, column 'embedding': a vector of 3 numbers where 4",
        parquet(vectors(4, at=21)),
    ),
    "all rows alike": (
        f"{CLEAN} --features size",
        "column 'size' cannot be learned from: it has only one value",
        csv_text(replaced("size", [1.0] * M)),
    ),
    "three different rows": (
        f"{CLEAN} --features size",
        "3 different row(s) of features: too few",
        csv_text(replaced("size", [1.0, 2.0, 3.0] * 20)),
    ),
    # ---- files
    "binary": (CLEAN, "line 1 holds a NUL byte", bytes(range(256)) * 9),
    "workbook": (
        "clean bad.xlsx -o out.csv --labels a",
        "bad.xlsx: the file is damaged, or not what its name says",
        workbook(),
    ),
    "not UTF-8": (
        CLEAN,
        "line 5 holds the byte 0xe4, which is not UTF-8; name the file's encoding, often latin-1",
        with_cell("note", 4, "schön, Äpfel, später").replace("schön, Äp", "sp").encode("latin-1"),
    ),
    "empty file": (CLEAN, "the file is empty; a table has a header line and rows", ""),
    "one row": (
        CLEAN,
        "1 row(s) are too few",
        csv_text(make_table().slice(1, 1)).replace("cat|cow", "cat|cow|"),
    ),
    "two rows": (CLEAN, "2 row(s) are too few", csv_text(make_table().slice(0, 2))),
    "damaged Parquet": (
        "clean bad.parquet -o out.csv --labels candidates",
        "the file is damaged, or not what its name says",
        parquet(make_table())[:-30] + b"PAR1",
    ),
    "half a compressed file": (
        "clean bad.csv.gz -o out.csv --labels candidates",
        "the file is damaged, or not what its name says",
        gzip.compress(csv_text().encode(), mtime=0)[:300],
    ),
    "broken JSON lines": (
        "clean bad.jsonl -o out.csv --labels a",
        "line 2 is not a JSON object on a line of its own",
        '{"a": "x"}\n{"a": \n',
    ),
    "not there": (
        CLEAN.replace("bad", "none"),
        "none.csv: the file cannot be read (No such file or directory)",
    ),
    "a folder": (
        "clean folder.csv -o out.csv --labels a",
        "folder.csv: the file cannot be read (Is a directory)",
    ),
    "unknown ending": (
        "clean bad.doc -o out.csv --labels a",
        "the extension of a table must be one of .csv",
        csv_text(),
    ),
    # ---- outputs
    "output folder not there": (CLEAN.replace("out.csv", "there/out.csv"), "there is no folder"),
    "output is the input": (
        CLEAN.replace("out.csv", "./bad.csv"),
        "bad.csv is read by the same command; choose another name",
    ),
    "output is the model": (
        PREDICT.replace("out.csv", "pets.csv").replace("bad", "pets"),
        "pets.csv is read by the same command",
    ),
    "report is the output": (f"{CLEAN} --report out.csv", "out.csv is written by the same command"),
    "output of unknown ending": (
        CLEAN.replace("out.csv", "out.xls"),
        ".xls files are neither read nor written; use .xlsx",
    ),
    "output without ending": (
        CLEAN.replace("out.csv", "out"),
        "the extension of a table must be one of .csv",
    ),
    "output is a folder": (
        CLEAN.replace("out.csv", "folder.csv"),
        "folder.csv is not a file; choose another name",
    ),
    "output is a device": (
        "fit bad.csv -o /dev/null --labels candidates",
        "/dev/null is not a file; choose another name",
    ),
    # ---- options
    "error out of range": (
        f"{CLEAN} --max-error 2",
        "max_error must be a share of wrong labels, above 0 and below 1; got 2",
    ),
    "unknown method": (f"{CLEAN} --method SUR", "there is no method 'SUR'; did you mean 'SURE'?"),
    "unknown method to compare": (
        "compare bad.csv --labels candidates --methods SURE,KNN",
        "there is no method 'KNN'; did you mean",
    ),
    "one fold": (
        "compare bad.csv --labels candidates --folds 1",
        "60 rows with labels cannot be split into 1 folds",
    ),
    "more folds than rows": (
        "compare bad.csv --labels candidates --folds 61",
        "60 rows with labels cannot be split into 61 folds",
    ),
    "unknown option": (f"{CLEAN} --glod truth", "No such option"),
    "no number": (f"{CLEAN} --max-error two", "Invalid value for '--max-error'"),
    "output not said": (
        "clean bad.csv --labels candidates",
        "Missing option '--output' / '-o'; see surelabel clean --help",
    ),
    "machines to standard output": (
        "predict pets.model new.csv --json",
        "--json prints a report in place of the table: name a file to write",
    ),
    "unknown verb": ("claen bad.csv", "No such command 'claen'. Did you mean 'clean'?"),
    # ---- models
    "model not there": (
        "predict none.model pets.csv",
        "none.model: the model file cannot be read (No such file or directory)",
    ),
    "table as model": (
        "predict bad.csv pets.csv",
        "bad.csv: this is not a surelabel model file, or it is truncated",
    ),
    "pickle as model": (
        "predict bad.model pets.csv",
        "bad.model: this is not a surelabel model file",
        pickle.dumps(Payload()),
    ),
    "damaged model": (
        "predict bad.model new.csv",
        "the model file is damaged",
        lambda model: model[:200] + b"\0" * 50 + model[250:],
    ),
    "function in a model": (
        "predict bad.model new.csv",
        "'os.system' is not a classifier",
        lambda model: model_of({"class": "os.system"}),
    ),
    "model of a matrix": (
        "predict bad.model new.csv",
        "the model did not learn from a table",
        lambda model: matrix_model(),
    ),
    "column of the model not there": (
        PREDICT,
        "the model needs a column 'weight', which is not there; did you mean 'weigth'?",
        csv_text(
            without_labels(make_table()).rename_columns(
                ["name", "size", "weigth", "colour", "note"]
            )
        ),
    ),
    "text for a number of the model": (
        PREDICT,
        "row 2, column 'size': 'large' where a number is needed",
        with_cell("size", 2, "large"),
    ),
    "a list for a number of the model": (
        "predict pets.model bad.parquet -o out.csv",
        "column 'size' holds",
        parquet(replaced("size", [[1.0]] * M)),
    ),
    "infinity for the model": (
        PREDICT,
        "row 8, column 'weight': '-inf' cannot be used",
        with_cell("weight", 8, "-inf"),
    ),
}


def snapshot(folder):
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir()}


@pytest.mark.parametrize("case", CASES)
def test_bad_input(cli, tmp_path, model_file, case):
    words, message, *content = CASES[case]
    words = words.split() if isinstance(words, str) else list(words)
    content = content[0] if content else csv_text()
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


def test_there_are_many_kinds():
    assert len(CASES) >= 40


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
    "null.jsonl": ('{"a": 1}\nnull\n', "line 2 is not a JSON object"),
    "deep.jsonl": ('{"a": ' + "[" * 10**5, "line 1 is not a JSON object"),
    "bad.parquet": (parquet(not_utf8()), "the file is damaged"),
    "bad.arrow": (arrow(not_utf8()), "the file is damaged"),
    "cut.arrow": (arrow(make_table())[:-300], "the file is damaged"),
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


def test_vectors_of_another_length_than_the_models(cli, tmp_path):
    for length in (4, 3):
        write_table(vectors(length), tmp_path / f"{length}.parquet")
    words = "--labels candidates --features embedding --method PLKNN"
    assert cli(f"fit 4.parquet -o vectors.model {words}").exit_code == 0
    result = cli("predict vectors.model 3.parquet")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(
        "error: 3.parquet: row 1, column 'embedding': a vector of 3 numbers where 4 are expected"
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


def refuse(monkeypatch, place, name):
    """Let the system refuse to open a file, as it refuses those who are not root."""
    original = open

    def guarded(path, *args, **kwargs):
        if str(path).endswith(name):
            raise PermissionError(13, "Permission denied", str(path))
        return original(path, *args, **kwargs)

    monkeypatch.setattr(place, guarded, raising=False)


def test_no_permission_to_read(cli, monkeypatch, tmp_path):
    before = snapshot(tmp_path)
    refuse(monkeypatch, "builtins.open", "pets.csv")
    result = cli(WRITERS["fit"])
    assert result.exit_code == 2
    assert result.stderr == "error: pets.csv: the file cannot be read (Permission denied)\n"
    monkeypatch.undo()
    assert snapshot(tmp_path) == before


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
