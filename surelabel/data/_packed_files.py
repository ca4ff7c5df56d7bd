"""The bytes of files, archives and standard input; and what file names say about them."""

from __future__ import annotations

import bz2
import codecs
import glob
import gzip
import io
import lzma
import mmap
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from ..exceptions import ParameterError, SurelabelError, TableError, first_few
from ._delimited import Content
from .sizes import limit, too_large, unpacked

TEXT_FORMS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
JSON_FORMS = (".json", ".jsonl", ".jl", ".ndjson", ".jsonlines")
BINARY_FORMS = (".parquet", ".feather", ".arrow", ".xlsx")
FORMS = (*TEXT_FORMS, *JSON_FORMS, *BINARY_FORMS)
#: Workbooks of other kinds.
OTHER_WORKBOOKS = (".xls", ".ods", ".xlsb", ".xlsm")
COMPRESSIONS: dict[str, Callable[..., Any]] = {
    # Python 3.14's own writer leaves an error behind on a full disk, and writes the time.
    ".gz": lambda file, mode: (
        gzip.GzipFile(fileobj=file)
        if mode == "rb"
        else pa.CompressedOutputStream(_KeptOpen(file), "gzip")
    ),
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda file, mode: (
        pa.CompressedInputStream(file, "zstd")
        if mode == "rb"
        else pa.CompressedOutputStream(_KeptOpen(file), "zstd")
    ),
}
ZIP = ".zip"
#: Maximum number of files read from an archive.
MOST_ENTRIES = 1000
STANDARD_INPUT = "standard input"


# -------------------------------------------------------------------- names


def file_name(path: str | os.PathLike[str]) -> str:
    """A path as text."""
    try:
        return os.fsdecode(path)
    except TypeError:
        raise ParameterError(f"expected a file name, not {type(path).__name__}") from None


def files_of(path: str | os.PathLike[str]) -> list[str]:
    """The files of a path: the path itself, or, for a pattern, the files that match, sorted."""
    source = file_name(path)
    if not any(sign in source for sign in "*?[") or os.path.exists(source):
        return [source]
    if "\0" in source or not (found := sorted(filter(os.path.isfile, glob.glob(source)))):
        raise TableError(f"{source}: no file matches this pattern")
    return found


def form_of(path: str | os.PathLike[str], *, reading: bool = False) -> tuple[str, str]:
    """The format of a file and its compression, by its extensions. For reading, the format of a
    file in a zip archive need not be known, nor that of a compressed file with no other extension:
    it is "".
    """
    endings = [ending.lower() for ending in Path(file_name(path)).suffixes]
    packed = (*COMPRESSIONS, ZIP)
    compression = endings.pop() if endings and endings[-1] in packed else ""
    form = endings[-1] if endings else ""
    if reading and (compression == ZIP or (compression and not form)):
        return "", compression
    if compression == ZIP and form not in FORMS:
        raise TableError(f"{path}: the name must say what is in the archive, for example .csv.zip")
    if form not in FORMS or (compression and form in BINARY_FORMS):
        if form in OTHER_WORKBOOKS:
            raise TableError(
                f"{path}: {form} files are not read; save the workbook as .xlsx"
                if reading
                else f"{path}: {form} files are not written; use .xlsx"
            )
        raise TableError(
            f"{path}: the extension of a table must be one of {', '.join(FORMS)} (for text, "
            f"optionally followed by {', '.join(packed)}), not {form + compression!r}"
        )
    return form, compression


def first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


# -------------------------------------------------------------------- reading


def read_bytes(source: str, compression: str) -> Content:
    """All bytes of a text file; uncompressed ones are mapped into memory rather than copied."""
    try:
        with open(source, "rb") as file:
            if compression in COMPRESSIONS:
                return _unpacked(file, source, compression)
            regular = os.fstat(file.fileno()).st_size
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if regular else file.read()
    except OSError as error:
        problem = error.strerror or str(error)
    except SurelabelError:
        raise
    except ValueError as error:  # an impossible file name
        problem = str(error)
    raise TableError(f"{source}: the file cannot be read ({problem})")


def standard_input() -> tuple[Content, str]:
    """The whole of standard input, unpacked, and its format."""
    if sys.stdin is None or sys.stdin.isatty():
        raise TableError(
            f"{STANDARD_INPUT}: there is nothing to read; send a table through a pipe, or name a "
            "file"
        )
    content: Content = unpacked(sys.stdin.buffer, STANDARD_INPUT, TableError)
    packed = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
    for start, compression in packed.items():
        if content[: len(start)] == start:
            content = _unpacked(io.BytesIO(content[:]), STANDARD_INPUT, compression)
            break
    return recognised(content, STANDARD_INPUT)


