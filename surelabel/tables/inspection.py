"""``inspect``: how ambiguous a table is, and problems of its rows, classes, labels and columns."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.arrow_tables import is_list
from ..data.candidate_summary import CandidateSummary
from ..data.candidates import CandidateSets
from ..data.label_order import has_order, usual_order
from ..data.labelling import Labels
from ..exceptions import TableError, first_few
from ..solvers.equal_rows import equal_rows
from ..text import count, percent
from .annotators import krippendorff_alpha
from .columns import ColumnReader, Feature
from .embedding import EMBEDDED
from .encoding import TimeColumn
from .images import readable_images
from .overview import LISTED, ONE_LABEL, Listing, Overview, Result, kinds, known, named
from .reading import Columns, TableRead, leak_sentences
from .soft_labels import likely_sets

#: Maximum number of pairs of classes listed.
PAIRS = 20
#: A class is rare if it occurs in fewer rows than this.
RARE = 10


@dataclass(frozen=True)
class Problem:
    """Something about the table that a person should know before trusting what is learned from it.

    Attributes
    ----------
    kind : str
        A short name that scripts can rely on: "unlabelled", "gold outside", "duplicates", "rare
        class", "never apart", "leak", "numbers in text", "no number", "no vector", "no time", "no
        image", or the name of a hint about label names.
    message : str
        One sentence: what was found, where, and what it means.
    rows : ndarray of int
        The rows concerned, counted from 0; empty if the problem concerns a column, a class or an
        annotator.
    """

    kind: str
    message: str
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))


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
    problems : list of Problem
        Possible problems.
    unused : dict of str to str
        Columns that are not learned from, and why.
    order : str
        What to give as ``--ordered``, if the labels seem to have an order; empty otherwise.
    """

    summary: CandidateSummary
    certain: int
    unlabelled: int
    n_gold: int
    gold_inside: float | None
    annotators: tuple[str, ...]
    votes_per_row: float | None
    unanimous: float | None
    alpha: float | None
    features: list[Feature]
    problems: list[Problem]
    unused: dict[str, str]
    order: str

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
                {"label": label, "rows": rows}
                for label, rows in zip(classes, summary.class_frequency, strict=True)
            ],
            "confused": [
                {"first": first, "second": second, "rows": rows}
                for first, second, rows in summary.most_confused(PAIRS)
            ],
            "gold_rows": self.n_gold,
            "gold_among_candidates": self.gold_inside,
            "annotators": self.annotators,
            "votes_per_row": self.votes_per_row,
            "unanimous": self.unanimous,
            "krippendorff_alpha": self.alpha,
            "order": self.order or None,
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
        sizes = f"{summary.average_size:.2f} on average, {max(summary.set_sizes, default=0)}"
        unused = [f"{column}: {reason}" for column, reason in self.unused.items()]
        more = f"and {len(unused) - LISTED:,} more columns" if len(unused) > LISTED else None
        gold = f"{count(self.n_gold)}, {percent(self.gold_inside)} of these among the candidates"
        facts = [
            ("candidates per row", f"{sizes} at most"),
            ("one candidate", f"{count(self.certain)} ({percent(self.certain / m)})"),
            ("no label", count(self.unlabelled) if self.unlabelled else None),
            ("known-true labels", gold if self.n_gold else None),
            ("annotators", self._annotators()),
            ("learned from", kinds(self.features)),
            *(("not used", reason) for reason in unused[:LISTED]),
            ("", more),
        ]
        notes = [] if self.problems else ["No problems found"]
        if self.certain == summary.n_rows and not self.annotators:
            notes.append(ONE_LABEL)
        if self.order:
            notes.append(
                "The labels may have an order. If a neighbour is half right, say "
                f"--ordered {self.order}"
            )
        return Overview(
            title=f"{count(summary.n_rows + self.unlabelled)}, "
            f"{count(len(summary.classes), 'class', 'classes')}",
            facts=known(facts),
            listings=self._listings(),
            problems=[problem.message for problem in self.problems],
            notes=notes,
        )

    def _listings(self) -> list[Listing]:
        """The classes, and the pairs of them that are candidates of the same rows."""
        summary, m = self.summary, max(self.summary.n_rows, 1)
        classes = [str(label) for label in summary.classes.tolist()]
        frequent = sorted(
            zip(summary.class_frequency.tolist(), classes, strict=True), key=lambda pair: -pair[0]
        )
        rows = [(label, f"{n:,}", percent(n / m)) for n, label in frequent[:LISTED]]
        columns = {"label": False, "rows": True, "share": True}
        found = [Listing("Classes", columns, rows, max(0, len(classes) - LISTED))]
        pairs = [
            (str(first), str(second), f"{n:,}")
            for first, second, n in summary.most_confused(LISTED)
        ]
        if pairs:
            columns = {"label": False, "and": False, "rows": True}
            found.append(Listing("Candidates in the same rows", columns, pairs))
        return found

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
    """Look at a table and its labels."""
    labelled = np.flatnonzero(~labels.unlabelled)
    candidates = likely_sets(labels.candidates) if labels.soft else labels.candidates
    candidates = candidates[labelled]
    summary = candidates.describe()
    gold = np.flatnonzero(labels.gold >= 0)
    classes = labels.candidates.classes
    inside = labels.candidates[gold].contains(classes[labels.gold[gold]])
    votes_per_row, unanimous = _vote_rates(labels)
    return Inspection(
        summary=summary,
        certain=int(np.sum(candidates.sizes == 1)),
        unlabelled=int(labels.unlabelled.sum()),
        n_gold=len(gold),
        gold_inside=float(inside.mean()) if len(gold) else None,
        annotators=labels.annotators,
        votes_per_row=votes_per_row,
        unanimous=unanimous,
        alpha=None
        if labels.votes is None
        else krippendorff_alpha(labels.votes, len(labels.candidates.classes)),
        features=list(features),
        order=_order_offered(labels),
        problems=[
            *_row_problems(labels, gold[~inside], features, table),
            *_class_problems(summary),
            *(Problem(hint.kind, hint.message, hint.rows) for hint in labels.hints),
            *_column_problems(features, table),
        ],
        unused={},
    )


