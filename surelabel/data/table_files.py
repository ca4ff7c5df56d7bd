"""Files ↔ :class:`pyarrow.Table`."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from ..exceptions import TableError, first_few
from ..files import replacing
from ._delimited import BLOCK, Dialect, as_utf8, dialect_of, read_delimited, write_delimited
from ._workbook import read_workbook, write_workbook
from .arrow_tables import (
    checked_table,
    combined,
    decimal_of,
    form_read,
    is_cell,
    is_text,
    with_decimal,
)
from .file_formats import (
    BINARY_FORMS,
    JSON_FORMS,
    STANDARD_INPUT,
    TEXT_FORMS,
    Content,
    contents,
    damaged,
    files_of,
    form_of,
    path_text,
)
from .json_lines import json_rows, read_json, write_json
from .text_values import typed
from .unpacking import no_memory

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

    The cells of delimited text stay text, as written; empty cells without quotation marks are
    missing. Rare types of Arrow, such as half floats, become the common ones.

    Parameters
    ----------
    path : path-like
        Its extension gives the format: ``.csv``, ``.tsv``, ``.tab``, ``.txt``, ``.json``,
        ``.jsonl``, ``.jl``, ``.ndjson``, ``.jsonlines`` (each also with ``.gz``), ``.xlsx``,
        ``.parquet``, ``.feather``, ``.arrow``, or ``.zip`` of one of these. A pattern such as
        ``"part-*.csv"`` means all matching files, one after another in the order of their names;
        ``"-"`` is standard input, whose format is detected.
    delimiter : str, default=None
        By default detected: comma, semicolon, tab or ``|``.
    encoding : str, default=None
        By default UTF-8, or UTF-16 if the file begins with its byte order mark.
    decimal : {".", ","}, default=None
        The decimal separator of numbers that are written as text; None for a point, or for the
        one that a model learned.
    sheet : str, default=None
        The sheet of a workbook; by default the only one.

    Returns
    -------
    pyarrow.Table
        It has at least one row, and columns with different names. In messages, row 1 is the first
        one below the header.
    """
    source = path_text(path)
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    if delimiter is not None and (
        len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0'
    ):
        raise TableError(f"{source}: the delimiter must be one plain character, not {delimiter!r}")
    files = files_of(source)
    tables = [_read_one(name, delimiter, encoding, sheet) for name in files]
    table = tables[0] if files == [source] else _stacked(tables, files, source)
    return with_decimal(table, decimal)


def _read_one(
    path: str, delimiter: str | None, encoding: str | None, sheet: str | None
) -> pa.Table:
    source = STANDARD_INPUT if path == "-" else path
    with _reading(source):
        found = contents(path)
        if len(found) != 1:
            raise TableError(
                f"{source}: the archive holds {first_few(found) or 'nothing'}, but one table is "
                "expected; unpack it, and name the table"
            )
        ((content, form),) = found.values()
        if sheet is not None and form != ".xlsx":
            raise TableError(f"{source}: only workbooks (.xlsx) have sheets; leave the sheet out")
        if not len(content):
            raise TableError(f"{source}: the file is empty; a table has a header line and rows")
        if form == ".xlsx":
            table = read_workbook(content, source, sheet)
        elif form in BINARY_FORMS:
            table = _read_arrow(content, form)
        elif form in JSON_FORMS:
            table = read_json(as_utf8(content, source, encoding), source)
        else:
            table = read_delimited(as_utf8(content, source, encoding), source, delimiter)
        return checked_table(table, source, form)


@contextmanager
def _reading(source: str) -> Iterator[None]:
    """Say in one sentence what is wrong with a file."""
    try:
        yield
    except MemoryError:  # includes Arrow's
        raise no_memory(source) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged(source, error) from None


def _read_arrow(content: Content, form: str) -> pa.Table:
    file = pa.BufferReader(pa.py_buffer(content))
    if form == ".parquet":
        with pq.ParquetFile(file) as parquet:
            return parquet.read(use_threads=len(content) >= BLOCK)
    try:
        return pa.ipc.open_file(file).read_all()
    except pa.ArrowInvalid:  # Arrow's streaming format has no table of contents at the end
        file.seek(0)
        return pa.ipc.open_stream(file).read_all()


