"""Records of finished trials → tables, figures and one HTML page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..experiments.records import read_all
from ..extras import extra
from ..files import checked_path, making_folders, naming, replacing_all

__all__ = ["write_report"]

ORDER = (
    "accuracy",
    "counts",
    "curves",
    "ranks",
    "sensitivity",
    "convergence",
    "transductive",
    "paired",
    "times",
    "parameters",
)
"""The topics of a section, in the order of the page."""


def write_report(results: str | Path | Iterable[str | Path], output: str | Path) -> list[Path]:
    """Write the report of one or more runs.

    Parameters
    ----------
    results : path-like or iterable of path-like
        Results folders, finished or not (the report says what is missing), or folders that contain
        several of them.
    output : path-like
        Where to write ``report.html`` (one self-contained page), ``report.md``, ``tables/*.tex``,
        ``tables/*.csv`` and ``figures/*.svg``.

    Returns
    -------
    list of Path
        The files written, the page first.
    """
    from .summary import summarize

    given: list[Any] = (
        list(results)
        if isinstance(results, Iterable) and not isinstance(results, str | bytes)
        else [results]
    )
    output = checked_path(output)
    runs = [run for path in given for run in read_all(checked_path(path))]
    # draw everything before anything is written
    return write_files(_files(summarize(runs)), output)


def _files(summary: dict[str, Any]) -> dict[str, str]:
    """Every file of the report: path in the output folder → content."""
    with extra("cli", "the report"):
        from . import figures, html
    from . import markdown, result_tables, table_formats
    from .table_parts import Table

    def displays_of(section: dict[str, Any]) -> list[Any]:
        return sorted(
            [*result_tables.build(section), *figures.build(section)],
            key=lambda display: ORDER.index(display.topic),
        )

    pages = [(section, displays_of(section)) for section in summary["sections"]]
    front = result_tables.front(summary)
    files = {
        "report.html": html.render(summary, pages, front),
        "report.md": markdown.render(summary, pages, front),
    }
    for displays in (front, *(displays for _, displays in pages)):
        for display in displays:
            if isinstance(display, Table):
                files[f"tables/{display.name}.tex"] = table_formats.to_latex(display)
                files[f"tables/{display.name}.csv"] = table_formats.to_csv(display)
            else:
                files |= {
                    f"figures/{picture.name}.svg": picture.svg for picture in display.pictures
                }
    return files


def write_files(files: dict[str, str], output: Path) -> list[Path]:
    """Write all files into a folder, or none, so that a reader never sees half of a report."""
    paths = [output / name for name in files]
    with making_folders(paths), replacing_all(paths) as places:
        for place, content in zip(places, files.values(), strict=True):
            with naming(place):
                # file names need not be UTF-8
                place.write_bytes(content.encode(errors="replace"))
    return paths
