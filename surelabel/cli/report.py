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
    from ..experiments.records import folders
    from ..experiments.study import StudyError
    from ..report import write_report

    studies = folders(results)
    if not studies:
        raise StudyError(
            f"{results}: there are no records here; make some with surelabel reproduce or "
            "surelabel run"
        )
    for path in write_report(studies, output or results / "report"):
        typer.echo(path)
