"""Read a table: which columns hold the labels, and which are learned from."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any, TypedDict, get_args

import numpy as np
import pyarrow as pa

from ..data.arrow_tables import find_column, source_of, with_decimal
from ..data.ballots import informative_rows
from ..data.frames import from_frame
from ..data.label_order import has_order, order_given
from ..data.labelling import Labelling, Labels, read_labels
from ..data.table_files import read_table
from ..exceptions import CandidateError, InputError, ParameterError, TableError, first_few, shown
from .columns import Kind, check_features, choose_features
from .embedding import embed_columns
from .encoding import TableEncoder
from .leaks import find_leaks

#: One name, several as ``"a,b"`` or as a list, or a pattern such as ``"rater_*"``.
Names = str | Sequence[str] | None


class Reading(TypedDict, total=False):
    """How a file is written: the last four attributes of :class:`Columns`."""

    delimiter: str | None
    encoding: str | None
    decimal: str | None
    sheet: str | None


class Columns(Reading, total=False):
    """Which columns hold what: the arguments that all table functions share.

    They are the same as the options of the command line. Give exactly one of ``labels``, ``votes``,
    ``indicator`` and ``counts``. Several columns are given as ``"a,b"``, as a list, or by a pattern
    such as ``"rater_*"``.

    Attributes
    ----------
    labels : str
        The column of candidates: text with a separator (``cat|dog``), lists, or one label per cell.
    separator : str, default="|"
        What separates the labels in a text.
    votes : names of columns
        One column per annotator; cells may be missing.
    indicator : names of columns
        One 0/1 column per class; its name is the name of the class.
    counts : names of columns
        One column per class with its number of votes or its probability: soft labels.
    gold : str
        The column of labels known to be true; cells may be missing.
    id : str
        The column that names the rows.
    long : bool, default=False
        The table has one row per id and label; all rows with the same id are one instance.
    annotator : str
        In a long table, the column that says who gave the label; the labels are then votes.
    noisy : bool, default=False
        Every row has one label, and some of them are wrong: find these and correct them.
    complete : bool, default=False
        Every set of candidates holds the true label, so a single candidate is certain. By default
        sets may lack it.
    missing : str or list of str
        Values that mean "no label", such as ``"NA,null"``; ``""`` if every value is a label. Empty
        cells always mean "no label".
    normalise : bool, default=False
        Treat labels that differ only in case, in spaces and hyphens, or in surrounding punctuation
        as one, in the most frequent spelling: ``Games``, ``GAMES`` and ``" games."``.
    map : mapping of str to str
        New names for labels: ``{"GAMES": "games"}``. An empty new name removes the label.
    not_prefix : str
        The prefix of a label that somebody rules out: with "!", ``!cat`` takes a vote for cat away,
        and the candidates are the labels that have votes left, or else those ruled out least. Who
        gave the votes then plays no role.
    ordered : bool or names, default=False
        Whether the labels have an order, so that a neighbour is half right: True (or "numbers") for
        numbers, otherwise the labels in their order, as in ``"low,medium,high"``.
    features : names of columns
        What to learn from; by default all columns that may be informative. Columns that hold the
        answer (an earlier result, a forgotten annotator) are left out with a warning, unless they
        are named here one by one: ``"*,checked"`` means all columns, including ``checked``.
    exclude : names of columns
        What not to learn from.
    no_features : bool, default=False
        Learn from no column: the votes alone decide.
    as_ : mapping of str to str, callable or transformer
        The kinds of columns, whatever they look like: "number", "category", "text", "time",
        "vector" or "image" (paths, relative to the table's file, or to the current folder for
        frames in memory). A function or transformer, or the ``"module:name"`` of one, computes
        vectors from the cells; see :func:`surelabel.tables.embedding.embed_columns`.
    decimal : {".", ","}
        The decimal separator of numbers that are written as text; by default a point.
    delimiter, encoding, sheet : str
        How the file is written, if the table is given by a path: what separates cells (by default
        detected), the encoding of its text (by default UTF-8), and the sheet of a workbook (by
        default the only one).
    """

    labels: str | None
    separator: str
    votes: Names
    indicator: Names
    counts: Names
    gold: str | None
    id: str | None
    long: bool
    annotator: str | None
    noisy: bool
    complete: bool
    missing: Names
    normalise: bool
    map: Mapping[str, str] | None
    not_prefix: str | None
    ordered: bool | Names
    features: Names
    exclude: Names
    no_features: bool
    as_: Mapping[str, Any] | None


#: The arguments that say how a file is written.
READING = tuple(Reading.__annotations__)


def separate_names(given: Names) -> list[str]:
    """Names given as a list or as ``"a,b"``.

    >>> separate_names("a, b"), separate_names(["a", "b,c"])
    (['a', 'b'], ['a', 'b', 'c'])
    """
    return [part.strip() for text in _as_list(given) for part in text.split(",")]


def _as_list(given: Any) -> list[str]:
    """One text or several, as a list."""
    texts = [] if given is None else given
    texts = [texts] if isinstance(texts, str) or not isinstance(texts, Iterable) else list(texts)
    for text in texts:
        _refuse_other_types("a name", text)
    return texts


def _refuse_other_types(what: str, text: Any) -> None:
    if not isinstance(text, str):
        raise ParameterError(f"{what} must be a string, not {shown(text)}")


def column_names(given: Names, table: pa.Table, *, patterns: bool = True) -> tuple[str, ...]:
    """Columns given as a list, as ``a,b`` or by a pattern with ``*``; without ``patterns``, only
    those given by name. Unknown names stay, so that errors can name them.
    """
    there = set(table.column_names)
    names: list[str] = []
    for text in _as_list(given):
        for part in [text] if text in there else separate_names(text):
            others = () if part in there else table.column_names
            matching = [name for name in others if fnmatchcase(name, part)]
            if patterns or not matching:
                names += matching or [part]
    return tuple(dict.fromkeys(names))


def kinds_given(given: Any, table: pa.Table) -> tuple[dict[str, Kind], dict[str, Any], set[str]]:
    """What ``as_`` says about columns (see :class:`Columns`): their kinds, the functions that
    compute vectors from them, and which were given by name, not by a pattern.
    """
    if given is not None and not isinstance(given, Mapping):
        raise ParameterError(f"as_ must be a mapping of columns to kinds, not {shown(given)}")
    kinds: dict[str, Any] = {}
    functions: dict[str, Any] = {}
    by_name: set[str] = set()
    for columns, kind in (given or {}).items():
        names = column_names(columns, table)
        by_name |= {*column_names(columns, table, patterns=False)}
        if not isinstance(kind, str) or ":" in kind:
            functions |= dict.fromkeys(names, kind)
        elif kind in get_args(Kind):
            kinds |= dict.fromkeys(names, kind)
        else:
            raise ParameterError(
                f"there is no kind of column {kind!r}; choose from {', '.join(get_args(Kind))}, or "
                "name a function as module:name"
            )
    return kinds, functions, by_name


def leak_sentences(leaks: dict[str, str]) -> list[str]:
    """Warnings about columns that hold the answer, one sentence for each reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in leaks.items():
        by_reason.setdefault(reason, []).append(name)
    return [
        f"column{'s' * several} {first_few(map(repr, names), 10)} {'are' if several else 'is'} not "
        f"learned from: {reason} (--exclude {names[0]} leaves {'that one' if several else 'it'} "
        f"out without this warning, --features '*,{names[0]}' learns from it)"
        for reason, names in by_reason.items()
        for several in [len(names) > 1]
    ]


