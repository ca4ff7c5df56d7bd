"""What the verbs for tables print: plain when piped, with colours on a terminal, as JSON for
machines.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ..tables.encoding import Feature

LISTED = 8
"""Columns, classes or pairs that are listed before "and … more"."""


def screen() -> Console:
    """Standard output. Piped, lines are as long as they are."""
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 1000)


def printable(text: Any) -> str:
    """A text from a table, without what could move the cursor or break the line.

    >>> printable("red" + chr(27) + "[31m")
    'red [31m'
    """
    return "".join(letter if letter.isprintable() else " " for letter in str(text))


def facts(rows: Iterable[tuple[str, Any]]) -> Table:
    """Names and values, in two columns; rows whose value is None are left out."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        if value is not None:
            grid.add_row(f"  {name}", value if isinstance(value, Text) else printable(value))
    return grid


def listing(titles: Mapping[str, bool], rows: Iterable[Iterable[Any]]) -> Table:
    """A table; ``titles`` says which columns hold numbers."""
    table = Table(box=None, padding=(0, 2), header_style="dim", pad_edge=True)
    for title, numeric in titles.items():
        table.add_column(
            title,
            justify="right" if numeric else "left",
            no_wrap=numeric,
            min_width=len(title),
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(printable, row))
    return table


def percent(share: float | None) -> str:
    """A share as people read it.

    >>> percent(0.98765), percent(None)
    ('98.8 %', '–')
    """
    return "–" if share is None or np.isnan(share) else f"{100 * share:.1f} %"


def count(n: int, one: str = "row", many: str = "rows") -> str:
    """How many there are.

    >>> count(1), count(2000), count(0, "class", "classes")
    ('1 row', '2,000 rows', '0 classes')
    """
    return f"{n:,} {one if n == 1 else many}"


def kinds(features: Iterable[Feature]) -> str:
    """How many columns of each kind, and the first names."""
    by_kind: dict[str, list[str]] = {}
    for feature in features:
        by_kind.setdefault(feature.kind, []).append(feature.name)
    return "; ".join(f"{kind}: {few(names)}" for kind, names in by_kind.items())


def few(names: Iterable[Any]) -> str:
    """The first names, and how many more there are."""
    from ..exceptions import first_few

    return first_few(map(printable, names), LISTED)


def times(seconds: Mapping[str, float]) -> str:
    """Stages with their times."""
    return (
        ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items() if value >= 0.05)
        or "under 0.1 s"
    )


def parameters(chosen: Mapping[str, Any]) -> str:
    """Parameters as they are written in Python."""
    return ", ".join(f"{name}={value!r}" for name, value in chosen.items()) or "–"


def peak_memory() -> int | None:
    """Bytes that this process held at most; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def memory(size: int | None) -> str | None:
    """Bytes as people read them."""
    return None if size is None else f"{size / 2**20:,.0f} MB"


def print_json(value: Any) -> None:
    """Print as JSON; numbers that JSON does not know are null."""
    typer.echo(json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {str(_plain(key)): _plain(part) for key, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
        case np.ndarray() | np.generic():
            return _plain(value.tolist())
        case float():
            return value if np.isfinite(value) else None
        case bool() | int() | str() | None:
            return value
    return str(value)
