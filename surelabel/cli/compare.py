"""``surelabel compare``: which method suits a table."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._screen import count, few, listing, parameters, percent, print_json, printable, screen
from ._table_options import Json, TableFile, TableOptions, table_options

if TYPE_CHECKING:
    from ..tables.comparison import Comparison


@table_options
def compare(
    table: TableFile,
    options: TableOptions,
    methods: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Only these methods: SURE,PLKNN.")
    ] = None,
    folds: Annotated[int, typer.Option(help="Number of folds.")] = 5,
    max_rows: Annotated[
        int, typer.Option(min=10, help="Compare on a sample of at most so many rows.")
    ] = 2000,
    json: Json = False,
) -> None:
    """Compare methods and parameters on a table, by cross-validation that needs no true labels.

    Ends with code 1 if a method could not be run on this table.

    surelabel compare pets.csv --labels candidates

    surelabel compare votes.csv --votes 'annotator_*' --methods SURE,PLKNN,IPAL --folds 10
    """
    from ..tables import tasks

    rows = options.read(table)
    names = [name.strip() for text in methods for name in text.split(",")] if methods else None
    found = tasks.compare(
        rows, methods=names, folds=folds, max_rows=max_rows, verbose=True, **options.columns(rows)
    )
    if json:
        print_json([asdict(result) for result in found])
    else:
        _show(table, found)
    if any(result.error for result in found):
        raise typer.Exit(1)


def _show(table: Path, found: list[Comparison]) -> None:
    out = screen()
    out.print(
        f"{printable(table)}: methods compared on {count(found[0].n_rows)}, the best first",
        style="bold",
    )
    titles = {"method": False, "in candidates": True, "accuracy": True, "seconds": True}
    out.print(
        listing(
            titles | {"parameters": False},
            (
                (
                    result.method,
                    f"{percent(result.covering_rate)} ± {100 * result.covering_sd:.1f}",
                    f"{percent(result.approximated_accuracy)} ± {100 * result.approximated_sd:.1f}",
                    f"{result.seconds:.1f}",
                    parameters(result.parameters),
                )
                for result in found
                if not result.error
            ),
        )
    )
    out.print(
        "in candidates: predictions for left-out rows that are among their candidates; accuracy: "
        "as expected from these",
        style="dim",
    )
    for result in found:
        if result.error:
            out.print(
                f"  ! {result.method} could not be run: {printable(result.error)}", style="yellow"
            )
    if not found[0].error:
        best = found[0]
        near = [
            result.method
            for result in found[1:]
            if result.covering_rate >= best.covering_rate - best.covering_sd
        ]
        if near:
            out.print(
                f"within one standard deviation of the best, so perhaps as good: {few(near)}",
                style="dim",
            )
        name = shlex.quote(best.method)
        out.print(
            f"clean with the best: surelabel clean {printable(table)} --method {name} ...",
            style="dim",
        )