def make_labelling(table: pa.Table, **columns: Any) -> Labelling:
    """Which columns of a table hold labels, with names and patterns resolved."""
    for name in ("labels", "separator", "gold", "id", "annotator"):
        if columns.get(name) is not None:
            _refuse_other_types(name, columns[name])
    for name in ("votes", "indicator", "counts"):
        columns[name] = column_names(columns.get(name), table)
    if columns.get("missing") is not None:
        columns["missing"] = tuple(filter(None, separate_names(columns["missing"])))
    columns["map"] = _label_map(columns.get("map"))
    columns["normalise"] = bool(columns.get("normalise"))
    columns["ordered"] = _label_order(columns.get("ordered"))
    return Labelling(**columns)


def _label_order(given: Any) -> bool | tuple[str, ...]:
    """Whether labels are numbers with an order, or the labels in their order: ``"low,high"``, or a
    list, whose labels may hold commas.
    """
    if given is None or not has_order(given):
        return False
    if isinstance(given, bool | np.bool_):
        return True
    order = order_given([given] if isinstance(given, str) else given)
    if len(order) == 1:
        order = separate_names(order)
    return order == ["numbers"] or tuple(order)


def _label_map(given: Any) -> tuple[tuple[str, str], ...]:
    """Labels and their new names."""
    if given is not None and not isinstance(given, Mapping):
        raise ParameterError(f"map must be a mapping of labels to new names, not {shown(given)}")
    pairs = tuple((given or {}).items())
    for pair in pairs:
        for name in pair:
            _refuse_other_types("the name of a label", name)
    return pairs


