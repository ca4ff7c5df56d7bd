"""Tables are read as people have them, and what cannot be read is refused in one sentence that says
where.
"""

import errno
import gzip
import os
import random
import re
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from surelabel.data import _delimited, table_files, unpacking
from surelabel.data.arrow_tables import find_column, source_of
from surelabel.data.frames import from_frame, to_frame
from surelabel.data.table_files import read_table, write_table
from surelabel.exceptions import MemoryNeedError, ParameterError, TableError

ROWS = {
    "name": ["a,b", 'say "x"', "two\nlines", None, ""],
    "n": [1, None, 3, 4, 5],
    "x": [0.1, 2.5, None, 1e300, -3.0],
}


def content_of(tmp_path, content, name="a.csv", **options):
    path = tmp_path / name
    path.unlink(missing_ok=True)  # a file refused before may still be read by Arrow's threads
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, **options)


def refusal(tmp_path, content, name="a.csv", **options):
    with pytest.raises(TableError) as caught:
        content_of(tmp_path, content, name, **options)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / name}: ")
    assert "\n" not in message
    return message.removeprefix(f"{tmp_path / name}: ")


# -------------------------------------------------------------------- delimited text


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_delimiter_and_line_ends_are_found(tmp_path, delimiter, newline):
    rows = [["id", "text", "labels"], ["1", '"one, two; three|\tfour"', "x/y"], ["2", '""', "z"]]
    text = newline.join(delimiter.join(row) for row in rows) + newline
    table = content_of(tmp_path, text)
    texts = ["one, two; three|\tfour", ""]
    assert table.to_pydict() == {"id": ["1", "2"], "text": texts, "labels": ["x/y", "z"]}
    assert source_of(table) == str(tmp_path / "a.csv")


def test_a_separator_of_labels_is_not_taken_for_the_delimiter(tmp_path):
    table = content_of(tmp_path, "text,labels\nhello,cat|dog|cow\nbye,cat|dog|cow\n")
    assert table.column_names == ["text", "labels"]
    table = content_of(tmp_path, "text;labels\nhello;1,5\nbye;2,7\n")
    assert table.to_pydict() == {"text": ["hello", "bye"], "labels": ["1,5", "2,7"]}


def test_a_delimiter_can_be_named(tmp_path):
    assert content_of(tmp_path, "a\tb,c\n1\t2\n", delimiter="\\t").column_names == ["a", "b,c"]
    for mark in ":]^\\-":
        table = content_of(tmp_path, f"a{mark}b\n1{mark}02\n", delimiter=mark)
        assert table.to_pydict() == {"a": ["1"], "b": ["02"]}
    for wrong in ("::", "§", '"', "\n"):
        message = f"the delimiter must be one plain character, not {wrong!r}"
        assert refusal(tmp_path, "a\n1\n", delimiter=wrong) == message


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_a_file_tells_are_found(tmp_path, encoding):
    table = content_of(tmp_path, "naïve,b\né,日本\n".encode(encoding))
    assert table.to_pydict() == {"naïve": ["é"], "b": ["日本"]}


def test_another_encoding_must_be_named(tmp_path):
    content = "a,b\nx,y\nx,café\n".encode("latin-1")
    message = "line 3 holds the byte 0xe9, which is not UTF-8; name the file's encoding, often"
    assert refusal(tmp_path, content).startswith(message)
    assert content_of(tmp_path, content, encoding="latin-1")["b"].to_pylist() == ["y", "café"]
    message = "there is no text encoding 'latin-one'; common ones are utf-8"
    assert refusal(tmp_path, content, encoding="latin-one").startswith(message)
    assert refusal(tmp_path, content, encoding="ascii").startswith("line 3 is not ascii")
    assert refusal(tmp_path, b"na\xefve\n1\n").startswith("line 1 holds the byte 0xef")
    table = content_of(tmp_path, "a\nü\n".encode("utf-16-le"), encoding="utf-16-le")
    assert table["a"].to_pylist() == ["ü"]


@pytest.mark.parametrize("encoding", ["base64", "zlib", "none", "a\0b", "\udce9", "é" * 500])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_codecs_that_are_no_encodings_of_files_are_refused(tmp_path, encoding, name):
    message = refusal(tmp_path, '{"a": "x"}\n', name, encoding=encoding)
    assert message.startswith(f"there is no text encoding {encoding!r}")


