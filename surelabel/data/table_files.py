"""Files and data frames ↔ :class:`pyarrow.Table`."""

from __future__ import annotations

import bz2
import codecs
import glob
import gzip
import io
import json
import lzma
import mmap
import os
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..exceptions import ParameterError, SurelabelError, TableError, first_few
from ..files import replacing
from ..text import did_you_mean
from ._delimited import (
    DIALECT,
    THREADS_FROM,
    Content,
    Dialect,
    dialect_of,
    is_cell,
    read_delimited,
)
from ._delimited import column_slices as column_slices  # these three for the layers above, too
from ._delimited import combined as combined
from ._delimited import write_delimited as write_delimited
from ._json_lines import json_rows, read_json
from ._json_lines import rows_to_table as rows_to_table
from ._workbook import read_workbook, write_workbook
from .sizes import limit, no_memory, too_large, unpacked
from .spelling import typed

TEXT_FORMS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
JSON_FORMS = (".json", ".jsonl", ".ndjson", ".jsonlines")
BINARY_FORMS = (".parquet", ".feather", ".arrow", ".xlsx")
FORMS = (*TEXT_FORMS, *JSON_FORMS, *BINARY_FORMS)
COMPRESSIONS: dict[str, Callable[..., Any]] = {
    # Python's own writer leaves an error behind on a full disk (3.14), and writes the time.
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
#: Files of an archive that are read at most.
MOST_ENTRIES = 1000
#: First bytes of files that people take for text tables, and what to do with them.
SIGNATURES = {
    b"PAR1": "this is a Parquet file; name it .parquet",
    b"ARROW1": "this is an Arrow file; name it .arrow",
    b"PK\x03\x04": "this is an Excel workbook or a zip archive; name it .xlsx or .zip",
    b"\xd0\xcf\x11\xe0": "this is an old Excel workbook; save it as .xlsx",
    b"\x1f\x8b": "this is compressed by gzip; name it .csv.gz",
    b"BZh": "this is compressed by bzip2; name it .csv.bz2",
    b"\xfd7zXZ": "this is compressed by xz; name it .csv.xz",
    b"\x28\xb5\x2f\xfd": "this is compressed by zstd; name it .csv.zst",
}
BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: Text encodings of Python's own, for words in names and programs.
NOT_OF_FILES = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")
SOURCE, FORM = b"surelabel.source", b"surelabel.form"
STANDARD_INPUT = "standard input"


# -------------------------------------------------------------------- names of things, for messages


def source_of(table: pa.Table) -> str:
    """The file that a table was read from, or "table"."""
    return str((table.schema.metadata or {}).get(SOURCE, b"table").decode("utf-8", "surrogatepass"))


def file_name(path: str | os.PathLike[str]) -> str:
    """A path as text."""
    try:
        return os.fsdecode(path)
    except TypeError:
        raise ParameterError(f"expected the name of a file, not {type(path).__name__}") from None


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def decimal_of(table: pa.Table) -> str | None:
    """The decimal separator of the text that a table was read from; None if it was not given."""
    dialect = dialect_of(table)
    return dialect.decimal if dialect else None


def find_column(table: pa.Table, name: str, source: str | None = None) -> pa.ChunkedArray:
    """The column of that name; if there is none, the message suggests one of those there are."""
    if (position := table.schema.get_field_index(name)) >= 0:
        return table.column(position)
    raise TableError(
        f"{source or source_of(table)}: there is no column {name!r}; "
        f"{suggest(name, table.column_names, 'columns')}"
    )


def suggest(name: str, known: list[str], what: str) -> str:
    """The name that was perhaps meant, and those that there are.

    >>> suggest("lable", ["text", "label"], "columns")
    "did you mean 'label'? The columns are text, label"
    """
    meant = did_you_mean(name, known)
    return f"{meant}{'T' if meant else 't'}he {what} are {first_few(known, 12)}"


# -------------------------------------------------------------------- reading


def read_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
) -> pa.Table:
    """Read a table from a file: CSV, TSV, JSON (also compressed), Excel, Parquet, Feather or Arrow.

    The cells of delimited text stay text, as they are written; those without text and quotation
    marks are missing.

    Parameters
    ----------
    path : path-like
        Its ending says what it is: ``.csv``, ``.tsv``, ``.txt``, ``.json``, ``.jsonl``,
        ``.ndjson``, ``.jsonlines`` (each also with ``.gz``, ``.bz2``, ``.xz``, ``.zst``),
        ``.xlsx``, ``.parquet``, ``.feather``, ``.arrow``, or ``.zip`` of one of these. A pattern
        such as ``"part-*.csv"`` is all these files, one below the other in the order of their
        names; ``"-"`` is standard input, whose content says what it is.
    delimiter : str, default=None
        By default found: comma, semicolon, tab or ``|``.
    encoding : str, default=None
        By default UTF-8, or UTF-16 if the file begins so.
    decimal : {".", ","}, default=None
        What stands before the decimals of numbers in delimited text; None for a point, or for what
        a model learned.
    sheet : str, default=None
        Which sheet of a workbook; by default the only one.

    Returns
    -------
    pyarrow.Table
        It has rows, and columns of different names; row 1 of messages is the first one below the
        header.
    """
    source = file_name(path)
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    if delimiter is not None and (
        len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0'
    ):
        raise TableError(f"{source}: the delimiter must be one plain character, not {delimiter!r}")
    if decimal not in (None, ".", ","):
        raise TableError(f"{source}: decimals follow a point or a comma, not {decimal!r}")

    def read(name: str) -> pa.Table:
        return _read_one(name, delimiter, encoding, decimal, sheet)

    files = files_of(source)
    return read(source) if files == [source] else _one_below_the_other(files, read, source)


