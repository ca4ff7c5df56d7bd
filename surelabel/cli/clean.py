"""``surelabel clean``: clean labels, and the rows that a person should look at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ..exceptions import ParameterError
from ._screen import memory_fact, peak_memory, print_json, show
from ._table_options import (
    Answers,
    Escape,
    Estimator,
    Json,
    Method,
    Output,
    Prefix,
    TableFile,
    TableOptions,
    check_model_output,
    check_outputs,
    check_table_output,
    is_file,
    table_options,
    write_output,
)

STYLES = {"certified": "bold green", "probable": "cyan", "look": "bold yellow"}
REPORT = "The report"


@table_options
def clean(
    table: TableFile,
    output: Output,
    options: TableOptions,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE",
            readable=False,
            help="Also write a report page (.html).",
            rich_help_panel=REPORT,
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Show the images at these paths, relative to the table.",
            rich_help_panel=REPORT,
        ),
    ] = None,
    text_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Show the text of this column; by default the first text column learned from.",
            rich_help_panel=REPORT,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", readable=False, help="Also write the model (.model)."),
    ] = None,
    max_error: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Keep labels as long as their estimated error is at most this."
        ),
    ] = 0.1,
    audit: Annotated[
        Path | None,
        typer.Option(
            metavar="SHEET",
            readable=False,
            help="The answered sheet of surelabel audit; certifies the labels kept.",
        ),
    ] = None,
    answers: Answers = None,
    method: Method = "PURE",
    estimator: Estimator = None,
    prefix: Prefix = "",
    escape_formulas: Escape = False,
    json: Json = False,
) -> None:
    """Choose a label for every row, say how sure it is, and list the rows that a person should look
    at.

    New columns: label, confidence, margin, second, status (certified, probable, look), outside (1
    for the row whose true label is most likely none of those given), best (the most probable label
    of all), outside_probability (with --gold), duplicate (number of a group of rows with equal
    features but different candidates), look (1 for the row to look at first). Exits with code 1 if
    no label is probable, or if an audit found more mistakes than the estimate allows.

    surelabel clean pets.csv -o cleaned.csv --labels candidates --report pets.html

    surelabel clean votes.csv -o cleaned.parquet --votes 'annotator_*' --gold checked --max-error
    0.05

    surelabel clean pets.csv -o cleaned.csv --labels candidates --audit audit.csv

    surelabel clean faces.csv -o cleaned.csv --labels names --id face --image file --report
    faces.html
    """
    from ..data.arrow_tables import find_column
    from ..estimators import save_model
    from ..files import replacing_all
    from ..progress import stage
    from ..tables import clean

    if json and not is_file(output):
        raise ParameterError(
            "--json prints a report in place of the table: name a file with --output"
        )
    check_model_output(estimator, "--model", model)
    check_table_output(output)
    check_outputs(
        [table, *(path for path in (audit, answers) if path is not None)],
        output,
        report,
        model,
    )
    seconds: dict[str, float] = {}
    with stage("read", seconds, verbose=True):
        rows = options.read(table)
    for column in filter(None, (image, text_column)):
        find_column(rows, column)
    found = clean(
        rows,
        method=method,
        estimator=estimator,
        max_error=max_error,
        audit=audit,
        answers=answers,
        prefix=prefix,
        verbose=True,
        **options.columns(),
    )
    seconds |= found.seconds
    paths = [path for path in (output, report, model) if is_file(path)]
    with replacing_all(paths) as places:
        beside = dict(zip(paths, places, strict=True))
        if report is not None:
            with stage("report", seconds, verbose=True):
                found.report(beside[report], text=text_column, image=image)
        if model is not None:
            if found.model is None:
                raise ParameterError("the votes alone decide, so there is no model to write")
            save_model(found.model, beside[model])
        with stage("write", seconds, verbose=True):
            write_output(
                found.frame,
                beside.get(output),
                escape=escape_formulas,
                name=output if is_file(output) else None,
            )
    found = replace(found, seconds=seconds)
    if json:
        print_json(found.to_dict() | {"peak_memory": peak_memory()})
    else:
        overview = found.overview()
        written = [("written", ", ".join(map(str, paths)))]
        facts = overview.facts + memory_fact() + (written if paths else [])
        show(replace(overview, facts=facts), STYLES, error=not is_file(output))
    if not found.n_kept or (found.audit is not None and found.audit.n_fallen):
        raise typer.Exit(1)
