"""Workbooks, JSON, archives, several files at a time and standard input."""

import datetime as dt
import gzip
import io
import json
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st

from surelabel.data import unpacking
from surelabel.data.table_files import read_records, read_table, write_table
from surelabel.exceptions import TableError

ROWS = pa.table(
    {
        "name": ["007", "=1+1", None, " b_x0041_\n"],
        "n": [1, 2, None, 2**40],
        "x": [0.5, None, 1e300, -0.0],
        "yes": [True, None, False, True],
        "day": [dt.date(2020, 1, 5), None, dt.date(1999, 12, 31), dt.date(1900, 3, 1)],
        "at": pa.array([dt.datetime(2020, 1, 5, 3, 4, 5), None] * 2, pa.timestamp("us")),
    }
)


def refusal(path, **options):
    with pytest.raises(TableError) as error:
        read_table(path, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


# -------------------------------------------------------------------- workbooks


def workbook(path, **sheets):
    with xlsxwriter.Workbook(path) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return path


def test_a_workbook_gives_back_what_was_written(tmp_path):
    write_table(ROWS, tmp_path / "a.xlsx")
    back = read_table(tmp_path / "a.xlsx")
    assert back.to_pydict() == ROWS.to_pydict()
    assert back.schema.types == ROWS.schema.types
    first = (tmp_path / "a.xlsx").read_bytes()
    write_table(ROWS, tmp_path / "a.xlsx")
    assert (tmp_path / "a.xlsx").read_bytes() == first


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=9)
        | st.none(),
        min_size=1,
        max_size=5,
    )
)
def test_texts_survive_in_a_workbook(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("books") / "a.xlsx"
    table = pa.table({"n": range(len(texts)), "a": pa.array(texts, pa.string())})
    write_table(table, path)
    expected = [text or None for text in texts]
    assert read_table(path)["a"].to_pylist() == expected


def test_sheets_are_chosen_by_name(tmp_path):
    path = workbook(tmp_path / "a.xlsx", one=[["a"], [1]], two=[["b"], ["x"]], empty=[])
    assert read_table(path, sheet="two").to_pydict() == {"b": ["x"]}
    assert (
        "the workbook has the sheets one, two; say which one (--settings sheet='one')"
        in refusal(path)
    )
    assert "no sheet 'tow'; did you mean 'two'?" in refusal(path, sheet="tow")
    path = workbook(tmp_path / "b.xlsx", one=[["a"], [1]], empty=[])
    assert read_table(path).to_pydict() == {"a": [1]}
    write_table(ROWS, tmp_path / "a.csv")
    assert "only workbooks (.xlsx) have sheets" in refusal(tmp_path / "a.csv", sheet="one")


def test_cells_of_different_types_are_text_and_empty_rows_are_none(tmp_path):
    rows = [["a", "", "b"], [1, None, "x"], [None, None, None], ["y", None, 2.5], [True, None, 3]]
    path = workbook(tmp_path / "a.xlsx", one=rows)
    with pytest.warns(UserWarning, match="column 'a', 'b' holds numbers or other values beside"):
        table = read_table(path)
    assert table.to_pydict() == {"a": ["1", "y", "True"], "b": ["x", "2.5", "3"]}


def test_of_a_formula_the_value_is_read_and_errors_are_empty(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["x", "twice", "label"])
        for row in range(1, 4):
            sheet.write_row(row, 0, [row, None, "cat"])
            sheet.write_formula(row, 1, f"=A{row + 1}*2", None, 2 * row)
        sheet.write_formula(4, 0, "=1/0", None, "#DIV/0!")
        sheet.write_row(4, 1, [8, "dog"])
        sheet.write_formula(5, 1, '=NA()&""', None, "#N/A")
        sheet.write_row(5, 2, ["dog"])
    assert read_table(tmp_path / "a.xlsx").to_pydict() == {
        "x": [1, 2, 3, None, None],
        "twice": [2, 4, 6, 8, None],
        "label": ["cat", "cat", "cat", "dog", "dog"],
    }


def test_merged_cells_have_their_value_in_the_first(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["x", "label"])
        sheet.write_column(1, 0, [1, 2, 3])
        sheet.merge_range(1, 1, 2, 1, "cat")
        sheet.write(3, 1, "dog")
    table = read_table(tmp_path / "a.xlsx")
    assert table.to_pydict() == {"x": [1, 2, 3], "label": ["cat", None, "dog"]}


def test_hidden_sheets_are_read_only_if_they_are_named(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        book.add_worksheet("data").write_column(0, 0, ["a", 1])
        hidden = book.add_worksheet("choices")
        hidden.write_column(0, 0, ["b", 2])
        hidden.hide()
    assert read_table(tmp_path / "a.xlsx").to_pydict() == {"a": [1]}
    assert read_table(tmp_path / "a.xlsx", sheet="choices").to_pydict() == {"b": [2]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the sheet is empty"),
        ([["a", "b"]], "there is a header line, but no row below it"),
        ([["a", "a"], [1, 2]], "columns 1 and 2 are both named 'a'"),
        ([["survey", "", ""], ["a", "b", "c"], [1, 2, 3]], "remove everything above the table"),
        ([[1.5, 2], [1, 2]], "the first line holds numbers (1.5, 2)"),
    ],
)
def test_bad_sheets_are_refused(tmp_path, rows, message):
    assert message in refusal(workbook(tmp_path / "a.xlsx", one=rows))


def replaced(path, name, change):
    """The workbook with another content of one of its parts."""
    with zipfile.ZipFile(path) as old:
        parts = {entry: old.read(entry) for entry in old.namelist()}
    parts[name] = change(parts[name])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for entry, content in parts.items():
            new.writestr(entry, content)
    return path


def test_workbooks_that_would_fill_the_memory_are_refused(tmp_path, monkeypatch):
    path = workbook(tmp_path / "a.xlsx", one=[["a"], [1], ["text"]])
    sheet = "xl/worksheets/sheet1.xml"
    place = b'r="A2"'
    for far in (b'r="XFD1048576"', b'r="Abcdef2"', b'r="A99999999999"'):
        replaced(path, sheet, lambda xml, old=place, new=far: xml.replace(old, new))
        assert "remove those that are far from the table" in refusal(path)
        place = far
    monkeypatch.setattr(unpacking, "available_memory", lambda: 4_000_000)
    path = workbook(tmp_path / "c.xlsx", one=[["a"], *[[i] for i in range(30_000)]])
    assert "unpacked, the file has more than 0.001 GB" in refusal(path)


def test_what_a_sheet_cannot_hold_is_said(tmp_path):
    for table in ({"a": ["x" * 40_000]}, {f"a{i}": [i] for i in range(16_385)}):
        with pytest.raises(TableError, match=r"a sheet has at most 1,048,575 rows, 16,384 columns"):
            write_table(pa.table(table), tmp_path / "a.xlsx")
    assert not list(tmp_path.iterdir())


def test_text_that_looks_like_numbers_becomes_numbers_and_types_without_a_cell_text(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,007\n2,8\n")
    write_table(read_table(tmp_path / "a.csv"), tmp_path / "a.xlsx")
    assert read_table(tmp_path / "a.xlsx").to_pydict() == {"a": [1, 2], "b": ["007", "8"]}
    odd = pa.table({"a": [[1, 2], None], "b": [2**60, 1], "c": [np.inf, np.nan], "d": [b"x", None]})
    write_table(odd, tmp_path / "b.xlsx")
    with pytest.warns(UserWarning, match="column 'b' holds numbers or other values beside texts"):
        back = read_table(tmp_path / "b.xlsx")
    assert back.to_pydict() == {
        "a": ["[1, 2]", None],
        "b": [str(2**60), "1"],
        "c": ["inf", None],
        "d": ["x", None],
    }


# -------------------------------------------------------------------- JSON


def test_json_is_a_list_of_objects_or_one_on_each_line(tmp_path):
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    path = tmp_path / "a.json"
    for text in (
        json.dumps(rows),
        json.dumps(rows, indent=2),
        "\ufeff \n" + json.dumps(rows),
        "\n".join(map(json.dumps, rows)),
    ):
        path.write_text(text, encoding="utf-8")
        assert read_table(path).to_pylist() == rows
    write_table(read_table(path), path)
    assert json.loads(path.read_text()) == rows
    write_table(read_table(path), tmp_path / "a.jsonlines")
    lines = (tmp_path / "a.jsonlines").read_text().splitlines()
    assert [json.loads(line) for line in lines] == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1}', "this is not in JSON as expected (Expecting ',' delimiter: line 1 column 10"),
        ('[{"a": 1}, 2]', "entry 2 of the list is not in JSON as expected (it is not an object: 2"),
        ('[{"a": 1}] x', "this is not in JSON as expected (Extra data: line 1 column 12"),
        ("[]", "the table has no columns"),
        ('{"a": [1, 2],\n"b": [2]}', "line 1 is not in JSON as expected"),
        ('{"a": {"0": 1, "1": 2}, "b": {"0": 1, "1": 2}}', "like a table written by columns"),
        ("[" * 10**5, "this is not in JSON as expected (it is nested too deeply)"),
    ],
)
def test_bad_json_is_refused(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)
    assert message in refusal(tmp_path / "a.json")


