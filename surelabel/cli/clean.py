"""``surelabel clean``: clean labels, and the rows that a person should look at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ._files import (
    Answers,
    Json,
    Model,
    Output,
    Report,
    TableFile,
    check_model_output,
    check_outputs,
    is_file,
    write_cleaned,
)
from ._screen import print_json, show
from ._settings import Settings, takes_settings


@takes_settings("method", "max_error")
def clean(
    table: TableFile,
    output: Output,
    settings: Settings,
    report: Report = None,
    model: Model = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            metavar="SHEET", readable=False, help="The answered sheet of surelabel audit."
        ),
    ] = None,
    answers: Answers = None,
    json: Json = False,
) -> None:
    """Choose a label for every row, say how sure it is, and list the rows to look at.

    surelabel clean pets.csv -o cleaned.csv --labels candidates --report pets.html

    surelabel clean votes.csv -o cleaned.csv --votes 'rater_*' --gold checked

    surelabel clean pets.csv -o cleaned.csv --settings pets.toml --audit audit.csv

    Exits with code 1 if no label is probable, or if an audit found more mistakes than estimated.
    """
    from ..progress import stage
    from ..tables import clean

    check_model_output(settings, "--model", model)
    check_outputs([table, audit, answers], report, model, table=output, json=json)
    with stage("read", verbose=True):
        rows = settings.read(table)
    found = clean(
        rows,
        audit=audit,
        answers=answers,
        verbose=True,
        **settings.cleaning(),
        **settings.columns(),
    )
    paths = write_cleaned(found, settings, output, report, model)
    if json:
        print_json(found.to_dict())
    else:
        overview = found.overview()
        written = [("written", ", ".join(map(str, paths)))] if paths else []
        facts = overview.facts + written
        show(replace(overview, facts=facts), error=not is_file(output))
    if not found.n_kept or (found.audit is not None and found.audit.n_fallen):
        raise typer.Exit(1)
