"""Printing for all commands: plain text when piped, colours on a terminal, JSON for programs."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from ..text import plain, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..tables.overview import Listing, Overview


def screen(*, error: bool = False) -> Console:
    """A console on standard output or standard error; lines are not wrapped when piped."""
    from rich.console import Console

    wide = (sys.stderr if error else sys.stdout).isatty()
    return Console(highlight=False, markup=False, width=None if wide else 1000, stderr=error)


def show(
    overview: Overview, styles: Mapping[str, str] | None = None, *, error: bool = False
) -> None:
    """Print the summary of a result. ``styles`` gives colours for some of its facts, by name; with
    ``error`` it goes to standard error, because standard output carries the table.
    """
    out = screen(error=error)
    out.print(printable(overview.title), style="bold")
    if overview.facts and out.is_terminal:
        out.print(_facts_grid(overview.facts, styles or {}))
    elif overview.facts:
        width = max(len(name) for name, _ in overview.facts)
        for name, value in overview.facts:
            out.print(f"  {name:<{width}}  {printable(value)}", soft_wrap=True)
    for listing in overview.listings:
        out.print()
        if listing.title:
            out.print(listing.title, style="bold")
        out.print(_listing_table(listing))
        if listing.more:
            out.print(f"  and {listing.more:,} more", style="dim")
    if overview.problems:
        out.print("\nProblems", style="bold")
    for sentence in overview.problems:
        out.print(_wrapped("  ! ", sentence, out.width), style="yellow", soft_wrap=True)
    if overview.notes:
        out.print()
    for sentence in overview.notes:
        out.print(_wrapped("  - ", sentence, out.width), style="dim", soft_wrap=True)


def _wrapped(mark: str, sentence: str, width: int) -> str:
    """A sentence after a mark, its further lines indented; names and options are not broken."""
    return textwrap.fill(
        printable(sentence),
        width,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _facts_grid(facts: list[tuple[str, str]], styles: Mapping[str, str]) -> Table:
    """Names and values, in two columns."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(f"  {name}", Text(printable(value), style=styles.get(name, "")))
    return grid


def _listing_table(listing: Listing) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2), header_style="dim", pad_edge=True)
    for title, numeric in listing.columns.items():
        table.add_column(
            title,
            justify="right" if numeric else "left",
            no_wrap=numeric,
            min_width=len(title),
            overflow="fold",
        )
    for row in listing.rows:
        table.add_row(*map(printable, row))
    return table


def print_json(value: Any) -> None:
    """Print as JSON. NaN and infinity become null; bytes of file names that are not UTF-8 are
    escaped.
    """
    text = json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False)
    typer.echo(text.encode(errors="backslashreplace").decode())