# -------------------------------------------------------------------- archives


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name.replace("__", "/").replace("_", "."), content)
    return path


def test_the_only_table_of_an_archive_is_read(tmp_path):
    path = archive(tmp_path / "a.zip", folder__a_csv="a;b\n1;2\n")
    assert read_table(path).to_pydict() == {"a": ["1"], "b": ["2"]}
    buffer = io.BytesIO()
    pa.parquet.write_table(ROWS, buffer)
    path = archive(tmp_path / "c.zip", a_parquet=buffer.getvalue())
    assert read_table(path).to_pydict() == ROWS.to_pydict()


def test_other_files_beside_the_only_table_are_ignored(tmp_path):
    path = archive(tmp_path / "a.zip", LICENSE="free", a_csv="a,b\n1,2\n", README_md="# A table")
    with zipfile.ZipFile(path, "a") as file:
        for name in ("__MACOSX/._a.csv", ".DS_Store", "photos/1.png"):
            file.writestr(name, b"\0")
    assert read_table(path).to_pydict() == {"a": ["1"], "b": ["2"]}


def test_other_archives_are_refused(tmp_path, monkeypatch):
    path = archive(tmp_path / "a.zip", a_csv="a\n1\n", b_csv="a\n1\n")
    assert "the archive holds a.csv, b.csv, but one table is expected" in refusal(path)
    path = archive(tmp_path / "a.zip", old__a_csv="a\n1\n", new__a_csv="a\n2\n")
    assert "the archive holds old/a.csv, new/a.csv, but one table is expected" in refusal(path)
    assert "the archive holds nothing" in refusal(archive(tmp_path / "a.zip"))
    assert "the archive holds nothing" in refusal(archive(tmp_path / "a.zip", a_csv_gz=b""))
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04 and so on")
    assert "the file is damaged, or not what its name says" in refusal(tmp_path / "b.zip")
    monkeypatch.setattr(unpacking, "available_memory", lambda: 4_000_000)
    assert "has more than 0.001 GB" in refusal(archive(tmp_path / "a.zip", a_csv="0" * 10**7))


