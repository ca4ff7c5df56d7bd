"""Where the verbs for tables read and write, and what is checked before anything is computed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeGuard

import typer

from ..exceptions import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

    from ..tables import Cleaned
    from ._settings import Settings

TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        readable=False,
        help="A table: .csv, .tsv, .json, .jsonl (also .gz, .zip), .xlsx, .parquet, .arrow; "
        "'part-*.csv' for several, - for standard input.",
    ),
]
Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The table; its extension gives the format, - is CSV to standard output.",
    ),
]
Report = Annotated[
    Path | None, typer.Option(metavar="PAGE", readable=False, help="The report page (.html).")
]
Model = Annotated[
    Path | None, typer.Option(metavar="MODEL", readable=False, help="The model (.model).")
]
Answers = Annotated[
    Path | None,
    typer.Option(metavar="FILE", readable=False, help="Answers of surelabel review (.jsonl)."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

#: The file name that means standard output.
STANDARD_OUTPUT = Path("-")


def is_file(path: Path | None) -> TypeGuard[Path]:
    """Whether an output is a file rather than standard output."""
    return path is not None and path != STANDARD_OUTPUT


def check_outputs(
    inputs: Iterable[Path | None], *outputs: Path | None, table: Path | None = None
) -> None:
    """Check, before anything is computed, that every output can be written and replaces no
    input; only the ``table`` may go to standard output.
    """
    from ..data.file_formats import files_of

    if STANDARD_OUTPUT in outputs:
        raise ParameterError("-: only tables are written to standard output; name a file")
    taken = {
        os.path.realpath(file): f"{file} is read"
        for path in inputs
        if path is not None
        for file in files_of(path)
    }
    for path in filter(is_file, (table, *outputs)):
        real = os.path.realpath(path)
        if real in taken:
            raise ParameterError(f"{path}: {taken[real]} by the same command; choose another name")
        taken[real] = f"{path} is written"
        if not os.path.isdir(os.path.dirname(real)):
            raise ParameterError(
                f"{path}: there is no folder {os.path.dirname(real)}; create it first"
            )
        if os.path.exists(real) and not os.path.isfile(real):
            raise ParameterError(f"{path} is not a file; choose another name")
        if not os.access(os.path.dirname(real), os.W_OK):
            raise ParameterError(
                f"{path}: no permission to write to {os.path.dirname(real)}; choose another folder"
            )


def check_table_output(path: Path | None, *, json: bool = False) -> None:
    """Check, before anything is computed, that the extension of a file names a format for tables,
    and that a report as JSON does not go where the table goes.
    """
    from ..data.file_formats import form_of

    if is_file(path):
        form_of(path)
    elif json:
        raise ParameterError("--json prints a report in place of the table: name a file to write")


def check_model_output(settings: Settings, option: str, path: Path | None) -> None:
    """Refuse, before anything is computed, to write a model that a model file cannot hold."""
    from ..estimators.persistence import foreign

    if settings.estimator is not None and path is not None:
        raise ParameterError(
            f"an estimator and {option} cannot be used together: "
            f"{foreign(f'a model around {settings.estimator}')}"
        )


def write_output(table: pa.Table, path: Path | None, settings: Settings) -> None:
    """Write a table to a file, or to standard output as CSV. In text formats, which a spreadsheet
    may open, escape formulas or warn of them.
    """
    from ..data.file_formats import TEXT_FORMS, form_of
    from ..data.formulas import escape_formulas, find_formula
    from ..data.table_files import write_as_text, write_table

    if not is_file(path) or form_of(path)[0] in TEXT_FORMS:
        if settings.escape_formulas:
            table = escape_formulas(table)
        elif found := find_formula(table):
            where = f"row {found[0]}" if found[0] else "the header"
            place = path if is_file(path) else "the output"
            typer.echo(
                f"warning: {place}: {where}, column {found[1]!r}: this looks like a formula, and a "
                "spreadsheet would run it; --settings escape_formulas=true writes such cells as "
                "text",
                err=True,
            )
    if not is_file(path):
        write_as_text(table, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        write_table(table, path)


def write_cleaned(
    found: Cleaned, settings: Settings, output: Path, report: Path | None, model: Path | None
) -> tuple[list[Path], dict[str, float]]:
    """Write a cleaned table, its report page and its model: all of them, or none.

    Returns
    -------
    paths : list of Path
        The files written.
    seconds : dict of str to float
        Time by stage.
    """
    from ..estimators import save_model
    from ..files import all_or_none
    from ..progress import stage

    if model is not None and found.model is None:
        raise ParameterError("the votes alone decide, so there is no model to write")
    seconds: dict[str, float] = {}
    with all_or_none():
        if report is not None:
            with stage("report", seconds, verbose=True):
                found.report(report, text=settings.text, image=settings.image)
        if model is not None:
            save_model(found.model, model)
        with stage("write", seconds, verbose=True):
            write_output(found.frame, output, settings)
    return [path for path in (output, report, model) if is_file(path)], seconds
