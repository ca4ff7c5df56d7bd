"""``surelabel report``: turn records into tables, figures and one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    results: Annotated[
        Path, typer.Argument(help="A folder with the results of one study or several.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(help="Where to write; by default the folder 'report' in the results."),
    ] = None,
) -> None:
    """Write the results as tables and figures: one HTML page, and Markdown, LaTeX and SVG files."""
    from ..report import write_report

    for path in write_report(results, output or results / "report"):
        typer.echo(path)
