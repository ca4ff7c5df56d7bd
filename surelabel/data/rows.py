"""Instances that need not be in memory: memory maps, HDF5 and Zarr arrays, Parquet data sets, read
in blocks of rows.
"""

from __future__ import annotations

import mmap
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..exceptions import InputError


class Rows(ABC):
    """Rows of numbers, read in order in blocks.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of columns.
    dtype : numpy.dtype
        The type of the blocks: float32 if the source has it, otherwise float64.
    """

    shape: tuple[int, int]
    dtype: np.dtype

    @abstractmethod
    def blocks(self, step: int) -> Iterator[np.ndarray]:
        """All rows in order, ``step`` at a time."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows at ascending positions."""

    def mapped(self, function: Callable[[np.ndarray], np.ndarray]) -> Rows:
        """The rows with a function applied to each block; it must keep their shape and type."""
        return MappedRows(self, function)


class MappedRows(Rows):
    """The result of :meth:`Rows.mapped`: the function is applied as blocks are read."""

    def __init__(self, rows: Rows, function: Callable[[np.ndarray], np.ndarray]) -> None:
        self._rows, self._function = rows, function
        self.shape, self.dtype = rows.shape, rows.dtype

    def blocks(self, step: int) -> Iterator[np.ndarray]:
        """All rows in order, ``step`` at a time."""
        return map(self._function, self._rows.blocks(step))

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows at ascending positions."""
        return self._function(self._rows.take(rows))


def as_rows(X: Any) -> Rows | None:
    """The rows of data that should not be read into memory at once; None for everything else.

    Parameters
    ----------
    X : object
        A NumPy memory map, an h5py or Zarr data set, or a ``pyarrow.dataset.Dataset`` whose columns
        are all numbers.

    Returns
    -------
    Rows or None
    """
    if isinstance(X, Rows):
        return X
    if isinstance(X, np.memmap) and X.ndim == 2 and X.size:
        return ArrayRows(X)
    dataset = getattr(sys.modules.get("pyarrow.dataset"), "Dataset", ())
    if isinstance(X, dataset):
        return ParquetRows(X)
    if (
        type(X).__module__.partition(".")[0] in ("h5py", "zarr")
        and len(getattr(X, "shape", ())) == 2
    ):
        return ArrayRows(X)
    return None


class ArrayRows(Rows):
    """Rows of anything that can be sliced like an array: a memory map, an HDF5 data set, a Zarr
    array, a plain array.

    Parameters
    ----------
    array : array-like of shape (m, n)
        It must have ``shape``, ``dtype`` and slicing.
    """

    def __init__(self, array: Any) -> None:
        self._array = array
        self.shape = tuple(array.shape)
        self.dtype = np.dtype(np.float32) if array.dtype == np.float32 else np.dtype(np.float64)
        if np.dtype(array.dtype).kind not in "biuf":
            raise InputError(f"X holds {array.dtype}: it must hold numbers")

    def blocks(self, step: int) -> Iterator[np.ndarray]:
        """All rows in order, ``step`` at a time."""
        for start in range(0, self.shape[0], step):
            yield self._read(slice(start, start + step))

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows at ascending positions."""
        return self._read(rows)

    def _read(self, rows: slice | np.ndarray) -> np.ndarray:
        array = self._array
        if not isinstance(array, np.memmap):
            return np.ascontiguousarray(array[rows], dtype=self.dtype)
        block = np.array(array[rows], self.dtype, order="C", subok=False)
        pages: Any = getattr(array, "_mmap", None)  # None for a copy
        # Free the pages just read. In mode "c", changed pages exist only in memory.
        if pages is not None and array.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
            pages.madvise(mmap.MADV_DONTNEED)
        return block


class ParquetRows(Rows):
    """Rows of a Parquet data set (one or many files); its columns are the features.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        All columns must be numbers.
    columns : list of str, default=None
        The columns to read; by default all.
    """

    def __init__(self, dataset: Any, columns: list[str] | None = None) -> None:
        import pyarrow as pa

        self._dataset = dataset
        self.columns = list(dataset.schema.names) if columns is None else columns
        types = [dataset.schema.field(name).type for name in self.columns]
        wrong = [
            name
            for name, kind in zip(self.columns, types, strict=True)
            if not (
                pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
            )
        ]
        if wrong:
            raise InputError(
                f"X has columns that are not numbers: {', '.join(wrong)}; choose others with "
                "ParquetRows(dataset, columns)"
            )
        self.shape = (dataset.count_rows(), len(self.columns))
        self.dtype = np.dtype(
            np.float32 if all(kind == pa.float32() for kind in types) else np.float64
        )

    def blocks(self, step: int) -> Iterator[np.ndarray]:
        """All rows in order, ``step`` at a time."""
        held: list[np.ndarray] = []
        for batch in self._dataset.to_batches(
            columns=self.columns, batch_size=step, batch_readahead=2, fragment_readahead=1
        ):
            held.append(self._as_array(batch))
            while sum(map(len, held)) >= step:
                joined = np.concatenate(held)
                yield joined[:step]
                held = [joined[step:]]
        if rest := sum(map(len, held)):
            yield np.concatenate(held)[:rest]

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The rows at ascending positions."""
        return self._as_array(self._dataset.take(rows, columns=self.columns))

    def _as_array(self, table: Any) -> np.ndarray:
        array = np.empty((table.num_rows, len(self.columns)), self.dtype)
        for j, column in enumerate(table.columns):
            array[:, j] = np.asarray(column)
        return array
