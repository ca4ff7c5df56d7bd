"""``surelabel inspect``: look at a table of doubtful labels before learning from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._files import Json, TableFile, check_outputs
from ._screen import tell
from ._settings import Settings, settings_text, takes_settings


@takes_settings()
def inspect(
    table: TableFile,
    settings: Settings,
    write_settings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="Write these options as a file for --settings (.toml), with all others in it as "
            "comments.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 if there are problems.")
    ] = False,
    json: Json = False,
) -> None:
    """Show how ambiguous a table is, which classes are confused, and what is wrong with it.

    surelabel inspect pets.csv --labels candidates

    surelabel inspect votes.csv --votes 'rater_*' --gold checked --write-settings votes.toml

    surelabel inspect answers.parquet --labels label --id question --long --annotator model
    """
    from ..files import replacing
    from ..tables import inspect

    check_outputs([table], write_settings)
    found = inspect(settings.read(table), **settings.columns())
    if write_settings is not None:
        kinds = {feature.name: feature.kind for feature in found.features}
        with replacing(write_settings) as file:
            file.write(settings_text(settings, kinds).encode())
    tell(found, table, json=json)
    if strict and found.problems:
        raise typer.Exit(1)
