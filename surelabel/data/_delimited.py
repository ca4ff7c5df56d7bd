"""Delimited text (CSV, TSV) ↔ :class:`pyarrow.Table` of text, without changing any cell."""

from __future__ import annotations

import codecs
import csv
import io
import json
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from ..exceptions import TableError
from .arrow_tables import DIALECT, HEADER, column_slices, combined, decimal_of, is_cell
from .file_formats import Content, signature

DELIMITERS = ",;\t|"
#: Bytes that one thread reads at a time, which no row may exceed, and the most that tables with
#: very many columns get.
BLOCK, LARGEST_BLOCK = 8 << 20, 256 << 20
#: Number of bytes searched for the delimiter.
SAMPLE = 1 << 16
#: Maximum number of rows written together.
ROWS = 1 << 15
#: The message for a file of one line.
NO_ROWS = "there is a header line, but no row below it"


class Dialect(NamedTuple):
    """How a text file is written: what separates cells, what ends a row, and whether the text
    begins with a byte order mark.
    """

    delimiter: str = ","
    newline: str = "\n"
    bom: bool = False


def dialect_of(table: pa.Table) -> Dialect | None:
    """How the file that a table was read from was written; None if it was not a text file."""
    kept = (table.schema.metadata or {}).get(DIALECT)
    return Dialect(*json.loads(kept)) if kept else None


# -------------------------------------------------------------------- encoding


def as_utf8(content: Content, source: str, encoding: str | None) -> Content:
    """The bytes of a text file in UTF-8; content that is not text is refused."""
    if form := signature(content):
        raise TableError(f"{source}: this is a {form} file, not text; give it that ending")
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = encoding or "utf-16"
    if encoding and encoding not in ("utf-8", "utf-8-sig"):
        content = _decoded(content, source, encoding)
    if (nul := content.find(b"\0")) >= 0:
        raise TableError(
            f"{source}: line {_line(content, nul)} holds a NUL byte, so this is not text (if it "
            "is, name its encoding: utf-16-le?)"
        )
    _check_utf8(content, source)
    return content


def _decoded(content: Content, source: str, encoding: str) -> bytes:
    """The content as UTF-8."""
    try:
        if not encoding.isascii():  # Python 3.15 warns of such names
            raise LookupError(encoding)
        return content[:].decode(encoding).encode()
    except UnicodeDecodeError as error:
        raise TableError(
            f"{source}: line {_line(content, error.start)} is not {encoding} ({error.reason}); "
            "name another encoding"
        ) from None
    except (LookupError, ValueError):
        raise TableError(
            f"{source}: there is no text encoding {encoding!r}; common ones are utf-8, latin-1, "
            "cp1252, utf-16"
        ) from None


def _check_utf8(content: Content, source: str) -> None:
    offsets = pa.py_buffer(np.array([0, len(content)], np.int64))
    try:  # Arrow checks a gigabyte in a fraction of a second, but does not say where the error is
        pa.Array.from_buffers(
            pa.large_string(), 1, [None, offsets, pa.py_buffer(content)]
        ).validate(full=True)
    except pa.ArrowInvalid:
        try:
            content[:].decode()
        except UnicodeDecodeError as error:
            raise TableError(
                f"{source}: line {_line(content, error.start)} holds the byte "
                f"0x{content[error.start]:02x}, which is not UTF-8; name the file's encoding, "
                "often latin-1 (--settings encoding=latin-1), or save it as UTF-8"
            ) from None


def _line(content: Content, place: int) -> int:
    return content[:place].count(b"\n") + 1


# -------------------------------------------------------------------- reading


def read_delimited(content: Content, source: str, delimiter: str | None) -> pa.Table:
    """Read UTF-8 text whose first row names the columns. All cells are text; only empty cells
    without quotation marks are missing.
    """
    text = _Text(content, delimiter or find_delimiter(content))
    try:
        rows = text.read()
    except pa.ArrowInvalid as error:
        why = f"a row of more than {BLOCK >> 20} MB? Arrow says: {str(error).splitlines()[0]}"
        raise TableError(f"{source}: {_problem(text) or why}") from None
    header = [column[0].as_py() or "" for column in rows.columns]
    table = _in_few_chunks(rows.slice(1))
    # Delimiters at the end of every line produce columns without name and content.
    kept = [
        i
        for i, (name, column) in enumerate(zip(header, table.columns, strict=True))
        if name.strip() or column.null_count < len(column)
    ]
    check_header([header[i].strip() for i in kept], source)
    if not table.num_rows:
        raise TableError(f"{source}: {NO_ROWS}")
    if text.quoted:
        _check_quotes(table, text, source)
    fields = [
        pa.field(header[i].strip(), pa.string(), metadata={HEADER: header[i].encode()})
        for i in kept
    ]
    dialect = Dialect(text.delimiter, _newline(content), content[:3] == codecs.BOM_UTF8)
    schema = pa.schema(fields, {DIALECT: json.dumps(dialect).encode()})
    return pa.table([table.column(i) for i in kept], schema=schema)