def test_objects_of_several_files(tmp_path):
    path = archive(tmp_path / "a.zip", a_jsonl='{"a": 1}', b_json='[{"a": 4}]', c_jsonl="\n")
    assert read_records(path) == [{"a": 1}, {"a": 4}]
    path = tmp_path / "d.e.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}'))
    assert read_records(path) == [{"a": 1}]
    (tmp_path / "f.parquet").write_bytes(b"PAR1 and so on")
    with pytest.raises(TableError, match=r"f.parquet: this is a .parquet file, not text"):
        read_records(tmp_path / "f.parquet")


# -------------------------------------------------------------------- several files


def test_files_of_a_pattern_are_one_table(tmp_path):
    (tmp_path / "part-2.csv").write_text("b,a\n3,4\n")
    (tmp_path / "part-1.csv").write_text("a,b\n1,2\n")
    table = read_table(tmp_path / "part-*.csv")
    assert table.to_pydict() == {"a": ["1", "4"], "b": ["2", "3"]}
    write_table(table, tmp_path / "all.csv")
    assert (tmp_path / "all.csv").read_text() == "a,b\n1,2\n4,3\n"
    write_table(pa.table({"a": [1]}), tmp_path / "p1.parquet")
    write_table(pa.table({"a": [1.5]}), tmp_path / "p2.parquet")
    assert read_table(tmp_path / "p?.parquet").to_pydict() == {"a": [1, 1.5]}


def test_a_file_may_be_called_like_a_pattern(tmp_path):
    (tmp_path / "a[1].csv").write_text("a\n1\n")
    assert read_table(tmp_path / "a[1].csv").num_rows == 1


def test_files_that_do_not_fit_are_refused(tmp_path):
    assert "no file matches this pattern" in refusal(tmp_path / "*.csv")
    write_table(pa.table({"a": [1]}), tmp_path / "p1.parquet")
    write_table(pa.table({"b": [1]}), tmp_path / "p2.parquet")
    message = refusal(tmp_path / "p*.parquet")
    assert "p2.parquet has a column 'a'; all files must have the same columns" in message
    write_table(pa.table({"a": ["x"]}), tmp_path / "p2.parquet")
    message = refusal(tmp_path / "p*.parquet")
    assert "Field a has incompatible types: int64 vs string" in message


# -------------------------------------------------------------------- standard input


def as_parquet():
    file = io.BytesIO()
    pa.parquet.write_table(pa.table({"a": ["1"]}), file)
    return file.getvalue()


@pytest.mark.parametrize(
    "make",
    [
        lambda _: b"a\n1\n",
        lambda _: b"a\tb\n1\t2\n",
        lambda _: b'{"a": "1"}\n',
        lambda _: b'[{"a": "1"}]',
        lambda _: '{"a": "1"}'.encode("utf-8-sig"),
        lambda _: as_parquet(),
        lambda path: workbook(path / "a.xlsx", one=[["a"], ["1"]]).read_bytes(),
    ],
)
def test_standard_input_says_what_it_is(tmp_path, monkeypatch, make):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(make(tmp_path))))
    table = read_table("-")
    assert table["a"].to_pylist() == ["1"]
    write_table(table, tmp_path / "b.csv")


def test_an_empty_standard_input_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "standard input: the file is empty" in refusal("-")
