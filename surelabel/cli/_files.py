"""Where the verbs for tables read and write, and what is checked before anything is computed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeGuard

import typer

from ..exceptions import ParameterError

if TYPE_CHECKING:
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
    inputs: Iterable[Path | None],
    *outputs: Path | None,
    table: Path | None = None,
    json: bool = False,
) -> None:
    """Check, before anything is computed, that every output can be written and replaces no
    input. Only the ``table`` may go to standard output, unless ``json`` does.
    """
    from ..data.file_formats import files_of, form_of

    if is_file(table):
        form_of(table)  # an error if it is not the name of a table
    elif json:
        raise ParameterError("--json prints a report in place of the table: name a file to write")
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


def check_model_output(settings: Settings, option: str, path: Path | None) -> None:
    """Refuse, before anything is computed, to write a model that a model file cannot hold."""
    from ..estimators.persistence import foreign

    if settings.estimator is not None and path is not None:
        raise ParameterError(
            f"an estimator and {option} cannot be used together: "
            f"{foreign(f'a model around {settings.estimator}')}"
        )


def write_cleaned(
    found: Cleaned, settings: Settings, output: Path, report: Path | None, model: Path | None
) -> list[Path]:
    """Write a cleaned table, its report page and its model, all of them or none; return the files
    written.
    """
    from ..data.table_files import write_table
    from ..estimators import save_model
    from ..files import all_or_none
    from ..progress import stage

    if model is not None and found.model is None:
        raise ParameterError("the votes alone decide, so there is no model to write")
    with all_or_none():
        if report is not None:
            with stage("report", verbose=True):
                found.report(report, text=settings.text, image=settings.image)
        if model is not None:
            save_model(found.model, model)
        with stage("write", verbose=True):
            write_table(found.frame, output)
    return [path for path in (output, report, model) if is_file(path)]
