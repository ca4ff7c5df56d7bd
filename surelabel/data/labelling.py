"""Columns of a table → candidate labels, known-true labels and votes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..exceptions import ParameterError, TableError, first_few, shown
from ..text import suggest
from ._label_arrays import check_classes, net_votes
from ._label_cells import Cells, Label, check_names, class_cells, different_cells, label_cells
from .arrow_tables import find_column, is_cell, is_list, is_text, source_of
from .candidates import CandidateSets
from .label_hints import (
    Hint,
    different_spellings,
    new_names,
    only_known,
    placeholders,
    several_labels,
)
from .label_order import has_order, label_positions
from .text_values import blanked
from .unpacking import too_sparse

#: Texts that are whole numbers, unlike names such as 007.
WHOLE = r"^(0|-?[1-9][0-9]{0,17})(\.0*)?$"


@dataclass(frozen=True)
class Labelling:
    """Which columns of a table hold labels: the arguments of the same names of
    :class:`surelabel.tables.Columns`, with names and patterns of columns resolved.

    Exactly one of ``labels``, ``votes``, ``indicator`` and ``counts`` is given. Without ``missing``
    there is a hint on labels such as NA; with ``()`` there is none.
    """

    labels: str | None = None
    separator: str = "|"
    votes: tuple[str, ...] = ()
    indicator: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    gold: str | None = None
    id: str | None = None
    long: bool = False
    annotator: str | None = None
    noisy: bool = False
    complete: bool = False
    missing: tuple[str, ...] | None = None
    normalise: bool = False
    map: tuple[tuple[str, str], ...] = ()
    not_prefix: str | None = None
    ordered: bool | tuple[str, ...] = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns involved; none of them is a feature."""
        named = (self.labels, *self.votes, *self.of_classes, self.gold, self.id, self.annotator)
        return tuple(name for name in named if name is not None)

    @property
    def of_classes(self) -> tuple[str, ...]:
        """The columns whose names are classes."""
        return self.indicator or self.counts


@dataclass(frozen=True)
class Labels:
    """The content of the columns of a :class:`Labelling`, one entry per instance."""

    #: As given, even where the true label is known; with ``counts``, ``votes`` and ``annotators``
    #: if votes were given.
    candidates: CandidateSets
    gold: np.ndarray  # position of the known-true label in the classes, -1 where unknown
    unlabelled: np.ndarray  # whether a row has no label, neither candidate nor gold
    ids: np.ndarray | None  # names of the rows
    #: The instances: the table itself, or, for a long table, one row per id without the columns of
    #: label and annotator.
    table: pa.Table
    hints: tuple[Hint, ...] = ()
    soft: bool = False  # whether the counts of the candidates are probabilities, as given
    complete: bool = False  # whether the user says that every candidate set holds the true label
    ordered: bool | tuple[str, ...] = False  # labels are numbers in their order, or their order

    @property
    def votes(self) -> np.ndarray | None:
        """Who voted for what; None if it is not known."""
        return self.candidates.votes

    @property
    def annotators(self) -> tuple[str, ...]:
        """The names of the columns of ``votes``."""
        return self.candidates.annotators

    def take(self, rows: np.ndarray) -> Labels:
        """What is known about the labels of some rows, to learn from."""
        return replace(
            self,
            candidates=self.candidates[rows],
            gold=self.gold[rows],
            unlabelled=self.unlabelled[rows],
        )

    def lists(self) -> pa.Array:
        """The candidates of each row as a list, empty for rows without labels."""
        candidates, given = self.candidates, ~self.unlabelled
        offsets = np.concatenate([[0], np.cumsum(np.where(given, candidates.sizes, 0))])
        labels = candidates.classes[candidates.indices[given[candidates.rows]]]
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(labels))


