"""A table ready to print: cells, columns and rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MARKS = {"win": "•", "loss": "◦"}
"""As in the paper: the reference is significantly superior • or inferior ◦ to the method."""


@dataclass(frozen=True)
class Cell:
    """One entry of a table.

    Attributes
    ----------
    text : str
        The text printed.
    sort : float or str
        The value by which the column is sorted.
    values : dict
        The values for CSV: suffix of the column's name → value.
    mark : str
        Significance mark.
    best : bool
        Whether it is printed in bold.
    published : str
        The published number, printed beside ours.
    arrow : str
        ↑ or ↓ if ours is more than one published standard deviation away.
    """

    text: str
    sort: float | str = ""
    values: dict[str, Any] = field(default_factory=dict)
    mark: str = ""
    best: bool = False
    published: str = ""
    arrow: str = ""


@dataclass(frozen=True)
class Column:
    """A column: its title, and its method if it can be filtered."""

    title: str
    method: str | None = None
    numeric: bool = True


@dataclass(frozen=True)
class Row:
    """A row: its cells, and its data set and method if it can be filtered."""

    cells: list[Cell]
    dataset: str | None = None
    method: str | None = None

    def with_columns(self, columns: list[Column]) -> list[tuple[Column, Cell]]:
        """Every cell with its column."""
        return list(zip(columns, self.cells, strict=True))


@dataclass(frozen=True)
class Table:
    """A table ready to print. Its name is that of its files; its selection criterion is written to
    CSV, which has no caption.
    """

    topic: str
    selection: str
    name: str
    title: str
    caption: str
    columns: list[Column]
    rows: list[Row]


def text_cell(value: str) -> Cell:
    """A cell of text."""
    return Cell(value, sort=value, values={"": value})


def number_cell(value: float | None, pattern: str, **more: Any) -> Cell:
    """A cell of one number; a dash if there is none."""
    if value is None:
        return Cell("–", values={"": ""}, **more)
    return Cell(pattern.format(value), sort=value, values={"": value}, **more)
