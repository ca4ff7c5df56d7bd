"""``surelabel fit``: a model from a table of doubtful labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._screen import (
    count,
    facts,
    few,
    kinds,
    memory,
    parameters,
    peak_memory,
    percent,
    print_json,
    printable,
    screen,
    times,
)
from ._table_options import Json, Method, TableFile, TableOptions, check_outputs, table_options


@table_options
def fit(
    table: TableFile,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            readable=False,
            help="Where to write the model (.skops).",
        ),
    ],
    options: TableOptions,
    method: Method = "SURE",
    json: Json = False,
) -> None:
    """Learn a model from a table, and save it with all that it needs to label new tables.

    surelabel fit pets.csv -o pets.skops --labels candidates

    surelabel fit votes.csv -o votes.skops --votes 'annotator_*' --gold checked --exclude note

    surelabel fit texts.parquet -o texts.skops --labels labels --features text,embedding --method
    PALOC
    """
    from ..estimators import save_model
    from ..progress import stage
    from ..tables import tasks

    check_outputs([table], output)
    seconds: dict[str, float] = {}
    with stage("read", seconds, verbose=True):
        rows = options.read(table)
    fitted = tasks.fit(rows, method=method, verbose=True, **options.columns(rows))
    save_model(fitted.model, output)
    seconds |= fitted.seconds
    if json:
        print_json(
            {
                "model": output,
                "rows": fitted.n_rows,
                "classes": fitted.classes,
                "features": {feature.name: feature.kind for feature in fitted.features},
                "method": fitted.method,
                "parameters": fitted.parameters,
                "covering_rate": fitted.cv_score,
                "seconds": seconds,
                "peak_memory": peak_memory(),
            }
        )
        return
    out = screen()
    out.print(
        f"{printable(output)}: a model of {count(fitted.n_rows)} and {len(fitted.classes):,} "
        "classes",
        style="bold",
    )
    out.print(
        facts(
            [
                ("classes", few(fitted.classes.tolist())),
                ("learned from", kinds(fitted.features)),
                ("method", f"{fitted.method} ({parameters(fitted.parameters)})"),
                (
                    "left-out rows",
                    f"{percent(fitted.cv_score)} of the predictions are among the candidates",
                ),
                ("time", times(seconds)),
                ("peak memory", memory(peak_memory())),
            ]
        )
    )
    out.print(f"label new tables: surelabel predict {printable(output)} TABLE", style="dim")
