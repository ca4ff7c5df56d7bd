"""Hints on labels that may be misspelled (``Games`` beside ``games``) or not labels at all
(``NA``), and new names for labels.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..exceptions import first_few
from ..text import did_you_mean
from ._label_cells import Cells, Label
from .text_values import MISSING

#: Labels that often mean "there is no label"; only the user knows whether they do.
PLACEHOLDERS = frozenset(word.casefold() for word in MISSING if word) | {
    *("none", "none of these", "none of the above", "unknown", "missing", "?", "-", "--"),
    *("not sure", "unsure", "don't know", "dont know", "do not know", "idk", "undecided"),
    *("can't tell", "cannot tell", "unclear", "no label", "unlabelled", "unlabeled"),
}
#: What people put between several labels.
SEPARATORS = ",;|/\n"


@dataclass(frozen=True)
class Hint:
    """Something about the names of labels that a person should know.

    Attributes
    ----------
    kind : {"doubtful name", "not there", "spellings", "several labels"}
        What it is about.
    message : str
        What was found, where, and what to do if it is a mistake.
    rows : ndarray of int
        The rows concerned, counted from 0.
    """

    kind: str
    message: str
    rows: np.ndarray


def spelling_key(label: str) -> str:
    """A key that is equal for spellings of the same label that differ only in case, in spaces and
    hyphens, or in surrounding punctuation.

    Examples
    --------
    >>> {spelling_key(label) for label in ("Games", "GAMES", " games.", "‘games’")}
    {'games'}
    >>> [spelling_key(label) for label in ("Living_room", "living  room", "C++", "?")]
    ['living room', 'living room', 'c++', '?']
    """
    text = " ".join(unicodedata.normalize("NFKC", label).casefold().split())
    spaced = re.sub(r"(?<=\w)[\s_\-]+(?=\w)", " ", text)
    return re.sub(r"^[\s'\"‘’“”`*]+|[\s'\"‘’“”`*.,;:!]+$", "", spaced) or text


# -------------------------------------------------------------------- hints


def placeholders(columns: Sequence[Cells]) -> list[Hint]:
    """Labels whose names often mean that there is no label: one hint for all, or none."""
    names = dict.fromkeys(
        value
        for cells in columns
        for value in cells.values
        if isinstance(value, str) and value.casefold() in PLACEHOLDERS
    )
    rows = _rows_with(columns, names)
    if not len(rows):
        return []
    where = [repr(cells.column) for cells in columns if not names.keys().isdisjoint(cells.values)]
    *others, last = map(repr, names)
    listed = f"{', '.join(others)} and {last} are treated as labels"
    return [
        Hint(
            "doubtful name",
            f"{listed if others else f'{last} is treated as a label'} ({len(rows)} row(s) of "
            f"column {first_few(where, 3)}, the first is row {rows[0] + 1}); where this means that "
            f"there is no label, use --settings {shlex.quote('missing=' + ','.join(names))} "
            "(otherwise --settings missing=)",
            rows,
        )
    ]


def different_spellings(columns: Sequence[Cells]) -> list[Hint]:
    """Labels that may be different spellings of one: one hint for all, or none."""
    texts = [cells.keep(np.array([isinstance(v, str) for v in cells.values])) for cells in columns]
    groups = [names for names in _spellings(texts, spelling_key).values() if len(names) > 1]
    if not groups:
        return []
    rows = _rows_with(columns, [name for names in groups for name in names[1:]])
    usual, other = groups[0][:2]
    listed = first_few((" and ".join(map(repr, names[:3])) for names in groups), 3)
    return [
        Hint(
            "spellings",
            f"the labels {listed} are treated as different ({len(rows)} row(s) have a rarer "
            f"spelling, the first is row {rows[0] + 1}); if they are the same, say so "
            f"(--settings normalise=true, or --settings map={other!r}={usual!r})",
            rows,
        )
    ]


def several_labels(columns: Sequence[Cells], listed: str | None) -> list[Hint]:
    """A hint on the first label whose parts are labels, too. Cells of the column ``listed`` may
    hold several labels; others may not.
    """
    known = {spelling_key(str(value)) for cells in columns for value in cells.values}
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
                rows = _rows_with([cells], names)
                advice = (
                    f"say what separates them (--separator {sign!r})"
                    if cells.column == listed
                    else "a vote is for one label: correct it, or remove it "
                    f"(--settings map={names[0]!r}=)"
                )
                message = (
                    f"{names[0]!r} is treated as one label, but its parts are labels, too "
                    f"({len(rows)} row(s) of column {cells.column!r}, the first is row "
                    f"{rows[0] + 1}); if it means several labels, {advice}"
                )
                return [Hint("several labels", message, rows)]
    return []


def _rows_with(columns: Sequence[Cells], names: Collection[Label]) -> np.ndarray:
    """The rows that have one of these labels in any column."""
    return np.unique(np.concatenate([cells.rows_of(names) for cells in columns]))


def _spellings(columns: Sequence[Cells], key: Callable[[str], str]) -> dict[str, list[Label]]:
    """Labels with the same key, the most frequent one first."""
    counts: Counter[Label] = Counter()
    for cells in columns:
        rows = np.bincount(cells.which, minlength=len(cells.values))
        for value, n in zip(cells.values, rows.tolist(), strict=True):
            counts[value] += n
    groups: dict[str, list[Label]] = {}
    for name in sorted(counts, key=lambda name: (-counts[name], str(name))):
        groups.setdefault(key(str(name)), []).append(name)
    return groups


# -------------------------------------------------------------------- new names


class NewNames:
    """New names of labels: those mapped, or the most frequent spelling if labels are normalised.

    Parameters
    ----------
    columns : sequence of Cells
        All labels.
    normalise : bool
        Whether labels with the same :func:`spelling_key` are one.
    mapped : sequence of (str, str)
        Labels and their new names; an empty name removes the label.
    """

    def __init__(
        self, columns: Sequence[Cells], *, normalise: bool, mapped: Sequence[tuple[str, str]]
    ) -> None:
        self._normalise, self._mapped = normalise, mapped
        self._known = {key: names[0] for key, names in _spellings(columns, self._key).items()}
        self._chosen = {self._key(old): new.strip() for old, new in mapped}

    def _key(self, name: str) -> str:
        key = spelling_key(name) if self._normalise else name.strip()
        # "2" for "2.0": which of them a table holds depends on the other cells of the column.
        return re.sub(r"^(-?[0-9]+)\.0*$", r"\1", key)

    def of(self, labels: Iterable[Label]) -> list[Label]:
        """The names of labels, "" for those that are removed."""
        return [self._name(label) for label in labels]

    def _name(self, label: Label) -> Label:
        key = self._key(str(label))
        if (new := self._chosen.get(key)) is not None:
            return self._known.get(self._key(new), new)
        return self._known.get(key, label) if self._normalise else label

    def rename(self, cells: Cells) -> Cells:
        """The labels of a column with their names, without those that are removed."""
        return replace(cells, values=self.of(cells.values)).without(("",))

    def hints(self) -> list[Hint]:
        """Labels with a new name that do not occur: one hint for all, or none."""
        absent = [old for old, _ in self._mapped if self._key(old) not in self._known]
        absent = list(dict.fromkeys(map(str.strip, absent)))
        if not absent:
            return []
        known = list(map(str, self._known.values()))
        meant = next((f"; {text}" for name in absent if (text := did_you_mean(name, known))), "")
        message = (
            f"map renames {first_few(map(repr, absent))}, which does not occur{meant.rstrip()}"
        )
        return [Hint("not there", message, np.empty(0, int))]
