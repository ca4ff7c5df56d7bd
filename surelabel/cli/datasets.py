"""``surelabel datasets``: which data sets are on this machine, and which are missing."""

from __future__ import annotations

from typing import Annotated

import typer


def datasets(
    fetch: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Download this data set first; by doing so you accept its licence."
        ),
    ] = None,
) -> None:
    """List the data sets: which are on this machine, their sizes, and whether they match the
    paper's.
    """
    from rich.console import Console
    from rich.table import Table

    from ..data import catalog

    if fetch:
        typer.echo(f"{fetch} is at {catalog.fetch(fetch)}")
    table = Table(
        "name", "state", "examples", "features", "labels", "candidates", "as published", box=None
    )
    found = catalog.status()
    for entry in found:
        expected, measured = entry.spec.expected, entry.measured
        sizes = ["–" if value is None else str(value) for value in measured or expected]
        agrees = "–"
        if measured is not None and entry.spec.table is not None:
            agrees = "yes" if measured == expected else f"no: {expected}"
        table.add_row(
            entry.spec.name, entry.state, *sizes, agrees, style="dim" if measured is None else ""
        )
    Console().print(table)
    for entry in found:
        if entry.problem:
            typer.echo(entry.problem)
