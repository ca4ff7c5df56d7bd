"""``surelabel report``: records as tables, figures and one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    results: Annotated[Path, typer.Argument(help="A results folder: of one study, or of several.")],
    output: Annotated[
        Path | None,
        typer.Option(help="Where to write; by default the folder 'report' in the results."),
    ] = None,
) -> None:
    """Write tables and figures of what has been run, as one HTML page and as Markdown, LaTeX, CSV
    and SVG files.
    """
    from ..report import write_report

    for path in write_report(results, output or results / "report"):
        typer.echo(path)