def _order_offered(labels: Labels) -> str:
    """The value of ``--ordered`` for labels that seem to have an order which was not given."""
    order = usual_order(labels.candidates.classes.tolist())
    if not order or has_order(labels.ordered):
        return ""
    return "numbers" if order is True else shlex.quote(",".join(order))


def _vote_rates(labels: Labels) -> tuple[float | None, float | None]:
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


# -------------------------------------------------------------------- problems


def _row_problems(
    labels: Labels, lacking: np.ndarray, features: Sequence[Feature], table: pa.Table
) -> Iterator[Problem]:
    """Rows without labels, rows whose set lacks the known label, and duplicates that disagree."""
    unlabelled = np.flatnonzero(labels.unlabelled)
    if len(unlabelled):
        yield Problem(
            "unlabelled",
            f"{len(unlabelled)} row(s) have no label (row {first_few(unlabelled + 1)}): every "
            "label is possible for them",
            unlabelled,
        )
    if len(lacking):
        yield Problem(
            "gold outside",
            f"the known label of {len(lacking)} row(s) is not among their candidates (row "
            f"{first_few(lacking + 1)}): other sets may lack the true label, too",
            lacking,
        )
    if not features:
        return
    rows = disagreeing_rows(table.select([f.name for f in features]), labels.candidates)
    if len(rows):
        yield Problem(
            "duplicates",
            f"{len(rows)} rows have the features of another row, but other candidates (row "
            f"{first_few(rows + 1)})",
            rows,
        )


def disagreeing_rows(table: pa.Table, candidates: CandidateSets) -> np.ndarray:
    """The rows that equal other rows in their cells, but not in their candidates."""
    groups = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        # vectors are compared as texts
        cells = pa.array(map(str, column)) if is_list(column.type) else column.combine_chunks()
        codes = pc.fill_null(cells.dictionary_encode().indices, -1).to_numpy() + 1
        groups = np.unique(groups * (codes.max() + 1) + codes, return_inverse=True)[1]
    sets = equal_rows([candidates.to_sparse()])
    first = np.unique(groups, return_index=True)[1]
    return np.flatnonzero(np.isin(groups, groups[sets != sets[first][groups]]))


def _class_problems(summary: CandidateSummary) -> Iterator[Problem]:
    """Classes that are rare, or never occur without another."""
    frequency, names = summary.class_frequency, summary.classes
    rare = names[frequency < RARE]
    if len(rare):
        yield Problem(
            "rare class",
            f"fewer than {RARE} rows have the class(es) {first_few(rare.tolist())}: too few to "
            "learn",
        )
    bound = (summary.co_occurrence == frequency[:, None]) & (frequency > 0)[:, None]
    np.fill_diagonal(bound, False)
    pairs = [f"{names[k]} with {names[j]}" for k, j in zip(*np.nonzero(bound), strict=True)]
    if pairs:
        yield Problem(
            "never apart",
            f"one class never occurs without another: {first_few(pairs)}; candidates cannot tell "
            "these apart, only known-true labels can",
        )


def _column_problems(features: Sequence[Feature], table: pa.Table) -> Iterator[Problem]:
    """Columns with cells that cannot be read as the kind of the column."""
    reader = ColumnReader(table)
    read: dict[str, Callable[[str], Any]] = {
        "number": lambda name: reader.numbers([name]),
        "vector": reader.vectors,
        "time": partial(TimeColumn().learn, reader),
        "image": partial(_check_images, reader),
    }
    for feature in features:
        try:
            if feature.kind in read:
                read[feature.kind](feature.name)
            else:
                reader.texts(feature.name, feature.kind)
        except TableError as error:
            yield Problem(f"no {feature.kind}", str(error))


def _check_images(reader: ColumnReader, name: str) -> None:
    if not any(readable_images(reader.texts(name, "image")[0], reader.source)):
        raise TableError(
            f"column {name!r}: the first images cannot be read; paths are relative to the folder "
            "of the table"
        )
