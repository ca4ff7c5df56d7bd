"""The rows that a person should look at: their content, the evidence for each label, and the
nearest rows that are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..solvers.memory import block_rows
from ..solvers.neighbours import nearest
from ..text import short_percent
from .images import Images
from .overview import LISTED
from .status import LOOK

if TYPE_CHECKING:
    from .cleaning import Cleaned

NEIGHBOURS = 3
"""Number of rows to be kept that are shown beside each row."""
CANDIDATES = 6
"""Maximum number of candidates named for a row."""
TEXT, BRIEF = 500, 90
"""Longer texts are cut to this many characters; those of columns and of neighbours to the second
number.
"""
EDGE, NEIGHBOUR_EDGE = 160, 56
"""Pixels of an image."""
ROOM = 2_500_000
"""Maximum size of all images on the page, in characters."""


@dataclass(frozen=True)
class Content:
    """The content of a row: its name, its text, its image as a data URI, and some of its
    columns.
    """

    name: str
    text: str | None
    image: str | None
    values: list[tuple[str, str]]


@dataclass(frozen=True)
class Choice:
    """A candidate of a row, or a label outside the set that is its first or second choice."""

    label: str
    probability: float
    votes: str | None
    given: bool


@dataclass(frozen=True)
class Reason:
    """Why a row should be looked at: a word to filter by, and a sentence that may end in
    a label.
    """

    word: str
    sentence: str
    label: str = ""


@dataclass(frozen=True)
class ShownRow:
    """A row to look at: its position in the table, its content, its candidates (the likeliest
    first; the second of them is the second choice if there is one) and how many more there are, why
    a person should look, and the nearest rows that are kept, each with its label.
    """

    row: int
    content: Content
    choices: list[Choice]
    more: int
    second: bool
    reasons: list[Reason]
    neighbours: list[tuple[Content, str]]


class Reader:
    """Reads the content of rows.

    Parameters
    ----------
    cleaned : Cleaned
        The rows, their names, and the columns learned from, which are shown if there is neither
        text nor image.
    text, image : str or None
        The columns of texts and of image paths.
    folder : path-like or None
        Where the images are; None if none may be read.
    """

    def __init__(
        self, cleaned: Cleaned, text: str | None, image: str | None, folder: str | Path | None
    ) -> None:
        self.ids, self.text, self.image = cleaned.labels.ids, text, image
        self.images = Images(folder, ROOM) if folder is not None else None
        there = set(cleaned.table.column_names)
        self.columns = [
            feature.name
            for feature in cleaned.features
            if feature.kind not in ("vector", "image")
            and feature.name not in (text, image)
            and feature.name in there
        ][:LISTED]
        shown = dict.fromkeys((*self.columns, *filter(None, (text, image))))
        self.table = cleaned.table.select(list(shown))

    def name(self, row: int) -> str:
        """The id of a row, or its number counted from 1."""
        return f"row {row + 1}" if self.ids is None else str(self.ids[row])

    def read(self, rows: Any, *, brief: bool = False) -> list[Content]:
        """The content of these rows; with ``brief``, only the beginning of it."""
        part = self.table.take(rows)
        blank = [None] * len(rows)
        texts = part.column(self.text).to_pylist() if self.text else blank
        paths = part.column(self.image).to_pylist() if self.image else blank
        names = [] if brief else self.columns
        columns = {name: part.column(name).to_pylist() for name in names}
        return [
            Content(
                self.name(row),
                None if texts[i] is None else cut(texts[i], BRIEF if brief else TEXT),
                self._embed(paths[i], NEIGHBOUR_EDGE if brief else EDGE),
                [
                    (name, "–" if values[i] is None else cut(values[i], BRIEF))
                    for name, values in columns.items()
                ],
            )
            for i, row in enumerate(rows)
        ]

    def _embed(self, path: Any, edge: int) -> str | None:
        return self.images.embed(None if path is None else str(path), edge) if self.images else None


def cut(value: Any, length: int) -> str:
    """A value as text of at most this length; numbers are rounded.

    >>> cut("a long text", 7), cut(0.123456789, 10)
    ('a long…', '0.123457')
    """
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def describe_rows(rows: np.ndarray, cleaned: Cleaned, reader: Reader) -> list[ShownRow]:
    """Everything that the page shows about these rows, in their order."""
    near = nearest_kept(cleaned.X, np.flatnonzero(cleaned.status != LOOK), rows)
    contents = reader.read(rows)
    beside = {
        int(row): content
        for row, content in zip(near.ravel(), reader.read(near.ravel(), brief=True), strict=True)
    }
    looked_at = []
    for row, content, neighbours in zip(rows.tolist(), contents, near.tolist(), strict=True):
        choices = _choices(row, cleaned)
        looked_at.append(
            ShownRow(
                row,
                content,
                choices[:CANDIDATES],
                max(0, len(choices) - CANDIDATES),
                len(choices) > 1,
                _reasons(row, cleaned, cleaned.label[neighbours]),
                [
                    (beside[other], str(cleaned.classes[cleaned.label[other]]))
                    for other in neighbours
                ],
            )
        )
    return looked_at


def nearest_kept(X: np.ndarray, kept: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The kept rows nearest to each of these rows, nearest first: an array with at most
    ``NEIGHBOURS`` columns, and none if the rows have no features.
    """
    queries = np.asarray(X[rows], float)
    distances, found = np.empty((len(rows), 0)), np.empty((len(rows), 0), int)
    step = block_rows(max(len(rows), X.shape[1]))
    for start in range(0, len(kept) if queries.size else 0, step):
        block = kept[start : start + step]
        distance, place = nearest(np.asarray(X[block], float), min(NEIGHBOURS, len(block)), queries)
        distances, found = np.hstack([distances, distance]), np.hstack([found, block[place]])
        best = np.argsort(distances, axis=1, kind="stable")[:, :NEIGHBOURS]
        distances, found = (
            np.take_along_axis(distances, best, axis=1),
            np.take_along_axis(found, best, axis=1),
        )
    return found


