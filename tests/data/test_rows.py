"""Instances that are not in memory are read as if they were."""

import subprocess
import sys

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import zarr

from surelabel.data.rows import ArrayRows, ParquetRows, as_rows
from surelabel.exceptions import InputError

X = np.random.default_rng(0).standard_normal((101, 3))


def raw(path, array, *, offset=0, order="C", mode="r"):
    """A memory map over a file that holds the array after ``offset`` bytes of something else."""
    path.write_bytes(b"\xff" * offset + array.tobytes(order=order))
    return np.memmap(path, array.dtype, mode, offset=offset, shape=array.shape, order=order)


def padded(before, after):
    return np.pad(X, ((before, after), (0, 0)), constant_values=np.nan)


def numpy_file(path):
    np.save(path, X)
    return np.load(f"{path}.npy", mmap_mode="r")


def changed(path, mode):
    array = raw(path, np.zeros_like(X), mode=mode)
    array[:] = X
    return array


def file_deleted_meanwhile(path):
    array = raw(path, X)
    path.unlink()
    return array


def hdf5(path):
    file = h5py.File(path, "w")
    return file.create_dataset("x", data=X, chunks=(16, 2), compression="gzip")


def table(array, **types):
    columns = {f"c{j}": pa.array(column) for j, column in enumerate(array.T)}
    return pa.table(columns).cast(
        pa.schema([(name, types.get(name, pa.float64())) for name in columns])
    )


def parquet_files(path):
    """Three files, the second with one row, all of them in small row groups."""
    path.mkdir()
    for name, part in (("a", X[:40]), ("b", X[40:41]), ("c", X[41:41]), ("d", X[41:])):
        pq.write_table(table(part), path / f"{name}.parquet", row_group_size=13)
    return ds.dataset(path)


def parquet_file(path):
    pq.write_table(table(X), path)
    return ds.dataset(path)


SOURCES = {
    "memory map": lambda path: raw(path, X),
    # beyond a page, and not at one's beginning
    "memory map with offset": lambda path: raw(path, X, offset=5000),
    "part of a memory map": lambda path: raw(path, padded(7, 9), offset=4104)[7:-9],
    "part of a part": lambda path: raw(path, padded(12, 17))[10:][2:103],
    "reshaped": lambda path: raw(path, X.ravel()).reshape(101, 3),
    "Fortran": lambda path: raw(path, X, order="F"),
    "every other row": lambda path: raw(path, np.repeat(X, 2, axis=0))[::2],
    "backwards": lambda path: raw(path, X[::-1].copy())[::-1],
    "some columns": lambda path: raw(path, np.hstack([X[:, :1], X, X]))[:, 1:4],
    "NumPy file": numpy_file,
    "other byte order": lambda path: raw(path, X.astype(">f8")),
    "changed in memory only": lambda path: changed(path, "c"),
    "written but not flushed": lambda path: changed(path, "r+"),
    "file deleted meanwhile": file_deleted_meanwhile,
    "copied from a memory map": lambda path: raw(path, X).copy(),
    "HDF5": hdf5,
    "zarr": lambda path: zarr.create_array(store=path, data=X, chunks=(16, 2)),
    "Parquet files": parquet_files,
    "Parquet file of one row group": parquet_file,
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_array(source, tmp_path):
    rows = as_rows(SOURCES[source](tmp_path / "x"))
    assert rows.shape == X.shape
    assert rows.dtype == np.float64
    for step in (1, 7, 40, 100, 101, 500):
        blocks = list(rows.blocks(step))
        assert [len(block) for block in blocks] == [
            min(step, 101 - start) for start in range(0, 101, step)
        ]
        assert all(
            type(block) is np.ndarray and block.dtype == np.float64 and block.flags.c_contiguous
            for block in blocks
        )
        assert np.array_equal(np.concatenate(blocks), X)
    for wanted in ([0], [100], [3, 4, 39, 40, 41, 99], range(101)):
        taken = rows.take(np.array(wanted))
        assert np.array_equal(taken, X[list(wanted)])
        assert taken.flags.c_contiguous


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint16, np.int64, bool])
def test_types(dtype, tmp_path):
    array = (X * 3).astype(dtype)
    expected = np.float32 if dtype == np.float32 else np.float64
    sources = [
        raw(tmp_path / "x", array),
        h5py.File(tmp_path / "x.h5", "w").create_dataset("x", data=array),
    ]
    sources.append(zarr.create_array(store=tmp_path / "x.zarr", data=array))
    pq.write_table(
        pa.table({f"c{j}": column for j, column in enumerate(array.T)}), tmp_path / "x.parquet"
    )
    sources.append(ds.dataset(tmp_path / "x.parquet"))
    for source in sources:
        rows = as_rows(source)
        assert rows.dtype == expected
        (block,) = rows.blocks(200)
        assert block.dtype == expected
        assert np.array_equal(block, array.astype(expected))