def _stacked(tables: list[pa.Table], files: list[str], pattern: str) -> pa.Table:
    """The rows of several files, which must have the same columns, in any order."""
    for name, table in zip(files, tables, strict=True):
        if different := set(tables[0].column_names) ^ set(table.column_names):
            raise TableError(
                f"{pattern}: only one of {files[0]} and {name} has a column {min(different)!r}; "
                "all files must have the same columns"
            )
    try:
        joined = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise TableError(f"{pattern}: the files differ in a type ({error}); use one type") from None
    return checked_table(joined, pattern, form_read(tables[0]))


def read_records(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The objects of JSON files; the path may be a pattern, or a zip archive of several files."""
    found: list[dict[str, Any]] = []
    for source in files_of(path):
        with _reading(source):
            for content, _ in contents(source).values():
                if content[:].strip():
                    found += json_rows(as_utf8(content, source, None), source)
    return found


# -------------------------------------------------------------------- writing


def write_table(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a file, completely or not at all; an existing file stays as it is until the
    new one is complete.

    Text that was read from a file with the same extension keeps its delimiter, line ends and byte
    order mark. In formats with types, text columns become integers or floats if no value changes;
    otherwise they stay text.

    Parameters
    ----------
    table : pyarrow.Table
        The table. In delimited text, missing cells are empty and lists are JSON.
    path : path-like
        Its extension gives the format, as for :func:`read_table`; ``"-"`` is CSV to standard
        output.
    """
    name = path_text(path)
    form, compression = (".csv", "") if name == "-" else form_of(path)
    try:
        if name == "-":
            _write(table, sys.stdout.buffer, form)
            sys.stdout.buffer.flush()
            return
        with replacing(path) as file:
            if compression:
                packed = _Gzip(file)
                _write(table, packed, form)
                packed.finish()
            else:
                _write(table, file, form)
    except MemoryError:  # Arrow's is also an ArrowException, and is not about the table
        raise
    except (pa.ArrowException, OverflowError) as error:  # times that Python cannot represent
        raise TableError(
            f"{path}: a {form} file cannot hold this table ({str(error).splitlines()[0]}); use "
            ".parquet"
        ) from None
    except OSError as error:
        if name == "-":  # closed by its reader, for one
            raise
        raise TableError(
            f"{path}: the file cannot be written ({error.strerror or error}); free some "
            "space, or write it somewhere else; nothing was changed"
        ) from None


class _Gzip:
    """Compresses what is written to a file. Unlike Python's own class, it leaves nothing to be
    written when it is deleted, which would fail again on a full disk; and it writes no time, so
    that equal tables give equal bytes.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)  # 16: with gzip's header

    def write(self, data: bytes) -> None:
        self._file.write(self._packer.compress(data))

    def finish(self) -> None:
        self._file.write(self._packer.flush())


def write_as_text(table: pa.Table, file: BinaryIO, form: str = ".csv") -> None:
    """Write a table as text to an open file, as it was written if it was read in this format."""
    dialect = dialect_of(table) if form_read(table) == form else None
    write_delimited(table, file, dialect or Dialect(TEXT_FORMS[form]))


def _write(table: pa.Table, file: Any, form: str) -> None:
    if form in TEXT_FORMS:
        write_as_text(table, file, form)
        return
    table = _with_types(table)
    if form in JSON_FORMS:
        write_json(table, file, listed=form == ".json")
    elif form == ".parquet":
        pq.write_table(table, file)
    elif form == ".xlsx":
        write_workbook(table, file)
    else:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)


def _with_types(table: pa.Table) -> pa.Table:
    """The table with types for the cells of a text file, and without our metadata."""
    columns, fields = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        if is_cell(field) and pa.types.is_string(field.type):
            found = typed(combined(column), decimal_of(table) or ".")
            column = column if is_text(found.type) else found
            field = pa.field(field.name, column.type)
        columns.append(column)
        fields.append(field)
    metadata = {
        key: value
        for key, value in (table.schema.metadata or {}).items()
        if not key.startswith(b"surelabel.")
    }
    return pa.table(columns, schema=pa.schema(fields, metadata))
