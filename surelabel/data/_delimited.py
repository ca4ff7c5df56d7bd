"""Delimited text (CSV, TSV) → :class:`pyarrow.Table` and back, with types found over the whole
file.
"""

from __future__ import annotations

import csv
import io
import json
import mmap
import sys
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from ..exceptions import TableError

Content = bytes | mmap.mmap

DELIMITERS = ",;\t|"
#: Cells that mean "missing", in any column; "None" is not among them, because people use it as a
#: label.
MISSING = ["", "NA", "N/A", "#N/A", "n/a", "<NA>", "NaN", "nan", "-nan", "NULL", "null"]
#: Rows may be this long. Smaller blocks are read by several threads at a time.
BLOCK = 8 << 20
SAMPLE = 1 << 16
#: Numbers that are names: leading zeros, or more digits than an integer holds.
NAME_LIKE = r"^\s*[-+]?(0[0-9]|[0-9]{19})"


def read_delimited(
    content: Content, source: str, *, delimiter: str | None, decimal: str
) -> pa.Table:
    """Read the text, which is UTF-8; the first row names the columns."""
    delimiter = delimiter or find_delimiter(content)
    options = _Options(content, delimiter, decimal)
    try:
        table = options.read()
    except pa.ArrowInvalid as error:
        raise TableError(f"{source}: {_explain(options, str(error))}") from None
    # Delimiters at the end of every line make columns without name and content.
    table = table.select(
        [
            i
            for i, field in enumerate(table.schema)
            if field.name.strip() or not pa.types.is_null(field.type)
        ]
    )
    names = [name.strip() for name in table.column_names]
    _check_header(names, source)
    if not table.num_rows:
        raise TableError(f"{source}: there is a header line, but no row below it")
    if options.quoted:
        _check_quotes(table, options, source)
    suspects = [name for name in _suspects(table, content, delimiter) if name]
    if suspects:
        texts = options.read(text=suspects)
        for name in suspects:
            if pc.any(pc.match_substring_regex(texts[name], NAME_LIKE)).as_py():
                table = table.set_column(table.column_names.index(name), name, texts[name])
    return table.rename_columns(names)


