"""``surelabel inspect``: look at a table of doubtful labels before learning from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from ._screen import print_json, show
from ._table_options import Json, TableFile, TableOptions, table_options


@table_options
def inspect(
    table: TableFile,
    options: TableOptions,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 if there are problems.")
    ] = False,
    json: Json = False,
) -> None:
    """Show how ambiguous a table is, which classes are confused, and what is wrong with it.

    surelabel inspect pets.csv --labels candidates

    surelabel inspect votes.csv --votes 'annotator_*' --gold checked

    surelabel inspect answers.parquet --labels label --id question --long --annotator model
    """
    from ..tables import inspect

    found = inspect(options.read(table), **options.columns())
    if json:
        print_json(found.to_dict())
    else:
        overview = found.overview()
        show(replace(overview, title=f"{table}: {overview.title}"))
    if strict and found.problems:
        raise typer.Exit(1)
