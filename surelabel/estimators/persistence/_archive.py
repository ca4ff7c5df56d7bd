"""The zip archive of a model file: ``surelabel.json`` and arrays, ``0.npy``, ``1.npy`` and on.

Nothing is unpacked before its declared size is known to be reasonable, and never more than that.
"""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from ...exceptions import ModelFileError


class Damaged(ModelFileError):
    """A model file is damaged; the message says what is wrong."""


def require(holds: Any, what: str) -> None:
    """Refuse a file for which a condition does not hold; ``what`` is wrong with it."""
    if not holds:
        raise Damaged(what)


#: The version of the format; raised when older code could no longer read new files.
FORMAT = 2
STAMP = "surelabel.json"
#: Maximum unpacked size of all members together, in bytes, or ...
SMALL = 2**20
#: ... this many times the size of the file.
RATIO = 20
#: Maximum size of surelabel.json in bytes.
MOST_TEXT = 64 * 2**20
#: Kinds of dtypes that are plain data: truth values, numbers, texts, bytes, times.
PLAIN = "biufUSmM"
#: Minimum distance between the data of a member and those of the one before.
LOCAL_HEADER = 30


def write_archive(file: BinaryIO, content: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> None:
    """Write a model file; the same content gives the same bytes."""
    stamp = {"format": FORMAT, "surelabel": version("surelabel"), **content}
    members = {STAMP: json.dumps(stamp, allow_nan=False).encode()}
    for number, array in enumerate(arrays):
        buffer = BytesIO()
        npy.write_array(buffer, array, version=(1, 0), allow_pickle=False)
        members[f"{number}.npy"] = buffer.getvalue()
    unpacked = sum(len(data) for data in members.values())
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        file.seek(0)
        file.truncate()
        with zipfile.ZipFile(file, "w", method) as archive:
            for name, data in members.items():
                # without the time of writing
                archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
        if unpacked <= _most(file.tell()):
            return


def read_archive(file: BinaryIO) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Read what :func:`write_archive` wrote."""
    size = file.seek(0, 2)
    try:
        archive = zipfile.ZipFile(file)
        members = _members(archive, size)
        if STAMP not in members:
            raise ModelFileError(
                "this is a file of another program, not a surelabel model; make one with save_model"
            )
        content = _content(_unpacked(archive, members.pop(STAMP), MOST_TEXT))
        names = [f"{number}.npy" for number in range(len(members))]
        require(members.keys() == set(names), "its members are not those of a model")
        return content, [_array(_unpacked(archive, members[name])) for name in names]
    except (zlib.error, EOFError) as error:
        raise Damaged(str(error)) from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        if isinstance(error, RecursionError):
            raise
        raise ModelFileError(
            f"this is not a surelabel model file, or it is truncated ({error})"
        ) from None


def _most(size: int) -> int:
    return max(SMALL, RATIO * size)


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The members by name, if their sizes and positions are possible."""
    infos = archive.infolist()
    members = {info.filename: info for info in infos}
    require(len(members) == len(infos), "two members have one name")
    unpacked = sum(info.file_size for info in infos)
    if unpacked > _most(size):
        raise ModelFileError(
            f"the model file of {size} bytes claims to hold {unpacked}, more than the "
            f"{_most(size)} that are unpacked from such a file; if it is yours, save the model "
            "again"
        )
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        require(info.header_offset >= end, "its members overlap")
        end = info.header_offset + LOCAL_HEADER + info.compress_size
        plain = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        require(plain and not info.flag_bits & 0x1, "a member is packed in another way")
    require(end <= size, "a member is larger than the file")
    return members


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int | None = None) -> bytes:
    """The bytes of a member, as many as it claims to have and no more."""
    if most is not None and info.file_size > most:
        raise ModelFileError(
            f"{info.filename} of the model file has {info.file_size} bytes; no more than {most} "
            "are read"
        )
    with archive.open(info) as member:
        data = member.read(info.file_size)
    require(len(data) == info.file_size, "a member is shorter than it claims")
    return data


def _content(text: bytes) -> dict[str, Any]:
    try:
        content: Any = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{STAMP}: {error}") from None
    number = content.get("format") if isinstance(content, dict) else None
    if not isinstance(number, int) or isinstance(number, bool):
        raise ModelFileError(
            "this is a file of another program, not a surelabel model; make one with save_model"
        )
    if number > FORMAT:
        raise ModelFileError(
            f"the model was saved by surelabel {str(content.get('surelabel'))[:20]}, newer than "
            f"this one ({version('surelabel')}); upgrade surelabel"
        )
    if number < FORMAT:
        raise ModelFileError(
            f"the model was saved by surelabel {str(content.get('surelabel'))[:20]}, whose model "
            "files could be made to run commands and are no longer read; fit the model again and "
            "save it"
        )
    return dict(content)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is not a JSON number")
    return number


def _array(data: bytes) -> np.ndarray:
    """The array of a ``.npy`` file, if it holds plain data and as much as its header says."""
    file = BytesIO(data)
    require(npy.read_magic(file) == (1, 0), "an array of another version")
    shape, in_columns, dtype = npy.read_array_header_1_0(file)
    require(
        dtype.kind in PLAIN and not dtype.hasobject and not dtype.fields and not dtype.subdtype,
        f"an array of {dtype}, which is not plain data",
    )
    start = file.tell()
    # check the sides of an empty array, too: results computed from it need not be empty
    largest = math.prod(max(side, 1) for side in shape)
    require(
        math.prod(shape) * dtype.itemsize == len(data) - start and largest <= max(len(data), 2**20),
        f"an array of shape {shape} in {len(data)} bytes",
    )
    flat = np.frombuffer(data, dtype, offset=start).copy()
    return flat.reshape(shape, order="F" if in_columns else "C")
