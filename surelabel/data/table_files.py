"""Files ↔ :class:`pyarrow.Table`."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from ..exceptions import TableError
from ..files import replacing
from ._delimited import DIALECT, THREADS_FROM, Content, Dialect, dialect_of, is_cell, read_delimited
from ._delimited import write_delimited as write_delimited  # for the layers above, too
from ._json_lines import json_rows, read_json, write_json
from ._json_lines import rows_to_table as rows_to_table
from ._packed_files import (
    BINARY_FORMS,
    STANDARD_INPUT,
    ZIP,
    all_unzipped,
    first_line,
    packing,
    read_bytes,
    recognised,
    standard_input,
    unzipped,
)
from ._packed_files import JSON_FORMS as JSON_FORMS
from ._packed_files import TEXT_FORMS as TEXT_FORMS
from ._packed_files import file_name as file_name
from ._packed_files import files_of as files_of
from ._packed_files import form_of as form_of
from ._text_encoding import as_utf8
from ._workbook import MIXED, cell_types, read_workbook, write_workbook
from .arrow_tables import (
    DECIMAL,
    FORM,
    SOURCE,
    TYPE,
    check_decimal,
    checked,
    combined,
    given_type,
    in_words,
    is_text,
    source_of,
    with_decimal,
    with_given_types,
)
from .sizes import no_memory
from .spelling import typed

#: What the readers of damaged files raise.
DAMAGE = (pa.ArrowException, OSError, UnicodeDecodeError)

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
        Its extension gives the format: ``.csv``, ``.tsv``, ``.tab``, ``.txt``, ``.json``,
        ``.jsonl``, ``.jl``, ``.ndjson``, ``.jsonlines`` (each also with ``.gz``, ``.bz2``, ``.xz``,
        ``.zst``), ``.xlsx``, ``.parquet``, ``.feather``, ``.arrow``, or ``.zip`` of one of these.
        The format of ``a.gz`` is detected. A pattern such as ``"part-*.csv"`` means all matching
        files, one after another in the order of their names; ``"-"`` is standard input, whose
        format is detected.
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
    source = file_name(path)
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    if delimiter is not None and (
        len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0'
    ):
        raise TableError(f"{source}: the delimiter must be one plain character, not {delimiter!r}")
    check_decimal(decimal, source)

    def read(name: str) -> pa.Table:
        return _read_one(name, delimiter, encoding, decimal, sheet)

    files = files_of(source)
    return read(source) if files == [source] else _one_below_the_other(files, read, source)


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
            content, form = standard_input()
        else:
            form, compression = form_of(source, reading=True)
            content = read_bytes(source, compression)
            if compression == ZIP:
                content, form = unzipped(content, source)
            elif not form:
                content, form = recognised(content, source)
        if sheet is not None and form != ".xlsx":
            raise TableError(f"{source}: only workbooks (.xlsx) have sheets; leave the sheet out")
        return _parsed(content, source, form, delimiter, encoding, decimal, sheet)
    except MemoryError:  # includes Arrow's
        raise no_memory(source) from None
    except DAMAGE as error:
        raise _damaged(source, form, error) from None


def _parsed(
    content: Content,
    source: str,
    form: str,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
) -> pa.Table:
    """The table that the bytes of a file hold."""
    if form in BINARY_FORMS:
        table = _read_binary(content, source, form, sheet)
    else:
        content = as_utf8(content, source, encoding)
        if form in JSON_FORMS:
            table = read_json(content, source)
        else:
            table = read_delimited(content, source, delimiter=delimiter, decimal=decimal)
            return checked(table, source, form)
    return checked(with_decimal(table, decimal), source, form)


def _damaged(source: str, form: str, error: Exception) -> TableError:
    return TableError(f"{source}: the file is damaged, or not a {form} file ({first_line(error)})")


def read_records(path: str | os.PathLike[str]) -> dict[str, list[dict[str, Any]]]:
    """The objects of JSON files, or the rows of other tables, by the names of the files.

    Parameters
    ----------
    path : path-like
        A file, a pattern, or a zip archive of several files.

    Returns
    -------
    dict of str to list of dict
        The names are without folder and extensions; files of the same name are one after another.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    sources = list(files_of(path))
    for source in sources:
        form, compression = form_of(source, reading=True)
        try:
            content = read_bytes(source, compression)
            if not form and compression != ZIP:
                content, form = recognised(content, source)
            files = (
                all_unzipped(content, source) if compression == ZIP else {source: (content, form)}
            )
            for name, (part, form) in files.items():
                ending = Path(name).name.lower().rfind(form)
                stem = Path(name).name[:ending] if ending >= 0 else Path(name).stem
                rows = found.setdefault(stem, [])
                # beside others, an empty file is of somebody who has answered nothing
                if len(part) or len(files) == len(sources) == 1:
                    rows += _records(part, source, form)
        except MemoryError:
            raise no_memory(source) from None
        except DAMAGE as error:
            raise _damaged(source, form, error) from None
    return found


def _records(content: Content, source: str, form: str) -> list[dict[str, Any]]:
    """The objects of one file; none if there is only white space in it."""
    if len(content) and not re.search(rb"\S", content):
        return []
    if form in JSON_FORMS:
        text = as_utf8(content, source, None)
        return [row for piece in json_rows(text, source) for row in piece]
    rows: list[dict[str, Any]] = _parsed(content, source, form).to_pylist()
    return rows


