"""What commands print: a summary for people, JSON for programs."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

import typer

from ..text import plain

if TYPE_CHECKING:
    from ..tables.overview import Overview


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
