"""Delimited text (CSV, TSV) ↔ :class:`pyarrow.Table` of text, without changing any cell."""

from __future__ import annotations

import codecs
import csv
import io
import json
import mmap
import sys
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from ..exceptions import TableError

Content = bytes | mmap.mmap

DELIMITERS = ",;\t|"
#: Maximum length of a row in bytes. Smaller blocks are read by several threads at a time.
BYTES_AT_A_TIME = 8 << 20
#: Tables of so many columns are read in larger blocks: each block makes a piece of each column.
WIDE, MOST_AT_A_TIME = 10_000, 256 << 20
SAMPLE = 1 << 16
#: Larger files (in bytes) are read by several threads. For smaller ones, threads are not worth
#: starting, and a process that ends while Arrow starts them would be aborted.
THREADS_FROM = BYTES_AT_A_TIME
#: Maximum number of rows written together.
ROWS = 1 << 15
#: Maximum number of cells in columns that are processed together.
CELLS_AT_A_TIME = 1 << 18
#: Metadata keys: of a table for its dialect, and of a column for its name as written. A column with
#: the latter holds the cells of a text file.
DIALECT, HEADER = b"surelabel.dialect", b"surelabel.header"
#: Metadata key of a column: the number of columns without name and content before and after it.
EMPTY = b"surelabel.empty"


class Dialect(NamedTuple):
    """How a text file is written.

    Attributes
    ----------
    delimiter : str
        What separates cells.
    newline : str
        What ends a row.
    bom : bool
        Whether the text begins with a byte order mark.
    decimal : str or None
        The decimal separator; None if it was not given.
    """

    delimiter: str = ","
    newline: str = "\n"
    bom: bool = False
    decimal: str | None = None