def _newline(content: Content) -> str:
    end = content.find(b"\n")
    if end < 0:
        return "\r" if content.find(b"\r") >= 0 else "\n"
    return "\r\n" if content[end - 1 : end] == b"\r" else "\n"


def find_delimiter(content: Content) -> str:
    """The delimiter that gives the first rows as many columns as the header; if several do, the one
    with the most columns.
    """
    end = content.find(b"\n", SAMPLE) + 1
    sample = content[: end or None].decode("utf-8-sig")

    def fitness(delimiter: str) -> tuple[bool, int]:
        try:
            rows = list(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter))
        except csv.Error:
            return False, 0
        rows = [row for row in rows if row]
        # The last row of the sample may be cut within a quoted cell.
        widths = {len(row) for row in (rows[:-1] if end and len(rows) > 1 else rows)}
        width = len(rows[0]) if rows else 0
        return len(widths) == 1 and width > 1, width

    return max(DELIMITERS, key=fitness)


class _Text:
    """A text with its delimiter, as Arrow and as Python read it."""

    def __init__(self, content: Content, delimiter: str) -> None:
        self.content, self.delimiter = content, delimiter
        self.quoted = content.find(b'"') >= 0

    def rows(self, **options: Any) -> Iterator[list[str]]:
        """The rows as Python's csv reader sees them, lazily. Empty lines are skipped, except in a
        file of one column, where they are empty cells.
        """
        text = io.TextIOWrapper(
            pa.BufferReader(pa.py_buffer(self.content)), encoding="utf-8-sig", newline=""
        )
        limit = csv.field_size_limit(sys.maxsize)
        try:
            rows = csv.reader(text, delimiter=self.delimiter, **options)
            header = next(filter(None, rows), [])
            yield header
            yield from rows if len(header) == 1 else filter(None, rows)
        finally:
            csv.field_size_limit(limit)

    def read(self) -> pa.Table:
        """All rows, including the header, as text."""
        width = len(next(self.rows()))
        return pa_csv.read_csv(
            pa.BufferReader(pa.py_buffer(self.content)),
            read_options=pa_csv.ReadOptions(
                # Each block becomes one chunk of each column; a chunk should have many cells.
                block_size=min(max(BLOCK, width << 14), LARGEST_BLOCK),
                # A process that ends while Arrow starts threads would be aborted.
                use_threads=len(self.content) >= BLOCK,
                autogenerate_column_names=True,
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=self.quoted,
                ignore_empty_lines=width != 1,
            ),
            convert_options=pa_csv.ConvertOptions(
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                column_types={f"f{i}": pa.string() for i in range(width)},
            ),
        )


# -------------------------------------------------------------------- what is wrong with a text


def _problem(text: _Text) -> str:
    """What is wrong, and in which row, as Python's reader sees it; "" if nothing is."""
    number, width = 0, 0
    try:
        for number, row in enumerate(text.rows(strict=True)):
            width = width or len(row)
            if len(row) != width:
                return (
                    f"row {number}: {len(row)} columns, but the header has {width}; quote cells "
                    f"that contain {text.delimiter!r}, the delimiter"
                )
    except csv.Error:
        return f"row {number + 1}: a quotation mark is left open, or not doubled within a cell"
    if not width:
        return "the file is empty; a table has a header line and rows"
    return "" if number else NO_ROWS


def _check_quotes(table: pa.Table, text: _Text, source: str) -> None:
    """Refuse cells that extend over several lines because a quotation mark was never closed."""
    letters = np.frombuffer(text.content, np.uint8)
    ends = sum(
        np.count_nonzero(letters[start : start + BLOCK] == ord("\n"))
        for start in range(0, len(letters), BLOCK)
    )
    if ends <= table.num_rows:  # no cell contains a line break
        return
    last = table.column(table.num_columns - 1)[-1].as_py()
    suspicious = "\n" in (last or "") or any(
        pc.any(pc.match_substring_regex(column, '(?s)(\n.*"|".*\n)')).as_py()
        for column in table.columns
    )
    if suspicious and (problem := _problem(text)):
        raise TableError(f"{source}: {problem}")


