"""The page of a cleaned table: how many labels can be kept, and which rows to look at first."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ..data.arrow_tables import find_column
from ..report import ReportError, write_files
from ..report.table_parts import Cell, Column, Row, Table, number_cell, text_cell
from ..text import short_percent
from .annotators import AnnotatorAgreement
from .choosing import CERTIFIED, LOOK, PROBABLE, rows_to_look_at
from .cleaning import NOT_ESTIMATED, Cleaned
from .overview import kinds, times

SHOWN = 200
"""Maximum number of rows to look at on the page."""
PAIRS = 15
"""Maximum number of pairs of confused classes on the page."""


def write_page(
    cleaned: Cleaned,
    path: str | Path,
    *,
    title: str | None = None,
    text: str | None = None,
    image: str | None = None,
    folder: str | Path | None = None,
) -> Path:
    """Write one page about a cleaned table: see :meth:`Cleaned.report`."""
    try:
        from ..report import html
        from . import page_figures, page_rows
    except ModuleNotFoundError as error:
        raise ReportError(f"the report needs {error.name}: pip install {error.name}") from None
    for column in filter(None, (text, image)):
        find_column(cleaned.table, column)
    if text is None:
        text = _first(cleaned, "text")
    image = image or _first(cleaned, "image")
    if folder is None and os.path.isfile(cleaned.source):
        folder = Path(cleaned.source).resolve().parent
    found = rows_to_look_at(cleaned)
    shown = found[:SHOWN]
    reader = page_rows.Reader(cleaned, text, image, folder)
    rows = page_rows.describe_rows(shown, cleaned, reader)
    page = html.page(
        "cleaning",
        title=title or Path(cleaned.source).name,
        short_percent=short_percent,
        cleaned=cleaned,
        not_estimated=NOT_ESTIMATED,
        counts=_counts(cleaned),
        facts=_facts(cleaned),
        rows=rows,
        n_look=len(found),
        labels_shown=sorted({choice.label for row in rows for choice in row.choices}),
        words_shown=sorted({reason.word for row in rows for reason in row.reasons}),
        images_left_out=reader.images.left_out if reader.images else 0,
        galleries=page_figures.build(cleaned, shown),
        tables={
            "ambiguity": _pairs(
                cleaned,
                page_figures.confusion(cleaned),
                page_figures.confusion(cleaned, only_kept=True),
            ),
            "annotators": _annotators(cleaned),
        },
        how=_how_it_was_done(cleaned),
    )
    path = Path(path)
    return write_files({path.name: page}, path.parent)[0]


def _counts(cleaned: Cleaned) -> list[dict[str, Any]]:
    """Number and share of rows for each status, and what the status means."""
    meanings = {
        CERTIFIED: "known, checked, or bounded by checks",
        PROBABLE: "probably right, not checked"
        if cleaned.estimated
        else "not checked, not estimated",
        LOOK: "a person should look at these",
    }
    counts = cleaned.status_counts
    m = max(len(cleaned.status), 1)
    return [
        {
            "status": status,
            "n": counts[status],
            "share": counts[status] / m,
            "meaning": meanings[status],
        }
        for status in meanings
    ]


def _facts(cleaned: Cleaned) -> list[tuple[str, str]]:
    """The numbers at the top of the page, each with what it counts."""
    labels = cleaned.labels
    sizes = labels.candidates.sizes[~labels.unlabelled]
    facts = [(f"{len(cleaned.label):,}", "rows"), (f"{len(cleaned.classes):,}", "classes")]
    if len(sizes):
        facts += [
            (f"{sizes.mean():.2f}", "candidates per row"),
            (short_percent(float(np.mean(sizes == 1))), "had one candidate"),
        ]
    if cleaned.n_gold and cleaned.gold_error is not None:
        facts.append((short_percent(cleaned.gold_error), f"error on {cleaned.n_gold:,} gold rows"))
    groups = np.unique(cleaned.duplicate[cleaned.duplicate >= 0])
    odd = {
        "rows whose label is probably missing": int(cleaned.outside.sum()),
        "groups of duplicates that disagree": len(groups),
        "rows without any label": int(labels.unlabelled.sum()),
    }
    return facts + [(f"{n:,}", what) for what, n in odd.items() if n]


def _pairs(cleaned: Cleaned, counts: Any, kept: Any) -> Table:
    """The pairs of classes with most rows in doubt between them."""
    both = (counts + counts.T).tocoo()
    upper = both.row < both.col
    order = np.argsort(-both.data[upper], kind="stable")[:PAIRS]
    rows = []
    for i, j in zip(both.row[upper][order].tolist(), both.col[upper][order].tolist(), strict=True):
        first, second = counts[i, j], counts[j, i]
        sure = (kept[i, j] + kept[j, i]) / (first + second)
        numbers = [number_cell(int(n), "{:,}") for n in (first + second, first, second)]
        names = [text_cell(str(cleaned.classes[place])) for place in (i, j)]
        rows.append(Row([*names, *numbers, _share(float(sure))]))
    titles = ("Rows in doubt", "First chosen", "Second chosen", "Kept")
    return Table(
        "pairs",
        "",
        "pairs",
        "Pairs of classes confused",
        "Rows that had both as candidates and got one of them, and the share of these whose label "
        "is kept.",
        [Column("First", numeric=False), Column("Second", numeric=False), *map(Column, titles)],
        rows,
    )


def _share(value: float | None) -> Cell:
    return number_cell(value, "–" if value is None else short_percent(value))


def _annotators(cleaned: Cleaned) -> Table:
    """Each annotator's agreement with the result."""

    def confused(most: tuple[int, int, int] | None) -> str:
        if most is None:
            return "–"
        chosen, voted, n = most
        if chosen == voted:  # of votes against labels
            return f"not {cleaned.classes[voted]} ({n:,}×)"
        return f"{cleaned.classes[voted]} for {cleaned.classes[chosen]} ({n:,}×)"

    gold = any(person.n_gold for person in cleaned.annotators)

    def on_gold(person: AnnotatorAgreement) -> list[Cell]:
        return [number_cell(person.n_gold, "{:,}"), _share(person.gold_agreement)] if gold else []

    rows = [
        Row(
            [
                text_cell(person.name),
                number_cell(person.n_votes, "{:,}"),
                _share(person.agreement if person.n_votes else None),
                *on_gold(person),
                text_cell(confused(person.most_confused)),
                text_cell(person.remark or "–"),
            ]
        )
        for person in cleaned.annotators
    ]
    titles = ["Votes", "Agree with the result"]
    titles += ["Votes on gold rows", "Right on gold rows"] if gold else []
    return Table(
        "annotators",
        "",
        "annotators",
        "Votes of the annotators",
        "The most frequent mistake is a vote for one label where another was chosen.",
        [
            Column("Annotator", numeric=False),
            *map(Column, titles),
            Column("Most frequent mistake", numeric=False),
            Column("Remark", numeric=False),
        ],
        rows,
    )


def _how_it_was_done(cleaned: Cleaned) -> list[tuple[str, str]]:
    """How the labels were found: method, columns, times."""
    covering = (
        f"{short_percent(cleaned.cv_score)} of the predictions for left-out rows are among their "
        "candidates"
    )
    return [
        ("Method", cleaned.method),
        (
            "Parameters",
            ", ".join(f"{name} = {value}" for name, value in cleaned.parameters.items()) or "none",
        ),
        *([] if np.isnan(cleaned.cv_score) else [("Cross-validation", covering)]),
        ("Features", f"{kinds(cleaned.features)} ({cleaned.X.shape[1]:,} per row once encoded)"),
        ("Time", times(cleaned.seconds)),
        ("Version", f"surelabel {version('surelabel')}"),
    ]


def _first(cleaned: Cleaned, kind: str) -> str | None:
    """The first column of a kind that was learned from."""
    return next((feature.name for feature in cleaned.features if feature.kind == kind), None)