@pytest.mark.parametrize("name", [b"p\xe9ts.csv", b"p\xe9ts.parquet", b"p\xe9ts.jsonl.gz"])
def test_names_of_files_need_not_be_utf8(tmp_path, name):
    path = os.path.join(os.fsencode(tmp_path), name)
    write_table(pa.table({"a": ["x", "y"]}), os.fsdecode(path))
    table = read_table(path)  # bytes are a path, too
    assert table.to_pydict() == {"a": ["x", "y"]}
    assert source_of(table) == os.fsdecode(path)
    with pytest.raises(TableError, match="there is no column 'b'"):
        find_column(table, "b")


def test_what_is_no_name_of_a_file_is_refused():
    for path, error in ((5, ParameterError), ("a\0.csv", TableError), ("\ud800.csv", TableError)):
        with pytest.raises(error):
            read_table(path)


def as_types(tmp_path, content, **options):
    """What a typed file holds of a text."""
    write_table(content_of(tmp_path, content, **options), tmp_path / "typed.parquet")
    return read_table(tmp_path / "typed.parquet")


def test_cells_are_text_and_types_are_found_over_the_whole_file(tmp_path, monkeypatch):
    monkeypatch.setattr(_delimited, "BLOCK", 1 << 16)
    rows = 50_000
    for last, expected in (("7.5", pa.float64()), ("oops", pa.string()), ("", pa.int64())):
        text = "a,b\n" + "5,1\n" * rows + f"{last},1\n"
        table = content_of(tmp_path, text)
        assert table.schema.types == [pa.string(), pa.string()]
        assert table.num_rows == rows + 1
        assert table["a"][-1].as_py() == (last or None)
        assert as_types(tmp_path, text).schema.types == [expected, pa.int64()]


def test_only_an_empty_cell_is_missing_and_words_for_it_where_numbers_are(tmp_path):
    text = 'n,s,q\nNA,null,""\n1,None,"x"\n,,"NA"\nnan,b,"y"\n'
    same = {"s": ["null", "None", None, "b"], "q": ["", "x", "NA", "y"]}
    assert content_of(tmp_path, text).to_pydict() == same | {"n": ["NA", "1", None, "nan"]}
    assert as_types(tmp_path, text).to_pydict() == same | {"n": [None, 1, None, None]}


def test_numbers_that_are_names_stay_text(tmp_path):
    long = "12345678901234567890"
    table = as_types(tmp_path, f"zip,big,n,x\n10115,1,1,0.5\n01067,{long},2,0.7\n")
    expected = {"zip": ["10115", "01067"], "big": ["1", long], "n": [1, 2], "x": [0.5, 0.7]}
    assert table.to_pydict() == expected
    quoted = as_types(tmp_path, 'zip,n\n"007","10"\n"008","20"\n')
    assert quoted.to_pydict() == {"zip": ["007", "008"], "n": [10, 20]}


def test_words_for_truth_stay_as_they_are_written(tmp_path):
    table = as_types(tmp_path, "a,b\nTrue,true\nFalse,maybe\n")
    assert table.to_pydict() == {"a": ["True", "False"], "b": ["true", "maybe"]}


def test_decimal_commas_are_read_if_told(tmp_path):
    table = as_types(tmp_path, "a;b\n1,5;2\n2,25;3\n", decimal=",")
    assert table.to_pydict() == {"a": [1.5, 2.25], "b": [2, 3]}
    message = "the decimal separator must be a point or a comma, not ';'"
    assert refusal(tmp_path, "a\n1\n", decimal=";") == message


