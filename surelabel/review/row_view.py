"""What the page shows about a row: its cells, candidates and neighbours, and why it is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.label_order import has_order, label_positions
from ..data.labelling import Labels
from ..tables.columns import Feature
from ..tables.images import Images
from ..tables.page_rows import nearest_kept
from ..tables.status import LOOK, Decision
from ..text import plain
from .queues import CHECK

#: Maximum length of a text, and of a neighbour's text.
TEXT, BRIEF = 20_000, 160
#: Size in pixels of an image, and of a neighbour's image.
EDGE, SMALL_EDGE = 640, 96
#: Number of bars of a distribution.
BINS = 24
#: Maximum number of columns shown.
COLUMNS = 40


class RowView:
    """Reads what the page shows about rows."""

    def __init__(
        self,
        labels: Labels,
        hidden: set[str],  # the columns of labels, which are not shown
        features: list[Feature],
        X: np.ndarray,  # the encoded rows, in which neighbours are found
        image: str | None,  # the column of image paths
        folder: Path | None,  # where the images are; files elsewhere are not read
    ) -> None:
        self._table, self._X, self._image = labels.table, X, image
        self._ids, self._votes, self._annotators = labels.ids, labels.votes, labels.annotators
        self._images = Images(folder, 2**62) if image and folder is not None else None
        kinds = {feature.name: feature.kind for feature in features}
        names = [name for name in labels.table.column_names if name not in {*hidden, image}]
        # Columns that are learned from come first, and long texts before all others.
        names.sort(key=lambda name: (kinds.get(name) != "text", name not in kinds))
        self._kinds = {name: kinds.get(name, "other") for name in names[:COLUMNS]}
        self._numbers = {
            name: numbers
            for name, kind in self._kinds.items()
            if kind == "number" and (numbers := _distribution(labels.table.column(name)))
        }

    def name(self, row: int) -> str:
        """The id of a row, or its number counted from 1."""
        return f"row {row + 1}" if self._ids is None else str(self._ids[row])

    def cells(self, row: int) -> list[dict[str, Any]]:
        """The cells of a row."""
        found: list[dict[str, Any]] = []
        if self._images is not None:
            image = self._picture(row, EDGE)
            found.append({"name": self._image, "kind": "image", "image": image})
        for name, kind in self._kinds.items():
            text = self._text(name, row)[:TEXT]
            cell: dict[str, Any] = {"name": name, "kind": kind, "text": text}
            if name in self._numbers and (value := _number(text)) is not None:
                low, high, bars = self._numbers[name]
                place = (value - low) / (high - low) if high > low else 0.5
                cell |= {"bars": bars, "place": float(np.clip(place, 0, 1))}
            found.append(cell)
        return found

    def neighbours(self, row: int, decision: Decision) -> list[dict[str, Any]]:
        """The nearest rows that are settled."""
        kept = np.flatnonzero(decision.status != LOOK)
        kept = kept[kept != row]
        if not len(kept) or not self._X.shape[1]:
            return []
        texts = [name for name, kind in self._kinds.items() if kind != "vector"][:4]
        return [
            {
                "name": self.name(other),
                "label": str(decision.classes[decision.label[other]]),
                "text": " · ".join(filter(None, (self._text(name, other) for name in texts)))[
                    :BRIEF
                ],
                "image": self._picture(other, SMALL_EDGE),
            }
            for other in nearest_kept(self._X, kept, np.array([row]))[0].tolist()
        ]

    def votes(self, row: int, decision: Decision) -> list[dict[str, str]]:
        """Who voted for what."""
        if self._votes is None:
            return []
        return [
            {"who": who, "label": str(decision.classes[vote])}
            for who, vote in zip(self._annotators, self._votes[row].tolist(), strict=True)
            if vote >= 0
        ]

    def _picture(self, row: int, edge: int) -> str | None:
        """The image of a row as a data URI; None if it has none that can be shown."""
        if self._images is None:
            return None
        return self._images.embed(self._text(self._image, row), edge)

    def _text(self, name: str | None, row: int) -> str:
        cell = self._table.column(name)[row].as_py()
        if isinstance(cell, list) and len(cell) > 12:
            return f"{len(cell)} numbers" if self._kinds.get(str(name)) == "vector" else str(cell)
        return "" if cell is None else str(plain(cell))


def choices(
    row: int, labels: Labels, decision: Decision
) -> tuple[list[dict[str, Any]], int | None]:
    """The labels to choose from, and the percentage of all others (None if there are none); all
    percentages add up to 100. The labels are the candidates, the likeliest first, and those that a
    reason to ask names; if labels have an order, they keep it.
    """
    candidates = labels.candidates
    given = candidates.indices[candidates.indptr[row] : candidates.indptr[row + 1]]
    probability = decision.shares[row].astype(float)
    order = given[np.argsort(-probability[given], kind="stable")].tolist()
    named = [decision.best[row], *decision.second[[row]][decision.status[[row]] == LOOK]]
    order += [code for code in map(int, dict.fromkeys(named)) if code >= 0 and code not in order]
    if has_order(labels.ordered):
        places = label_positions(labels.ordered, decision.classes)
        order.sort(key=lambda code: float(places[code]))
    shown = probability[order]
    if all_shown := len(order) == len(probability):
        percents = _whole_percents(shown / shown.sum())
    else:
        percents = _whole_percents(np.append(shown, max(0.0, 1 - shown.sum())))
    inside = set(given.tolist())
    found = [
        {
            "label": str(decision.classes[code]),
            "probability": round(float(probability[code]), 4),
            "percent": percents[place],
            "candidate": code in inside,
        }
        for place, code in enumerate(order)
    ]
    return found, None if all_shown else percents[-1]


def _whole_percents(shares: np.ndarray) -> list[int]:
    """Shares of 1 as whole percentages that add up to 100: those with the largest remainders are
    rounded up.

    >>> _whole_percents(np.array([0.336, 0.332, 0.332]))
    [34, 33, 33]
    """
    exact = 100 * shares / shares.sum()
    whole = np.floor(exact).astype(int)
    up = np.argsort(whole - exact, kind="stable")[: 100 - whole.sum()]
    whole[up] += 1
    return [int(n) for n in whole]


def reasons(row: int, queue: str, labels: Labels, decision: Decision) -> list[str]:
    """Why the row is asked, in sentences."""
    if queue == CHECK:
        return [
            "It was drawn at random from the rows to be kept: checks like this one limit how many "
            "of them can be wrong."
        ]
    found = []
    first, second = int(decision.label[row]), int(decision.second[row])
    name = [str(label) for label in decision.classes.tolist()]
    if labels.unlabelled[row]:
        found.append("It has no label.")
    if decision.outside[row]:
        found.append(
            f"Its features speak for {name[int(decision.best[row])]}, which is not among the "
            "labels given."
        )
    elif second >= 0:
        alike = (decision.label == second) & (decision.second == first)
        alike |= (decision.label == first) & (decision.second == second)
        n_alike = int(np.sum(alike & (decision.status == LOOK))) - 1
        found.append(f"The model wavers between {name[first]} and {name[second]}.")
        if n_alike > 0:
            found.append(
                f"{n_alike:,} more {'row wavers' if n_alike == 1 else 'rows waver'} between the "
                "same two labels: the answer also helps there."
            )
    return found or ["No label is likely enough."]


def _number(text: str) -> float | None:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _distribution(column: pa.ChunkedArray) -> tuple[float, float, list[float]] | None:
    """Range and bar heights of a column of numbers, without the lowest and highest hundredth."""
    cells = column.to_pylist()
    values = np.array(
        [value for cell in cells if cell is not None if (value := _number(str(cell))) is not None]
    )
    if len(values) < 2:
        return None
    low, high = np.quantile(values, [0.01, 0.99])
    if not high > low:
        return None
    counts = np.histogram(np.clip(values, low, high), BINS, (low, high))[0]
    return float(low), float(high), [round(n / counts.max(), 3) for n in counts.tolist()]
