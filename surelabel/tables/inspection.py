"""``inspect``: look at a table of candidate labels before learning from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.arrow_tables import decimal_of
from ..data.candidate_summary import CandidateSummary
from ..data.candidates import CandidateSets
from ..data.doubtful_labels import SeveralLabels, Spellings
from ..data.labelling import Labels
from ..data.spelling import flags
from ..exceptions import TableError, first_few
from ..text import count, percent
from ._columns import Reader
from ._kinds import AMOUNTS, BESIDE, column_kinds
from ._vectors import HUGE
from .annotators import krippendorff_alpha
from .duplicates import conflicts, equal_cells
from .encoding import Feature
from .overview import LISTED, ONE_LABEL, Listing, Overview, Result, kinds, known, named
from .reading import Columns, TableRead, leak_sentences

#: A class is rare if it occurs in fewer rows than this; a column is mostly missing if fewer than
#: this share of its cells have values.
RARE, PRESENT = 10, 0.5
#: Maximum number of pairs of classes listed.
PAIRS = 20
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
        the same", "doubtful name", "spellings", "several labels", "leak", "numbers in text",
        "constant column", "missing values", "no number", "no vector".
    message : str
        One sentence: what was found, where, and what it means.
    rows : ndarray of int
        The rows concerned, counted from 0; empty if the problem concerns a column, a class or an
        annotator.
    """

    kind: str
    message: str
    rows: np.ndarray


