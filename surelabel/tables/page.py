"""The page of a cleaned table: how many labels can be kept, and which rows to look at first."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.arrow_tables import find_column
from ..exceptions import first_few
from ..extras import extra
from ..report import write_files
from ..report.tables import Cell, Column, Table, number_cell, text_cell, text_columns
from ..text import short_percent
from .annotators import AnnotatorAgreement
from .overview import kinds
from .status import STATUSES

if TYPE_CHECKING:
    from .cleaning import Cleaned
    from .page_rows import Reader

#: Maximum number of rows to look at on the page.
SHOWN = 200
#: Maximum number of rows in the table of rows that may lack their label; later ones seldom do.
LACKING_ROWS = 30


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
    with extra("cli", "the report"):
        from ..report import html
        from . import page_figures, page_rows
    for column in filter(None, (text, image)):
        find_column(cleaned.table, column)
    if text is None:
        text = _first(cleaned, "text")
    image = image or _first(cleaned, "image")
    if folder is None and os.path.isfile(cleaned.source):
        folder = Path(cleaned.source).resolve().parent
    found = cleaned.rows_to_look_at()
    shown = found[:SHOWN]
    reader = page_rows.Reader(cleaned, text, image, folder)
    rows = page_rows.describe_rows(shown, cleaned, reader)
    page = html.fill_template(
        "cleaning",
        title=title or Path(cleaned.source).name,
        short_percent=short_percent,
        cleaned=cleaned,
        counts=_counts(cleaned),
        facts=_facts(cleaned),
        rows=rows,
        n_look=len(found),
        labels_shown=sorted({choice.label for row in rows for choice in row.choices}),
        words_shown=sorted({reason.word for row in rows for reason in row.reasons}),
        images_left_out=reader.images.left_out if reader.images else 0,
        galleries=page_figures.build(cleaned, shown),
        annotators=_annotators(cleaned),
        worth=cleaned.worth_of_answers(),
        order=cleaned.order_of_labels(),
        lacking=_lacking(cleaned, reader),
        how=_how_it_was_done(cleaned),
    )
    path = Path(path)
    return write_files({path.name: page}, path.parent)[0]


def _counts(cleaned: Cleaned) -> list[dict[str, Any]]:
    """Number and share of rows for each status, and what the status means."""
    m = len(cleaned.status)
    return [
        {"status": status, "n": n, "share": n / m, "meaning": STATUSES[status]}
        for status, n in cleaned.status_counts.items()
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
    if cleaned.gold_error is not None:
        facts.append((short_percent(cleaned.gold_error), f"error on {cleaned.n_gold:,} gold rows"))
    lacking, empty = np.sum(cleaned.outside > 0), labels.unlabelled.sum()
    odd = (
        (lacking, "row that may lack its label", "rows that may lack their label"),
        (empty, "row without any label", "rows without any label"),
    )
    return facts + [(f"{n:,}", one if n == 1 else many) for n, one, many in odd if n]


def _lacking(cleaned: Cleaned, reader: Reader) -> Table:
    """The rows whose features (or votes) speak for another label, the likeliest first."""
    order = np.argsort(cleaned.outside, kind="stable")
    found = order[cleaned.outside[order] > 0]
    shown = found[:LACKING_ROWS]
    known = not np.isnan(cleaned.outside_probability[shown]).any()
    rows = []
    for rank, (row, content) in enumerate(
        zip(shown.tolist(), reader.read(shown, brief=True), strict=True), start=1
    ):
        name = " · ".join(filter(None, (content.name, content.text)))
        likely = [_share(float(cleaned.outside_probability[row]))] if known else []
        best = str(cleaned.classes[cleaned.best[row]])
        texts = (name, first_few(cleaned.labels.candidates[row]), best)
        rows.append([number_cell(rank, "{:,}"), *map(text_cell, texts), *likely])
    titles = ("Row", "Labels given", f"{cleaned.evidence.capitalize()} speak for")
    some = f"The first {len(shown)} of {len(found):,} rows" if len(found) > LACKING_ROWS else "Rows"
    return Table(
        "outside",
        "May lack their label",
        f"{some} whose {cleaned.evidence} speak for a label that was not given, the likeliest "
        "first. "
        + (
            "The probability that the true label was not given rests on the known labels."
            if known
            else "Only known labels could tell how likely each of them lacks its true label."
        ),
        [Column("#"), *text_columns(*titles), *([Column("Probability")] if known else [])],
        rows,
    )


def _share(value: float | None) -> Cell:
    """A cell of a share; a dash if there is none."""
    return Cell("–") if value is None else Cell(short_percent(value), sort=value)


def _annotators(cleaned: Cleaned) -> Table:
    """Each annotator's agreement with the result."""

    def confused(most: tuple[int, int, int] | None) -> str:
        if most is None:
            return "–"
        chosen, voted, n = most
        return f"{cleaned.classes[voted]} for {cleaned.classes[chosen]} ({n:,}×)"

    gold = any(person.n_gold for person in cleaned.annotators)

    def on_gold(person: AnnotatorAgreement) -> list[Cell]:
        return [number_cell(person.n_gold, "{:,}"), _share(person.gold_agreement)] if gold else []

    rows = [
        [
            text_cell(person.name),
            number_cell(person.n_votes, "{:,}"),
            _share(person.agreement if person.n_votes else None),
            *on_gold(person),
            text_cell(confused(person.most_confused)),
            text_cell(person.remark or "–"),
        ]
        for person in cleaned.annotators
    ]
    titles = ["Votes", "Agree with the result"]
    titles += ["Votes on gold rows", "Right on gold rows"] if gold else []
    return Table(
        "annotators",
        "Annotators",
        "How often each annotator's vote is the label chosen; those who agree least come first. "
        "The most frequent mistake is a vote for one label where another was chosen.",
        [
            *text_columns("Annotator"),
            *map(Column, titles),
            *text_columns("Most frequent mistake", "Remark"),
        ],
        rows,
    )


def _how_it_was_done(cleaned: Cleaned) -> list[tuple[str, str]]:
    """How the labels were found: method, parameters, features and version."""
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
        (
            "Features",
            f"{kinds(cleaned.learned_from)} ({cleaned.X.shape[1]:,} per row once encoded)"
            if cleaned.learned_from
            else "none",
        ),
        ("Version", f"surelabel {version('surelabel')}"),
    ]


def _first(cleaned: Cleaned, kind: str) -> str | None:
    """The first column of a kind, of those that can be learned from."""
    return next((feature.name for feature in cleaned.features if feature.kind == kind), None)
