"""What commands print: a summary for people, JSON for programs."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from ..text import plain

if TYPE_CHECKING:
    from ..tables.overview import Overview, Result


def tell(found: Result, name: object, *, json: bool) -> None:
    """Print a result as JSON, or its summary with a name before it."""
    if json:
        print_json(found.to_dict())
    else:
        overview = found.overview()
        show(replace(overview, title=f"{name}: {overview.title}"))


def show(overview: Overview, *, error: bool = False) -> None:
    """Print the summary of a result, wrapped on a terminal; with ``error`` to standard error,
    because standard output carries the table.
    """
    on_terminal = (sys.stderr if error else sys.stdout).isatty()
    width = shutil.get_terminal_size().columns if on_terminal else 1000
    typer.echo(overview.text(width), err=error)


def print_json(value: Any) -> None:
    """Print as JSON. NaN and infinity become null; bytes of file names that are not UTF-8 are
    escaped.
    """
    text = json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False)
    typer.echo(text.encode(errors="backslashreplace").decode())
