"""``surelabel fit``: a model from a table of doubtful labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ._files import Answers, Json, TableFile, check_model_output, check_outputs
from ._screen import print_json, show
from ._settings import Settings, takes_settings


@takes_settings("method")
def fit(
    table: TableFile,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            readable=False,
            help="Where to write the model (.model).",
        ),
    ],
    settings: Settings,
    answers: Answers = None,
    json: Json = False,
) -> None:
    """Learn a model from a table, and save it with everything it needs to label new tables.

    surelabel fit pets.csv -o pets.model --labels candidates

    surelabel fit votes.csv -o votes.model --votes 'annotator_*' --gold checked --exclude note

    surelabel fit texts.parquet -o texts.model --labels labels --features text,embedding --method
    PALOC
    """
    from ..estimators import save_model
    from ..progress import stage
    from ..tables import fit

    check_model_output(settings, "--output", output)
    check_outputs([table, answers], output)
    with stage("read", verbose=True):
        rows = settings.read(table)
    found = fit(rows, method=settings.method, answers=answers, verbose=True, **settings.columns())
    save_model(found.model, output)
    if json:
        print_json({"model": output} | found.to_dict())
        return
    overview = found.overview()
    show(
        replace(
            overview,
            title=f"{output}: {overview.title}",
            notes=[f"label new tables: surelabel predict {output} TABLE"],
        )
    )
