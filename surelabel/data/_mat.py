"""MATLAB files (v5 and v7) → matrices. scipy's reader ends the process on one in a hundred damaged
files, so this module reads the few kinds of variables that are used here.

The format: "MAT-File Format", The MathWorks. A file is a header of 128 bytes followed by elements:
a tag (type, number of bytes) and data, padded to a multiple of 8 bytes.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..exceptions import DataFileError
from .unpacking import limit, too_large

#: Types of elements.
NUMBERS = {
    **{1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4"},
    **{7: "f4", 9: "f8", 12: "i8", 13: "u8"},
}
MATRIX, COMPRESSED = 14, 15
#: Classes of variables.
SPARSE = 5
OTHERS = {1: "cells", 2: "a struct", 3: "an object", 4: "text"}
CLASSES = {
    **{6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2"},
    **{12: "i4", 13: "u4", 14: "i8", 15: "u8"},
}
COMPLEX, LOGICAL = 0x0800, 0x0200


class _Element(NamedTuple):
    type: int
    data: memoryview


def load_mat(path: Path) -> dict[str, Any]:
    """The variables of a file as arrays and sparse arrays; other kinds are described in words."""
    with open(path, "rb") as file:
        header = file.read(128)
        if header[124:126] in (b"\0\2", b"\2\0") and header[126:] in (b"IM", b"MI"):
            raise DataFileError(
                f"{path} is a MATLAB v7.3 file; save it in MATLAB with save(..., '-v7')"
            )
        order = {b"\0\1IM": "<", b"\1\0MI": ">"}.get(header[124:])
        if order is None:
            raise DataFileError(
                f"{path} is damaged, or not a MATLAB file of version 5 or 7: its header differs"
            )
        content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[128:]
    reader, left, variables = _Reader(order), limit(), {}
    try:
        for element in reader.elements(content):
            if element.type == COMPRESSED:
                unpacked = _inflate(element.data, left)
                if unpacked is None:
                    raise too_large(path, DataFileError)
                left -= len(unpacked)
                element = next(reader.elements(memoryview(unpacked)))
            if element.type == MATRIX:
                name, value = reader.variable(element.data)
                variables[name] = value
    except DataFileError:
        raise
    except (ValueError, IndexError, StopIteration, TypeError, zlib.error) as error:
        problem = " ".join(str(error).split()) or "an element is missing"
        raise DataFileError(f"{path} is damaged, or not a MATLAB file: {problem}") from None
    return variables


def _inflate(data: memoryview, most: int) -> bytes | None:
    """The content of a compressed element; None if it is longer than ``most`` bytes."""
    stream = zlib.decompressobj()
    content = stream.decompress(data, most + 1)
    if len(content) > most:
        return None
    if not stream.eof:
        raise ValueError("the end of a compressed variable is missing")
    return content


class _Reader:
    """Reads elements of one byte order."""

    def __init__(self, order: str) -> None:
        self.order = order

    def elements(self, data: memoryview) -> Iterator[_Element]:
        """All elements, one after another."""
        place = 0
        while place < len(data):
            kind, size = self.numbers("u4", data[place : place + 8]).tolist()
            if small := kind >> 16:  # four bytes or fewer are stored in the tag
                kind, size = kind & 0xFFFF, small
            start = place + (4 if small else 8)
            end = start + size
            if end > len(data) or (small and size > 4):
                raise ValueError("it ends in the middle of a variable")
            yield _Element(kind, data[start:end])
            place = end if kind == COMPRESSED else end + -end % 8

    def numbers(self, kind: str, data: memoryview) -> np.ndarray:
        """Bytes as numbers."""
        return np.frombuffer(data, f"{self.order}{kind}")

    def variable(self, data: memoryview) -> tuple[str, Any]:
        """The name of a variable and its value."""
        parts = self.elements(data)
        flags = int(self.numbers("u4", next(parts).data)[0])
        kind = flags & 0xFF
        shape = tuple(self.numbers("i4", next(parts).data).tolist())
        name = bytes(next(parts).data).decode()
        if min(shape, default=-1) < 0:
            raise ValueError(f"{name!r} has the shape {shape}")
        if flags & COMPLEX:
            return name, "complex numbers"
        if kind in CLASSES:
            array = self.read(next(parts), None if flags & LOGICAL else CLASSES[kind])
            array = array.astype(bool) if flags & LOGICAL else array
            return name, array.reshape(shape, order="F")
        if kind == SPARSE:
            return name, self.sparse(parts, shape, bool(flags & LOGICAL))
        return name, OTHERS.get(kind, "something else")

    def read(self, element: _Element, kind: str | None) -> np.ndarray:
        """The numbers of an element, in the type of their variable."""
        if element.type not in NUMBERS:
            raise ValueError("a variable holds something other than numbers")
        numbers = self.numbers(NUMBERS[element.type], element.data)
        return numbers if kind is None else numbers.astype(kind)

    def sparse(self, parts: Iterator[_Element], shape: tuple[int, ...], logical: bool) -> Any:
        """A sparse matrix: rows, starts of columns, and values."""
        rows, starts = (self.read(next(parts), "i4") for _ in range(2))
        used = int(starts[-1]) if len(starts) else 0
        values = self.read(next(parts), None if logical else "f8")
        if len(shape) != 2 or not 0 <= used <= min(len(rows), len(values)):
            raise ValueError("a sparse variable has fewer numbers than it says")
        values = values[:used].astype(bool) if logical else values[:used]
        # Positions out of range would access memory that is not ours; scipy does not check them in
        # a matrix that claims to be empty.
        if len(starts) == 0 or starts[0] != 0 or np.any(np.diff(starts) < 0):
            raise ValueError("the columns of a sparse variable overlap")
        matrix = sparse.csc_array((values, rows[:used], starts), shape=shape)
        matrix.check_format(full_check=True)
        return matrix