def files_of(path: str | os.PathLike[str]) -> list[str]:
    """The files of a path: itself, or those that match if it is a pattern, sorted."""
    source = file_name(path)
    if not any(sign in source for sign in "*?[") or os.path.exists(source):
        return [source]
    if "\0" in source or not (found := sorted(filter(os.path.isfile, glob.glob(source)))):
        raise TableError(f"{source}: no file has a name of this pattern")
    return found


def _read_one(
    source: str,
    delimiter: str | None,
    encoding: str | None,
    decimal: str | None,
    sheet: str | None,
) -> pa.Table:
    form = ""
    try:
        if source == "-":
            source = STANDARD_INPUT
            content, form = _standard_input()
        else:
            form, compression = form_of(source, reading=True)
            content = _read_bytes(source, compression)
            if compression == ZIP:
                content, form = _unzipped(content, source)
        if sheet is not None and form != ".xlsx":
            raise TableError(f"{source}: only workbooks (.xlsx) have sheets; leave the sheet out")
        if form in BINARY_FORMS:
            table = _read_binary(content, source, form, sheet)
        else:
            content = _as_utf8(content, source, encoding)
            if form in JSON_FORMS:
                table = read_json(content, source)
            else:
                table = read_delimited(content, source, delimiter=delimiter, decimal=decimal)
        return _checked(table, source, form)
    except MemoryError:  # Arrow's, too
        raise no_memory(source) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise TableError(
            f"{source}: the file is damaged, or not a {form} file ({_first_line(error)})"
        ) from None


