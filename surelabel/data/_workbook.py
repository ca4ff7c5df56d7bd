"""Excel workbooks (.xlsx) ↔ :class:`pyarrow.Table`: a sheet with column names in its first row.

A workbook is a zip archive of XML, read by python-calamine and written by XlsxWriter. The reader
keeps a sheet as a full rectangle, and a text once for each cell that refers to it, so the memory
this needs is computed first.
"""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from ..exceptions import SurelabelError, TableError, first_few
from ..extras import extra
from ..text import suggest
from ._delimited import check_header
from .arrow_tables import is_text
from .file_formats import Content, damaged
from .unpacking import limit, too_large, too_sparse, unpacked

#: What a sheet can hold: rows, columns, and characters in a cell.
ROWS, COLUMNS, LETTERS = 1_048_576, 16_384, 32_767
#: Larger whole numbers are not exact in a workbook, which has only floats.
EXACT = 2**53
#: The position of a cell, and the shared text that it refers to.
_PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]*)([0-9]+)["']""")
_SHARED = re.compile(rb"""\st\s*=\s*["']s["'][^>]*>\s*<(?:\w+:)?v>\s*([0-9]{1,9})""")
#: Text, a number, a truth value, a date, a time, both, or a duration.
Cell = Any
TYPES = {
    str: pa.string(),
    bool: pa.bool_(),
    date: pa.date32(),
    datetime: pa.timestamp("us"),
    time: pa.time64("us"),
    timedelta: pa.duration("us"),
}


# -------------------------------------------------------------------- reading


def read_workbook(content: Content, source: str, sheet: str | None) -> pa.Table:
    """Read a sheet. Numbers, truth values, dates, times and durations keep their type if all cells
    of a column have the same; otherwise the column is text, with a warning. Empty rows are skipped.
    """
    data = bytes(content)
    _check_size(data, source)
    rows = _sheet_rows(data, sheet, source)
    width = max(map(len, rows), default=0)
    rows = [[*row, *[""] * (width - len(row))] for row in rows if any(cell != "" for cell in row)]
    if not rows:
        raise TableError(f"{source}: the sheet is empty; a table has a header line and rows")
    header = [_displayed(cell).strip() for cell in rows[0]]
    columns = list(zip(*rows[1:], strict=True)) or [()] * width
    kept = [i for i in range(width) if header[i] or any(cell != "" for cell in columns[i])]
    if sum(not header[i] for i in kept) > 1:
        raise TableError(
            f"{source}: the first row of the sheet lacks column names; remove everything above the "
            "table, and name each column"
        )
    check_header([header[i] for i in kept], source)
    if len(rows) == 1:
        raise TableError(f"{source}: there is a header line, but no row below it")
    mixed = [repr(header[i]) for i in kept if len(_kinds(columns[i])) > 1]
    if mixed:
        warnings.warn(
            f"{source}: column {first_few(mixed)} holds numbers or other values beside texts; all "
            "are read as text",
            stacklevel=7,
        )
    return pa.table({header[i]: _typed_column(columns[i]) for i in kept})


def _sheet_rows(data: bytes, sheet: str | None, source: str) -> list[list[Cell]]:
    """The cells of a sheet, read by calamine."""
    with extra("cli", "reading .xlsx"):
        import python_calamine
    try:
        with python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data)) as book:
            return _chosen_sheet(book, sheet, source)
    except (SurelabelError, MemoryError):
        raise
    except python_calamine.PasswordError:
        raise TableError(
            f"{source}: the workbook is protected by a password; save it without one"
        ) from None
    except Exception as error:
        raise damaged(source, error) from None
    except BaseException as error:
        # The reader, written in Rust, may panic with something that is not an Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise damaged(source, error) from None


def _chosen_sheet(book: Any, sheet: str | None, source: str) -> list[list[Cell]]:
    """The cells of the sheet of that name; by default, of the only one that is not empty. Hidden
    ones, which hold lists for choosing and the like, count only if no other has cells.
    """
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    shown = {
        part.name: part.visible == SheetVisibleEnum.Visible
        for part in book.sheets_metadata
        if part.typ == SheetTypeEnum.WorkSheet
    }
    if sheet is not None:
        if sheet not in shown:
            raise TableError(
                f"{source}: there is no sheet {sheet!r}; {suggest(sheet, shown, 'sheets')}"
            )
        return list(book.get_sheet_by_name(sheet).to_python())
    full = {name: rows for name in shown if (rows := book.get_sheet_by_name(name).to_python())}
    full = {name: rows for name, rows in full.items() if shown[name]} or full
    if len(full) > 1:
        raise TableError(
            f"{source}: the workbook has the sheets {first_few(full, 12)}; say which one "
            f"(--settings sheet={next(iter(full))!r})"
        )
    return next(iter(full.values()), [])


