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
from pathlib import Path

from ..exceptions import ParameterError, SurelabelError, TableError
from .unpacking import check_members, unpacked

Content = bytes | mmap.mmap

TEXT_FORMS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
JSON_FORMS = (".json", ".jsonl", ".jl", ".ndjson", ".jsonlines")
BINARY_FORMS = (".parquet", ".feather", ".arrow", ".xlsx")
FORMS = (*TEXT_FORMS, *JSON_FORMS, *BINARY_FORMS)
GZIP, ZIP = ".gz", ".zip"
#: How files that are not text begin.
SIGNATURES = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrow",  # Arrow's streaming format
    b"PK\x03\x04": ".xlsx",  # or a zip archive
    b"\x1f\x8b": GZIP,
}
STANDARD_INPUT = "standard input"


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
    """The format of a file and its compression, by its extensions. Zip archives are only read; what
    is in them says their format, which is "" here.
    """
    endings = [ending.lower() for ending in Path(path_text(path)).suffixes]
    compression = endings.pop() if endings and endings[-1] in (GZIP, ZIP) else ""
    form = endings[-1] if endings else ""
    if compression == ZIP and reading:
        return "", ZIP
    if form not in FORMS or compression == ZIP or (compression and form in BINARY_FORMS):
        raise TableError(
            f"{path}: the extension of a table must be one of {', '.join(FORMS)} (for text, "
            f"optionally followed by {GZIP}), not {form + compression!r}"
        )
    return form, compression


def signature(content: Content) -> str:
    """The format that the first bytes indicate; "" for text."""
    return next((form for start, form in SIGNATURES.items() if content[: len(start)] == start), "")


# -------------------------------------------------------------------- content


def contents(source: str) -> dict[str, tuple[Content, str]]:
    """The content and format of a file, by its name. A zip archive gives every table in it; "-" is
    standard input.
    """
    if source == "-":
        return {STANDARD_INPUT: _standard_input()}
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
                try:
                    with gzip.GzipFile(fileobj=file) as stream:
                        return unpacked(stream, source, TableError)
                except (OSError, EOFError, zlib.error) as error:
                    raise damaged(source, error) from None
            regular = os.fstat(file.fileno()).st_size
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if regular else file.read()
    except SurelabelError:
        raise
    except (OSError, ValueError) as error:  # ValueError: an impossible file name
        why = getattr(error, "strerror", None) or error
        raise TableError(f"{source}: the file cannot be read ({why})") from None


def _standard_input() -> tuple[Content, str]:
    """All of standard input; its first bytes tell the format."""
    if sys.stdin is None or sys.stdin.isatty():
        raise TableError(
            f"{STANDARD_INPUT}: there is nothing to read; send a table through a pipe, or name a "
            "file"
        )
    content = unpacked(sys.stdin.buffer, STANDARD_INPUT, TableError)
    start = content[:1000].removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    form = signature(content)
    if form not in BINARY_FORMS:
        form = ".json" if start in (b"{", b"[") else ".csv"
    return content, form


def _unzipped(content: Content, source: str) -> dict[str, tuple[Content, str]]:
    """The tables of a zip archive, by their names in it; other files are ignored."""
    try:
        with zipfile.ZipFile(io.BytesIO(content[:])) as archive:
            forms = {
                name: Path(name).suffix.lower()
                for name in archive.namelist()
                if not name.startswith("__MACOSX/") and Path(name).suffix.lower() in FORMS
            }
            check_members(map(archive.getinfo, forms), source, TableError)
            return {name: (archive.read(name), form) for name, form in forms.items()}
    except (SurelabelError, MemoryError):
        raise
    except Exception as error:  # a password or damage: zipfile raises errors of many kinds
        raise damaged(source, error) from None
