"""Hints on labels that may be misspelled (``Games`` beside ``games``) or not labels at all
(``NA``), and new names for labels.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ..exceptions import first_few
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
    kind : {"doubtful name", "spellings", "several labels"}
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


def placeholders(cells: Cells) -> list[Hint]:
    """Labels whose names often mean that there is no label: one hint for all, or none."""
    names = [v for v in cells.values if isinstance(v, str) and v.casefold() in PLACEHOLDERS]
    if not names:
        return []
    *others, last = map(repr, names)
    listed = f"{', '.join(others)} and {last} are treated as labels"
    rows, where = _where(cells, names)
    return [
        Hint(
            "doubtful name",
            f"{listed if others else f'{last} is treated as a label'} ({where}); where this means "
            f"that there is no label, use --settings {shlex.quote('missing=' + ','.join(names))} "
            "(otherwise --settings missing=)",
            rows,
        )
    ]


def different_spellings(cells: Cells) -> list[Hint]:
    """Labels that may be different spellings of one: one hint for all, or none."""
    texts = cells.having([value for value in cells.values if isinstance(value, str)])
    groups = [names for names in _spellings(texts, spelling_key).values() if len(names) > 1]
    if not groups:
        return []
    usual, other = groups[0][:2]
    listed = first_few((" and ".join(map(repr, names[:3])) for names in groups), 3)
    rows, where = _where(cells, [name for names in groups for name in names[1:]])
    return [
        Hint(
            "spellings",
            f"the labels {listed} are treated as different ({where} with a rarer spelling); if "
            f"they are the same, say so (--settings normalise=true, or --settings "
            f"map={other!r}={usual!r})",
            rows,
        )
    ]


def several_labels(cells: Cells) -> list[Hint]:
    """A hint on labels whose parts are labels, too."""
    known = {spelling_key(str(value)) for value in cells.values}
    texts = [value for value in cells.values if isinstance(value, str)]
    for sign in (*SEPARATORS, " "):
        names = [
            name
            for name in texts
            if sign in name and all(spelling_key(part) in known for part in name.split(sign))
        ]
        if names:
            rows, where = _where(cells, names)
            message = (
                f"treated as single labels, although their parts are labels, too: "
                f"{first_few(map(repr, names), 3)} ({where}); if they mean several, say what "
                f"separates them (--separator {sign!r}); a vote can only be for one label"
            )
            return [Hint("several labels", message, rows)]
    return []


def only_known(cells: Cells, gold: str | None) -> list[Hint]:
    """A hint on labels that are known to be true somewhere, but nobody's candidate or vote."""
    is_gold = cells.within((gold,))
    given = {_plain(cells.values[k]) for k in np.unique(cells.which[~is_gold])}
    known = (cells.values[k] for k in np.unique(cells.which[is_gold]))
    names = [name for name in known if _plain(name) not in given]
    if not names:
        return []
    rows, where = _where(cells, names)
    message = (
        f"among the known labels only, and nowhere a candidate or vote: "
        f"{first_few(map(repr, names), 3)} ({where}); if misspelled, correct it"
    )
    return [Hint("doubtful name", message, rows)]


def _where(cells: Cells, names: Collection[Label]) -> tuple[np.ndarray, str]:
    """The rows that have one of these labels, and in words where they are."""
    found = cells.having(names)
    rows = np.unique(found.rows)
    columns = [repr(found.columns[i]) for i in np.unique(found.column)]
    return rows, (
        f"{len(rows)} row(s) of column {first_few(columns, 3)}, the first is row {rows[0] + 1}"
    )


def _spellings(cells: Cells, key: Callable[[str], str]) -> dict[str, list[Label]]:
    """Labels with the same key, the most frequent one first."""
    counts = dict(
        zip(
            cells.values,
            np.bincount(cells.which, minlength=len(cells.values)).tolist(),
            strict=True,
        )
    )
    groups: dict[str, list[Label]] = {}
    for name in sorted(counts, key=lambda name: (-counts[name], str(name))):
        groups.setdefault(key(str(name)), []).append(name)
    return groups


# -------------------------------------------------------------------- new names


def _plain(name: Label) -> str:
    """The name, "2" for "2.0": which one a table holds depends on the other cells of the column."""
    return re.sub(r"^(-?[0-9]+)\.0*$", r"\1", str(name).strip())


def new_names(
    cells: Cells, *, normalise: bool, mapped: Sequence[tuple[str, str]]
) -> Callable[[Label], Label]:
    """The function that gives labels their names: the one they are mapped to ("" removes a label),
    or the most frequent spelling of labels with the same :func:`spelling_key` if they are
    normalised.
    """

    def key(name: str) -> str:
        return _plain(spelling_key(name) if normalise else name)

    known = {key: names[0] for key, names in _spellings(cells, key).items()}
    chosen = {key(old): new.strip() for old, new in mapped}

    def name(label: Label) -> Label:
        own = key(str(label))
        if (new := chosen.get(own)) is not None:
            return known.get(key(new), new)
        return known.get(own, label) if normalise else label

    return name