def read_labels(table: pa.Table, labelling: Labelling) -> Labels:
    """Read the labels of a table.

    Labels are whole numbers if every column of labels holds only these, even as text (``2`` and
    ``2.0``); otherwise all are text, without surrounding spaces. Empty texts, NaN, missing cells
    and the texts in ``labelling.missing`` are not labels; every other text is one, including NA and
    null.
    """
    source = source_of(table)
    _check_roles(table, labelling, source)
    instance, first = _rows_by_id(table, labelling, source)
    cells, class_names, order, hints = _with_names(_read_cells(table, labelling, source), labelling)
    classes = check_classes(class_names) if class_names else _label_space(cells, table, source)
    codes = _encode(cells, classes, source)
    is_gold = cells.within((labelling.gold,))
    known = np.full(table.num_rows, -1)
    known[cells.rows[is_gold]] = codes[is_gold]
    known = known[first]
    entries = _Entries(
        *(part[~is_gold] for part in (cells.rows, codes, cells.column, cells.amounts))
    )
    annotators, voter = _who_gave(table, labelling, entries, source)
    entries = entries._replace(rows=instance[entries.rows])
    unlabelled = (np.bincount(entries.rows, minlength=len(first)) == 0) & (known < 0)
    if annotators and np.all(entries.amounts >= 0):
        votes = _vote_matrix(entries, voter, annotators, first, source)
        candidates = CandidateSets.from_ballots(votes, classes, annotators=annotators)
    else:
        candidates = _counted_sets(entries, len(first), classes, labelling)
    if has_order(order):
        label_positions(order, candidates.classes)  # an error if it is not an order
    if labelling.long:
        table = _one_row_each(table, labelling, instance, first, source)
    return Labels(
        candidates=candidates,
        gold=known,
        unlabelled=unlabelled,
        ids=table[labelling.id].to_numpy() if labelling.id is not None else None,
        table=table,
        hints=hints,
        soft=bool(labelling.counts),
        complete=labelling.complete,
        ordered=order,
    )


class _Entries(NamedTuple):
    """Labels by their positions in the classes: row, position, column and amount of each."""

    rows: np.ndarray
    codes: np.ndarray
    columns: np.ndarray
    amounts: np.ndarray


def _check_roles(table: pa.Table, labelling: Labelling, source: str) -> None:
    """Check that every column exists and has only one role, and that the options fit together."""
    ways = ("labels", "votes", "indicator", "counts")
    given = [name for name in ways if getattr(labelling, name)]
    if len(given) != 1:
        raise ParameterError(
            "say where the labels are in exactly one way: --labels COLUMN, --votes COLUMNS, "
            f"--indicator COLUMNS or --counts COLUMNS; given: {' and '.join(given) or 'none'}"
        )
    if labelling.not_prefix is not None:
        _check_prefix(labelling.not_prefix)
        if labelling.of_classes:
            raise ParameterError(
                "not_prefix is for columns of labels and votes; a 0 rules a label out in a column "
                "per class"
            )
    if not labelling.separator:
        raise ParameterError("the separator of labels must not be empty")
    if labelling.long and not (labelling.labels and labelling.id):
        raise ParameterError(
            "a long table has one row per id and label: say which columns are id and labels"
        )
    if labelling.annotator is not None and not labelling.long:
        raise ParameterError(
            "a column of annotators needs a long table; for one column per annotator, use votes"
        )
    if labelling.noisy and (labelling.labels is None or labelling.long):
        raise ParameterError(
            "noisy needs one column with one label in each row: name it as labels, without long"
        )
    for name in labelling.columns:
        find_column(table, name, source)
    for name in filter(None, (labelling.id, labelling.annotator, *labelling.of_classes)):
        check_names(table, name, source)
    twice = [name for name in dict.fromkeys(labelling.columns) if labelling.columns.count(name) > 1]
    if twice:
        raise ParameterError(
            f"{source}: column {twice[0]!r} is named twice; give each column one role"
        )


# -------------------------------------------------------------------- instances


def _rows_by_id(
    table: pa.Table, labelling: Labelling, source: str
) -> tuple[np.ndarray, np.ndarray]:
    """The instance of every row, and the first row of every instance."""
    rows = np.arange(table.num_rows)
    if labelling.id is None:
        return rows, rows
    ids = _filled(table[labelling.id]).combine_chunks()
    if ids.null_count:
        missing = np.flatnonzero(ids.is_null().to_numpy(zero_copy_only=False))
        raise TableError(
            f"{source}: column {labelling.id!r} is empty in row {first_few(missing + 1)}; fill "
            "it in"
        )
    instance = different_cells(ids).indices.to_numpy()  # numbered in the order of first appearance
    first = np.unique(instance, return_index=True)[1]
    if labelling.long:
        return instance, first
    if len(first) < len(rows):
        again = np.setdiff1d(rows, first)[0]
        raise TableError(
            f"{source}: column {labelling.id!r} has {ids[again].as_py()!r} in rows "
            f"{first[instance[again]] + 1} and {again + 1}; "
            "if all rows with the same id are one instance, say so (long), otherwise use another id"
        )
    return rows, rows


