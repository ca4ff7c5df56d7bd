"""What goes into the commands comes out of them, to the byte, and a row's label does not depend on
its neighbours in the file.
"""

import csv
import io
import json
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import surelabel
from surelabel.cli import app
from surelabel.data.table_files import read_table, write_table
from surelabel.exceptions import TableError
from surelabel.tables.columns import Feature
from surelabel.tables.encoding import TableEncoder

CELLS = [
    *["NA", "NULL", "null", "nan", "NaN", "None", "N/A", "", " ", " x", "x ", "+1", "1.10", "1e5"],
    *["0x1F", "007", "1_000", "123456789012345678.5", "12345678901234567890123", "-0", "0.0", ".5"],
    *["2020-01-05T10:00:00+02:00", "2020-01-05", "10:30", "10:30:00.5", "05/01/2020", "2020-W01"],
    *["True", "TRUE", "true", "F", "inf", "-Infinity", "1,5", "1.000,00", "$5", "5 %", "1/2"],
    *["é", "e\u0301", "😀", "\u200bx", "a\nb", "a\r\nb", "a\rb", "a\tb", 'say "x"', '"', '""'],
    *["=1+1", "@x", "-x", "a,b", "a;b", "a|b", "\\", 'c\\"at', "'x'", "[1, 2]", '{"a": 1}', "#x"],
]