def test_new_numbers_follow_the_decimal_comma(tmp_path):
    table = content_of(tmp_path, "a;b\n1,5;2\n", decimal=",")
    table = table.append_column("confidence", pa.array([0.25])).append_column("n", pa.array([3]))
    write_table(table, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "a;b;confidence;n\n1,5;2;0,25;3\n"


def test_header_names_lose_blanks_and_empty_columns_without_name_are_none(tmp_path):
    table = content_of(tmp_path, "a, b ,,\n1,2,,\n3,4,,\n")
    assert table.to_pydict() == {"a": ["1", "3"], "b": ["2", "4"]}
    index = content_of(tmp_path, ",a\n0,x\n1,y\n")  # as pandas writes its index
    assert index.to_pydict() == {"": ["0", "1"], "a": ["x", "y"]}


LEFT_OPEN = "row 2: a quotation mark is left open, or not doubled within a cell"
EMPTY = "the file is empty; a table has a header line and rows"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "a,b\n1,2\n3,4,5\n",
            "row 2: 3 columns, but the header has 2; quote cells that contain ','",
        ),
        ("a,b\n1,2\n\n3\n", "row 2: 1 columns, but the header has 2; quote cells"),
        ('a,b\n"x\ny",2\n3,4,5\n', "row 2: 3 columns, but the header has 2"),
        ('a,b\n1,"x"\n2,"y\n3,"z"\n4,"u"\n', LEFT_OPEN),
        (
            'a,b\n"1,2\n3,4\n',
            "row 1: a quotation mark is left open, or not doubled within a cell",
        ),
        ('a,b\n1,2\n3,"x\n4,y\n5,z\n', LEFT_OPEN),
        ("a,b,a\n1,2,3\n", "columns 1 and 3 are both named 'a'; rename one of them"),
        ("a,b,\n1,2,3\n4,5,6\n,,\n7,8\n", "row 4: 2 columns, but the header has 3"),
        ("a,,\n1,2,3\n", "columns 2 and 3 are both named ''; rename one of them"),
        ("a,b, a\n1,2,3\n", "columns 1 and 3 are both named 'a'; rename one of them"),
        (",,\n,,\n", "the first line has no column names; put a header line above the rows"),
        ("a,b", "there is a header line, but no row below it"),
        ("a,b\n", "there is a header line, but no row below it"),
        *((content, EMPTY) for content in ("", "\n\n", b"\xef\xbb\xbf")),
        ("5.1,3\n4.9,3\n", "the first line holds numbers (5.1, 3), not column names; put a header"),
        ("a,b\n1,\0\n", "line 2 holds a NUL byte, so this is not text"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "line 3 holds a NUL byte, so this is not text"),
        (b"PK\x03\x04rest", "this is a .xlsx file, not text; give it that ending"),
        (b"PAR1rest", "this is a .parquet file, not text; give it that ending"),
        (gzip.compress(b"a\n1\n", mtime=0), "this is a .gz file, not text; give it that ending"),
    ],
)
def test_what_is_no_table_is_refused_with_its_row(tmp_path, content, message):
    assert refusal(tmp_path, content).startswith(message)