def find_delimiter(content: Content) -> str:
    """The delimiter that gives every row of the first ones as many columns as the header, and the
    most of them.
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
    """How one text is read by pyarrow."""

    def __init__(self, content: Content, delimiter: str, decimal: str) -> None:
        self.content, self.delimiter, self.decimal = content, delimiter, decimal
        self.quoted = content.find(b'"') >= 0

    def read(self, text: list[str] | None = None, on_bad_row: Any = None) -> pa.Table:
        """The whole table, or some columns as text; ``on_bad_row`` is told rows of another width,
        with their number.
        """
        return pa_csv.read_csv(
            pa.BufferReader(pa.py_buffer(self.content)),
            read_options=pa_csv.ReadOptions(block_size=BLOCK, use_threads=on_bad_row is None),
            parse_options=pa_csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=self.quoted,
                invalid_row_handler=on_bad_row,
            ),
            convert_options=pa_csv.ConvertOptions(
                null_values=MISSING,
                strings_can_be_null=True,
                # "True" and "TRUE" stay as they are written, so that columns can be compared with
                # each other.
                true_values=[],
                false_values=[],
                decimal_point=self.decimal,
                include_columns=text,
                column_types=dict.fromkeys(text or (), pa.string()),
            ),
        )


def _explain(options: _Options, message: str) -> str:
    """What is wrong, and in which row: only a reader of one thread knows."""
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
            f"row {row.number - 1}: {row.actual_columns} columns where the header has "
            f"{row.expected_columns}; {advice} "
            f"(the delimiter is {options.delimiter!r})"
        )
    if "straddl" in message:
        row = _broken_row(options)
        if row is not None:
            return f"row {row}: a quotation mark is left open, or not doubled within a cell"
        return f"a row has more than {BLOCK >> 20} MB; use Parquet for such long ones"
    return f"the text cannot be read as a table ({message.splitlines()[0]})"


def _broken_row(options: _Options) -> int | None:
    """Number of the first row whose quotation marks break the rules, which Arrow takes lightly."""
    text = io.TextIOWrapper(io.BytesIO(options.content[:]), encoding="utf-8-sig", newline="")
    limit, number = csv.field_size_limit(sys.maxsize), 0
    try:
        for _ in filter(None, csv.reader(text, delimiter=options.delimiter, strict=True)):
            number += 1
    except csv.Error:
        return number
    finally:
        csv.field_size_limit(limit)
    return None


def _check_header(names: list[str], source: str) -> None:
    if not any(names):
        raise TableError(
            f"{source}: the first line names no column; put a header line above the rows"
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
            f"{source}: the first line holds numbers ({', '.join(names[:4])}), not names of "
            "columns; put a header line above it"
        )


def _is_number(text: str) -> bool:
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def _check_quotes(table: pa.Table, options: _Options, source: str) -> None:
    """Refuse cells that swallowed what follows a quotation mark never closed."""
    texts = [column for column in table.columns if pa.types.is_string(column.type)]
    last = table.column(table.num_columns - 1)[-1].as_py()
    endless = isinstance(last, str) and "\n" in last
    if endless or any(
        pc.any(pc.match_substring_regex(text, '(?s)(\n.*"|".*\n)')).as_py() for text in texts
    ):
        row = _broken_row(options)
        if row is not None:
            raise TableError(
                f"{source}: row {row}: a quotation mark is left open, or not doubled within a cell"
            )


def _suspects(table: pa.Table, content: Content, delimiter: str) -> list[str]:
    """Columns of numbers that may be names: reading 007 as 7 would lose what it says."""
    suspects = []
    whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    if whole:
        offsets = pa.py_buffer(np.array([0, len(content)], np.int64))
        text = pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(content)])
        if pc.match_substring_regex(text, rf'[\n\r"{_escaped(delimiter)}]\s*[-+]?0[0-9]')[
            0
        ].as_py():
            suspects = whole
    for field in table.schema:
        if pa.types.is_floating(field.type):
            bounds = pc.min_max(table[field.name]).as_py()
            if bounds["max"] is not None and max(-bounds["min"], bounds["max"]) >= 1e18:
                suspects.append(field.name)
    return suspects


def _escaped(delimiter: str) -> str:
    return rf"\x{ord(delimiter):02x}"


def write_delimited(table: pa.Table, file: BinaryIO, delimiter: str) -> None:
    """Write a header and rows, quoting only what needs it; missing cells and NaN are empty, lists
    are JSON.
    """
    header = [_quote(pa.array([name]), delimiter) for name in table.column_names]
    file.write(_lines(header, delimiter))
    for batch in table.to_batches(max_chunksize=1 << 16):
        file.write(
            _lines([_quote(_as_text(column), delimiter) for column in batch.columns], delimiter)
        )


def _lines(columns: list[pa.Array], delimiter: str) -> memoryview:
    """The cells joined: the bytes of all rows in one piece."""
    ends = pa.repeat(pa.scalar("\n", pa.large_string()), len(columns[0]))
    joined = pc.binary_join_element_wise(
        *columns,
        pa.scalar(delimiter, pa.large_string()),
        null_handling="replace",
        null_replacement="",
    )
    lines = pc.binary_join_element_wise(joined, ends, pa.scalar("", pa.large_string()))
    return memoryview(lines.buffers()[2])[: pc.sum(pc.binary_length(lines)).as_py()]


def _quote(texts: pa.Array, delimiter: str) -> pa.Array:
    texts = texts.cast(pa.large_string())
    # An empty text is quoted: an empty cell means that it is missing.
    needed = pc.or_(
        pc.match_substring_regex(texts, rf'[\n\r"{_escaped(delimiter)}]'), pc.equal(texts, "")
    )
    if not pc.any(needed).as_py():
        return texts
    empty, mark = pa.scalar("", pa.large_string()), pa.scalar('"', pa.large_string())
    quoted = pc.binary_join_element_wise(mark, pc.replace_substring(texts, '"', '""'), mark, empty)
    return pc.if_else(needed, quoted, texts)


def _as_text(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_nan(column), None, column).cast(pa.string())
    if pa.types.is_nested(kind):
        cells = (
            None if cell is None else json.dumps(cell, ensure_ascii=False, default=str)
            for cell in column.to_pylist()
        )
        return pa.array(cells, pa.large_string())
    return column.cast(pa.large_string())