def check_header(names: list[str], source: str) -> None:
    """Refuse a first row that does not give every column a name of its own."""
    if not any(names):
        raise TableError(
            f"{source}: the first line has no column names; put a header line above the rows"
        )
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if name in seen:
            raise TableError(
                f"{source}: columns {seen[name]} and {position} are both named {name!r}; rename "
                "one of them"
            )
        seen[name] = position
    if all(map(_is_finite, names)) and names != [
        str(i) for i in range(int(float(names[0])), int(float(names[0])) + len(names))
    ]:
        raise TableError(
            f"{source}: the first line holds numbers ({', '.join(names[:4])}), not column names; "
            "put a header line above it"
        )


def _is_finite(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


# -------------------------------------------------------------------- writing


def write_delimited(table: pa.Table, file: BinaryIO, dialect: Dialect) -> None:
    """Write a header and rows, quoting only where needed; missing cells and NaN are empty, and
    lists are JSON.
    """
    if dialect.bom:
        file.write(codecs.BOM_UTF8)
    names = [
        field.metadata[HEADER].decode() if is_cell(field) else field.name for field in table.schema
    ]
    quoted = _quote(pa.array(names), dialect.delimiter).to_pylist()
    header = [text if name else "" for name, text in zip(names, quoted, strict=True)]
    file.write(f"{dialect.delimiter.join(header)}{dialect.newline}".encode())
    for batch in _in_few_chunks(table).to_batches(max_chunksize=ROWS):
        file.write(_joined_rows(batch, dialect, decimal_of(table) or "."))


def _in_few_chunks(table: pa.Table) -> pa.Table:
    """The table, with short columns in one chunk each, because there may be very many of them."""
    return table.combine_chunks() if table.num_rows <= ROWS else table


def _joined_rows(batch: pa.RecordBatch, dialect: Dialect, decimal: str) -> memoryview:
    """The bytes of all rows, with their cells joined."""
    m, columns, cells = batch.num_rows, batch.columns, []
    for part in column_slices(len(columns), m):
        texts = [as_text(column, decimal) for column in columns[part]]
        quoted = _quote(combined(*texts), dialect.delimiter)
        cells += [quoted.slice(i * m, m) for i in range(len(texts))]
    ends = pa.repeat(pa.scalar(dialect.newline, pa.large_string()), m)
    joined = pc.binary_join_element_wise(
        *cells,
        pa.scalar(dialect.delimiter, pa.large_string()),
        null_handling="replace",
        null_replacement="",
    )
    lines = pc.binary_join_element_wise(joined, ends, pa.scalar("", pa.large_string()))
    return memoryview(lines.buffers()[2])[: pc.sum(pc.binary_length(lines)).as_py()]


def _quote(texts: pa.Array, delimiter: str) -> pa.Array:
    texts = texts.cast(pa.large_string())
    # An empty text is quoted, because an empty cell means that it is missing. So is a text that
    # looks like a byte order mark.
    needed = pc.match_substring_regex(texts, rf'^$|[\n\r"\x{ord(delimiter):02x}\x{{feff}}]')
    if not pc.any(needed).as_py():
        return texts
    empty, mark = pa.scalar("", pa.large_string()), pa.scalar('"', pa.large_string())
    quoted = pc.binary_join_element_wise(mark, pc.replace_substring(texts, '"', '""'), mark, empty)
    return pc.if_else(needed, quoted, texts)


def _with_digits(text: pa.Array, column: pa.Array) -> pa.Array:
    """Whole numbers with all digits, where Arrow writes an exponent: 9007199254740992, not
    9.007199254740992e+15.
    """
    short = pc.and_(pc.match_substring(text, "e+"), pc.equal(pc.trunc(column), column))
    short = pc.and_(short, pc.less(pc.abs(column), 2.0**63))  # what 64 bits hold
    if not pc.any(short).as_py():
        return text
    return pc.if_else(short, pc.if_else(short, column, 0.0).cast(pa.int64()).cast(text.type), text)


def as_text(column: pa.Array, decimal: str = ".") -> pa.Array:
    """Cells as text; Arrow refuses bytes that are not text."""
    kind = column.type
    if pa.types.is_string(kind):
        return column
    if pa.types.is_floating(kind):
        text = pc.if_else(pc.is_nan(column), None, column).cast(pa.string())
        if pa.types.is_float64(kind):
            text = _with_digits(text, column)
        return text if decimal == "." else pc.replace_substring(text, ".", decimal)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pc.strftime(column, "%Y-%m-%dT%H:%M:%S%Ez")
    if pa.types.is_nested(kind):
        cells = (
            None if cell is None else json.dumps(cell, ensure_ascii=False, default=str)
            for cell in column.to_pylist()
        )
        return pa.array(cells, pa.large_string())
    return column.cast(pa.large_string())