def read_records(path: str | os.PathLike[str]) -> dict[str, list[dict[str, Any]]]:
    """The objects of JSON files, or the rows of other tables, by the names of the files.

    Parameters
    ----------
    path : path-like
        A file, a pattern, or a zip archive of several files.

    Returns
    -------
    dict of str to list of dict
        The name without its folder and endings; for a single file, too.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for source in files_of(path):
        try:
            form, compression = form_of(source, reading=True)
            content = _read_bytes(source, compression)
            files = (
                _all_unzipped(content, source)
                if compression == ZIP
                else {Path(source).name: (content, form)}
            )
            for name, (part, form) in files.items():
                if form in JSON_FORMS:
                    text = _as_utf8(part, source, None)
                    rows = [row for piece in json_rows(text, source) for row in piece]
                else:
                    rows = read_table(source).to_pylist()
                found[name.partition(".")[0]] = rows
        except MemoryError:
            raise no_memory(source) from None
    return found


def _one_below_the_other(
    files: list[str], read: Callable[[str], pa.Table], pattern: str
) -> pa.Table:
    """The rows of several files; they have the same columns, in any order."""
    tables: list[pa.Table] = []
    for name in files:
        table = read(name)
        first = tables[0] if tables else table
        if set(first.column_names) != set(table.column_names):
            other = min(set(first.column_names) ^ set(table.column_names))
            has, lacks = (name, files[0]) if other in table.column_names else (files[0], name)
            raise TableError(
                f"{pattern}: {has} has a column {other!r}, and {lacks} has none; read files of the "
                "same columns together"
            )
        tables.append(table.select(first.column_names))
    fields = []
    for i, field in enumerate(tables[0].schema):
        kinds = [pa.schema([(field.name, table.schema[i].type)]) for table in tables]
        try:
            kind = pa.unify_schemas(kinds, promote_options="permissive")[0].type
        except pa.ArrowException:
            other = next(k for k in range(len(files)) if kinds[k] != kinds[0])
            raise TableError(
                f"{pattern}: column {field.name!r} holds {in_words(field.type)} in {files[0]} and "
                f"{in_words(tables[other].schema[i].type)} in {files[other]}; use one type"
            ) from None
        fields.append(pa.field(field.name, kind, metadata=field.metadata))
    schema = pa.schema(fields, tables[0].schema.metadata)
    joined = pa.concat_tables(
        [table.replace_schema_metadata(schema.metadata).cast(schema) for table in tables]
    )
    form = (schema.metadata or {}).get(FORM, b"").decode()
    return _checked(joined, pattern, form)


def form_of(path: str | os.PathLike[str], *, reading: bool = False) -> tuple[str, str]:
    """The form of a file and its compression, by its endings; for reading, the form of what is in
    a zip archive need not be known.
    """
    endings = [ending.lower() for ending in Path(file_name(path)).suffixes]
    packed = (*COMPRESSIONS, ZIP)
    compression = endings.pop() if endings and endings[-1] in packed else ""
    form = endings[-1] if endings else ""
    if compression == ZIP and reading:
        return "", ZIP
    if compression == ZIP and form not in FORMS:
        raise TableError(f"{path}: say what is in the archive: name it .csv.zip, for example")
    if form not in FORMS or (compression and form in BINARY_FORMS):
        if form in (".xls", ".ods", ".xlsb", ".xlsm"):
            raise TableError(f"{path}: {form} files are not read; save the workbook as .xlsx")
        raise TableError(
            f"{path}: tables are files ending in {', '.join(FORMS)} (text also with "
            f"{', '.join(packed)}), not in "
            f"{form + compression or 'nothing'!r}"
        )
    return form, compression


def _standard_input() -> tuple[Content, str]:
    """All of standard input, unpacked, and what it is."""
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
    if content[:4] == b"PK\x03\x04":
        if b"[Content_Types].xml" in content[:]:
            return content, ".xlsx"
        return _unzipped(content, STANDARD_INPUT)
    for start, form in (
        (b"PAR1", ".parquet"),
        (b"ARROW1", ".arrow"),
        (b"\xff\xff\xff\xff", ".arrow"),
    ):
        if content[: len(start)] == start:
            return content, form
    return content, ".json" if content[:1000].lstrip()[:1] in (b"{", b"[") else ".csv"


def _unzipped(content: Content, source: str) -> tuple[bytes, str]:
    """The only table of a zip archive, and its form."""
    files = _all_unzipped(content, source)
    if len(files) != 1:
        raise TableError(
            f"{source}: the archive holds {first_few(files) or 'nothing'}, where one table is "
            "expected; unpack it, and name the table"
        )
    return next(iter(files.values()))


def _all_unzipped(content: Content, source: str) -> dict[str, tuple[bytes, str]]:
    """The tables of a zip archive, and their forms."""
    try:
        with zipfile.ZipFile(io.BytesIO(content[:])) as archive:
            names = [
                entry.filename
                for entry in archive.infolist()
                if not entry.is_dir()
                and not entry.filename.startswith("__MACOSX/")
                and not Path(entry.filename).name.startswith(".")
            ]
            if len(names) > MOST_ENTRIES:
                raise TableError(f"{source}: the archive holds {len(names):,} files; unpack it")
            found, left = {}, limit()
            for name in names:
                form, compression = form_of(name, reading=True)
                if compression:
                    raise TableError(
                        f"{source}: what is in the archive is compressed again; unpack it"
                    )
                with archive.open(name) as stream:
                    found[name] = unpacked(stream, source, TableError), form
                left -= len(found[name][0])
                if left < 0:
                    raise too_large(source, TableError)
            return {Path(name).name: part for name, part in found.items()}
    except (SurelabelError, MemoryError):
        raise
    except (RuntimeError, NotImplementedError) as error:  # a password, or a rare compression
        raise TableError(f"{source}: the archive cannot be unpacked ({error})") from None
    except Exception as error:  # zipfile has many errors for what is damaged
        raise TableError(f"{source}: the archive is damaged ({_first_line(error)})") from None


def _read_bytes(source: str, compression: str) -> Content:
    """All bytes of a text file: mapped into memory, not copied, where they are not compressed."""
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
    except ValueError as error:  # of names that no file can have
        problem = str(error)
    raise TableError(f"{source}: the file cannot be read ({problem})")


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


def _as_utf8(content: Content, source: str, encoding: str | None) -> Content:
    if not len(content):
        raise TableError(f"{source}: the file is empty; a table has a header line and rows")
    for signature, advice in SIGNATURES.items():
        if content[: len(signature)] == signature:
            raise TableError(f"{source}: {advice}")
    encoding = encoding or next(
        (name for bom, name in BOMS.items() if content[: len(bom)] == bom), "utf-8"
    )
    name = _text_encoding(encoding, source)
    if name not in ("utf-8", "utf-8-sig"):
        content = _decoded(content, source, name)
    if (nul := content.find(b"\0")) >= 0:
        line = content[:nul].count(b"\n") + 1
        raise TableError(
            f"{source}: line {line} holds a NUL byte: this is not text (if it is, name its "
            "encoding: utf-16-le?)"
        )
    _check_utf8(content, source)
    return content


def _text_encoding(encoding: str, source: str) -> str:
    """The name by which Python knows an encoding of text files."""
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, ValueError):
        codec = None
    # Python has codecs that make no text (base64, zlib), and some for words within a text.
    if codec is None or not codec._is_text_encoding or codec.name in NOT_OF_FILES:
        raise TableError(
            f"{source}: there is no text encoding {encoding!r}; common ones are utf-8, latin-1, "
            "cp1252, utf-16"
        )
    return codec.name


def _decoded(content: Content, source: str, encoding: str) -> bytes:
    """The content as UTF-8."""
    try:
        text = content[:].decode(encoding)
    except UnicodeDecodeError as error:
        line, reason = content[: error.start].count(b"\n") + 1, error.reason
    else:
        try:
            return text.encode()
        except UnicodeEncodeError as error:  # utf-7 can write half a character
            line, reason = text[: error.start].count("\n") + 1, "half a character"
    raise TableError(f"{source}: line {line} is not {encoding} ({reason}); name another encoding")


def _check_utf8(content: Content, source: str) -> None:
    offsets = pa.py_buffer(np.array([0, len(content)], np.int64))
    try:  # Arrow checks a gigabyte in a fraction of a second, but does not say where
        pa.Array.from_buffers(
            pa.large_string(), 1, [None, offsets, pa.py_buffer(content)]
        ).validate(full=True)
    except pa.ArrowInvalid:
        try:
            content[:].decode()
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise TableError(
                f"{source}: line {line} holds the byte 0x{content[error.start]:02x}, which is not "
                "UTF-8; name the file's "
                "encoding, often latin-1 (--encoding latin-1), or save it as UTF-8"
            ) from None


def _read_binary(content: Content, source: str, form: str, sheet: str | None) -> pa.Table:
    if not len(content):
        raise TableError(f"{source}: the file is empty")
    if form == ".xlsx":
        return read_workbook(content, source, sheet)
    file = pa.BufferReader(pa.py_buffer(content))
    if form == ".parquet":
        with pq.ParquetFile(file) as parquet:
            return parquet.read(use_threads=len(content) >= THREADS_FROM)
    try:
        return pa.ipc.open_file(file).read_all()
    except pa.ArrowInvalid:  # Arrow has a second form, without the table of contents at the end
        file.seek(0)
        return pa.ipc.open_stream(file).read_all()


def _checked(table: pa.Table, source: str, form: str = "") -> pa.Table:
    """The table with its name, in plain types; refused without rows and with two columns of one
    name.
    """
    names = table.column_names
    twice = (
        [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if len(set(names)) < len(names)
        else []
    )
    if twice:
        raise TableError(
            f"{source}: more than one column is named {first_few(map(repr, twice))}; rename the "
            "others"
        )
    if not table.num_rows or not table.num_columns:
        raise TableError(f"{source}: the table has no {'rows' if table.num_columns else 'columns'}")
    table.validate(full=True)  # else damaged cells could end the process when they are used
    for i, field in enumerate(table.schema):
        _check_zones(field.type, f"{source}: column {field.name!r}")
        plain = _plain_type(field.type)
        if plain != field.type:
            table = table.set_column(i, field.name, table.column(i).cast(plain))
    dialect = (table.schema.metadata or {}).get(DIALECT)
    return table.replace_schema_metadata(
        {SOURCE: source.encode("utf-8", "surrogatepass"), FORM: form.encode()}
        | ({DIALECT: dialect} if dialect else {})
    )


def _check_zones(kind: pa.DataType, where: str) -> None:
    """Refuse times of a zone that is not known: they could be read, but not be printed."""
    for i in range(kind.num_fields):
        _check_zones(kind.field(i).type, where)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        try:
            pa.scalar(0, kind).as_py()
        except (ValueError, LookupError, OSError):  # as zoneinfo raises them
            raise TableError(
                f"{where} holds times of a zone {kind.tz!r}, which is not known"
            ) from None


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The common type behind one that few functions know."""
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_type(kind.storage_type)
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_run_end_encoded(kind) or (pa.types.is_dictionary(kind) and not is_text(kind)):
        return _plain_type(kind.value_type)
    return kind


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text, also if each different one is stored once."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def in_words(kind: pa.DataType) -> str:
    """What the values of a type are.

    >>> in_words(pa.date32()), in_words(pa.list_(pa.string()))
    ('dates', 'lists of text')
    """
    types = pa.types
    if types.is_dictionary(kind):
        return in_words(kind.value_type)
    if is_list(kind):
        return f"lists of {in_words(kind.value_type)}"
    words = {
        "text": is_text(kind),
        "truth values": types.is_boolean(kind),
        "whole numbers": types.is_integer(kind),
        "numbers": types.is_floating(kind) or types.is_decimal(kind),
        "dates": types.is_date(kind),
        "dates with times": types.is_timestamp(kind),
        "times": types.is_temporal(kind),
        "objects": types.is_struct(kind) or types.is_map(kind),
        "nothing": types.is_null(kind),
    }
    return next((word for word, fits in words.items() if fits), str(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether a column holds numbers."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def is_list(kind: pa.DataType) -> bool:
    """Whether a column holds lists."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


# -------------------------------------------------------------------- writing


def write_table(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a file, whole or not at all; a file that is there stays as it was until the
    new one is complete.

    Text read from a file of the same ending has the same delimiter, line ends and mark of UTF-8
    again. In files that have types, its columns become whole numbers, numbers, dates or times where
    every value survives; else they stay text.

    Parameters
    ----------
    table : pyarrow.Table
        The table. In delimited text, missing cells are empty and lists are JSON.
    path : path-like
        Its ending says what it becomes, as for :func:`read_table`.
    """
    form, compression = form_of(path)
    if form not in TEXT_FORMS:
        table = _with_types(table, dates=form in BINARY_FORMS)
    try:
        with replacing(path) as file, _packing(file, Path(file_name(path)), compression) as stream:
            if form in TEXT_FORMS:
                write_delimited(table, stream, dialect_for(table, form))
            else:
                _write(table, stream, form)
    except MemoryError:  # Arrow's is an ArrowException, too, and says nothing about the table
        raise
    except (pa.ArrowException, OverflowError) as error:  # of times that Python does not have
        raise TableError(
            f"{path}: a {form} file cannot hold this table ({str(error).splitlines()[0]}); use "
            ".parquet"
        ) from None
    except OSError as error:
        raise TableError(
            f"{path}: the file cannot be written ({error.strerror or error}); free some "
            "space, or write it somewhere else; nothing was changed"
        ) from None


@contextmanager
def _packing(file: BinaryIO, path: Path, compression: str) -> Iterator[Any]:
    """What to write to, so that the file is compressed."""
    if compression == ZIP:
        entry = zipfile.ZipInfo(path.stem)  # of a fixed date: equal tables are equal bytes
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


def dialect_for(table: pa.Table, form: str) -> Dialect:
    """How a table is written as text: as it was, if it was read from text of this form."""
    dialect = dialect_of(table)
    if dialect is not None and table.schema.metadata.get(FORM, b"").decode() == form:
        return dialect
    return Dialect(TEXT_FORMS[form])


def _with_types(table: pa.Table, *, dates: bool) -> pa.Table:
    """The table with types for the cells of a text file, and without what we noted about them."""
    dialect, columns, fields = dialect_of(table) or Dialect(), [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        if is_cell(field) and pa.types.is_string(field.type):
            found = typed(combined(column), dialect.decimal or ".", dates=dates)
            column = column if is_text(found.type) else found
            field = pa.field(field.name, column.type)
        columns.append(column)
        fields.append(field)
    metadata = {
        key: value
        for key, value in (table.schema.metadata or {}).items()
        if key not in (SOURCE, FORM, DIALECT)
    }
    return pa.table(columns, schema=pa.schema(fields, metadata))


def _write(table: pa.Table, file: BinaryIO, form: str) -> None:
    if form == ".parquet":
        pq.write_table(table, file)
    elif form == ".xlsx":
        write_workbook(table, file)
    elif form in BINARY_FORMS:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    else:
        before, between, after = ("[\n", ",\n", "\n]\n") if form == ".json" else ("", "\n", "\n")
        for batch in table.to_batches(max_chunksize=1 << 14):
            lines = (
                json.dumps(_without_nan(row), ensure_ascii=False, default=_as_json)
                for row in batch.to_pylist()
            )
            if batch.num_rows:
                file.write((before + between.join(lines)).encode())
                before = between
        file.write(after.encode())
        if lost := sum(_infinities(column) for column in table.columns):
            warnings.warn(
                f"{lost} infinite number(s) became null: JSON has no form for them; use .parquet",
                stacklevel=3,
            )


def _infinities(column: pa.ChunkedArray) -> int:
    while is_list(column.type):
        column = pc.list_flatten(column)
    return pc.sum(pc.is_inf(column)).as_py() or 0 if pa.types.is_floating(column.type) else 0


def _as_json(value: Any) -> Any:
    """What JSON has no form for, as text; a decimal number stays one if it survives."""
    if isinstance(value, Decimal):
        if value.as_tuple().exponent == 0:  # a whole number of more than 64 bits
            return int(value)
        return float(value) if Decimal(repr(float(value))) == value else str(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise pa.ArrowInvalid("it holds bytes that are not text") from None
    return str(value)


def _without_nan(value: Any) -> Any:
    """JSON has no NaN and no infinity."""
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


class _KeptOpen(io.RawIOBase):
    """A file that stays open when its user closes it."""

    def __init__(self, file: BinaryIO) -> None:
        self.write = file.write  # type: ignore[method-assign]

    def writable(self) -> bool:
        return True


# -------------------------------------------------------------------- data frames


def from_frame(frame: Any) -> pa.Table:
    """A pandas, polars or other data frame as a table.

    Parameters
    ----------
    frame : data frame
        Of any library that narwhals knows; a :class:`pyarrow.Table` is taken as it is.

    Returns
    -------
    pyarrow.Table
    """
    import narwhals as nw

    known = None
    try:
        known = nw.from_native(frame, eager_only=True)
        return _checked(nw.maybe_reset_index(known).to_arrow(), "table")
    except (SurelabelError, MemoryError):
        raise
    except Exception as error:  # every library has errors of its own for what is no table
        if known is None and isinstance(error, TypeError):
            raise TableError(
                "expected a data frame in memory (pandas, polars, pyarrow, ...), not "
                f"{type(frame).__name__}"
            ) from None
        reason = " ".join("; ".join(map(str, error.args)).split())
        raise TableError(
            f"the data frame cannot be made a table ({reason}); give each column one type and a "
            "name of its own"
        ) from None


def to_frame(table: pa.Table, like: Any) -> Any:
    """A table as a data frame of the same kind as ``like``, with its row index if it has one and as
    many rows.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    like : data frame
        A frame of the kind wanted.

    Returns
    -------
    data frame
    """
    import narwhals as nw

    if isinstance(like, pa.Table) and source_of(like) != "table":
        return table
    backend = nw.from_native(like, eager_only=True).implementation
    native = nw.from_arrow(table.replace_schema_metadata(None), backend=backend).to_native()
    if backend.is_pandas_like() and len(like) == len(native):
        native.index = like.index
    return native
