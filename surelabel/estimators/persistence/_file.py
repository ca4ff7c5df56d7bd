"""The bytes of a model file: a first line, the length of a header, the header in JSON, the arrays
that the header describes, in order, and the SHA-256 of all this, which reveals damage.

Nothing is compressed, and nothing refers to positions. So a file holds no more than its size, and
no array is made before the file is known to have its bytes.
"""

from __future__ import annotations

import json
import math
import re
from hashlib import sha256
from importlib.metadata import version
from typing import Any, BinaryIO

import numpy as np

from ...exceptions import ModelFileError

#: The version of the format; raised when older code could no longer read new files.
FORMAT = 3
#: Lists and dicts in the header: empty ones take 30 times as much memory as text.
MOST_LISTS = 10**6
#: Longest side of an array without numbers: what is computed from it need not be empty.
LONGEST_EMPTY = 2**20
#: Every label takes the space of the longest, once per class and training row. The total is at most
#: this many bytes, or this many times the size of the file.
ROOM, RATIO = 2**28, 64
#: The types of arrays.
TYPES = frozenset(["|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f4", "<f8"])


class Damaged(ModelFileError):
    """A model file is damaged; the message says what is wrong."""


def require(holds: Any, what: str) -> None:
    """Refuse a file that violates a condition; ``what`` says what is wrong with it."""
    if not holds:
        raise Damaged(what)


def foreign(what: str) -> ModelFileError:
    """The error for something that model files do not hold."""
    return ModelFileError(
        f"model files hold surelabel's own methods as plain numbers, and not {what}; joblib and "
        "skops can store it, but a joblib file runs any code when it is loaded, and a skops file "
        "the types that you allow: load them only from people whose programs you would run"
    )


def file_of(model: Any, arrays: list[np.ndarray]) -> bytes:
    """The content of a file with these arrays; ``model`` says in JSON what they are."""
    header = json.dumps({"surelabel": version("surelabel"), "model": model}, allow_nan=False)
    start = f"surelabel model {FORMAT}\n".encode() + len(header).to_bytes(8, "little")
    content = b"".join([start, header.encode(), *(array.tobytes("A") for array in arrays)])
    return content + sha256(content).digest()


class Reader:
    """Reads arrays in the order in which they were written; ``model`` is what the header says."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, size = file, file.seek(0, 2)
        file.seek(0)
        first_line = file.read(18)
        _check_format(first_line)
        self._checksum = sha256(first_line)
        self._left = max(0, size - len(first_line) - self._checksum.digest_size)
        self._room = max(ROOM, RATIO * size)
        text = self._read(int.from_bytes(self._read(8), "little"))
        require(text.count(b"[") + text.count(b"{") <= MOST_LISTS, "it has too many parts")
        header: Any = json.loads(text, parse_constant=_finite, parse_float=_finite)
        require(isinstance(header, dict) and "model" in header, "its header names no model")
        self.model = header["model"]

    def declared(self, node: Any) -> tuple[np.dtype, tuple[int, ...]]:
        """The type and shape of an array, if the file has its bytes."""
        require(isinstance(node, list) and len(node) == 3, "it is not an array")
        kind, shape, order = node
        require(isinstance(kind, str) and kind in TYPES and order in ("C", "F"), "no such array")
        require(isinstance(shape, list) and 0 < len(shape) <= 2, "no such shape")
        require(all(type(side) is int and side >= 0 for side in shape), "no such shape")
        size, full = math.prod(shape), math.prod(max(side, 1) for side in shape)
        require(
            size * np.dtype(kind).itemsize <= self._left and (size or full <= LONGEST_EMPTY),
            f"it is truncated: an array of shape {shape} where {self._left} bytes are left",
        )
        return np.dtype(kind), tuple(shape)

    def array(self, node: Any) -> np.ndarray:
        """The next array."""
        dtype, shape = self.declared(node)
        flat = np.frombuffer(self._read(math.prod(shape) * dtype.itemsize), dtype).copy()
        return flat.reshape(shape, order=node[2])

    def take_room(self, size: int) -> None:
        """Count memory that labels take beyond the bytes of the file."""
        self._room -= size
        require(self._room >= 0, "its labels are too long for so many rows")

    def finish(self) -> None:
        """Check that nothing is left, and that the bytes are those that were written."""
        require(self._left == 0, "it continues after its end")
        require(self._file.read() == self._checksum.digest(), "its checksum differs")

    def _read(self, size: int) -> bytes:
        require(size <= self._left, "it is truncated")
        data = self._file.read(size)
        require(len(data) == size, "it is truncated")
        self._left -= size
        self._checksum.update(data)
        return data


def _check_format(first_line: bytes) -> None:
    """Refuse files of other programs and other versions."""
    found = re.fullmatch(rb"surelabel model ([0-9])\n", first_line)
    if found and int(found[1]) > FORMAT:
        raise ModelFileError(
            "the model was saved by a version of surelabel newer than this one "
            f"({version('surelabel')}); upgrade surelabel"
        )
    if not found or int(found[1]) < FORMAT:
        raise ModelFileError(
            "this is not a surelabel model file, or it is truncated, or of an earlier version; fit "
            "the model again and save it"
        )


def _finite(text: str) -> float:
    number = float(text)
    require(math.isfinite(number), f"{text[:20]} is not a number")
    return number