def rows_of(path):
    """The cells of a CSV file as Python's own reader sees them."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        return [row for row in csv.reader(file) if row]


def write_csv(path, columns, **options):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, **options)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_every_cell_comes_back(call, quoting):
    assert len(CELLS) >= 44
    m = len(CELLS)
    size = [f"{(i % 2) * 5 + i / 999:.3f}" for i in range(m)]
    labels = ["cat" if i % 2 == 0 else "dog" for i in range(m)]
    columns = {"size": size, " any ": CELLS, "again": CELLS[::-1], "labels": labels}
    write_csv("a.csv", columns, quoting=quoting)
    before = rows_of("a.csv")
    assert [row[1] for row in before[1:]] == CELLS
    options = ("--labels", "labels", "--features", "size", "--method", "PLKNN")
    call("clean", "a.csv", "-o", "clean.csv", *options)
    call("fit", "a.csv", "-o", "m.model", *options)
    call("predict", "m.model", "a.csv", "-o", "predict.csv")
    call("convert", "a.csv", "convert.csv")
    for name in ("clean", "predict", "convert"):
        assert [row[:4] for row in rows_of(f"{name}.csv")] == before, name
    if quoting == csv.QUOTE_MINIMAL:
        with open("a.csv", "rb") as old, open("convert.csv", "rb") as new:
            assert old.read() == new.read()


def test_delimiter_line_ends_and_mark_stay_with_the_ending(call, tmp_path):
    text = '\ufeffa; b ;c\r\n1,5;x;\r\n2,25;"y\r\nz";NA\r\n'
    (tmp_path / "a.csv").write_bytes(text.encode())
    call("convert", "a.csv", "b.csv")
    assert (tmp_path / "b.csv").read_bytes() == text.encode()
    call("convert", "a.csv", "b.tsv")
    assert (tmp_path / "b.tsv").read_bytes() == b'a\t b \tc\n1,5\tx\t\n2,25\t"y\r\nz"\tNA\n'


CELL = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=6)


@settings(max_examples=100)
@given(
    st.integers(1, 3).flatmap(
        lambda width: st.lists(
            st.lists(CELL | st.sampled_from(CELLS), min_size=width, max_size=width),
            min_size=1,
            max_size=5,
        )
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_any_table_comes_back(tmp_path_factory, rows, newline, quoting):
    folder = tmp_path_factory.mktemp("any")
    if any("\r" in cell for row in rows for cell in row):
        quoting = csv.QUOTE_ALL  # Python's writer quotes \r only in files with \r\n
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator=newline, quoting=quoting)
    header = [f"column {i}" for i in range(len(rows[0]))]
    writer.writerows([header, *rows])
    (folder / "a.csv").write_bytes(file.getvalue().encode())
    table = read_table(folder / "a.csv", delimiter=",")
    assert [[cell or "" for cell in row.values()] for row in table.to_pylist()] == rows
    write_table(table, folder / "b.csv")
    assert rows_of(folder / "b.csv") == [header, *rows]


@settings(max_examples=200)
@given(st.text(st.sampled_from('ab,"\\\n '), max_size=30))
def test_quotation_marks_are_read_as_a_spreadsheet_does(tmp_path_factory, text):
    text = f'x,y\n1,"c\\"at"\n{text}\n'
    path = tmp_path_factory.mktemp("quotes") / "a.csv"
    path.write_text(text, newline="")
    try:
        found = read_table(path, delimiter=",")
    except TableError:
        return
    expected = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    assert [[cell or "" for cell in row.values()] for row in found.to_pylist()] == expected[1:]


# ---------------------------------------------------------------- a row and its neighbours


@pytest.fixture(scope="module")
def grades(tmp_path_factory):
    """A table whose column of categories holds numbers and a word, and a model of it."""
    folder = tmp_path_factory.mktemp("grades")
    codes = ["1.0", "2.0", "3", "beta"] * 15
    labels = ["low" if code in ("1.0", "3") else "high" for code in codes]
    days = [f"2020-01-{i % 28 + 1:02d}" for i in range(60)]
    noise = [f"{value:.3f}" for value in np.random.default_rng(0).normal(size=60)]
    write_csv(folder / "a.csv", {"code": codes, "noise": noise, "day": days, "labels": labels})
    table = read_table(folder / "a.csv")
    return table, surelabel.fit(table, labels="labels", method="PLKNN", exclude="day").model


def test_a_prediction_does_not_depend_on_the_other_rows(grades, tmp_path):
    table, model = grades
    together = surelabel.predict(model, table)
    rows = list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    for chosen in ([0], [1], [0, 1], [3], [2, 0], list(range(0, 60, 4))):
        columns = {name: [rows[i][j] for i in chosen] for j, name in enumerate(table.column_names)}
        write_csv(tmp_path / "new.csv", columns)
        alone = surelabel.predict(model, read_table(tmp_path / "new.csv"))
        expected = together.take(pa.array(chosen))
        assert alone["label"].to_pylist() == expected["label"].to_pylist()
        assert alone["confidence"].to_pylist() == expected["confidence"].to_pylist()


def test_columns_that_are_left_out_never_fail(grades, tmp_path):
    table, model = grades
    assert [feature.name for feature in model.encoder.features_] == ["code", "noise"]
    for days in (["x"] * 2, ["10:30", "11:00"], ["2020-01-05", ""]):
        write_csv(tmp_path / "n.csv", {"code": ["2.0", "3"], "noise": ["0", "0"], "day": days})
        found = surelabel.predict(model, read_table(tmp_path / "n.csv"))
        assert found["label"].to_pylist() == ["high", "low"]
    forced = surelabel.fit(table, labels="labels", method="PLKNN", as_={"day": "category"}).model
    typed = pa.table({"code": ["2.0"], "noise": [0.0], "day": ["2020-01-05"]})
    typed = typed.set_column(2, "day", typed["day"].cast(pa.date32()))
    assert surelabel.predict(forced, typed)["label"].to_pylist() == ["high"]


def test_equal_values_are_equal_features_in_every_kind_of_file(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": np.round(rng.normal(size=40), 3),
            "n": rng.integers(0, 9, 40),
            "grade": rng.integers(1, 4, 40),
            "truth": rng.random(40) < 0.5,
            "word": rng.choice(["p", "q"], 40),
        }
    )
    frame.loc[3, "x"] = np.nan
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    tables = [read_table(tmp_path / "a.parquet"), read_table(tmp_path / "a.csv"), frame]
    floats = frame.assign(grade=frame["grade"].astype(float), n=frame["n"].astype(float))
    floats.to_csv(tmp_path / "floats.csv", index=False)
    tables += [read_table(tmp_path / "floats.csv"), floats]
    tables = [
        surelabel.data.frames.from_frame(table) if isinstance(table, pd.DataFrame) else table
        for table in tables
    ]
    features = [
        Feature(name, kind)
        for name, kind in (("x", "number"), ("n", "number"), ("grade", "category"))
    ]
    truth = Feature("truth", "number")
    for fitted in tables:
        encoder = TableEncoder(features).fit(fitted)
        expected = encoder.transform(fitted)
        for table in tables:
            if "1.0" in fitted["grade"].cast(pa.string()).to_pylist() and table is tables[1]:
                continue  # texts are the same only if they are spelled the same
            if table is tables[3] and fitted is tables[1]:
                continue
            np.testing.assert_array_equal(encoder.transform(table), expected)
    encoder = TableEncoder([truth]).fit(tables[0])
    np.testing.assert_array_equal(encoder.transform(tables[0]), encoder.transform(tables[1]))


def test_what_does_not_fit_is_told_with_its_count(grades, tmp_path):
    _, model = grades
    write_csv(tmp_path / "n.csv", {"code": ["2.0"] * 3, "noise": ["1", "x", "y"]})
    with pytest.raises(
        TableError, match=r"row 2, column 'noise': 'x' where a number is needed.*1 more such cell"
    ):
        surelabel.predict(model, read_table(tmp_path / "n.csv"))
    write_csv(tmp_path / "n.csv", {"code": ["2.0", "2", "2"], "noise": ["1", "2", "3"]})
    with pytest.warns(
        UserWarning, match=r"categories .* column 'code' in 2 row\(s\), the first .* row 2"
    ):
        surelabel.predict(model, read_table(tmp_path / "n.csv"))


# ---------------------------------------------------------------- names such as NA


def countries(tmp_path):
    rng = np.random.default_rng(0)
    kinds = np.arange(48) % 2
    cells = [("NA" if kind else "ZA") if i % 4 < 2 else "NA|ZA" for i, kind in enumerate(kinds)]
    columns = {"size": [f"{v:.3f}" for v in kinds * 5 + rng.normal(size=48)], "labels": cells}
    write_csv(tmp_path / "a.csv", columns)
    return ["NA" if kind else "ZA" for kind in kinds]


@pytest.mark.filterwarnings("always")  # the command prints them
@pytest.mark.parametrize("name", ["NA", "NaN", "null", "None"])
def test_a_class_may_be_called_so(call, tmp_path, name):
    truth = [name if label == "NA" else label for label in countries(tmp_path)]
    text = (tmp_path / "a.csv").read_text().replace("NA", name)
    (tmp_path / "a.csv").write_text(text)
    result = call("clean", "a.csv", "-o", "b.csv", "--labels", "labels", "--method", "PLKNN")
    assert f"warning: a.csv: {name!r} is treated as a label (36 row(s) of column 'labels'" in (
        result.stderr
    )
    assert f"--settings missing={name}" in result.stderr
    found = read_table(tmp_path / "b.csv")["label"].to_pylist()
    assert set(found) == set(truth)
    assert sum(a == b for a, b in zip(found, truth, strict=True)) > 0.85 * len(truth)
    for said in ("", "x,y"):
        quiet = call(
            "clean", "a.csv", "-o", "b.csv", "--labels", "labels", "--method", "PLKNN",
            "--settings", f"missing={said}",
        )  # fmt: skip
        assert quiet.stderr == ""
    found = json.loads(call("inspect", "a.csv", "--labels", "labels", "--json").stdout)
    problem = next(part for part in found["problems"] if part["kind"] == "doubtful name")
    assert len(problem["rows"]) == 36
    assert "is treated as a label" in problem["message"]


def test_or_it_may_mean_that_there_is_no_label(call, tmp_path):
    votes = {"size": ["1", "1.1", "7", "8", "9", "2"], "a": ["x", "NA", "y", "y", "NA", "x"]}
    write_csv(tmp_path / "v.csv", votes | {"b": ["x", "x", "y", " NA", "y", "null"]})
    found = json.loads(
        call("inspect", "v.csv", "--votes", "a,b", "-s", "missing=NA,null", "--json").stdout
    )
    assert [entry["label"] for entry in found["classes"]] == ["x", "y"]
    assert found["votes_per_row"] == pytest.approx(8 / 6)
    assert "doubtful name" not in [problem["kind"] for problem in found["problems"]]
    found = json.loads(call("inspect", "v.csv", "--votes", "a,b", "--json").stdout)
    assert [entry["label"] for entry in found["classes"]] == ["NA", "null", "x", "y"]
    (message,) = [p["message"] for p in found["problems"] if p["kind"] == "doubtful name"]
    assert message.startswith("'NA' and 'null' are treated as labels (4 row(s) of column 'a', 'b'")
    sets = pa.table({"l": ["NA|x", "NA", "x|y", "y"], "s": [1, 2, 3, 5]})
    labels = surelabel.inspect(sets, labels="l", missing=["NA"])
    assert labels.summary.classes.tolist() == ["x", "y"]
    assert labels.unlabelled == 1


def test_infinities_are_a_problem_before_they_are_refused(call, tmp_path):
    countries(tmp_path)
    text = (tmp_path / "a.csv").read_text().splitlines()
    text[3] = "inf,ZA"
    text[9] = "-1e200,ZA"
    (tmp_path / "a.csv").write_text("\n".join(text) + "\n")
    options = ("--labels", "labels", "-s", "missing=")
    found = json.loads(call("inspect", "a.csv", *options, "--json").stdout)
    (problem,) = [problem for problem in found["problems"] if problem["kind"] == "no number"]
    assert "row 3, column 'size': 'inf' cannot be used" in problem["message"]
    assert "(and 1 more such cells in the column)" in problem["message"]
    refused = CliRunner().invoke(app, ["clean", "a.csv", "-o", "b.csv", *options])
    assert refused.exit_code == 2
    assert "row 3, column 'size': 'inf' cannot be used" in refused.stderr


# ---------------------------------------------------------------- other kinds of files


def test_types_survive_between_files(call, tmp_path):
    columns = {"n": ["1", "NA"], "x": ["1.10", "2"], "zip": ["007", "8"], "b": ["=1", "x"]}
    write_csv(tmp_path / "a.csv", columns)
    call("convert", "a.csv", "a.parquet")
    typed = columns | {"n": [1, None], "x": [1.1, 2.0]}
    assert pq.read_table("a.parquet").to_pydict() == typed
    call("convert", "a.csv", "a.jsonl")
    with open("a.jsonl") as file:
        assert json.loads(file.readline()) == {"n": 1, "x": 1.1, "zip": "007", "b": "=1"}


@pytest.mark.filterwarnings("always")
def test_what_json_cannot_hold_is_told(call, tmp_path):
    pq.write_table(pa.table({"x": [1.0, float("inf"), float("-inf")]}), tmp_path / "a.parquet")
    assert "2 infinite number(s) became null" in call("convert", "a.parquet", "a.jsonl").stderr


def test_bytes_that_are_not_text_are_refused(call, tmp_path):
    pq.write_table(pa.table({"a": [b"plain", b"\xff"]}), tmp_path / "a.parquet")
    for target in ("a.csv", "-"):
        result = CliRunner().invoke(app, ["convert", "a.parquet", target])
        assert result.exit_code == 2
        assert "file cannot hold this table" in result.stderr


# ---------------------------------------------------------------- wide tables


def test_time_is_linear_in_the_number_of_columns(tmp_path):
    seconds = []
    for n in (2000, 8000):
        cells = [f"{value:.2f}" for value in np.random.default_rng(0).normal(size=n)]
        lines = [",".join([*cells[i:], *cells[:i], "ab"[i % 2]]) for i in range(12)]
        header = ",".join([*(f"x{j}" for j in range(n)), "labels"])
        (tmp_path / "a.csv").write_text("\n".join([header, *lines]) + "\n")
        start = time.process_time()
        table = read_table(tmp_path / "a.csv")
        found = surelabel.inspect(table, labels="labels")
        encoder = TableEncoder(found.features).fit(table)
        assert encoder.transform(table).shape == (12, n)
        write_table(table, tmp_path / "b.csv")
        seconds.append(time.process_time() - start)
    assert seconds[1] < 12 * seconds[0] + 1
