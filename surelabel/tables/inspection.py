"""``inspect``: look at a table of candidate labels before learning from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from ..data.candidate_summary import CandidateSummary
from ..data.labelling import Labels
from ..solvers.crowds import AGAINST
from ..text import count, percent
from .annotators import krippendorff_alpha
from .columns import Feature
from .embedding import EMBEDDED
from .overview import LISTED, ONE_LABEL, Listing, Overview, Result, kinds, known, named
from .problems import (
    Problem,
    annotator_problems,
    class_problems,
    column_problems,
    name_problems,
    row_problems,
)
from .reading import Columns, TableRead, leak_sentences
from .soft_labels import SoftSummary, describe_soft

#: Maximum number of pairs of classes listed.
PAIRS = 20


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
    n_against : int
        Number of votes against labels.
    soft : SoftSummary or None
        What the soft labels look like, if there are any.
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
    n_against: int
    soft: SoftSummary | None
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
            "votes_against": self.n_against,
            "soft_labels": self.soft and asdict(self.soft),
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
            if self.soft is None
            else _soft_classes(self.soft, classes)
        ]
        if self.confused and self.soft is None:
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
                    *(self.soft.facts().items() if self.soft else ()),
                    ("candidates per row", None if self.soft else f"{sizes} at most"),
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
                        f"and {len(unused) - LISTED:,} more columns"
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
        if self.n_against:
            total = round((self.votes_per_row or 0) * (self.summary.n_rows + self.unlabelled))
            text += f" ({self.n_against:,} of all {total:,} say what a row is not)"
        if self.unanimous is not None:
            text += f", unanimous in {percent(self.unanimous)} of the rows"
        if self.alpha is not None:
            text += f", Krippendorff's alpha {self.alpha:.2f}"
        return text


def _soft_classes(soft: SoftSummary, classes: list[str]) -> Listing:
    """The classes by how many rows have them first."""
    order = np.argsort(-soft.largest, kind="stable")
    rows = [
        (classes[k], f"{soft.largest[k]:,}", percent(float(soft.mean[k])))
        for k in order[:LISTED].tolist()
    ]
    columns = {"label": False, "rows with the largest share": True, "share on average": True}
    return Listing("Classes", columns, rows, max(0, len(classes) - LISTED))


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
    unused = {
        name: "its vectors are learned from" if name + EMBEDDED in used else "it was left out"
        for name in read.table.column_names
        if name not in used
    }
    unused |= {name: guess.reason for name, guess in read.unused.items()} | read.leaks
    inspection = inspect_labels(read.labels, read.features, read.embedded)
    problems = [Problem("leak", sentence) for sentence in leak_sentences(read.leaks)]
    for name, guess in read.unused.items():
        if guess.severity == "error":
            problems.append(Problem("no number", guess.reason))
        elif guess.severity == "warning":
            sentence = f"column {name!r} is not learned from: {guess.reason}"
            problems.append(Problem("numbers in text", sentence))
    return replace(inspection, unused=unused, problems=problems + inspection.problems)


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
        soft=describe_soft(candidates) if labels.soft else None,
        n_against=0 if labels.votes is None else int(np.sum(labels.votes <= AGAINST)),
        unanimous=unanimous,
        alpha=None
        if labels.votes is None
        else krippendorff_alpha(labels.votes, len(labels.candidates.classes)),
        features=list(features),
        confused=_confused(summary),
        problems=[
            *row_problems(labels, gold[~inside], features, table),
            *class_problems(candidates, summary, labels.soft),
            *annotator_problems(labels),
            *name_problems(labels),
            *column_problems(features, table),
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
    voted = labels.votes >= 0
    several = np.sum(voted, axis=1) > 1
    highest = labels.votes[several].max(axis=1, keepdims=True)
    agree = np.all(~voted[several] | (labels.votes[several] == highest), axis=1)
    given = np.sum(labels.votes != -1, axis=1)
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
