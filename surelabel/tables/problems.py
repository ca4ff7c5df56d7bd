"""Possible problems of a table: of its rows, classes, annotators, labels and columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.candidate_summary import CandidateSummary
from ..data.candidates import CandidateSets
from ..data.labelling import Labels
from ..data.spelling import flags
from ..exceptions import TableError, first_few
from .columns import HUGE, ColumnReader, Feature
from .duplicates import conflicts, equal_cells
from .images import readable_images
from .times import TimeColumn

#: A class is rare if it occurs in fewer rows than this; a column is mostly missing if fewer than
#: this share of its cells have values.
RARE, PRESENT = 10, 0.5
#: An annotator is compared with others only if they share at least this many rows.
SHARED = 20


@dataclass(frozen=True)
class Problem:
    """Something about the table that a person should know before trusting what is learned from it.

    Attributes
    ----------
    kind : str
        A short name that scripts can rely on: "unlabelled", "gold outside", "duplicates", "unused
        class", "rare class", "never alone", "never apart", "always agrees", "never agrees", "always
        the same", "doubtful name", "spellings", "several labels", "not there",
        "leak", "numbers in text", "constant column", "missing values", "no number", "no vector",
        "no time", "no image".
    message : str
        One sentence: what was found, where, and what it means.
    rows : ndarray of int
        The rows concerned, counted from 0; empty if the problem concerns a column, a class or an
        annotator.
    """

    kind: str
    message: str
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))


def row_problems(
    labels: Labels, lacking: np.ndarray, features: Sequence[Feature], table: pa.Table
) -> Iterator[Problem]:
    """Rows without labels, rows whose set lacks the known label, and duplicates that disagree."""
    unlabelled = np.flatnonzero(labels.unlabelled)
    if len(unlabelled):
        yield Problem(
            "unlabelled",
            f"{len(unlabelled)} row(s) have no label ({_rows(unlabelled)}): every label is "
            "possible for them",
            unlabelled,
        )
    if len(lacking):
        yield Problem(
            "gold outside",
            f"the known label of {len(lacking)} row(s) is not among their candidates "
            f"({_rows(lacking)}): other sets may lack "
            "the true label, too",
            lacking,
        )
    group = (
        conflicts(equal_cells(features, table), labels.candidates)
        if features
        else np.full(table.num_rows, -1)
    )
    rows = np.flatnonzero(group >= 0)
    if len(rows):
        yield Problem(
            "duplicates",
            f"{len(rows)} rows in {group.max() + 1} group(s) have equal features but different "
            f"candidates ({_rows(rows)})",
            rows,
        )


def class_problems(
    candidates: CandidateSets, summary: CandidateSummary, soft: bool
) -> Iterator[Problem]:
    """Classes that are unused, rare, never the only candidate, or never without another."""
    frequency, names = summary.class_frequency, summary.classes
    alone = np.bincount(
        candidates.indices[np.repeat(candidates.sizes == 1, candidates.sizes)], minlength=len(names)
    )
    nothing = np.empty(0, np.int64)
    unused = frequency == 0
    if unused.any():
        yield Problem(
            "unused class",
            f"no row has the class(es) {first_few(names[unused].tolist())} as a candidate",
            nothing,
        )
    rare = (frequency > 0) & (frequency < RARE)
    if rare.any():
        yield Problem(
            "rare class",
            f"fewer than {RARE} rows have the class(es) {first_few(names[rare].tolist())}: too few "
            "to learn",
            nothing,
        )
    if soft:  # classes that have all rows in common differ in their shares
        return
    never = (frequency >= RARE) & (alone == 0)
    if never.any():
        yield Problem(
            "never alone",
            f"the class(es) {first_few(names[never].tolist())} are never the only candidate: they "
            "are learned from ambiguous rows "
            "alone",
            nothing,
        )
    bound = summary.co_occurrence == frequency[:, None]
    np.fill_diagonal(bound, False)
    pairs = [
        f"{names[k]} with {names[j]}"
        for k, j in zip(*np.nonzero(bound & (frequency > 0)[:, None]), strict=True)
    ]
    if pairs:
        yield Problem(
            "never apart",
            f"one class never occurs without another: {first_few(pairs)}; candidates cannot tell "
            "these apart, only known-true "
            "labels can",
            nothing,
        )


def annotator_problems(labels: Labels) -> Iterator[Problem]:
    """Annotators who always give the same label, or who always or never agree with others."""
    if labels.votes is None:
        return
    who, rows = np.nonzero(labels.votes.T >= 0)
    mine, (m, n_classes) = labels.votes[rows, who], labels.candidates.shape
    counts = np.bincount(rows * n_classes + mine, minlength=m * n_classes).reshape(m, n_classes)
    same, total = counts[rows, mine], counts.sum(axis=1)[rows]  # including the vote itself

    def number(which: np.ndarray) -> np.ndarray:
        return np.bincount(who[which], minlength=len(labels.annotators))

    n_given, n_shared = number(total > 0), number(total > 1)
    n_alone, n_together = number((total > 1) & (same == 1)), number((total > 1) & (same == total))
    first = np.searchsorted(who, np.arange(len(labels.annotators) + 1))
    nothing = np.empty(0, np.int64)
    for a in np.flatnonzero(n_given >= SHARED).tolist():
        name, given = labels.annotators[a], mine[first[a] : first[a + 1]]
        if np.all(given == given[0]):
            only = labels.candidates.classes[given[0]]
            yield Problem(
                "always the same", f"annotator {name!r} gave the label {only} to every row", nothing
            )
        if n_shared[a] < SHARED:
            continue
        if n_together[a] == n_shared[a]:
            yield Problem(
                "always agrees",
                f"annotator {name!r} agrees with everyone on all {n_shared[a]} rows shared",
                nothing,
            )
        if n_alone[a] == n_shared[a]:
            yield Problem(
                "never agrees",
                f"annotator {name!r} agrees with nobody on any of the {n_shared[a]} rows shared",
                nothing,
            )


def name_problems(labels: Labels) -> Iterator[Problem]:
    """Labels that may not be what they seem."""
    for hint in labels.hints:
        yield Problem(hint.kind, hint.message, hint.rows)


def column_problems(features: Sequence[Feature], table: pa.Table) -> Iterator[Problem]:
    """Columns with missing or equal values, or with cells that cannot be used."""
    reader = ColumnReader(table)
    numbers = [feature.name for feature in features if feature.kind == "number"]
    for part in reader.column_slices(numbers):
        values, wrong = reader.parsed(numbers[part])
        absent = np.isnan(values) & ~wrong
        useless = wrong | (np.abs(values) > HUGE)
        some = np.take_along_axis(values, np.argmin(absent, axis=1)[:, None], axis=1)
        constant = ((values == some) | absent).all(axis=1)
        for i in np.flatnonzero(constant | useless.any(axis=1) | _sparse(absent)):
            yield from _problems_of(numbers[part][i], absent[i], bool(constant[i]))
            rows = np.flatnonzero(useless[i])
            if len(rows):
                yield Problem(
                    "no number",
                    f"column {numbers[part][i]!r} holds {len(rows)} infinite or huge number(s), "
                    f"or what is none ({_rows(rows)}): nothing can be learned until these cells "
                    "are corrected or emptied",
                    rows,
                )
    for feature in features:
        if feature.kind == "vector":
            try:
                column = reader.vectors(feature.name)
            except TableError as error:
                yield Problem("no vector", str(error), np.empty(0, np.int64))
                continue
            yield from _problems_of(feature.name, flags(column.is_null()), False)
        elif feature.kind != "number":
            if feature.kind == "time":
                try:
                    TimeColumn().fit(reader, [feature.name])
                except TableError as error:
                    yield Problem("no time", str(error), np.empty(0, np.int64))
            texts, _ = reader.texts(feature.name, feature.kind)
            if feature.kind == "image" and not any(readable_images(texts, reader.source)):
                yield Problem(
                    "no image",
                    f"column {feature.name!r}: the first images cannot be read; paths are relative "
                    "to the folder of the table",
                    np.empty(0, np.int64),
                )
            once = pc.count_distinct(texts).as_py() == 1
            yield from _problems_of(feature.name, flags(texts.is_null()), once)


def _problems_of(name: str, absent: np.ndarray, constant: bool) -> Iterator[Problem]:
    """What is wrong with a column, by where its cells are missing and whether the others agree."""
    rows = np.flatnonzero(absent)
    if _sparse(absent):
        yield Problem(
            "missing values",
            f"column {name!r} has no value in {100 * absent.mean():.0f} % of the rows",
            rows,
        )
    elif constant:
        yield Problem(
            "constant column",
            f"column {name!r} has the same value in every row that has one",
            rows[:0],
        )


def _sparse(absent: np.ndarray) -> np.ndarray:
    """Whether most cells are missing."""
    return np.asarray(absent.mean(axis=-1) > 1 - PRESENT)


def _rows(rows: np.ndarray) -> str:
    """Rows as people count them."""
    return f"row {first_few(rows + 1)}"
