"""``surelabel predict``: labels for new tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ..exceptions import ModelFileError
from ..text import count, printable
from ._files import Json, TableFile, check_outputs, check_table_output, is_file, write_output
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
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            readable=False,
            help="Where to write; by default CSV to standard output.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Add a label, its confidence and the second choice to every row of a table; its own columns
    stay as they are. If labels have an order, the column median has the smallest expected distance.

    surelabel predict pets.model new.csv -o labelled.csv

    surelabel predict pets.model new.csv | head
    """
    from ..estimators import load_model
    from ..progress import stage
    from ..tables import predict

    check_table_output(output, json=json)
    check_outputs([model, table], table=output)
    seconds: dict[str, float] = {}
    with stage("read", seconds, verbose=True):
        loaded = load_model(model)
        rows = settings.read(table)
    with stage("predict", seconds, verbose=True), _named(model):
        found = predict(loaded, rows, prefix=settings.prefix, as_=settings.as_)
    write_output(found, output, settings)
    if json:
        labels = found[f"{settings.prefix}label"].value_counts().to_pylist()
        counts = {part["values"]: part["counts"] for part in labels}
        print_json(
            {"output": str(output), "rows": found.num_rows, "labels": counts, "seconds": seconds}
        )
    elif is_file(output):
        typer.echo(f"{printable(output)}: {count(found.num_rows)}")


@contextmanager
def _named(model: Path) -> Iterator[None]:
    """Put the file name before errors about the model."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{model}: {error}") from error