def column_slices(n_columns: int, n_rows: int) -> Iterator[slice]:
    """Columns to process together: many short ones, or one long one."""
    step = max(1, CELLS_AT_A_TIME // max(1, n_rows))
    return (slice(start, start + step) for start in range(0, n_columns, step))


def combined(*columns: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Columns of text as one array, column after column, however long they are."""
    if all(column.type == pa.string() for column in columns):
        try:  # one cast for many short columns
            return pa.concat_arrays(_chunks(columns)).cast(pa.large_string())
        except pa.ArrowInvalid:  # too long for one array
            pass
    return pa.concat_arrays(_chunks(column.cast(pa.large_string()) for column in columns))


def _chunks(columns: Iterable[pa.Array | pa.ChunkedArray]) -> list[pa.Array]:
    return [
        chunk
        for column in columns
        for chunk in (column.chunks if isinstance(column, pa.ChunkedArray) else [column])
    ]


def dialect_of(table: pa.Table) -> Dialect | None:
    """How the file that a table was read from was written; None if it was not a text file."""
    kept = (table.schema.metadata or {}).get(DIALECT)
    return Dialect(*json.loads(kept)) if kept else None


def is_cell(field: pa.Field) -> bool:
    """Whether a column holds the cells of a text file, as written there."""
    return HEADER in (field.metadata or {})


def read_delimited(
    content: Content, source: str, *, delimiter: str | None, decimal: str | None
) -> pa.Table:
    """Read UTF-8 text whose first row names the columns. All cells are text; only those without
    text and without quotation marks are missing.
    """
    options = _Options(content, delimiter or find_delimiter(content))
    try:
        rows = options.read()
    except pa.ArrowInvalid as error:
        raise TableError(f"{source}: {_explain(options, str(error))}") from None
    header = [column[0].as_py() or "" for column in rows.columns]
    table = _short(rows.slice(1))
    # Delimiters at the end of every line produce columns without name and content.
    kept = [
        i
        for i, (name, column) in enumerate(zip(header, table.columns, strict=True))
        if name.strip() or column.null_count < len(column)
    ]
    names = [header[i].strip() for i in kept]
    check_header(names, source)
    before = np.diff([-1, *kept]) - 1
    after = np.zeros_like(before)
    after[:-1], before[1:], after[-1] = before[1:], 0, len(header) - 1 - kept[-1]
    if not table.num_rows:
        raise TableError(f"{source}: there is a header line, but no row below it")
    if options.quoted:
        _check_quotes(table, options, source)
    fields = [
        pa.field(
            name,
            pa.string(),
            metadata={HEADER: header[i].encode()}
            | ({EMPTY: json.dumps(empty).encode()} if any(empty) else {}),
        )
        for i, name, *empty in zip(kept, names, before.tolist(), after.tolist(), strict=True)
    ]
    dialect = Dialect(options.delimiter, _newline(content), options.bom, decimal)
    schema = pa.schema(fields, {DIALECT: json.dumps(dialect).encode()})
    return pa.table([table.column(i) for i in kept], schema=schema)


def _newline(content: Content) -> str:
    end = content.find(b"\n")
    if end < 0:
        return "\r" if content.find(b"\r") >= 0 else "\n"
    return "\r\n" if content[end - 1 : end] == b"\r" else "\n"


def find_delimiter(content: Content) -> str:
    """The delimiter for which the first rows have as many columns as the header; of several, the
    one with most columns.
    """
    end = content.find(b"\n", SAMPLE) + 1
    sample = content[: end or None].decode("utf-8-sig")

    def fitness(delimiter: str) -> tuple[bool, int]:
        try:
            rows = [
                row
                for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
                if row
            ]
        except csv.Error:
            return False, 0
        # The last row of the sample may be cut within a quoted cell.
        widths = {len(row) for row in (rows[:-1] if end and len(rows) > 1 else rows)}
        width = len(rows[0]) if rows else 0
        return len(widths) == 1 and width > 1, width

    return max(DELIMITERS, key=fitness)


class _Options:
    """How pyarrow reads one text."""

    def __init__(self, content: Content, delimiter: str) -> None:
        self.content, self.delimiter = content, delimiter
        self.quoted = content.find(b'"') >= 0
        self.bom = content[:3] == codecs.BOM_UTF8

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

    def read(self, on_bad_row: Any = None) -> pa.Table:
        """All rows, including the header, as text; ``on_bad_row`` is called for rows of another
        width.
        """
        width = len(next(self.rows()))
        return pa_csv.read_csv(
            pa.BufferReader(pa.py_buffer(self.content)),
            read_options=pa_csv.ReadOptions(
                block_size=BYTES_AT_A_TIME if width < WIDE else MOST_AT_A_TIME,
                use_threads=on_bad_row is None and len(self.content) >= THREADS_FROM,
                autogenerate_column_names=True,
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=self.quoted,
                ignore_empty_lines=width != 1,
                invalid_row_handler=on_bad_row,
            ),
            convert_options=pa_csv.ConvertOptions(
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                column_types={f"f{i}": pa.string() for i in range(width)},
            ),
        )


def _explain(options: _Options, message: str) -> str:
    """What is wrong, and in which row; only a single-threaded reader knows the row."""
    bad: list[Any] = []

    def remember(row: Any) -> str:
        bad.append(row)
        return "error"

    if "Empty CSV" in message:
        return "the file is empty; a table has a header line and rows"
    try:
        options.read(on_bad_row=remember)
    except pa.ArrowInvalid as error:
        message = str(error)
    if bad:
        row = bad[0]
        advice = f"quote cells that contain {options.delimiter!r}"
        if '"' in row.text:
            advice = "is a quotation mark left open, or not doubled within a cell?"
        return (
            f"row {row.number - 1}: {row.actual_columns} columns, but the header has "
            f"{row.expected_columns}; {advice} "
            f"(the delimiter is {options.delimiter!r})"
        )
    if "straddl" in message:
        row = _broken_row(options)
        if row is not None:
            return f"row {row}: a quotation mark is left open, or not doubled within a cell"
        return f"a row has more than {BYTES_AT_A_TIME >> 20} MB; use Parquet for rows this long"
    return f"the text cannot be read as a table ({message.splitlines()[0]})"


def _broken_row(options: _Options) -> int | None:
    """Number of the first row with misplaced quotation marks, which Arrow accepts."""
    number = 0
    try:
        for _ in options.rows(strict=True):
            number += 1
    except csv.Error:
        return number
    return None


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
    if all(map(_is_number, names)) and names != [
        str(i) for i in range(int(float(names[0])), int(float(names[0])) + len(names))
    ]:
        raise TableError(
            f"{source}: the first line holds numbers ({', '.join(names[:4])}), not column names; "
            "put a header line above it"
        )


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _check_quotes(table: pa.Table, options: _Options, source: str) -> None:
    """Refuse cells that extend over several lines because a quotation mark was never closed."""
    letters = np.frombuffer(options.content, np.uint8)
    ends = sum(
        np.count_nonzero(letters[start : start + BYTES_AT_A_TIME] == ord("\n"))
        for start in range(0, len(letters), BYTES_AT_A_TIME)
    )
    if ends <= table.num_rows:  # no cell contains a line break
        return
    last = table.column(table.num_columns - 1)[-1].as_py()
    if "\n" in (last or "") or any(
        pc.any(pc.match_substring_regex(text, '(?s)(\n.*"|".*\n)')).as_py()
        for text in table.columns
    ):
        row = _broken_row(options)
        if row is not None:
            raise TableError(
                f"{source}: row {row}: a quotation mark is left open, or not doubled within a cell"
            )


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
    header = _with_empty(header, table.schema, "")
    file.write(f"{dialect.delimiter.join(header)}{dialect.newline}".encode())
    for batch in _short(table).to_batches(max_chunksize=ROWS):
        file.write(_lines(batch, dialect))


def _short(table: pa.Table) -> pa.Table:
    """The table, with short columns in one chunk each, because there may be very many of them."""
    return table.combine_chunks() if table.num_rows <= ROWS else table


def _lines(batch: pa.RecordBatch, dialect: Dialect) -> memoryview:
    """The bytes of all rows, with their cells joined."""
    m, columns, cells = batch.num_rows, batch.columns, []
    for part in column_slices(len(columns), m):
        texts = [as_text(column, dialect.decimal or ".") for column in columns[part]]
        quoted = _quote(combined(*texts), dialect.delimiter)
        cells += [quoted.slice(i * m, m) for i in range(len(texts))]
    cells = _with_empty(cells, batch.schema, pa.nulls(m, pa.large_string()))
    ends = pa.repeat(pa.scalar(dialect.newline, pa.large_string()), len(cells[0]))
    joined = pc.binary_join_element_wise(
        *cells,
        pa.scalar(dialect.delimiter, pa.large_string()),
        null_handling="replace",
        null_replacement="",
    )
    lines = pc.binary_join_element_wise(joined, ends, pa.scalar("", pa.large_string()))
    return memoryview(lines.buffers()[2])[: pc.sum(pc.binary_length(lines)).as_py()]


def _with_empty(cells: list[Any], schema: pa.Schema, empty: Any) -> list[Any]:
    """Cells, with the empty columns that were dropped when they were read."""
    if all(EMPTY not in (field.metadata or {}) for field in schema):
        return cells
    found = []
    for field, cell in zip(schema, cells, strict=True):
        before, after = json.loads((field.metadata or {}).get(EMPTY, b"[0, 0]"))
        found += [empty] * before + [cell] + [empty] * after
    return found


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
