"""Short summaries of results: as plain text, in a notebook, and on a terminal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from ..exceptions import first_few
from ..text import printable

if TYPE_CHECKING:
    from .columns import Feature

#: What is said of a table with one label in each row.
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

    def text(self) -> str:
        """The summary as plain text."""
        width = max((len(name) for name, _ in self.facts), default=0)
        lines = [self.title, *(f"  {name:<{width}}  {value}" for name, value in self.facts)]
        for listing in self.listings:
            lines += ["", listing.title] if listing.title else [""]
            cells = [tuple(listing.columns), *listing.rows]
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            for row in cells:
                aligned = (
                    f"{cell:>{width}}" if numeric else f"{cell:<{width}}"
                    for cell, width, numeric in zip(
                        row, widths, listing.columns.values(), strict=True
                    )
                )
                lines.append(f"  {'  '.join(aligned)}".rstrip())
            if listing.more:
                lines.append(f"  and {listing.more:,} more")
        lines += [f"  ! {sentence}" for sentence in self.problems]
        return "\n".join([*map(printable, lines), *map(printable, self.notes)])

    def html(self) -> str:
        """The summary as HTML; everything that comes from data is escaped."""
        facts = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in self.facts
        )
        parts = [f"<p><strong>{escape(self.title)}</strong></p>", f"<table>{facts}</table>"]
        for listing in self.listings:
            head = "".join(f"<th>{escape(title)}</th>" for title in listing.columns)
            body = "".join(
                f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
                for row in listing.rows
            )
            caption = f"<caption>{escape(listing.title)}</caption>" if listing.title else ""
            parts.append(f"<table>{caption}<thead><tr>{head}</tr></thead>{body}</table>")
            if listing.more:
                parts.append(f"<p>and {listing.more:,} more</p>")
        parts += [f"<p>! {escape(sentence)}</p>" for sentence in self.problems]
        parts += [f"<p><em>{escape(sentence)}</em></p>" for sentence in self.notes]
        return f"<div>{''.join(parts)}</div>"


class Result(ABC):
    """A result that prints as a short readable text, and in a notebook as a small table."""

    @abstractmethod
    def overview(self) -> Overview:
        """A short summary of the result."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""

    def __repr__(self) -> str:
        return self.overview().text()

    def _repr_html_(self) -> str:
        return self.overview().html()


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


def stage_times(seconds: Mapping[str, float]) -> str:
    """Stages with their times."""
    shown = (f"{name} {value:.1f} s" for name, value in seconds.items() if value >= 0.05)
    return ", ".join(shown) or "under 0.1 s"
