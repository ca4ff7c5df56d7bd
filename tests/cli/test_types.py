"""The values and texts of a table's own columns come out of the commands, in common types, or a
sentence says what was changed.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import xlsxwriter
from python_calamine import CalamineWorkbook

import surelabel
from surelabel.data.table_files import read_table, write_table

ROWS = 12
HALVES = pa.array(np.arange(ROWS, dtype=np.float16) / 10)
RARE = {
    "half": HALVES,
    "view": pa.array([f"text {i}" for i in range(ROWS)], pa.string_view()),
    "bytes": pa.array([b"x"] * ROWS, pa.binary_view()),
    "runs": pc.run_end_encode(pa.array([7] * ROWS)),
    "coded": pa.DictionaryArray.from_arrays(pa.array([1, 0] * 6, pa.int8()), pa.array([5, 3])),
}
COMMON = [pa.float32(), pa.large_string(), pa.large_binary(), pa.int64(), pa.int64()]
LEARNED = {
    "size": pa.array([(i % 2) * 5 + i / 99 for i in range(ROWS)]),
    "labels": pa.array(["cat", "dog"] * 6),
}
OPTIONS = ("--labels", "labels", "--features", "size", "--method", "PLKNN")


def through_all_commands(call, name, ending):
    """The messages of clean, predict and convert, by the files that they write."""
    call("fit", name, "-o", "m.model", *OPTIONS)
    return {
        f"clean{ending}": call("clean", name, "-o", f"clean{ending}", *OPTIONS).stderr,
        f"predict{ending}": call("predict", "m.model", name, "-o", f"predict{ending}").stderr,
        f"convert{ending}": call("convert", name, f"convert{ending}").stderr,
    }


def read_arrow(path, ending):
    return pq.read_table(path) if ending == ".parquet" else pa.ipc.open_file(path).read_all()


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather"])
def test_rare_types_become_common_ones(call, ending):
    before = pa.table(LEARNED | RARE)
    with pa.ipc.new_file("a.arrow", before.schema) as writer:
        writer.write_table(before)
    for path in through_all_commands(call, "a.arrow", ending):
        after = read_arrow(path, ending).select(before.column_names)
        assert after.schema.types == [*before.schema.types[:2], *COMMON], path
        assert after.to_pydict() == before.to_pydict(), path
        assert not any(field.metadata for field in after.schema)


def test_frames_keep_their_kind_and_values():
    before = pa.table(LEARNED | {name: RARE[name] for name in ("half", "view")})
    after = surelabel.clean(before, labels="labels", features="size", method="PLKNN").frame
    assert after.select(before.column_names).to_pydict() == before.to_pydict()


@pytest.mark.parametrize("second", [pa.float32(), pa.float64()])
def test_files_read_together_lose_no_digits(tmp_path, second):
    for i, kind in enumerate((pa.float16(), second)):
        pq.write_table(pa.table({"x": pa.array([0.1]).cast(kind)}), tmp_path / f"part-{i}.parquet")
    write_table(read_table(tmp_path / "part-*.parquet"), tmp_path / "b.parquet")
    after = pq.read_table(tmp_path / "b.parquet")["x"]
    assert after.type == second
    assert after[1].as_py() == pa.array([0.1]).cast(second)[0].as_py()


# -------------------------------------------------------------------- workbooks


def write_book(path, cells):
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for name, column in {"size": LEARNED["size"].to_pylist(), "x": cells,
                             "labels": LEARNED["labels"].to_pylist()}.items():  # fmt: skip
            place = ["size", "x", "labels"].index(name)
            sheet.write_column(0, place, [name, *column])


def cells_of(path):
    with CalamineWorkbook.from_path(str(path)) as book:
        (header, *rows) = book.get_sheet_by_index(0).to_python()
    return [row[header.index("x")] for row in rows]


@pytest.mark.filterwarnings("always")
def test_numbers_beside_texts_become_texts_and_it_is_told(call):
    write_book("a.xlsx", [1, "n/a", 2.5, 2**53, "007", True, "", 3, -4, "7", 7, False])
    texts = ["1", "n/a", "2.5", str(2**53), "007", "True", "", "3", "-4", "7", "7", "False"]
    for path, said in through_all_commands(call, "a.xlsx", ".xlsx").items():
        assert cells_of(path) == texts, path
        assert "a.xlsx: column 'x' holds numbers or other values beside texts" in said


# -------------------------------------------------------------------- digits


def test_whole_numbers_keep_their_digits_in_csv(call):
    numbers = [2.0**53, -(2.0**53), 1e15, 1e16, 123456789012345.0, 1e300, 1.5, -0.0, 0.1, 1e-7]
    numbers += [2.0**53 - 1, None]
    texts = ["9007199254740992", "-9007199254740992", "1000000000000000", "10000000000000000"]
    texts += ["123456789012345", "1e+300", "1.5", "-0", "0.1", "1e-7", "9007199254740991", None]
    pq.write_table(pa.table(LEARNED | {"x": pa.array(numbers, pa.float64())}), "a.parquet")
    for path in through_all_commands(call, "a.parquet", ".csv"):
        assert read_table(path)["x"].to_pylist() == texts, path
    write_book("a.xlsx", [2**53] * ROWS)
    for path in through_all_commands(call, "a.xlsx", ".csv"):
        assert read_table(path)["x"].to_pylist() == ["9007199254740992"] * ROWS, path