def _one_below_the_other(
    files: list[str], read: Callable[[str], pa.Table], pattern: str
) -> pa.Table:
    """The rows of several files, which must have the same columns, in any order."""
    tables: list[pa.Table] = []
    for name in files:
        table = read(name)
        first = tables[0] if tables else table
        if set(first.column_names) != set(table.column_names):
            other = min(set(first.column_names) ^ set(table.column_names))
            has, lacks = (name, files[0]) if other in table.column_names else (files[0], name)
            raise TableError(
                f"{pattern}: {has} has a column {other!r}, but {lacks} does not; all files must "
                "have the same columns"
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
        fields.append(pa.field(field.name, kind, metadata=_common_metadata(tables, i)))
    schema = pa.schema(fields, tables[0].schema.metadata)
    joined = pa.concat_tables(
        [table.replace_schema_metadata(schema.metadata).cast(schema) for table in tables]
    )
    form = (schema.metadata or {}).get(FORM, b"").decode()
    return checked(joined, pattern, form)


def _common_metadata(tables: list[pa.Table], i: int) -> dict[bytes, bytes]:
    """What is known of a column of several files: its type only if it is the same in all, and the
    types of mixed cells only if these are the same in all.
    """
    known = [table.schema[i].metadata or {} for table in tables]
    metadata = dict(known[0])
    if len({part.get(TYPE) for part in known}) > 1:
        metadata.pop(TYPE, None)
    if len({part.get(MIXED) for part in known}) > 1:
        metadata[MIXED] = b"{}"
    return metadata


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
    except pa.ArrowInvalid:  # Arrow's streaming format has no table of contents at the end
        file.seek(0)
        return pa.ipc.open_stream(file).read_all()


# -------------------------------------------------------------------- writing


def write_table(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a file, completely or not at all; an existing file stays as it is until the
    new one is complete.

    Text that was read from a file with the same extension keeps its delimiter, line ends and byte
    order mark. In formats with types, text columns become integers, floats, dates or times if no
    value changes; otherwise they stay text. Columns of files with types keep them; a warning names
    those that the format cannot hold.

    Parameters
    ----------
    table : pyarrow.Table
        The table. In delimited text, missing cells are empty and lists are JSON.
    path : path-like
        Its extension gives the format, as for :func:`read_table`.
    """
    form, compression = form_of(path)
    if form not in TEXT_FORMS:
        table = _with_types(_as_given(table, form), dates=form in BINARY_FORMS)
    try:
        with replacing(path) as file, packing(file, Path(file_name(path)), compression) as stream:
            if form in TEXT_FORMS:
                write_delimited(table, stream, dialect_for(table, form))
            else:
                _write(table, stream, form)
    except MemoryError:  # Arrow's is also an ArrowException, and is not about the table
        raise
    except (pa.ArrowException, OverflowError) as error:  # times that Python cannot represent
        raise TableError(
            f"{path}: a {form} file cannot hold this table ({str(error).splitlines()[0]}); use "
            ".parquet"
        ) from None
    except OSError as error:
        raise TableError(
            f"{path}: the file cannot be written ({error.strerror or error}); free some "
            "space, or write it somewhere else; nothing was changed"
        ) from None


def dialect_for(table: pa.Table, form: str) -> Dialect:
    """How to write a table as text: as it was, if it was read from text in this format."""
    dialect = dialect_of(table)
    if dialect is not None and table.schema.metadata.get(FORM, b"").decode() == form:
        return dialect
    return Dialect(TEXT_FORMS[form])


def _with_types(table: pa.Table, *, dates: bool) -> pa.Table:
    """The table with types for the cells of a text file, and without our metadata."""
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
        if key not in (SOURCE, FORM, DIALECT, DECIMAL)
    }
    return pa.table(columns, schema=pa.schema(fields, metadata))


def _as_given(table: pa.Table, form: str) -> pa.Table:
    """The table with the types of its own file, as far as the format has them; a warning for each
    column that changes.
    """
    typed = form in BINARY_FORMS and form != ".xlsx"
    given = with_given_types(table) if typed else table
    for i, read in enumerate(table.schema):
        if given.schema.field(i).type != read.type and not _can_hold(given.schema.field(i), form):
            given = given.set_column(i, read, table.column(i))
        field, how = given.schema.field(i), ""
        if typed and given_type(field) != field.type:
            how = f"{field.type}, not as {given_type(field)}"
        elif MIXED in (field.metadata or {}) and not (form == ".xlsx" and cell_types(field)):
            how = "text: it holds numbers or other values beside texts"
        if how:
            warnings.warn(
                f"{source_of(table)}: column {field.name!r} is written as {how}", stacklevel=4
            )
            given = given.set_column(i, field.remove_metadata(), given.column(i))
    return given


def _can_hold(field: pa.Field, form: str) -> bool:
    try:
        _write(pa.schema([field]).empty_table(), io.BytesIO(), form)
    except pa.ArrowException:
        return False
    return True


def _write(table: pa.Table, file: BinaryIO, form: str) -> None:
    if form == ".parquet":
        pq.write_table(table, file)
    elif form == ".xlsx":
        write_workbook(table, file)
    elif form in BINARY_FORMS:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    else:
        write_json(table, file, listed=form == ".json")
