"""Records of finished trials → tables, figures and one HTML page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..experiments.records import Run, read_all
from ..extras import extra
from ..files import all_or_none, checked_path, replacing

__all__ = ["write_report"]


def write_report(results: str | Path | Iterable[str | Path], output: str | Path) -> list[Path]:
    """Write the report of one or more runs.

    Parameters
    ----------
    results : path-like or iterable of path-like
        Results folders, finished or not (the report says what is missing), or folders that contain
        several of them.
    output : path-like
        Where to write ``report.html`` (one self-contained page), ``report.md``, ``tables/*.tex``
        and ``figures/*.svg``.

    Returns
    -------
    list of Path
        The files written, the page first.
    """
    given: list[Any] = (
        list(results)
        if isinstance(results, Iterable) and not isinstance(results, str | bytes)
        else [results]
    )
    output = checked_path(output)
    runs = [run for path in given for run in read_all(checked_path(path))]
    # draw everything before anything is written
    return write_files(_files(runs), output)


def _files(runs: list[Run]) -> dict[str, str]:
    """Every file of the report: path in the output folder → content."""
    with extra("cli", "the report"):
        from . import html, latex, markdown
        from .page import page_of
        from .summary import summarize
        from .tables import Table
    page = page_of(summarize(runs))
    files = {"report.html": html.render_html(page), "report.md": markdown.render_markdown(page)}
    for display in page.displays:
        if isinstance(display, Table):
            files[f"tables/{display.name}.tex"] = latex.latex_table(display)
        else:
            files |= {f"figures/{picture.name}.svg": picture.svg for picture in display.pictures}
    return files


def write_files(files: dict[str, str], output: Path) -> list[Path]:
    """Write all files into a folder, or none, so that a reader never sees half of a report."""
    paths = [output / name for name in files]
    with all_or_none():
        for path, content in zip(paths, files.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                file.write(content.encode(errors="replace"))  # file names need not be UTF-8
    return paths