class TableRead:
    """A table that has been read: its labels, and the columns that are learned from.

    Attributes
    ----------
    frame : data frame
        The table as it was given, or as it was read from a file.
    source : str
        Its name in messages.
    labelling : Labelling
        Which columns hold labels.
    labels : Labels
        What they say.
    table : pyarrow.Table
        The rows; one for each id if the table is long.
    embedded : pyarrow.Table
        The rows, with the vectors that were computed from some columns.
    features : list of Feature
        The columns that are learned from.
    unused : dict of str to Guess
        The columns that could be learned from, but are not informative.
    leaks : dict of str to str
        The columns that are left out because they hold the answer, and why we think so.
    """

    def __init__(
        self, frame: Any, columns: Columns, *, warn: bool = True, votes_suffice: bool = False
    ) -> None:
        given: dict[str, Any] = dict(columns)
        how = {name: given.pop(name, None) for name in READING}
        self.frame, table = open_table(frame, **how)
        self.source = source_of(table)
        kinds, functions, asked = kinds_given(given.pop("as_", None), table)
        features = given.pop("features", None)
        asked |= {*column_names(features, table, patterns=False)}
        no_features = given.pop("no_features", False)
        excluded = column_names(given.pop("exclude", None), table)
        for name in excluded:
            find_column(table, name)
        self.labelling = make_labelling(table, **given)
        if no_features:
            excluded = tuple(set(table.column_names) - set(self.labelling.columns))
            features, kinds, functions, asked = None, {}, {}, set()
        if self.labelling.long:  # the rows of an id may differ in columns that are left out
            table, excluded = table.drop_columns(list(excluded)), ()
        self.labels = read_labels(table, self.labelling)
        _check_learnable(self.labels, self.labelling, self.source)
        self.table = self.labels.table
        wanted = self.table.column_names if features is None else column_names(features, table)
        left = set(self.table.column_names) - {*self.labelling.columns, *excluded, *asked}
        self.leaks = find_leaks(
            self.table, self.labels, self.labelling, [name for name in wanted if name in left]
        )
        functions = {n: f for n, f in functions.items() if n not in self.labelling.columns}
        self.embedded, vectors = embed_columns(self.table, functions)
        self.features, self.unused = choose_features(
            self.embedded,
            labelling=self.labelling,
            features=None if features is None else (*wanted, *vectors.values()),
            exclude=(*excluded, *self.leaks, *vectors),
            kinds=kinds,
            asked=asked,
        )
        if warn:
            self._warn()
        if warn or not any(guess.severity == "error" for guess in self.unused.values()):
            enough = votes_suffice and self.labels.votes is not None
            check_features(self.features, self.unused, self.source, may_be_none=enough)

    def _warn(self) -> None:
        """Warn of doubtful labels, of columns that hold the answer, and of numbers in text."""
        sentences = [hint.message for hint in self.labels.hints] + leak_sentences(self.leaks)
        in_text = [name for name, guess in self.unused.items() if guess.severity == "warning"]
        if in_text:
            first, *others = in_text
            sentence = f"column {first!r} is not learned from: {self.unused[first].reason}"
            also = f" (the same is true of {first_few(map(repr, others))})"
            sentences.append(sentence + also * bool(others))
        for sentence in sentences:
            warnings.warn(f"{self.source}: {sentence}", stacklevel=4)

    def encoded(self) -> tuple[TableEncoder, np.ndarray]:
        """The fitted encoder, and the matrix that it makes of the table."""
        encoder = TableEncoder(self.features)
        if not self.features:
            return encoder, np.empty((self.table.num_rows, 0))
        encoder.fit(self.embedded)
        return encoder, encoder.transform(self.embedded)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Put the name of the table before errors of functions that know only arrays."""
        try:
            yield
        except (CandidateError, InputError) as error:
            raise TableError(f"{self.source}: {error}") from None


def open_table(frame: Any, **how: str | None) -> tuple[Any, pa.Table]:
    """The data frame as given, or read from a path with the options ``how``; and the same as a
    pyarrow table that knows the decimal separator of its texts.
    """
    if isinstance(frame, str | os.PathLike):
        frame = read_table(frame, **how)
    else:
        for name, value in how.items():
            if value is not None and name != "decimal":
                raise ParameterError(
                    f"{name} says how a file is written, but the table is in memory; leave it out"
                )
    named = isinstance(frame, pa.Table) and source_of(frame) != "table"
    return frame, with_decimal(frame if named else from_frame(frame), how.get("decimal"))


def _check_learnable(labels: Labels, labelling: Labelling, source: str) -> None:
    """Refuse labels from which nothing can be learned, and name their columns."""
    candidates = labels.candidates
    where = first_few(
        (
            repr(name)
            for name in labelling.columns
            if name not in (labelling.id, labelling.annotator)
        ),
        3,
    )
    if len(candidates) < 4:
        raise TableError(
            f"{source}: {len(candidates)} row(s) are too few to learn from some and judge the "
            "others; add more"
        )
    if candidates.shape[1] < 2:
        doubt = f" (is the separator {labelling.separator!r} right?)" if labelling.labels else ""
        raise TableError(
            f"{source}: column {where} holds only one label ({candidates.classes[0]}); there must "
            f"be at least two to tell apart{doubt}"
        )
    full = ~informative_rows(candidates) & (labels.gold < 0)
    if labels.votes is None and np.all(full):
        raise TableError(
            f"{source}: column {where} has every label as a candidate in every row"
            f"{', all equally likely' if labels.soft else ''}; there is nothing to learn from"
        )