@dataclass(frozen=True)
class ConfusedPair:
    """Two classes that are candidates in the same rows.

    Attributes
    ----------
    first, second : int
        Positions in the classes.
    rows : int
        Number of rows with both.
    share : float
        Share of the rows of the rarer class that also have the other.
    """

    first: int
    second: int
    rows: int
    share: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Inspection(Result):
    """How ambiguous a table is, and what is wrong with it.

    Attributes
    ----------
    summary : CandidateSummary
        Set sizes, class frequencies and co-occurrences (of the rows that have labels).
    certain : int
        Number of rows with exactly one candidate.
    unlabelled : int
        Number of rows without any label.
    n_gold : int
        Number of rows whose true label is known.
    gold_inside : float or None
        Share of these whose true label is among the candidates.
    gold_frequency : ndarray of shape (l,)
        Number of gold rows by class.
    annotators : tuple of str
        Names of the annotators, if the labels are votes.
    votes_per_row : float or None
        Average number of votes per row.
    unanimous : float or None
        Share of the rows with two or more votes whose votes all agree.
    alpha : float or None
        Krippendorff's alpha: 1 if annotators always agree, 0 if they agree as often as by chance.
    features : list of Feature
        The columns that will be learned from.
    confused : list of ConfusedPair
        The most confused pairs of classes, those with most rows first.
    problems : list of Problem
        Possible problems.
    unused : dict of str to str
        Columns that are not learned from, and why.
    """

    summary: CandidateSummary
    certain: int
    unlabelled: int
    n_gold: int
    gold_inside: float | None
    gold_frequency: np.ndarray
    annotators: tuple[str, ...]
    votes_per_row: float | None
    unanimous: float | None
    alpha: float | None
    features: list[Feature]
    confused: list[ConfusedPair]
    problems: list[Problem]
    unused: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON; rows are counted from 1."""
        summary = self.summary
        classes = summary.classes.tolist()
        return {
            "rows": summary.n_rows + self.unlabelled,
            "rows_with_one_candidate": self.certain,
            "rows_without_label": self.unlabelled,
            "candidates_per_row": summary.average_size,
            "rows_by_candidates": summary.set_sizes,
            "classes": [
                {"label": label, "rows": rows, "gold_rows": gold}
                for label, rows, gold in zip(
                    classes, summary.class_frequency, self.gold_frequency, strict=True
                )
            ],
            "confused": [
                {
                    "first": classes[pair.first],
                    "second": classes[pair.second],
                    "rows": pair.rows,
                    "share_of_rarer": pair.share,
                }
                for pair in self.confused
            ],
            "gold_rows": self.n_gold,
            "gold_among_candidates": self.gold_inside,
            "annotators": self.annotators,
            "votes_per_row": self.votes_per_row,
            "unanimous": self.unanimous,
            "krippendorff_alpha": self.alpha,
            "features": {feature.name: feature.kind for feature in self.features},
            "not_used": self.unused,
            "problems": [
                {"kind": problem.kind, "message": problem.message, "rows": problem.rows + 1}
                for problem in self.problems
            ],
        }

    def overview(self) -> Overview:
        """A short summary of the result."""
        summary, m = self.summary, max(self.summary.n_rows, 1)
        classes = [str(label) for label in summary.classes.tolist()]
        sizes = f"{summary.average_size:.2f} on average, {max(summary.set_sizes, default=0)}"
        frequent = sorted(
            zip(summary.class_frequency.tolist(), classes, strict=True), key=lambda pair: -pair[0]
        )
        listings = [
            Listing(
                "Classes",
                {"label": False, "rows": True, "share": True},
                [(label, f"{n:,}", percent(n / m)) for n, label in frequent[:LISTED]],
                max(0, len(frequent) - LISTED),
            )
        ]
        if self.confused:
            pairs = [
                (classes[pair.first], classes[pair.second], f"{pair.rows:,}", percent(pair.share))
                for pair in self.confused[:LISTED]
            ]
            columns = {"label": False, "and": False, "rows": True, "of the rarer": True}
            listings.append(Listing("Candidates in the same rows", columns, pairs))
        unused = list(self.unused.items())
        return Overview(
            title=f"{count(summary.n_rows + self.unlabelled)}, "
            f"{count(len(classes), 'class', 'classes')}",
            facts=known(
                [
                    ("candidates per row", f"{sizes} at most"),
                    ("one candidate", f"{count(self.certain)} ({percent(self.certain / m)})"),
                    ("no label", count(self.unlabelled) if self.unlabelled else None),
                    (
                        "known-true labels",
                        f"{count(self.n_gold)}, {percent(self.gold_inside)} of these among the "
                        "candidates"
                        if self.n_gold
                        else None,
                    ),
                    ("annotators", self._annotators()),
                    ("learned from", kinds(self.features)),
                    *(("not used", f"{column}: {reason}") for column, reason in unused[:LISTED]),
                    (
                        "",
                        f"and {len(unused) - LISTED} more columns"
                        if len(unused) > LISTED
                        else None,
                    ),
                ]
            ),
            listings=listings,
            problems=[problem.message for problem in self.problems],
            notes=[
                *([] if self.problems else ["No problems found"]),
                *([ONE_LABEL] if self.certain == summary.n_rows and not self.annotators else []),
            ],
        )

    def _annotators(self) -> str | None:
        if not self.annotators:
            return None
        text = f"{named(self.annotators)}; {self.votes_per_row:.1f} votes per row"
        if self.unanimous is not None:
            text += f", unanimous in {percent(self.unanimous)} of the rows"
        if self.alpha is not None:
            text += f", Krippendorff's alpha {self.alpha:.2f}"
        return text


def inspect(frame: Any, **columns: Unpack[Columns]) -> Inspection:
    """Look at a table of doubtful labels before learning from it.

    Parameters
    ----------
    frame : data frame, pyarrow.Table or path
        The table: a pandas, polars or pyarrow table, or the path of a file.
    **columns
        Which columns hold what; see :class:`~surelabel.tables.Columns`.

    Returns
    -------
    Inspection
    """
    read = TableRead(frame, columns, warn=False, votes_suffice=True)
    used = {*read.labelling.columns, *(feature.name for feature in read.features)}
    left = [name for name in read.table.column_names if name not in used]
    unused = dict.fromkeys(left, "it was left out")
    if not read.chosen:
        excluded = set(read.excluded)
        unasked = [name for name in left if name not in excluded]
        found = column_kinds(read.table, unasked)
        unused |= {name: reason or BESIDE for name, (_, reason) in zip(unasked, found, strict=True)}
    inspection = inspect_labels(read.labels, read.features, read.embedded)
    nothing = np.empty(0, np.int64)
    leaks = [Problem("leak", sentence, nothing) for sentence in leak_sentences(read.leaks)]
    hints = [
        Problem("numbers in text", f"column {name!r} is not learned from: {reason}", nothing)
        for name, reason in unused.items()
        if AMOUNTS in reason and name not in read.leaks
    ]
    problems = [*leaks, *hints, *inspection.problems]
    return replace(inspection, unused=unused | read.leaks, problems=problems)


def inspect_labels(labels: Labels, features: Sequence[Feature], table: pa.Table) -> Inspection:
    """Look at a table and its labels.

    Parameters
    ----------
    labels : Labels
        What the columns of labels say.
    features : sequence of Feature
        The columns that will be learned from.
    table : pyarrow.Table
        The instances, aligned with ``labels``.

    Returns
    -------
    Inspection
    """
    labelled = np.flatnonzero(~labels.unlabelled)
    candidates = labels.candidates[labelled]
    summary = candidates.describe()
    gold = np.flatnonzero(labels.gold >= 0)
    inside = _gold_inside(labels, gold)
    votes_per_row, unanimous = _votes(labels)
    return Inspection(
        summary=summary,
        certain=int(np.sum(candidates.sizes == 1)),
        unlabelled=int(labels.unlabelled.sum()),
        n_gold=len(gold),
        gold_inside=float(inside.mean()) if len(gold) else None,
        gold_frequency=np.bincount(labels.gold[gold], minlength=len(summary.classes)),
        annotators=labels.annotators,
        votes_per_row=votes_per_row,
        unanimous=unanimous,
        alpha=None
        if labels.votes is None
        else krippendorff_alpha(labels.votes, len(labels.candidates.classes)),
        features=list(features),
        confused=_confused(summary),
        problems=[
            *_row_problems(labels, gold[~inside], features, table),
            *_class_problems(candidates, summary),
            *_annotator_problems(labels),
            *_name_problems(labels),
            *_column_problems(features, table),
        ],
        unused={},
    )


def _gold_inside(labels: Labels, gold: np.ndarray) -> np.ndarray:
    """Whether the true label is among the candidates, for each gold row."""
    inside = np.zeros(len(labels.gold), bool)
    candidates = labels.candidates
    inside[candidates.rows[candidates.indices == labels.gold[candidates.rows]]] = True
    return np.asarray(inside[gold])


def _votes(labels: Labels) -> tuple[float | None, float | None]:
    """The average number of votes per row, and the share of rows with two or more votes whose votes
    all agree.
    """
    if labels.votes is None:
        return None, None
    given = np.sum(labels.votes >= 0, axis=1)
    several = given > 1
    agree = labels.candidates.sizes[several] == 1
    return float(given.mean()), float(agree.mean()) if several.any() else None


def _confused(summary: CandidateSummary) -> list[ConfusedPair]:
    together = np.triu(summary.co_occurrence, 1)
    first, second = np.nonzero(together)
    rows = together[first, second]
    rarer = np.minimum(summary.class_frequency[first], summary.class_frequency[second])
    order = np.lexsort((second, first, -rows))[:PAIRS]
    return [
        ConfusedPair(int(first[k]), int(second[k]), int(rows[k]), float(rows[k] / rarer[k]))
        for k in order
    ]


# ---------------------------------------------------------------- problems


def _row_problems(
    labels: Labels, lacking: np.ndarray, features: Sequence[Feature], table: pa.Table
) -> Iterator[Problem]:
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


def _class_problems(candidates: CandidateSets, summary: CandidateSummary) -> Iterator[Problem]:
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


def _annotator_problems(labels: Labels) -> Iterator[Problem]:
    if labels.votes is None:
        return
    votes, given = labels.votes, labels.votes >= 0
    for a, name in enumerate(labels.annotators):
        mine, others = votes[:, a], np.delete(votes, a, axis=1)
        shared = np.flatnonzero(given[:, a] & np.any(others >= 0, axis=1))
        nothing = np.empty(0, np.int64)
        if given[:, a].sum() >= SHARED and len(np.unique(mine[given[:, a]])) == 1:
            only = labels.candidates.classes[mine[given[:, a]][0]]
            yield Problem(
                "always the same", f"annotator {name!r} gave the label {only} to every row", nothing
            )
        if len(shared) < SHARED:
            continue
        same = others[shared] == mine[shared, None]
        if np.all(same | (others[shared] < 0)):
            yield Problem(
                "always agrees",
                f"annotator {name!r} agrees with everyone on all {len(shared)} rows shared",
                nothing,
            )
        if not same.any():
            yield Problem(
                "never agrees",
                f"annotator {name!r} agrees with nobody on any of the {len(shared)} rows shared",
                nothing,
            )


def _name_problems(labels: Labels) -> Iterator[Problem]:
    kinds = {Spellings: "spellings", SeveralLabels: "several labels"}
    for name in labels.doubtful:
        yield Problem(kinds.get(type(name), "doubtful name"), f"{name}", name.rows)


def _column_problems(features: Sequence[Feature], table: pa.Table) -> Iterator[Problem]:
    reader = Reader(table, decimal_of(table) or ".")
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
            texts, _ = reader.texts(feature.name, feature.kind)
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
