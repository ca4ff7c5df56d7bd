"""Labels that may not be what they seem: no label at all, a second spelling, or several in one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import numpy as np

from ..exceptions import first_few
from ..text import did_you_mean
from ._cells import Cells, Label
from ._labels import after_prefix
from .spelling import DOUBTFUL, spelling_key

#: Maximum number of groups of spellings that are reported.
TOLD = 5
#: What people put between several labels.
SEPARATORS = ",;|/\n"
#: What people put before a label that they rule out, and how many labels must have it to be
#: reported: "spam" and "not spam" are the labels of many tables.
NOT_PREFIXES = {"!": 1, "~": 1, "¬": 1, "not ": 2, "no ": 2}


@dataclass(frozen=True)
class DoubtfulNames:
    """Labels with names such as NA or null, which were treated as labels.

    Attributes
    ----------
    names : tuple of str
        The labels.
    columns : tuple of str
        The columns in which they occur.
    rows : ndarray of int
        The rows in which they occur, counted from 0.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    rows: np.ndarray

    def __str__(self) -> str:
        several = len(self.names) > 1
        *others, last = map(repr, self.names)
        listed = f"{', '.join(others)} and {last} are treated as labels"
        missing = shlex.quote(",".join(self.names))
        return (
            (listed if several else f"{last} is treated as a label")
            + f" ({len(self.rows)} row(s) of column {first_few(map(repr, self.columns), 3)}, the "
            f"first is row {self.rows[0] + 1}); if "
            + ("they mean" if several else "it means")
            + f" that there is no label, use --missing {missing}"
            + (" (or only those that do)" if several else "")
            + f"; if {'they are labels' if several else 'it is one'}, --missing ''"
        )


@dataclass(frozen=True)
class Spellings:
    """Labels that differ only in case, spaces or punctuation, and were treated as different.

    Attributes
    ----------
    names : tuple of str
        The labels, the most frequent one first.
    rows : ndarray of int
        The rows with one of the others, counted from 0.
    """

    names: tuple[str, ...]
    rows: np.ndarray

    def __str__(self) -> str:
        first, *others = map(repr, self.names)
        return (
            f"the labels {first} and {first_few(others)} are treated as different "
            f"({len(self.rows)} row(s), the first is row {self.rows[0] + 1}); if they are the "
            f"same, say so (--normalise, or --map {self.names[1]!r}={self.names[0]!r})"
        )


@dataclass(frozen=True)
class SeveralLabels:
    """A label that consists of other labels.

    Attributes
    ----------
    name : str
        The label.
    separator : str
        What separates the other labels.
    column : str
        The column in which it occurs.
    listed : bool
        Whether the column may hold several labels in a cell.
    rows : ndarray of int
        The rows with such labels, counted from 0.
    """

    name: str
    separator: str
    column: str
    listed: bool
    rows: np.ndarray

    def __str__(self) -> str:
        advice = (
            f"say what separates them (--separator {self.separator!r})"
            if self.listed
            else f"a vote is for one label: correct it, or remove it (--map {self.name!r}=)"
        )
        return (
            f"{self.name!r} is treated as one label, but its parts are labels, too "
            f"({len(self.rows)} row(s) of column {self.column!r}, the first is row "
            f"{self.rows[0] + 1}); if it means several labels, {advice}"
        )


@dataclass(frozen=True)
class RuledOut:
    """A label that looks like another one with a "not" before it, and was treated as a label.

    Attributes
    ----------
    name : str
        The label.
    prefix : str
        What stands before the other one.
    column : str
        The first column with such a label.
    rows : ndarray of int
        The rows with such labels, counted from 0.
    """

    name: str
    prefix: str
    column: str
    rows: np.ndarray

    def __str__(self) -> str:
        return (
            f"{self.name!r} is treated as a label (column {self.column!r}; {len(self.rows)} row(s) "
            f"have such labels, the first is row {self.rows[0] + 1}); if it is a vote against "
            f"{after_prefix(self.name, self.prefix)!r}, use --not-prefix {self.prefix!r}"
        )


@dataclass(frozen=True)
class NotThere:
    """Labels that were to be renamed, but do not occur.

    Attributes
    ----------
    names : tuple of str
        These labels.
    known : tuple of str
        The labels that occur.
    """

    names: tuple[str, ...]
    known: tuple[str, ...]

    @property
    def rows(self) -> np.ndarray:
        """The rows with such labels: none."""
        return np.empty(0, int)

    def __str__(self) -> str:
        several = len(self.names) > 1
        similar = {name: did_you_mean(name, self.known).rstrip(" ?") for name in self.names}
        meant = next((name for name in self.names if similar[name]), None)
        return (
            f"--map renames {first_few(map(repr, self.names))}, but there "
            f"{'are no such labels' if several else 'is no such label'}"
            + (f"; {similar[meant]}{f' for {meant!r}' if several else ''}?" if meant else "")
        )


# -------------------------------------------------------------------- finding them


def doubtful_names(columns: list[Cells]) -> tuple[DoubtfulNames, ...]:
    """Labels whose names often mean that there is no label: one entry for all, or none."""
    names = {
        str(value): None
        for cells in columns
        for value in cells.values
        if str(value).casefold() in DOUBTFUL
    }
    there = {
        cells.column: None
        for cells in columns
        if not names.keys().isdisjoint(map(str, cells.values))
    }
    rows = _rows_of(columns, names)
    return (DoubtfulNames(tuple(names), tuple(there), rows),) if len(rows) else ()


