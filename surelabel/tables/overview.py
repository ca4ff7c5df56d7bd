"""Short summaries of results, as plain text."""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from ..exceptions import first_few
from ..text import printable

if TYPE_CHECKING:
    from .columns import Feature

#: The hint for a table with one label in each row.
ONE_LABEL = "every row has one label; if some of them may be wrong, noisy (--noisy) finds which"
#: Columns, classes or pairs that are listed before "and … more".
LISTED = 8


@dataclass(frozen=True)
class Listing:
    """A small table of texts.

    Attributes
    ----------
    title : str
        The title above it.
    columns : mapping of str to bool
        The titles of its columns, and whether each holds numbers.
    rows : sequence of tuples of str
        Its cells.
    more : int
        Number of rows that are not listed.
    """

    title: str
    columns: Mapping[str, bool]
    rows: Sequence[tuple[str, ...]]
    more: int = 0

    def lines(self) -> list[str]:
        """Its rows below the titles of the columns, aligned; numbers to the right."""
        cells = [tuple(map(printable, row)) for row in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        signs = [">" if numeric else "<" for numeric in self.columns.values()]
        layout = "  ".join(f"{{:{sign}{width}}}" for sign, width in zip(signs, widths, strict=True))
        lines = [f"  {layout.format(*row)}".rstrip() for row in cells]
        return lines + [f"  and {self.more:,} more"] * bool(self.more)


@dataclass(frozen=True)
class Overview:
    """A short summary of a result.

    Attributes
    ----------
    title : str
        One line.
    facts : list of (str, str)
        Names and values.
    listings : list of Listing
        Tables below the facts.
    problems : list of str
        Sentences that need attention.
    notes : list of str
        Sentences that explain, or say what to do next.
    """

    title: str
    facts: list[tuple[str, str]]
    listings: list[Listing] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self, width: int = 1000) -> str:
        """The summary as plain text; sentences and facts are wrapped to this width."""
        longest = max((len(name) for name, _ in self.facts), default=0)
        lines = [printable(self.title)]
        lines += [_wrapped(f"  {name:<{longest}}  ", value, width) for name, value in self.facts]
        for listing in self.listings:
            lines += ["", listing.title] if listing.title else [""]
            lines += listing.lines()
        lines += ["", "Problems"] if self.problems else []
        lines += [_wrapped("  ! ", sentence, width) for sentence in self.problems]
        lines += [""] if self.notes else []
        lines += [_wrapped("  - ", sentence, width) for sentence in self.notes]
        return "\n".join(lines)


def _wrapped(mark: str, text: str, width: int) -> str:
    """A text after a mark, its further lines indented; names and options are not broken."""
    return textwrap.fill(
        printable(text),
        width,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )


class Result(ABC):
    """A result that prints as a short readable text."""

    @abstractmethod
    def overview(self) -> Overview:
        """A short summary of the result."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""

    def __repr__(self) -> str:
        return self.overview().text()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def known(facts: Iterable[tuple[str, str | None]]) -> list[tuple[str, str]]:
    """The facts that have a value."""
    return [(name, value) for name, value in facts if value is not None]


def named(names: Iterable[Any]) -> str:
    """The first names, and how many more there are."""
    return first_few(map(printable, names), LISTED)


def kinds(features: Iterable[Feature]) -> str:
    """The columns learned from, by kind."""
    by_kind: dict[str, list[str]] = {}
    for feature in features:
        by_kind.setdefault(feature.kind, []).append(feature.name)
    return "; ".join(f"{kind}: {named(names)}" for kind, names in by_kind.items())


def written_parameters(chosen: Mapping[str, Any]) -> str:
    """Parameters as they are written in Python."""
    return ", ".join(f"{name}={value!r}" for name, value in chosen.items()) or "–"