def _choices(row: int, cleaned: Cleaned) -> list[Choice]:
    """The candidates of a row: first choice, second choice, the others by what the features say."""
    labels, candidates = cleaned.labels, cleaned.labels.candidates
    entries = slice(candidates.indptr[row], candidates.indptr[row + 1])
    given = candidates.indices[entries]
    votes: dict[int, str] = {}
    if candidates.counts is not None and not labels.unlabelled[row]:
        counts = candidates.counts[entries]
        texts = (
            [short_percent(share) for share in counts / max(counts.sum(), 1e-12)]
            if labels.soft and counts.dtype.kind == "f"
            else [f"{n:g}×" for n in counts]
        )
        votes = dict(zip(given.tolist(), texts, strict=True))
    first, second = int(cleaned.label[row]), int(cleaned.second[row])
    shares = cleaned.shares[row]
    order = given[np.argsort(-shares[given], kind="stable")].tolist()
    places = dict.fromkeys([first, *([second] if second >= 0 else []), *order])
    return [
        Choice(str(cleaned.classes[k]), float(shares[k]), votes.get(k), k in given) for k in places
    ]


def _reasons(row: int, cleaned: Cleaned, near: np.ndarray) -> list[Reason]:
    """Why a row should be looked at; ``near`` are the labels of the rows shown beside it."""
    reasons = []
    if cleaned.labels.unlabelled[row]:
        reasons.append(Reason("no label", "It has no label."))
    if cleaned.outside[row]:
        label = str(cleaned.classes[cleaned.best[row]])
        like = "like" if 2 * np.sum(near == cleaned.best[row]) > len(near) else "though not"
        beside = f", {like} the rows beside it," if len(near) else ""
        sentence = f"Its {cleaned.evidence}{beside} speak for a label that was not given:"
        reasons.append(Reason("label missing", sentence, label))
    return reasons or [Reason("unsure", "No candidate is likely enough.")]