def _filled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with null in place of empty texts."""
    if not is_text(column.type):
        return column
    texts = column.cast(pa.large_string())
    return blanked(texts, pc.equal(texts, ""))


def _one_row_each(
    table: pa.Table, labelling: Labelling, instance: np.ndarray, first: np.ndarray, source: str
) -> pa.Table:
    """The first row of every id, without its label; an error if the rows of an id differ."""
    table = table.drop_columns(
        [name for name in (labelling.labels, labelling.annotator) if name is not None]
    )
    owner = pa.array(first[instance])
    for name in table.column_names:
        column = _filled(table[name]).combine_chunks()
        if is_list(column.type) or pa.types.is_struct(column.type):  # Arrow cannot compare these
            column = pa.array([None if cell is None else repr(cell) for cell in column.to_pylist()])
        elif pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        theirs = column.take(owner)
        differs = pc.or_(
            pc.fill_null(pc.not_equal(column, theirs), False),
            pc.xor(column.is_null(), theirs.is_null()),
        )
        if pc.any(differs).as_py():
            row = pc.index(differs, True).as_py()
            raise TableError(
                f"{source}: {labelling.id} {table[labelling.id][row].as_py()!r} has different "
                f"values in column {name!r}, in rows "
                f"{owner[row].as_py() + 1} and {row + 1}; make them equal, or leave the column out"
            )
    return table.take(pa.array(first))


# -------------------------------------------------------------------- cells and names


def _read_cells(table: pa.Table, labelling: Labelling, source: str) -> Cells:
    """The labels in the cells of the label columns, and of the column of known ones."""
    if labelling.labels is not None:
        cells = [label_cells(table, labelling.labels, labelling.separator, source)]
    elif labelling.votes:
        cells = [label_cells(table, name, None, source) for name in labelling.votes]
    else:
        counts = bool(labelling.counts)
        cells = [class_cells(table, name, source, counts=counts) for name in labelling.of_classes]
    if labelling.not_prefix is not None:
        cells = [_for_and_against(column, labelling.not_prefix, source) for column in cells]
    if labelling.gold is not None:
        cells.append(label_cells(table, labelling.gold, None, source))
    return Cells.joined(cells)


def _check_prefix(prefix: object) -> None:
    """Refuse a prefix that cannot mark a label as ruled out."""
    if not isinstance(prefix, str) or not prefix.strip():
        raise ParameterError(
            "not_prefix is what stands before a label that is ruled out, such as '!'; got "
            f"{shown(prefix)}"
        )


def _after_prefix(text: str, prefix: str) -> str | None:
    """What follows a prefix; None if the text does not start with it. A blank must follow a prefix
    that ends in a letter or digit.

    >>> _after_prefix("!cat", "!"), _after_prefix("not cat", "not"), _after_prefix("notch", "not")
    ('cat', 'cat', None)
    """
    rest = text.removeprefix(prefix)
    if not text.startswith(prefix) or (prefix[-1].isalnum() and rest == rest.lstrip() != ""):
        return None
    return rest.strip()


def _for_and_against(cells: Cells, prefix: str, source: str) -> Cells:
    """The labels of a column; those that it rules out have negative amounts."""
    rests = [
        _after_prefix(value, prefix) if isinstance(value, str) else None for value in cells.values
    ]
    if "" in rests:
        raise TableError(
            f"{source}: {cells.first(rests.index(''))}: {prefix!r} alone rules out no label; write "
            "the label after it"
        )
    values = [
        value if rest is None else rest for value, rest in zip(cells.values, rests, strict=True)
    ]
    sign = np.array([1 if rest is None else -1 for rest in rests], int)
    return replace(cells, values=values, amounts=cells.amounts * sign[cells.which])


def _with_names(
    cells: Cells, labelling: Labelling
) -> tuple[Cells, list[Label], bool | tuple[str, ...], tuple[Hint, ...]]:
    """The labels in their final spelling, the names of columns of classes, the order of the labels,
    and hints on names.
    """
    class_names: list[Label] = list(labelling.of_classes)
    order = labelling.ordered
    if labelling.normalise or labelling.map:
        name = new_names(cells, normalise=labelling.normalise, mapped=labelling.map)
        cells = replace(cells, values=list(map(name, cells.values))).without(("",))
        class_names = [new for new in dict.fromkeys(map(name, class_names)) if new != ""]
        if not isinstance(order, bool):
            order = tuple(map(str, dict.fromkeys(map(name, order))))
    cells = Cells.joined([cells]).without(())  # every label that occurs, once
    named = cells.keep(~cells.within(labelling.of_classes))
    hints = [
        *(placeholders(cells) if labelling.missing is None else ()),
        *(() if labelling.normalise else different_spellings(named)),
        *several_labels(named),
        *only_known(cells, labelling.gold),
    ]
    return cells.without(labelling.missing or ()), class_names, order, tuple(hints)


# -------------------------------------------------------------------- classes and codes


def _label_space(cells: Cells, table: pa.Table, source: str) -> np.ndarray:
    """The labels found, sorted."""
    where = first_few(map(repr, cells.columns), 3)
    if not cells.values:
        raise TableError(f"{source}: there is no label in column {where}")
    labels = set(cells.values)
    # In text files, numbers are written as text; elsewhere, text is text.
    if all(is_cell(table.schema.field(name)) for name in cells.columns):
        labels = set(map(_whole, cells.values))
    if any(isinstance(label, str) for label in labels):
        labels = set(map(str, cells.values))
    if len(labels) > max(50, table.num_rows / 2):
        raise TableError(
            f"{source}: column {where} holds {len(labels)} different labels in {table.num_rows} "
            "rows; are these the labels, and is the separator right?"
        )
    return np.array(sorted(labels))


def _encode(cells: Cells, classes: np.ndarray, source: str) -> np.ndarray:
    """The position of every label in the classes."""
    position = {label: code for code, label in enumerate(classes.tolist())}
    text = classes.dtype.kind in "US"
    code = [position.get(str(label) if text else _whole(label), -1) for label in cells.values]
    if -1 in code:
        strange = code.index(-1)
        label, known = cells.values[strange], list(map(str, classes.tolist()))
        raise TableError(
            f"{source}: {cells.first(strange)}: the label {label!r} is unknown; "
            f"{suggest(str(label), known, 'labels')}"
        )
    return np.asarray(np.array(code, int)[cells.which])


def _counted_sets(
    entries: _Entries, n_rows: int, classes: np.ndarray, labelling: Labelling
) -> CandidateSets:
    """Candidates of unknown annotators, or of people who rule labels out: with counts if they are
    given, or if a label occurs several times in a cell, in the votes of a row, or in the rows of an
    id.
    """
    rows, codes, _, amounts = entries
    indptr, indices, counts = net_votes(rows, codes, amounts, (n_rows, len(classes)))
    again = len(np.unique(rows * len(classes) + codes)) < len(codes)
    counted = labelling.counts or (again and not labelling.indicator)
    return CandidateSets(indptr, indices, classes, counts if counted else None, unlabelled="all")


def _whole(label: Label) -> Label:
    """The number that a text stands for, if the classes are whole numbers."""
    return (
        int(label.partition(".")[0]) if isinstance(label, str) and re.match(WHOLE, label) else label
    )


# -------------------------------------------------------------------- votes


def _who_gave(
    table: pa.Table, labelling: Labelling, entries: _Entries, source: str
) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of the annotators, and which of them gave every label."""
    rows = entries.rows
    if labelling.noisy:
        assert labelling.labels is not None
        again = np.flatnonzero(np.bincount(rows) > 1)
        if len(again):
            raise TableError(
                f"{source}: row {again[0] + 1}, column {labelling.labels!r}: several labels; noisy "
                "needs exactly one label in each row"
            )
        return (labelling.labels,), entries.columns
    if labelling.annotator is None:
        return labelling.votes, entries.columns
    who = (
        _filled(table[labelling.annotator])
        .cast(pa.large_string())
        .take(pa.array(rows))
        .combine_chunks()
    )
    if who.null_count:
        row = rows[np.argmax(who.is_null())] + 1
        raise TableError(
            f"{source}: row {row}, column {labelling.annotator!r}: the name of the "
            "annotator is missing; fill it in"
        )
    encoded = different_cells(who)
    names = encoded.dictionary.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    return tuple(names[i] for i in order), np.argsort(order)[encoded.indices.to_numpy()]


def _vote_matrix(
    entries: _Entries,
    voter: np.ndarray,
    annotators: tuple[str, ...],
    first: np.ndarray,
    source: str,
) -> np.ndarray:
    """Position of the label that each annotator gave to each instance, -1 where there is none."""
    instance, codes = entries.rows, entries.codes
    if too_sparse(len(first), len(annotators), len(voter)):
        raise TableError(
            f"{source}: {len(annotators):,} annotators gave {len(voter):,} labels to "
            f"{len(first):,} rows, too few each to learn anything about them; leave the "
            "annotators out, and their labels become candidates"
        )
    votes = np.full((len(first), len(annotators)), -1, np.int32)
    votes[instance, voter] = codes
    again = np.flatnonzero(votes[instance, voter] != codes)
    if len(again):
        raise TableError(
            f"{source}: {annotators[voter[again[0]]]!r} gives two labels to the id of row "
            f"{first[instance[again[0]]] + 1}; an annotator has only one vote: correct it, or do "
            "not name the column of annotators"
        )
    return votes
