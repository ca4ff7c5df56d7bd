"""``surelabel compare``: which method suits a table."""

from __future__ import annotations

from typing import Annotated

import typer

from ._files import Json, TableFile
from ._screen import tell
from ._settings import Settings, takes_settings


@takes_settings()
def compare(
    table: TableFile,
    settings: Settings,
    methods: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Only these methods: SURE,PLKNN.")
    ] = None,
    folds: Annotated[int, typer.Option(help="Number of folds.")] = 5,
    max_rows: Annotated[
        int, typer.Option(min=10, help="Compare on a random sample of at most this many rows.")
    ] = 2000,
    json: Json = False,
) -> None:
    """Compare methods and parameters on a table by cross-validation that needs no true labels.

    Exits with code 1 if a method could not be run on this table.

    surelabel compare pets.csv --labels candidates

    surelabel compare votes.csv --votes 'annotator_*' --methods Crowd,majority,SURE --folds 10
    """
    from ..tables import compare

    found = compare(
        settings.read(table),
        methods=methods,
        folds=folds,
        max_rows=max_rows,
        verbose=True,
        **settings.columns(),
    )
    tell(found, table, json=json)
    if found.errors:
        raise typer.Exit(1)
