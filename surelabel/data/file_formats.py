"""The format of a file, by its name or its first bytes, and its unpacked content."""

from __future__ import annotations

import codecs
import glob
import gzip
import io
import mmap
import os
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..exceptions import ParameterError, SurelabelError, TableError
from .unpacking import check_members, unpacked

Content = bytes | mmap.mmap

TEXT_FORMS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
JSON_FORMS = (".json", ".jsonl", ".jl", ".ndjson", ".jsonlines")
BINARY_FORMS = (".parquet", ".feather", ".arrow", ".xlsx")
FORMS = (*TEXT_FORMS, *JSON_FORMS, *BINARY_FORMS)
GZIP, ZIP = ".gz", ".zip"
#: Other formats, and what to use in their place.
OTHER_FORMS = {
    **dict.fromkeys((".xls", ".ods", ".xlsb", ".xlsm"), ".xlsx"),
    **dict.fromkeys((".bz2", ".xz", ".zst"), GZIP),
}
#: How files that are not text begin.
SIGNATURES = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrow",  # Arrow's streaming format
    b"PK\x03\x04": ".xlsx or .zip",
    b"\x1f\x8b": GZIP,
}
STANDARD_INPUT = "standard input"


# -------------------------------------------------------------------- names


def path_text(path: str | os.PathLike[str]) -> str:
    """A path as text."""
    try:
        return os.fsdecode(path)
    except TypeError:
        raise ParameterError(f"expected a file name, not {type(path).__name__}") from None


def files_of(path: str | os.PathLike[str]) -> list[str]:
    """The files of a path: the path itself, or, for a pattern, the files that match, sorted."""
    source = path_text(path)
    if not any(sign in source for sign in "*?[") or os.path.exists(source):
        return [source]
    if "\0" in source or not (found := sorted(filter(os.path.isfile, glob.glob(source)))):
        raise TableError(f"{source}: no file matches this pattern")
    return found


def form_of(path: str | os.PathLike[str], *, reading: bool = False) -> tuple[str, str]:
    """The format of a file and its compression, by its extensions. For reading, the name of a zip
    archive need not say what is in it: the format is "".
    """
    endings = [ending.lower() for ending in Path(path_text(path)).suffixes]
    compression = endings.pop() if endings and endings[-1] in (GZIP, ZIP) else ""
    form = endings[-1] if endings else ""
    if compression == ZIP and reading:
        return "", compression
    if form in OTHER_FORMS:
        raise TableError(
            f"{path}: {form} files are neither read nor written; use {OTHER_FORMS[form]}"
        )
    if compression == ZIP and form not in FORMS:
        raise TableError(f"{path}: the name must say what is in the archive, for example .csv.zip")
    if form not in FORMS or (compression and form in BINARY_FORMS):
        raise TableError(
            f"{path}: the extension of a table must be one of {', '.join(FORMS)} (for text, "
            f"optionally followed by {GZIP} or {ZIP}), not {form + compression!r}"
        )
    return form, compression


def signature(content: Content) -> str:
    """The format that the first bytes indicate; "" for text."""
    return next((form for start, form in SIGNATURES.items() if content[: len(start)] == start), "")


# -------------------------------------------------------------------- reading


def contents(source: str) -> dict[str, tuple[Content, str]]:
    """The content and format of a file, by its name. A zip archive gives every table in it; "-" is
    standard input.
    """
    if source == "-":
        return _standard_input()
    form, compression = form_of(source, reading=True)
    content = _read_bytes(source, compression)
    return _unzipped(content, source) if compression == ZIP else {source: (content, form)}


def damaged(source: str, error: BaseException) -> TableError:
    """The error for a file that its reader refuses."""
    why = next(iter(str(error).splitlines()), type(error).__name__)
    return TableError(f"{source}: the file is damaged, or not what its name says ({why})")