def _check_size(data: bytes, source: str) -> None:
    """Refuse a workbook that would take far more memory than its cells."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            left, lengths, cells = limit(), np.zeros(0, np.int64), []
            for entry in archive.infolist():
                with archive.open(entry) as stream:
                    part = unpacked(stream, source, TableError)
                left -= len(part)
                if left < 0:
                    raise too_large(source, TableError)
                if b"</si>" in part or b":si>" in part:
                    ends = (found.end() for found in re.finditer(rb"</(?:\w+:)?si>", part))
                    lengths = np.diff([0, *ends])
                if b"sheetData" in part:
                    _check_rectangle(part, source)
                    cells.append(np.array(_SHARED.findall(part), np.int64))
    except (SurelabelError, MemoryError):
        raise
    except Exception as error:  # zipfile raises many kinds of errors for damaged files
        raise damaged(source, error) from None
    used = np.concatenate([np.zeros(0, np.int64), *cells])
    if lengths[used[used < len(lengths)]].sum() > limit():
        raise too_large(source, TableError)


def _check_rectangle(part: bytes, source: str) -> None:
    """Refuse a sheet with few cells that are far apart."""
    width = height = count = 0
    for match in _PLACE.finditer(part):
        letters, row = match.groups()
        column = 0
        for letter in letters.upper():
            column = 26 * column + letter - 64
        width, height, count = max(width, column), max(height, int(row)), count + 1
    if too_sparse(height, width, count):
        raise TableError(
            f"{source}: a sheet has {count:,} cells in {height:,} rows and {width:,} columns; "
            "remove those that are far from the table"
        )


def _typed_column(cells: tuple[Cell, ...]) -> pa.Array:
    """Cells as a column of one type if they all have it, otherwise as text; empty ones are
    missing.
    """
    given = [None if cell == "" else cell for cell in cells]
    kinds = _kinds(cells)
    if len(kinds) > 1:
        return pa.array([None if cell is None else _displayed(cell) for cell in given], pa.string())
    kind = next(iter(kinds), float)
    if kind is float:
        whole = all(cell is None or (cell % 1 == 0 and abs(cell) < EXACT) for cell in given)
        return pa.array(given, pa.int64() if whole and kinds else pa.float64(), from_pandas=True)
    if kind is datetime:
        given = [_with_time(cell) if isinstance(cell, date) else cell for cell in given]
    return pa.array(given, TYPES[kind])


def _kinds(cells: tuple[Cell, ...]) -> set[type]:
    """The kinds of the cells that are not empty: whole numbers are floats, and dates beside times
    have a time.
    """
    kinds = {float if type(cell) is int else type(cell) for cell in cells if cell != ""}
    return kinds - {date} if datetime in kinds else kinds


def _with_time(day: date) -> datetime:
    return day if isinstance(day, datetime) else datetime(day.year, day.month, day.day)


def _displayed(cell: Cell) -> str:
    """A cell as it is displayed: 2, not 2.0."""
    return str(int(cell)) if isinstance(cell, float) and cell % 1 == 0 else str(cell)


# -------------------------------------------------------------------- writing


def write_workbook(table: pa.Table, file: BinaryIO) -> None:
    """Write a table as the only sheet. Texts stay texts, even if they look like a formula or a
    link; values that a sheet has no type for become text, with a warning.
    """
    with extra("cli", "writing .xlsx"):
        import xlsxwriter

    if table.num_rows >= ROWS or table.num_columns > COLUMNS:
        raise pa.ArrowInvalid(f"a sheet has at most {ROWS - 1:,} rows and {COLUMNS:,} columns")
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    # so that the same table gives the same bytes
    book.set_properties({"created": datetime(2000, 1, 1)})
    sheet = book.add_worksheet("table")
    formats = {
        kind: book.add_format({"num_format": text})
        for kind, text in {
            date: "yyyy-mm-dd",
            datetime: "yyyy-mm-dd hh:mm:ss",
            time: "hh:mm:ss",
            timedelta: "[h]:mm:ss",
        }.items()
    }
    for column, name in enumerate(table.column_names):
        _check_length(name, 0, name)
        sheet.write_string(0, column, name)
    sheet.freeze_panes(1, 0)
    changed: set[str] = set()
    for column, cells in enumerate(table.columns):
        name = table.column_names[column]
        for row, cell in enumerate(_sheet_cells(cells), start=1):
            if cell is None:
                continue
            if isinstance(cell, str):
                _check_length(cell, row, name)
                sheet.write_string(row, column, cell)
                changed |= set() if is_text(cells.type) else {name}
            elif isinstance(cell, bool):
                sheet.write_boolean(row, column, cell)
            elif isinstance(cell, int | float):
                sheet.write_number(row, column, cell)
            else:
                sheet.write_datetime(row, column, cell, formats[type(cell)])
    book.close()
    file.write(content.getvalue())
    if changed:
        warnings.warn(
            f"column {first_few(sorted(map(repr, changed)))}: values that a sheet has no type for "
            "are written as text",
            stacklevel=4,
        )


def _check_length(text: str, row: int, name: str) -> None:
    if len(text) > LETTERS:
        raise pa.ArrowInvalid(
            f"row {row}, column {name[:40]!r}: a cell can hold at most {LETTERS:,} characters"
        )


def _sheet_cells(column: pa.ChunkedArray) -> Iterator[Cell | None]:
    """The values of a column that a sheet can hold."""
    for cell in column.to_pylist():
        match cell:
            case None | "":
                yield None
            case bool() | str():
                yield cell
            case int():
                yield cell if abs(cell) < EXACT else str(cell)
            case float():
                yield None if cell != cell else cell if np.isfinite(cell) else str(cell)
            case Decimal():
                yield float(cell) if Decimal(repr(float(cell))) == cell else str(cell)
            case datetime():
                plain = cell.tzinfo is None and cell.year >= 1900 and not cell.microsecond
                yield cell if plain else cell.isoformat()
            case date():
                yield cell if cell.year >= 1900 else cell.isoformat()
            case time():
                yield cell if not cell.microsecond else cell.isoformat()
            case timedelta():
                plain = timedelta(0) <= cell < timedelta(days=1_000_000) and not cell.microseconds
                yield cell if plain else str(cell)
            case bytes():
                try:
                    yield cell.decode()
                except UnicodeDecodeError:
                    raise pa.ArrowInvalid("it holds bytes that are not text") from None
            case _:
                yield json.dumps(cell, ensure_ascii=False, default=str)