def test_columns_of_several_types_become_double(tmp_path):
    mixed = table(X, c0=pa.float32(), c1=pa.float64())
    pq.write_table(mixed, tmp_path / "x.parquet")
    rows = as_rows(ds.dataset(tmp_path / "x.parquet"))
    assert rows.dtype == np.float64
    assert np.array_equal(next(rows.blocks(200))[:, 1], X[:, 1])


def test_chosen_columns_in_the_order_chosen(tmp_path):
    pq.write_table(table(X).append_column("text", pa.array(["a"] * 101)), tmp_path / "x.parquet")
    rows = ParquetRows(ds.dataset(tmp_path / "x.parquet"), ["c2", "c0"])
    assert rows.shape == (101, 2)
    assert np.array_equal(np.concatenate(list(rows.blocks(20))), X[:, [2, 0]])
    assert np.array_equal(rows.take(np.array([5, 50])), X[[5, 50]][:, [2, 0]])
    assert as_rows(rows) is rows


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a"] * 101),
        pa.array(["a"] * 101).dictionary_encode(),
        pa.array([[1.0]] * 101),
        pa.array([0] * 101, pa.timestamp("s")),
        pa.nulls(101),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_that_are_no_numbers_are_named(column, tmp_path):
    pq.write_table(table(X).append_column("odd", column), tmp_path / "x.parquet")
    message = r"columns that are not numbers: odd; choose others with ParquetRows\(dataset, col"
    with pytest.raises(InputError, match=message):
        as_rows(ds.dataset(tmp_path / "x.parquet"))


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.int64(), pa.bool_()], ids=str)
def test_nulls_are_not_a_number(kind, tmp_path):
    values = [None if i in (2, 60) else i % 2 for i in range(101)]
    pq.write_table(
        pa.table({"x": pa.array(values).cast(kind), "y": X[:, 0]}),
        tmp_path / "x.parquet",
        row_group_size=10,
    )
    rows = as_rows(ds.dataset(tmp_path / "x.parquet"))
    array = np.concatenate(list(rows.blocks(30)))
    assert np.flatnonzero(np.isnan(array[:, 0])).tolist() == [2, 60]
    assert np.array_equal(np.delete(array[:, 0], [2, 60]), np.delete(np.arange(101) % 2, [2, 60]))
    assert np.isnan(rows.take(np.array([1, 2]))[:, 0]).tolist() == [False, True]


@pytest.mark.parametrize("dtype", ["S3", complex, "datetime64[s]"])
def test_arrays_that_hold_no_numbers_are_refused(dtype, tmp_path):
    array = raw(tmp_path / "x", np.zeros((4, 2), dtype))
    with pytest.raises(InputError, match="it must hold numbers"):
        as_rows(array)


def test_what_is_in_memory_stays_an_array():
    for instances in (X, X.tolist(), pa.table({"a": [1.0]}), np.zeros(3), None, "x"):
        assert as_rows(instances) is None


def test_maps_that_are_no_matrix_are_left_to_the_usual_checks(tmp_path):
    assert as_rows(raw(tmp_path / "x", X[0])) is None
    assert as_rows(raw(tmp_path / "x", X)[:0]) is None
    assert as_rows(h5py.File(tmp_path / "x.h5", "w").create_dataset("x", data=X[0])) is None


def test_rows_of_a_plain_array_are_views():
    (block,) = ArrayRows(X).blocks(200)
    assert np.shares_memory(block, X)


def test_libraries_are_not_imported_for_those_who_do_not_use_them():
    code = (
        "import sys, numpy, surelabel.data.rows as rows; rows.as_rows(numpy.zeros((2, 2)));"
        "print([m for m in ('h5py', 'zarr', 'pyarrow', 'dask') if m in sys.modules])"
    )
    # pandas, where it is installed, brings pyarrow along by itself.
    code = "import sys; sys.modules['pandas'] = None; " + code
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