def test_quotation_marks_and_line_ends_within_cells_are_fine_if_the_marks_are_doubled(tmp_path):
    texts = ['he said "no"\nand went', '5" pipe\n', '"\n"', "\n", "x" * 200_000 + '\n"']
    write_table(pa.table({"n": range(5), "text": texts}), tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv")["text"].to_pylist() == texts
    table = content_of(tmp_path, 'n,size\n1,5" pipe\n2,6" pipe\n')
    assert table["size"].to_pylist() == ['5" pipe', '6" pipe']


def test_an_endless_row_is_told_from_a_long_one(tmp_path, monkeypatch):
    monkeypatch.setattr(_delimited, "BLOCK", 1 << 16)
    long = "word " * 5000
    assert content_of(tmp_path, f'a,b\n1,"{long}"\n2,"x"\n')["b"][0].as_py() == long
    left_open = 'a,b\n1,"x"\n2,"y\n' + "3,z\n" * 60_000
    assert refusal(tmp_path, left_open) == LEFT_OPEN
    too_long = f'a,b\n1,"{long * 10}"\n2,"x"\n'
    assert refusal(tmp_path, too_long).startswith("a row of more than 0 MB? Arrow says: ")


def test_numbered_columns_are_a_header(tmp_path):
    assert content_of(tmp_path, "0,1,2\n5,6,7\n").column_names == ["0", "1", "2"]


# -------------------------------------------------------------------- files


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.tsv.gz", "A.CSV"])
def test_text_files_round_trip(tmp_path, name):
    table = pa.table(ROWS)
    write_table(table, tmp_path / name)
    back = read_table(tmp_path / name)
    assert back.to_pydict() == ROWS | {
        "n": ["1", None, "3", "4", "5"],
        "x": ["0.1", "2.5", None, "1e+300", "-3"],
    }
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.arrow", "a.jsonl", "a.jsonl.gz"])
def test_typed_files_keep_lists_and_empty_texts(tmp_path, name):
    rows = ROWS | {"tags": [["a", "b"], [], None, ["c"], ["d"]], "vector": [[0.5, 1.0]] * 5}
    write_table(pa.table(rows), tmp_path / name)
    assert read_table(tmp_path / name).to_pydict() == rows


def test_compression_is_real_and_damage_is_seen(tmp_path):
    text = b"a\n" + b"".join(b"%d\n" % i for i in range(50_000))
    write_table(pa.table({"a": range(50_000)}), tmp_path / "a.csv.gz")
    content = (tmp_path / "a.csv.gz").read_bytes()
    assert gzip.decompress(content) == text
    write_table(pa.table({"a": range(50_000)}), tmp_path / "a.csv.gz")
    assert (tmp_path / "a.csv.gz").read_bytes() == content, "no time is in it"
    assert read_table(tmp_path / "a.csv.gz").num_rows == 50_000
    for broken in (content[: len(content) // 2], b"plain text"):
        assert refusal(tmp_path, broken, "a.csv.gz").startswith(
            "the file is damaged, or not what its name says"
        )


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz"])
def test_unpacking_stops_at_the_limit(tmp_path, monkeypatch, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"a\n" + b" " * 50_000_000))
    monkeypatch.setattr(unpacking, "available_memory", lambda: 40_000_000)
    tracemalloc.start()
    with pytest.raises(
        TableError, match=r"unpacked, the file has more than 0\.01 GB, a quarter of the memory"
    ):
        read_table(path)
    assert tracemalloc.get_traced_memory()[1] < 30e6
    tracemalloc.stop()


@pytest.mark.parametrize("error", [MemoryError, pa.ArrowMemoryError])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.parquet", "a.arrow"])
def test_memory_that_runs_out_is_not_called_something_else(tmp_path, monkeypatch, name, error):
    write_table(pa.table({"a": [1]}), tmp_path / name)

    def full(*_):
        raise error("malloc of size 1000 failed")

    for place in ("contents", "as_utf8", "_read_arrow", "checked_table"):
        monkeypatch.setattr(table_files, place, full)
    with pytest.raises(MemoryNeedError) as caught:
        read_table(tmp_path / name)
    assert "memory ran out while reading the file" in str(caught.value)
    assert "damaged" not in str(caught.value)


def test_damaged_cells_are_seen_before_they_are_used(tmp_path):
    def invalid(kind, data):
        offsets = pa.py_buffer(np.array([0, 2], np.int32))
        return pa.Array.from_buffers(kind, 1, [None, offsets, pa.py_buffer(data)])

    table = pa.table({"a": invalid(pa.string(), b"\xff\xfe")})
    pq.write_table(table, tmp_path / "a.parquet")
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    for name in ("a.parquet", "a.arrow"):
        with pytest.raises(TableError, match=r"the file is damaged, or not what .* UTF8"):
            read_table(tmp_path / name)
    with pytest.raises(TableError, match=r"the data frame cannot be converted to a table .*UTF8"):
        from_frame(table)
    zone = pa.table({"t": pa.array([0], pa.timestamp("us", "Mars/Base"))})
    pq.write_table(zone, tmp_path / "a.parquet")
    with pytest.raises(TableError, match="column 't' holds times in the time zone 'Mars/Base'"):
        read_table(tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.arrow"])
def test_damaged_binary_files_are_refused(tmp_path, name):
    write_table(pa.table(ROWS), tmp_path / "good.parquet")
    content = (tmp_path / "good.parquet").read_bytes()
    for broken in (b"", content[:-20], b"a,b\n1,2\n" * 20):
        assert refusal(tmp_path, broken, name)


def test_arrow_streams_are_read(tmp_path):
    table = pa.table({"a": [1, 2]})
    with pa.ipc.new_stream(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    assert read_table(tmp_path / "a.arrow").to_pydict() == {"a": [1, 2]}


def test_parquet_is_read_alone_whatever_the_folder_is_called(tmp_path):
    (tmp_path / "year=2020").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "year=2020" / "a.parquet")
    assert read_table(tmp_path / "year=2020" / "a.parquet").column_names == ["a"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.xls", "the extension of a table must be one of"),
        ("a.csv.xz", "the extension of a table must be one of"),
        ("a.yaml", "the extension of a table must be one of .csv, .tsv, .tab, .txt, .json, .jsonl"),
        ("a", "the extension of a table must be one of"),
        ("a.parquet.gz", "the extension of a table must be one of"),
    ],
)
def test_other_endings_are_refused_for_reading_and_writing(tmp_path, name, message):
    assert refusal(tmp_path, "a\n1\n", name).startswith(message)
    with pytest.raises(TableError, match=re.escape(message)):
        write_table(pa.table({"a": [1]}), tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text"), [("a.tab", "a\tb\n1\tx y\n"), ("a.jl", '{"a":1,"b":"x y"}\n')]
)
def test_other_names_for_tabs_and_lines_of_json(tmp_path, name, text):
    write_table(pa.table({"a": [1], "b": ["x y"]}), tmp_path / name)
    assert (tmp_path / name).read_text().replace(" ", "") == text.replace(" ", "")
    assert list(map(str, read_table(tmp_path / name).to_pylist()[0].values())) == ["1", "x y"]


def test_paths_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "folder.parquet").mkdir()
    for name, message in (
        ("none.csv", "the file cannot be read (No such file or directory)"),
        ("none.parquet", "the file cannot be read (No such file or directory)"),
        ("folder.csv", "the file cannot be read (Is a directory)"),
        ("folder.parquet", "the file cannot be read"),
    ):
        with pytest.raises(TableError) as caught:
            read_table(tmp_path / name)
        assert str(caught.value).startswith(f"{tmp_path / name}: {message}")


def test_tables_without_rows_or_with_twin_columns_are_refused(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "a.parquet")
    with pytest.raises(TableError, match="the table has no rows"):
        read_table(tmp_path / "a.parquet")
    pq.write_table(
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"]), tmp_path / "a.parquet"
    )
    with pytest.raises(TableError, match="more than one column is named 'x'"):
        read_table(tmp_path / "a.parquet")


# -------------------------------------------------------------------- writing


def test_csv_passes_through_byte_by_byte(tmp_path):
    text = (
        'id,zip,"a, b",s,n,x,d\n1,01067,"x ""y""",p '
        "q,,0.5,2020-01-01\n2,10115,,TRUE,-7,1.25,2021-02-03\n"
    )
    table = content_of(tmp_path, text)
    write_table(table, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == text
    assert b"surelabel" not in (tmp_path / "b.csv").read_bytes()
    write_table(table, tmp_path / "b.parquet")
    assert not pq.read_metadata(tmp_path / "b.parquet").metadata.get(b"surelabel.source")


@pytest.mark.parametrize(
    "text",
    [
        "a\nx\n\ny\n",  # in a file of one column an empty line is an empty cell
        "a\r\nx\r\n\r\ny\r\n",
        'a\nx\n\n""\n\n',
        ",a,b\n0,1,2\n",
    ],
)
def test_empty_cells_stay_where_they_were(tmp_path, text):
    table = content_of(tmp_path, text)
    write_table(table, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_bytes() == text.encode()
    assert table.num_rows == text.count("\n") - 1


def test_what_csv_has_no_form_for_is_written_as_json_or_empty(tmp_path):
    table = pa.table(
        {
            "tags": [["a", 'q"'], None, []],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array([1.0, 0.1, 2, 3, 4, 5]), 2),
            "struct": [{"a": 1}, {"a": None}, None],
            "x": [float("nan"), 1.0, None],
            "category": pa.array(["u", None, "v"]).dictionary_encode(),
        }
    )
    write_table(table, tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[1] == '"[""a"", ""q\\""""]","[1.0, 0.1]","{""a"": 1}",,u'
    assert lines[2] == ',"[2.0, 3.0]","{""a"": null}",1,'
    with pytest.raises(
        TableError, match=r"a\.csv: a \.csv file cannot hold this table .*; use \.parquet"
    ):
        write_table(pa.table({"b": [b"\xff"]}), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines() == lines
    assert os.listdir(tmp_path) == ["a.csv"]


class FullDisk:
    """A file that takes so many bytes and no more."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def write(self, data):
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.file.write(data)

    def __getattr__(self, name):
        return getattr(self.file, name)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.feather", "a.jsonl"])
def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch, name):
    path = tmp_path / name
    write_table(pa.table({"a": [1]}), path)
    before = path.read_bytes()
    original = table_files.replacing

    class Replacing:
        def __init__(self, path):
            self.context = original(path)

        def __enter__(self):
            return FullDisk(self.context.__enter__(), 100)

        def __exit__(self, *error):
            return self.context.__exit__(*error)

    monkeypatch.setattr(table_files, "replacing", Replacing)
    noise = random.Random(0)
    with pytest.raises(
        TableError,
        match=r"the file cannot be written .*No space left on device.*; nothing was changed",
    ):
        write_table(pa.table({"a": [noise.random() for _ in range(10_000)]}), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [name]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(
        TableError, match=r"none/a\.csv: the file cannot be written \(No such file or directory\)"
    ):
        write_table(pa.table({"a": [1]}), tmp_path / "none" / "a.csv")


def test_a_formula_is_only_text(tmp_path):
    text = "=HYPERLINK(0),@SUM(1+1),-2+3\n=cmd|' /C calc'!A0,@x,y\n"
    write_table(content_of(tmp_path, text), tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == text


# -------------------------------------------------------------------- data frames


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"]
)
def test_frames_come_back_as_the_same_kind(make):
    frame = make({"a": [1, 2, 3], "b": ["x", None, "z"]})
    table = from_frame(frame)
    assert table.to_pydict() == {"a": [1, 2, 3], "b": ["x", None, "z"]}
    back = to_frame(table.append_column("c", pa.array([1.5, 2.5, 3.5])), frame)
    assert type(back) is type(frame)
    assert list(back["c"]) == [1.5, 2.5, 3.5] or pc.sum(back["c"]).as_py() == 7.5


def test_a_pandas_index_is_kept_and_is_no_column():
    frame = pd.DataFrame({"a": [1, 2]}, index=["p", "q"])
    table = from_frame(frame)
    assert table.column_names == ["a"]
    assert to_frame(table, frame).index.tolist() == ["p", "q"]


def test_what_is_no_frame_is_refused():
    with pytest.raises(TableError, match=r"expected a data frame in memory .*, not dict"):
        from_frame({"a": [1]})
    with pytest.raises(TableError, match="not LazyFrame"):
        from_frame(pl.DataFrame({"a": [1]}).lazy())
    with pytest.raises(
        TableError, match=r"the data frame cannot be converted to a table \(.*column a"
    ):
        from_frame(pd.DataFrame({"a": [1, "x", [2]]}))
    with pytest.raises(TableError, match="no rows"):
        from_frame(pd.DataFrame({"a": []}))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame({"a": [{1}, object()]}),
        pd.DataFrame({"a": ["\ud800"]}, dtype=object),
        pd.DataFrame({"a": [1 + 2j]}),
        pd.DataFrame({"a": [2**70, -1, "x"]}, dtype=object),
        pd.DataFrame({"a": [pd.DataFrame({"b": [1]})]}),
        pd.DataFrame(index=[1, 2]),
        pa.table({}),
        None,
        5,
        "a.csv",
        np.ones((2, 2)),
        [{"a": 1}],
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_odd_frames_are_refused_in_one_sentence(frame):
    with pytest.raises(TableError) as caught:
        from_frame(frame)
    assert "\n" not in str(caught.value)


def test_names_that_are_no_texts_are_written_as_texts():
    assert from_frame(pd.DataFrame({0: [1], 1: [2]})).column_names == ["0", "1"]


# -------------------------------------------------------------------- names


def test_the_nearest_column_is_suggested():
    table = pa.table({"Text": ["x"], "labels": ["y"]})
    for name, message in (
        ("lables", r"'lables'; did you mean 'labels'\? The columns are Text, labels"),
        ("text", r"'text'; did you mean 'Text'\? The columns are Text, labels"),
        ("q", "'q'; the columns are Text, labels"),
    ):
        with pytest.raises(TableError, match=f"^file: there is no column {message}$"):
            find_column(table, name, "file")
