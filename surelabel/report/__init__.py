"""Records of finished cells → tables, figures, one HTML page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..exceptions import SurelabelError, first_few
from ..experiments import records
from ..files import making_folders, naming, replacing_all

__all__ = ["ReportError", "write_report"]


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


FIELDS = {
    *(
        "cell",
        "dataset",
        "configuration",
        "method",
        "fold",
        "n_folds",
        "selection",
        "parameters",
        "scaling",
        "scores",
        "seconds",
    ),
    *("n_train", "n_test", "n_select", "curves", "versions", "machine", "finished"),
}
"""What the report reads of a record."""


class ReportError(SurelabelError):
    """The report cannot be made: no finished cells, or a library for drawing is not installed."""


def write_report(results: str | Path | Iterable[str | Path], output: str | Path) -> list[Path]:
    """Write the report of one or more runs.

    Parameters
    ----------
    results : path-like or iterable of path-like
        Results folders, finished or not (the report says what is missing), or folders that hold
        several of them.
    output : path-like
        Where to write ``report.html`` (one page that needs nothing else), ``report.md``,
        ``tables/*.tex``, ``tables/*.csv`` and ``figures/*.svg``.

    Returns
    -------
    list of Path
        The files written, the page first.
    """
    from .summary import summarize

    given = [results] if isinstance(results, str | Path) else list(results)
    runs = [_read(folder) for path in given for folder in _folders(Path(path))]
    # everything is drawn before anything is written
    return write_files(_files(summarize(runs)), Path(output))


def _folders(path: Path) -> list[Path]:
    """The folder itself, or, if it is no results folder, those in it that are."""
    inside = sorted(study.parent for study in path.glob(f"*/{records.STUDY}"))
    return inside if inside and not (path / records.STUDY).is_file() else [path]


def _read(folder: Path) -> records.Run:
    """The study and its records, which are there and have what a record has."""
    run = records.read(folder)
    if not run.records:
        old = f" ({len(run.outdated)} are outdated)" if run.outdated else ""
        raise ReportError(
            f"{folder}: there is no finished cell to report{old}; run the study first"
        )
    for record in run.records:
        if missing := FIELDS - record.keys():
            raise ReportError(
                f"{folder}: the record of cell {record['cell']} has no "
                f"{first_few(sorted(missing))}; remove its line from "
                f"{records.RECORDS} and run the study again"
            )
    return run


def _files(summary: dict[str, Any]) -> dict[str, str]:
    """Every file of the report: path below the output folder → content."""
    try:
        from . import figures, html
    except ModuleNotFoundError as error:
        raise ReportError(f"the report needs {error.name}: pip install {error.name}") from None
    from . import markdown, result_tables

    def blocks_of(section: dict[str, Any]) -> list[Any]:
        return sorted(
            [*result_tables.build(section), *figures.build(section)],
            key=lambda block: ORDER.index(block.topic),
        )

    pages = [(section, blocks_of(section)) for section in summary["sections"]]
    front = result_tables.front(summary)
    files = {
        "report.html": html.render(summary, pages, front),
        "report.md": markdown.render(summary, pages, front),
    }
    for blocks in (front, *(blocks for _, blocks in pages)):
        for block in blocks:
            if isinstance(block, result_tables.Table):
                files[f"tables/{block.name}.tex"] = result_tables.to_latex(block)
                files[f"tables/{block.name}.csv"] = result_tables.to_csv(block)
            else:
                files |= {f"figures/{picture.name}.svg": picture.svg for picture in block.pictures}
    return files


def write_files(files: dict[str, str], output: Path) -> list[Path]:
    """Write every file below a folder, all or none: a reader never meets half of a report."""
    paths = [output / name for name in files]
    with making_folders(paths), replacing_all(paths) as places:
        for place, content in zip(places, files.values(), strict=True):
            with naming(place):
                # names of files need not be UTF-8
                place.write_bytes(content.encode(errors="replace"))
    return paths