def _read_bytes(source: str, compression: str) -> Content:
    """All bytes of a file; uncompressed ones are mapped into memory rather than copied."""
    try:
        with open(source, "rb") as file:
            if compression == GZIP:
                return _gunzipped(file, source)
            regular = os.fstat(file.fileno()).st_size
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if regular else file.read()
    except OSError as error:
        problem = error.strerror or str(error)
    except SurelabelError:
        raise
    except ValueError as error:  # an impossible file name
        problem = str(error)
    raise TableError(f"{source}: the file cannot be read ({problem})")


def _standard_input() -> dict[str, tuple[Content, str]]:
    """All of standard input, unpacked; its content tells the format."""
    if sys.stdin is None or sys.stdin.isatty():
        raise TableError(
            f"{STANDARD_INPUT}: there is nothing to read; send a table through a pipe, or name a "
            "file"
        )
    content = unpacked(sys.stdin.buffer, STANDARD_INPUT, TableError)
    if signature(content) == GZIP:
        content = _gunzipped(io.BytesIO(content), STANDARD_INPUT)
    form = signature(content)
    if form == ".xlsx or .zip":
        if b"[Content_Types].xml" not in content:  # which every workbook has
            return _unzipped(content, STANDARD_INPUT)
        form = ".xlsx"
    if not form:
        start = content[:1000].removeprefix(codecs.BOM_UTF8).replace(b"\0", b"")  # also of UTF-16
        start = start.removeprefix(codecs.BOM_UTF16_LE).removeprefix(codecs.BOM_UTF16_BE)
        form = ".json" if start.lstrip()[:1] in (b"{", b"[") else ".csv"
    return {STANDARD_INPUT: (content, form)}


def _gunzipped(file: BinaryIO, source: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            return unpacked(stream, source, TableError)
    except (OSError, EOFError, zlib.error) as error:
        raise damaged(source, error) from None


def _unzipped(content: Content, source: str) -> dict[str, tuple[Content, str]]:
    """The tables of a zip archive, by their names in it."""
    found: dict[str, tuple[Content, str]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content[:])) as archive:
            names = _tables_among(archive.namelist())
            check_members(map(archive.getinfo, names), source, TableError)
            for name in names:
                try:
                    form, compression = form_of(name, reading=True)
                except TableError as error:
                    raise TableError(f"{source}: in the archive, {error}") from None
                if compression:
                    raise TableError(
                        f"{source}: the files in the archive are themselves compressed; unpack it"
                    )
                found[name] = archive.read(name), form
    except (SurelabelError, MemoryError):
        raise
    except Exception as error:  # a password or damage: zipfile raises errors of many kinds
        raise damaged(source, error) from None
    return found


def _tables_among(names: list[str]) -> list[str]:
    """The files of an archive that may be tables; if none, all except those that systems add."""
    names = [
        name
        for name in names
        if not name.startswith("__MACOSX/")
        and not name.endswith("/")
        and not Path(name).name.startswith(".")
    ]
    known = (*FORMS, *OTHER_FORMS, GZIP, ZIP)
    return [name for name in names if Path(name).suffix.lower() in known] or names


# -------------------------------------------------------------------- writing


@contextmanager
def packing(file: BinaryIO, path: Path, compression: str) -> Iterator[Any]:
    """A stream that compresses what is written to it; equal tables give equal bytes, because no
    time is written.
    """
    if compression == ZIP:
        entry = zipfile.ZipInfo(path.stem)
        entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
        with (
            zipfile.ZipFile(file, "w") as archive,
            archive.open(entry, "w", force_zip64=True) as stream,
        ):
            yield stream
    elif compression == GZIP:
        packed = _Gzip(file)
        yield packed
        packed.finish()
    else:
        yield file


class _Gzip:
    """Compresses what is written to a file. Unlike Python's own class, it leaves nothing to be
    written when it is deleted, which would fail again on a full disk.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)  # 16: with gzip's header

    def write(self, data: bytes) -> None:
        self._file.write(self._packer.compress(data))

    def finish(self) -> None:
        self._file.write(self._packer.flush())