def different_spellings(columns: list[Cells]) -> tuple[Spellings, ...]:
    """Groups of labels that may be different spellings of one."""
    groups = [names for names in _groups(columns).values() if len(names) > 1]
    return tuple(Spellings(names, _rows_of(columns, names[1:])) for names in groups[:TOLD])


def several_labels(columns: list[Cells], listed: str | None) -> tuple[SeveralLabels, ...]:
    """For each column, the first label whose parts are labels; a cell of the column ``listed`` may
    hold several.
    """
    known = {spelling_key(str(value)) for cells in columns for value in cells.values}
    found = []
    for cells in columns:
        for sign in (*SEPARATORS, " "):
            names = [
                value
                for value in cells.values
                if isinstance(value, str)
                and sign in value
                and not (sign == " " and any(other in value for other in SEPARATORS))
                and all(spelling_key(part) in known for part in value.split(sign))
            ]
            if names:
                several = cells.column == listed
                rows = _rows_of([cells], names)
                found.append(SeveralLabels(names[0], sign, cells.column, several, rows))
    return tuple(found)


def not_there(
    columns: list[Cells], mapped: Iterable[tuple[str, str]], *, normalise: bool
) -> tuple[NotThere, ...]:
    """The labels to be renamed that do not occur; with ``normalise``, in any spelling."""
    key = spelling_key if normalise else str
    known = tuple(dict.fromkeys(str(value) for cells in columns for value in cells.values))
    keys = {_whole(key(name)) for name in known}
    names = dict.fromkeys(old.strip() for old, _ in mapped)
    absent = tuple(name for name in names if _whole(key(name)) not in keys)
    return (NotThere(absent, known),) if absent else ()


def _groups(columns: list[Cells]) -> dict[str, tuple[str, ...]]:
    """Groups of spellings with the same key, the most frequent one first."""
    counts: dict[str, int] = {}
    for cells in columns:
        rows = np.bincount(cells.which, minlength=len(cells.values))
        for value, n in zip(cells.values, rows.tolist(), strict=True):
            if isinstance(value, str):
                counts[value] = counts.get(value, 0) + n
    groups: dict[str, list[str]] = {}
    for name in counts:
        groups.setdefault(spelling_key(name), []).append(name)
    return {
        key: tuple(sorted(names, key=lambda name: (-counts[name], name)))
        for key, names in groups.items()
    }


def _rows_of(columns: list[Cells], names: Collection[str]) -> np.ndarray:
    """The rows that have one of some labels."""
    found = [
        cells.rows[np.isin(cells.which, [i for i, v in enumerate(cells.values) if v in names])]
        for cells in columns
    ]
    return np.unique(np.concatenate([np.empty(0, int), *found]))


# -------------------------------------------------------------------- changing them


def speller(
    columns: list[Cells], *, normalise: bool, mapped: Iterable[tuple[str, str]]
) -> Callable[[Cells], Cells]:
    """A function that gives labels their spelling: as mapped, otherwise the most frequent one."""
    key = spelling_key if normalise else str
    chosen = {key(old.strip()): new.strip() for old, new in mapped}
    whole = {_whole(old): new for old, new in chosen.items()}
    numbers = {
        name: value
        for cells in columns
        for value in cells.values
        if (name := _whole(str(value))).removeprefix("-").isdecimal()
    }
    usual = _usual_spellings(columns) if normalise else {}

    def spelled(cells: Cells) -> Cells:
        values: list[Label] = []
        for value in cells.values:
            name = key(str(value))
            renamed = chosen.get(name, whole.get(_whole(name)))
            if renamed is None:
                values.append(usual.get(name, value) if isinstance(value, str) else value)
            else:  # the label that others are mapped to may itself have several spellings
                renamed = usual.get(spelling_key(renamed), renamed)
                values.append(numbers.get(_whole(renamed), renamed))
        return without_labels(Cells(cells.column, cells.rows, cells.which, values), ("",))

    return spelled


def _whole(name: str) -> str:
    """``"2"`` for ``"2.0"``: how a table has it depends on the other cells of its column."""
    return re.sub(r"^(-?[0-9]+)\.0*$", r"\1", name)


def _usual_spellings(columns: list[Cells]) -> dict[str, str]:
    """The most frequent spelling for each key."""
    return {key: names[0] for key, names in _groups(columns).items()}


def labels_ruled_out(columns: list[Cells]) -> tuple[RuledOut, ...]:
    """For each sign or word that means "not", the first label that is another one with it."""
    known = {spelling_key(str(value)) for cells in columns for value in cells.values}
    found = []
    for prefix, enough in NOT_PREFIXES.items():
        hits = [
            (cells.column, value)
            for cells in columns
            for value in cells.values
            if isinstance(value, str) and (rest := after_prefix(value, prefix))
            if spelling_key(rest) in known and spelling_key(rest) != spelling_key(value)
        ]
        names = {value for _, value in hits}
        if len(names) >= enough:
            column, name = hits[0]
            found.append(RuledOut(name, prefix, column, _rows_of(columns, names)))
    return tuple(found)


def without_labels(cells: Cells, names: tuple[str, ...]) -> Cells:
    """The labels without those of the given names."""
    return chosen_labels(cells, np.array([str(value) not in names for value in cells.values], bool))


def without_rows(names: list[Label]) -> Cells:
    """Labels that no row has."""
    return Cells("", np.empty(0, int), np.empty(0, int), names)


def chosen_labels(cells: Cells, which: np.ndarray) -> Cells:
    """Some of the labels of a column."""
    if which.all():
        return cells
    kept = which[cells.which]
    values = [value for value, chosen in zip(cells.values, which, strict=True) if chosen]
    return Cells(cells.column, cells.rows[kept], (np.cumsum(which) - 1)[cells.which[kept]], values)