def recognised(content: Content, source: str) -> tuple[Content, str]:
    """The bytes of a table, and its format by what they are."""
    if content[:4] == b"PK\x03\x04":
        if b"[Content_Types].xml" in content[:]:
            return content, ".xlsx"
        return unzipped(content, source)
    for start, form in (
        (b"PAR1", ".parquet"),
        (b"ARROW1", ".arrow"),
        (b"\xff\xff\xff\xff", ".arrow"),
    ):
        if content[: len(start)] == start:
            return content, form
    start = content[:1000].removeprefix(codecs.BOM_UTF8).replace(b"\0", b"")  # also of UTF-16
    start = start.removeprefix(codecs.BOM_UTF16_LE).removeprefix(codecs.BOM_UTF16_BE)
    return content, ".json" if start.lstrip()[:1] in (b"{", b"[") else ".csv"


def unzipped(content: Content, source: str) -> tuple[bytes, str]:
    """The only table of a zip archive, and its format."""
    files = all_unzipped(content, source)
    if len(files) != 1:
        raise TableError(
            f"{source}: the archive holds {first_few(files) or 'nothing'}, but one table is "
            "expected; unpack it, and name the table"
        )
    return next(iter(files.values()))


def all_unzipped(content: Content, source: str) -> dict[str, tuple[bytes, str]]:
    """The tables of a zip archive, and their formats."""
    try:
        with zipfile.ZipFile(io.BytesIO(content[:])) as archive:
            names = _tables_among([entry for entry in archive.infolist() if not entry.is_dir()])
            if len(names) > MOST_ENTRIES:
                raise TableError(f"{source}: the archive holds {len(names):,} files; unpack it")
            found: dict[str, tuple[bytes, str]] = {}
            left = limit()
            for name in names:
                try:
                    form, compression = form_of(name, reading=True)
                except TableError as error:
                    raise TableError(f"{source}: in the archive, {error}") from None
                if compression:
                    raise TableError(
                        f"{source}: the files in the archive are themselves compressed; unpack it"
                    )
                with archive.open(name) as stream:
                    found[name] = unpacked(stream, source, TableError), form
                left -= len(found[name][0])
                if left < 0:
                    raise too_large(source, TableError)
            return found
    except (SurelabelError, MemoryError):
        raise
    except (RuntimeError, NotImplementedError) as error:  # a password, or a rare compression
        raise TableError(f"{source}: the archive cannot be unpacked ({error})") from None
    except Exception as error:  # zipfile raises many kinds of errors for damaged files
        raise TableError(f"{source}: the archive is damaged ({first_line(error)})") from None


def _tables_among(entries: list[zipfile.ZipInfo]) -> list[str]:
    """The files of an archive that may be tables; if none is, all but those that systems add."""
    names = [
        entry.filename
        for entry in entries
        if not entry.filename.startswith("__MACOSX/")
        and not Path(entry.filename).name.startswith(".")
    ]
    known = (*FORMS, *OTHER_WORKBOOKS, *COMPRESSIONS, ZIP)
    return [name for name in names if Path(name).suffix.lower() in known] or names


def _unpacked(file: BinaryIO, source: str, compression: str) -> bytes:
    try:
        with COMPRESSIONS[compression](file, "rb") as stream:
            return unpacked(stream, source, TableError)
    except MemoryError:
        raise
    except (OSError, EOFError, lzma.LZMAError, zlib.error, pa.ArrowException) as error:
        raise TableError(
            f"{source}: the file is damaged, or not compressed as its name says ({error})"
        ) from None


# -------------------------------------------------------------------- writing


@contextmanager
def packing(file: BinaryIO, path: Path, compression: str) -> Iterator[Any]:
    """A stream that compresses what is written to it."""
    if compression == ZIP:
        entry = zipfile.ZipInfo(
            path.stem
        )  # with a fixed date, so that equal tables give equal bytes
        entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
        with (
            zipfile.ZipFile(file, "w") as archive,
            archive.open(entry, "w", force_zip64=True) as stream,
        ):
            yield stream
    elif compression:
        with COMPRESSIONS[compression](file, "wb") as stream:
            yield stream
    else:
        yield file


class _KeptOpen(io.RawIOBase):
    """A file that stays open when its user closes it."""

    def __init__(self, file: BinaryIO) -> None:
        self.write = file.write  # type: ignore[method-assign]

    def writable(self) -> bool:
        return True
