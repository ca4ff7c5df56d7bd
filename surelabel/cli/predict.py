"""``surelabel predict``: labels for new tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..text import count, printable
from ._files import STANDARD_OUTPUT, Json, Output, TableFile, check_outputs, is_file
from ._screen import print_json
from ._settings import Settings, takes_settings


@takes_settings("as_", groups=())
def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", readable=False, help="A model written by surelabel fit or clean."
        ),
    ],
    table: TableFile,
    settings: Settings,
    output: Output = STANDARD_OUTPUT,
    json: Json = False,
) -> None:
    """Add a label, its confidence and the second choice to every row of a table; its own columns
    stay as they are. If labels have an order, the column median holds the label with the smallest
    expected distance to the truth.

    surelabel predict pets.model new.csv -o labelled.csv

    surelabel predict pets.model new.csv | head
    """
    from ..data.table_files import write_table
    from ..estimators import load_model
    from ..progress import stage
    from ..tables import predict

    check_outputs([model, table], table=output, json=json)
    with stage("read", verbose=True):
        loaded = load_model(model)
        rows = settings.read(table)
    with stage("predict", verbose=True):
        found = predict(loaded, rows, prefix=settings.prefix, as_=settings.as_)
    write_table(found, output)
    if json:
        labels = found[f"{settings.prefix}label"].value_counts().to_pylist()
        counts = {part["values"]: part["counts"] for part in labels}
        print_json({"output": str(output), "rows": found.num_rows, "labels": counts})
    elif is_file(output):
        typer.echo(f"{printable(output)}: {count(found.num_rows)}")
