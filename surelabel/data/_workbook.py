"""Excel workbooks (.xlsx) ↔ :class:`pyarrow.Table`: a sheet with column names in its first row.

A workbook is a zip archive of XML, read by python-calamine and written by XlsxWriter. The reader
keeps a sheet as a full rectangle, so its size is checked first.
"""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
from datetime import date, datetime
from decimal import Decimal
from typing import Any, BinaryIO

import pyarrow as pa

from ..exceptions import SurelabelError, TableError, first_few
from ..extras import extra
from ..text import suggest
from ._delimited import NO_ROWS, check_header
from .file_formats import Content, damaged
from .json_lines import as_json
from .unpacking import check_members, too_sparse

#: Larger whole numbers are not exact in a workbook, which has only floats.
EXACT = 2**53
#: The position of a cell (``r="B3"``) or of a row (``r="3"``) in the XML of a sheet.
_PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]*)([0-9]+)["']""")
#: Text, a number, a truth value, a date, or a time.
Cell = Any
#: How dates are displayed.
FORMATS = {date: "yyyy-mm-dd", datetime: "yyyy-mm-dd hh:mm:ss"}


# -------------------------------------------------------------------- reading


def read_workbook(content: Content, source: str, sheet: str | None) -> pa.Table:
    """Read a sheet. Numbers, truth values and dates keep their type if all cells of a column have
    the same type; otherwise the column is text, with a warning. Empty rows are skipped.
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
        raise TableError(f"{source}: {NO_ROWS}")
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
    except (SurelabelError, MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:  # the reader, written in Rust, may panic
        raise damaged(source, error) from None


def _chosen_sheet(book: Any, sheet: str | None, source: str) -> list[list[Cell]]:
    """The cells of the named sheet; by default, of the only visible one that is not empty: hidden
    sheets often hold lists of choices.
    """
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    is_visible = {
        part.name: part.visible == SheetVisibleEnum.Visible
        for part in book.sheets_metadata
        if part.typ == SheetTypeEnum.WorkSheet
    }
    if sheet is not None:
        if sheet not in is_visible:
            raise TableError(
                f"{source}: there is no sheet {sheet!r}; {suggest(sheet, is_visible, 'sheets')}"
            )
        return list(book.get_sheet_by_name(sheet).to_python())
    visible = [name for name in is_visible if is_visible[name]]
    filled = {name: rows for name in visible if (rows := book.get_sheet_by_name(name).to_python())}
    if len(filled) > 1:
        raise TableError(
            f"{source}: the workbook has the sheets {first_few(filled, 12)}; say which one "
            f"(--settings sheet={next(iter(filled))!r})"
        )
    return next(iter(filled.values()), [])


def _check_size(data: bytes, source: str) -> None:
    """Refuse a workbook that would take far more memory than its cells need."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_members(archive.infolist(), source, TableError)
            for entry in archive.infolist():
                part = archive.read(entry)
                if b"sheetData" in part:
                    _check_rectangle(part, source)
    except (SurelabelError, MemoryError):
        raise
    except Exception as error:  # zipfile raises many kinds of errors for damaged files
        raise damaged(source, error) from None


def _check_rectangle(part: bytes, source: str) -> None:
    """Refuse a sheet with few cells that are far apart."""
    width = height = count = 0
    for match in _PLACE.finditer(part):
        letters, row = match.groups()
        column = 0
        for letter in letters.upper():
            column = 26 * column + letter - 64  # the code of A is 65
        width, height, count = max(width, column), max(height, int(row)), count + 1
    if too_sparse(height, width, count):
        raise TableError(
            f"{source}: a sheet has {count:,} cells in {height:,} rows and {width:,} columns; "
            "remove those that are far from the table"
        )


def _typed_column(cells: tuple[Cell, ...]) -> pa.Array:
    """Cells as a column of their type if all have the same, otherwise as text; empty cells are
    missing.
    """
    given = [None if cell == "" else cell for cell in cells]
    kinds = _kinds(cells)
    if len(kinds) > 1:
        return pa.array([None if cell is None else _displayed(cell) for cell in given], pa.string())
    if kinds == {float} and all(
        cell is None or (cell % 1 == 0 and abs(cell) < EXACT) for cell in given
    ):
        return pa.array(given, pa.int64())
    return pa.array(given) if kinds else pa.nulls(len(given), pa.float64())


def _kinds(cells: tuple[Cell, ...]) -> set[type]:
    """The kinds of the cells that are not empty; whole numbers count as floats."""
    return {float if type(cell) is int else type(cell) for cell in cells if cell != ""}


def _displayed(cell: Cell) -> str:
    """A cell as it is displayed: 2, not 2.0."""
    return str(int(cell)) if isinstance(cell, float) and cell % 1 == 0 else str(cell)


# -------------------------------------------------------------------- writing


def write_workbook(table: pa.Table, file: BinaryIO) -> None:
    """Write a table as the only sheet. Texts stay texts, even if they look like a formula or a
    link; values that a sheet has no type for become text.
    """
    with extra("cli", "writing .xlsx"):
        import xlsxwriter

    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    # so that the same table gives the same bytes
    book.set_properties({"created": datetime(2000, 1, 1)})
    sheet = book.add_worksheet("table")
    formats = {kind: book.add_format({"num_format": text}) for kind, text in FORMATS.items()}
    sheet.freeze_panes(1, 0)
    for j, name in enumerate(table.column_names):
        for i, value in enumerate([name, *table.column(j).to_pylist()]):
            match _sheet_cell(value):
                case None:
                    failed = 0
                case str() as cell:
                    failed = sheet.write_string(i, j, cell)
                case bool() as cell:
                    failed = sheet.write_boolean(i, j, cell)
                case int() | float() as cell:
                    failed = sheet.write_number(i, j, cell)
                case cell:
                    failed = sheet.write_datetime(i, j, cell, formats[type(cell)])
            if failed:
                raise pa.ArrowInvalid(
                    f"row {i}, column {name[:40]!r}: a sheet has at most 1,048,575 rows, 16,384 "
                    "columns and 32,767 characters in a cell"
                )
    book.close()
    file.write(content.getvalue())


def _sheet_cell(value: Any) -> Cell | None:
    """The value, or a text if a sheet has no type that holds it; None for an empty cell."""
    match as_json(value) if isinstance(value, Decimal | bytes) else value:
        case None | "":
            return None
        case bool() | str() as cell:
            return cell
        case int() as cell:
            return cell if abs(cell) < EXACT else str(cell)
        case float() as cell:
            return None if cell != cell else str(cell) if abs(cell) == float("inf") else cell
        case date() as cell:  # or a datetime
            would_be_lost = getattr(cell, "microsecond", 0) or getattr(cell, "tzinfo", None)
            return cell if cell.year >= 1900 and not would_be_lost else str(cell)
        case list() | dict() as cell:
            return json.dumps(cell, ensure_ascii=False, default=as_json)
        case cell:
            return str(cell)
