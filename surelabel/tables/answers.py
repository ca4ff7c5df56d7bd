"""People's answers: the file that the review page writes, the row of each answer, and how the
answers change the labels.

The file holds one JSON object per line. The first line says how rows are identified: by a column of
names (``id``), or by their content (``columns``). An answer has ``row`` and ``label``, or the
``verdict`` "none" (none of the candidates), "unknown" (nobody can tell), "skip" or "undo". A draw
lists the rows to be kept and their labels in a random order. It is written before the first of them
is checked: the bound on their errors (:mod:`surelabel.evaluation.audits`) is about exactly these
labels. Several servers may share the file: each says which rows it ``shows``, so that the others
show different ones.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from ..data.arrow_tables import is_list
from ..data.candidates import CandidateSets
from ..data.label_order import has_order, label_positions
from ..data.labelling import Labels
from ..exceptions import ParameterError, TableError, first_few
from ..files import checked_path
from ..text import count
from .auditing import Audit
from .methods import with_sets
from .status import CERTIFIED, LOOK, Decision

#: The version of the format, which the first line names.
FORMAT = "answers 1"
LABEL, NONE, UNKNOWN, SKIP, UNDO = "label", "none", "unknown", "skip", "undo"
VERDICTS = (LABEL, NONE, UNKNOWN, SKIP, UNDO)
#: Length of a hash in characters: 64 bits.
DIGITS = 16

Found = TypeVar("Found", bound=Decision)


# -------------------------------------------------------------------- the file


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes
    ----------
    row : str
        The key of the row (:class:`RowKeys`).
    verdict : {"label", "none", "unknown", "skip", "undo"}
        What was answered; "undo" takes back the same person's last answer to the row.
    label : str or None
        The label, where the verdict is one.
    who, when, note : str
        Who answered, when, and their note.
    draw : int or None
        If the row was a check: the number of its draw, counted from 0.
    content : str or None
        Hash of the row's content when it was answered.
    progress : dict
        How far the review was: ``settled`` and ``still_wrong``.
    """

    row: str
    verdict: str = LABEL
    label: str | None = None
    who: str = ""
    when: str = ""
    note: str = ""
    draw: int | None = None
    content: str | None = None
    progress: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Draw:
    """The rows to be kept, in the random order in which they are checked, and their labels."""

    rows: tuple[str, ...]
    labels: tuple[str, ...]
    contents: tuple[str, ...] = ()


@dataclass
class AnswerLog:
    """The content of an answers file.

    Attributes
    ----------
    id : str or None
        The column that names the rows.
    columns : list of str or None
        The columns that make up the content of a row; None before the first line.
    answers : list of Answer
        In the order of the file.
    draws : list of Draw
        In the order of the file.
    shows : dict of str to (list of str, str)
        The rows that each server shows, and since when.
    """

    id: str | None = None
    columns: list[str] | None = None
    answers: list[Answer] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    shows: dict[str, tuple[list[str], str]] = field(default_factory=dict)

    def add(self, line: bytes | str, where: str) -> None:
        """Add one line of the file; ``where`` names it in errors."""
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            raise TableError(f"{where}: this is not JSON; correct or remove the line") from None
        if not isinstance(said, dict):
            raise TableError(f"{where}: each line must be an object {{…}}; correct or remove it")
        if "surelabel" in said:
            self._begin(said, where)
        elif "draw_rows" in said:
            self.draws.append(_draw(said, where))
        elif "shows" in said:
            rows = said["shows"]
            self.shows[str(said.get("server"))] = (
                list(map(str, rows)) if isinstance(rows, list) else [],
                str(said.get("when") or ""),
            )
        else:
            self.answers.append(_answer(said, where))

    def _begin(self, said: dict[str, Any], where: str) -> None:
        if said["surelabel"] != FORMAT:
            raise TableError(
                f"{where}: the format of this file is {said['surelabel']!r}, but this version "
                f"reads {FORMAT!r}; use the version that wrote it"
            )
        columns, name = said.get("columns"), said.get("id")
        if not _all_texts(columns) or not isinstance(name, str | None):
            raise TableError(
                f"{where}: columns must be a list of names, and id a name; correct the line"
            )
        self.columns, self.id = columns, name

    def last(self) -> dict[str, Answer]:
        """The answer that counts for each row: the last one, except skips and those taken back."""
        by_row: dict[str, list[Answer]] = {}
        for answer in self.answers:
            given = by_row.setdefault(answer.row, [])
            if answer.verdict == UNDO:
                own = [i for i, other in enumerate(given) if other.who == answer.who]
                if own:
                    del given[own[-1]]
            elif answer.verdict != SKIP:
                given.append(answer)
        return {row: given[-1] for row, given in by_row.items() if given}


def read_answers(path: Any) -> AnswerLog:
    """Read an answers file; an unfinished line at its end is left out."""
    path = checked_path(path)
    log, parts = AnswerLog(), path.read_bytes().split(b"\n")
    for number, line in enumerate(parts, start=1):
        if number == len(parts) and line and not _is_json(line):
            break  # the writer was cut off, and the answer never confirmed
        if line.strip():
            log.add(line, f"{path}, line {number}")
    return log


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _all_texts(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(part, str) for part in given)


def has_half_characters(text: str) -> bool:
    """Whether a text contains a surrogate without its other half, which no file can hold."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _draw(said: dict[str, Any], where: str) -> Draw:
    rows, labels, contents = (
        said.get(f"draw_{name}", []) for name in ("rows", "labels", "contents")
    )
    if not all(map(_all_texts, (rows, labels, contents))) or not (
        len(rows) == len(labels) and len(contents) in (0, len(rows))
    ):
        raise TableError(
            f"{where}: a draw needs one label for each row, all of them texts; correct the line"
        )
    return Draw(tuple(rows), tuple(labels), tuple(contents))


def _answer(said: dict[str, Any], where: str) -> Answer:
    row: Any = said.get("row")
    label: Any = said.get("label")
    row, label = (
        str(part) if isinstance(part, int | float) and not isinstance(part, bool) else part
        for part in (row, label)
    )
    verdict = said.get("verdict", LABEL)
    if not isinstance(row, str) or verdict not in VERDICTS:
        raise TableError(
            f"{where}: an answer must name its row, and its verdict must be one of "
            f"{', '.join(VERDICTS)}; correct or remove the line"
        )
    if (verdict == LABEL) != (isinstance(label, str) and bool(label)):
        raise TableError(
            f"{where}: an answer must be either a label or a verdict; correct or remove the line"
        )
    if verdict == LABEL and has_half_characters(label):
        raise TableError(
            f"{where}: the label {label!r} contains half a character; correct or remove the line"
        )
    draw, progress = said.get("draw"), said.get("progress")
    texts = {name: str(said.get(name) or "") for name in ("who", "when", "note")}
    return Answer(
        row,
        verdict,
        label if verdict == LABEL else None,
        draw=draw if isinstance(draw, int) else None,
        content=said.get("content") if isinstance(said.get("content"), str) else None,
        progress=progress if isinstance(progress, dict) else {},
        **texts,
    )


# -------------------------------------------------------------------- which row


def row_contents(table: pa.Table, columns: Sequence[str]) -> list[str]:
    """A hash of the cells of every row in the columns that make up its content."""
    digests = [hashlib.sha256() for _ in range(table.num_rows)]
    for name in columns:
        for digest, cell in zip(digests, _cells(table.column(name)), strict=True):
            digest.update(len(cell).to_bytes(8, "little"))
            digest.update(cell)
    return [digest.hexdigest()[:DIGITS] for digest in digests]


def _cells(column: pa.ChunkedArray) -> Iterable[bytes]:
    """The cells of a column as bytes; a missing cell differs from an empty one."""
    if is_list(column.type) or pa.types.is_nested(column.type):
        return (repr(cell).encode() for cell in column.to_pylist())
    texts = column.cast(pa.large_string()).to_pylist()
    return (b"\0" if cell is None else cell.encode("utf-8", "surrogatepass") for cell in texts)


class RowKeys:
    """How the rows of a table are identified: by their names ``ids``, or else by their content in
    ``columns``; rows of equal content are numbered to tell them apart.

    Attributes
    ----------
    keys : list of str
        The key of each row.
    contents : list of str
        Hash of the content of each row.
    row_of : dict of str to int
        The row of each key.
    """

    def __init__(self, table: pa.Table, ids: np.ndarray | None, columns: Sequence[str]) -> None:
        self.columns, self.contents = list(columns), row_contents(table, columns)
        if ids is not None:
            self.keys = list(map(str, ids.tolist()))
        else:
            seen: dict[str, int] = {}
            self.keys = []
            for content in self.contents:
                seen[content] = times = seen.get(content, 0) + 1
                self.keys.append(content if times == 1 else f"{content}-{times}")
        self.row_of = {key: row for row, key in enumerate(self.keys)}


def keys_for(log: AnswerLog, labels: Labels, id_column: str | None, source: str) -> RowKeys:
    """The keys of a table's rows, made as in the answers file."""
    table = labels.table
    if log.columns is None:
        return RowKeys(table, labels.ids, table.column_names)
    if log.id != id_column:
        there = "content" if log.id is None else f"the column {log.id!r}"
        here = "content" if id_column is None else f"the column {id_column!r}"
        raise TableError(
            f"{source}: its answers identify rows by {there}, not by {here}; give the same --id"
        )
    gone = [name for name in log.columns if name not in table.column_names]
    if gone and log.id is None:
        raise TableError(
            f"{source}: its answers identify rows by content, and the column "
            f"{first_few(map(repr, gone), 3)} is gone; bring it back, or name the rows with --id"
        )
    return RowKeys(table, labels.ids, [] if gone else log.columns)


@dataclass(frozen=True)
class PlacedAnswers:
    """The answers that count, with the rows they belong to.

    Attributes
    ----------
    rows : dict of int to Answer
        The answer of each row that has one.
    changed : list of int
        Rows whose content has changed since they were answered: the answer does not count.
    lost : int
        Number of answers whose row is not in the table.
    draw : Draw or None
        The last draw.
    checks : list of Answer or None
        The answer (or None) to each row of the draw, up to the last one answered.
    drawn : ndarray of int
        The table row of each row of the draw, -1 where it is gone or has changed.
    """

    rows: dict[int, Answer]
    changed: list[int]
    lost: int
    draw: Draw | None
    checks: list[Answer | None]
    drawn: np.ndarray


def place_answers(log: AnswerLog, keys: RowKeys) -> PlacedAnswers:
    """Find the rows of the answers."""
    rows: dict[int, Answer] = {}
    changed, lost, last = [], 0, log.last()
    for key, answer in last.items():
        row = keys.row_of.get(key)
        if row is None:
            lost += 1
        elif answer.content and keys.columns and answer.content != keys.contents[row]:
            changed.append(row)
        else:
            rows[row] = answer
    draw = log.draws[-1] if log.draws else None
    checks: list[Answer | None] = []
    drawn = np.empty(0, np.int64)
    if draw is not None:
        number = len(log.draws) - 1
        given = [last.get(key) for key in draw.rows]
        checks = [answer if answer and answer.draw == number else None for answer in given]
        while checks and checks[-1] is None:
            checks.pop()
        drawn = np.array([keys.row_of.get(key, -1) for key in draw.rows], np.int64)
        if draw.contents and keys.columns:
            there = [keys.contents[row] for row in drawn.tolist()]
            drawn[np.array(there) != np.array(draw.contents)] = -1
    return PlacedAnswers(rows, sorted(changed), lost, draw, checks, drawn)


def use_answers(
    path: Any, labels: Labels, id_column: str | None, source: str
) -> tuple[Labels, PlacedAnswers]:
    """Update a table's labels by the answers of a file; warn of answers that cannot be used."""
    log = read_answers(path)
    placed = place_answers(log, keys_for(log, labels, id_column, source))
    for sentence in remarks(placed):
        warnings.warn(f"{path}: {sentence}", stacklevel=3)
    return labels_with(labels, placed), placed


def remarks(placed: PlacedAnswers) -> list[str]:
    """What is odd about the answers, in sentences."""
    found = []
    if placed.changed:
        found.append(
            f"{count(len(placed.changed))} changed since the answer (row "
            f"{first_few(row + 1 for row in placed.changed)}): the answer does not count"
        )
    if placed.lost:
        found.append(
            f"{count(placed.lost, 'answer belongs to a row', 'answers belong to rows')} that the "
            "table does not have (changed or removed)"
        )
    return found


# -------------------------------------------------------------------- the labels


def labels_with(labels: Labels, placed: PlacedAnswers) -> Labels:
    """The labels of a table, updated by the answers.

    An answer is gold: the model learns from it, and it shows how far confidences can be trusted.
    Where none of the candidates is right, all other labels become candidates. A new label becomes a
    class.
    """
    labels = with_classes(labels, [a.label for a in placed.rows.values() if a.label is not None])
    known, candidates = known_labels(labels, placed), labels.candidates
    none = np.array([r for r, a in placed.rows.items() if a.verdict == NONE], np.int64)
    if labels.votes is None:
        place, others = np.nonzero(candidates[none].to_indicator() == 0)
        candidates = with_sets(candidates, none[place], others)
    gold = np.where(known >= 0, known, labels.gold)
    return replace(
        labels, candidates=candidates, gold=gold, unlabelled=labels.unlabelled & (known < 0)
    )


def known_labels(labels: Labels, placed: PlacedAnswers) -> np.ndarray:
    """Position of the gold or answered label, -1 where there is neither."""
    code_of = {str(label): code for code, label in enumerate(labels.candidates.classes.tolist())}
    known = labels.gold.copy()
    for row, answer in placed.rows.items():
        known[row] = code_of[str(answer.label)] if answer.verdict == LABEL else -1
    return known


def with_classes(labels: Labels, names: Iterable[str]) -> Labels:
    """Labels with these classes added at the end; they are possible in rows without labels."""
    given = labels.candidates
    known = set(map(str, given.classes.tolist()))
    new = [name for name in dict.fromkeys(names) if name not in known]
    if not new:
        return labels
    numbers = given.classes.dtype.kind in "iu"
    if numbers and not all(_is_whole(name) for name in new):
        raise TableError(
            f"the answer {first_few(map(repr, new), 1)} is not a number, but the labels of the "
            "table are whole numbers; correct the answer"
        )
    classes = np.array([*given.classes.tolist(), *map(int if numbers else str, new)])
    if has_order(labels.ordered):
        try:
            label_positions(labels.ordered, classes)
        except ParameterError:
            raise TableError(
                f"the answer {first_few(map(repr, new), 1)} has no place in the order of the "
                "labels; correct the answer, or name it in ordered"
            ) from None
    empty = labels.unlabelled[given.rows]  # these get every class
    sizes = np.where(labels.unlabelled, 0, given.sizes)
    candidates = CandidateSets(
        np.concatenate([[0], np.cumsum(sizes)]),
        given.indices[~empty],
        classes,
        None if given.counts is None else given.counts[~empty],
        unlabelled="all",
        votes=given.votes,
        annotators=given.annotators if given.votes is not None else None,
    )
    return replace(labels, candidates=candidates)


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and len(text) < 18


def with_answers(found: Found, labels: Labels, placed: PlacedAnswers) -> tuple[Found, Audit | None]:
    """Put the answers into the labels found by a model that learned from them, and compute the
    bound that the checks give (None before the first check).

    The bound is about the label that a row was drawn with: where it has changed since, a person
    should look. If the bound is not low enough, so should they where the row is no longer sure. A
    check that was passed over counts as a mistake until it is answered.
    """
    rows = np.array([r for r, a in placed.rows.items() if a.verdict == LABEL], np.int64)
    found = found.with_known(rows, known_labels(labels, placed)[rows])
    status, audit = found.status.copy(), None
    answered = np.array(list(placed.rows), np.int64)
    status[np.setdiff1d(answered, rows)] = LOOK
    if placed.draw is not None and placed.checks:
        drawn, n_checked = placed.drawn, len(placed.checks)
        code_of = {str(name): code for code, name in enumerate(found.classes.tolist())}
        label = np.array([code_of.get(name, -1) for name in placed.draw.labels])
        wrong = sum(
            answer is None or answer.label != name
            for answer, name in zip(placed.checks, placed.draw.labels, strict=False)
        )
        asked = np.isin(drawn, answered)
        passed_over = np.arange(len(drawn)) < n_checked
        unchanged = (found.label[drawn] == label) & ~asked & ~passed_over
        kept = (drawn >= 0) & (np.isin(drawn, rows) | unchanged)
        audit = Audit(len(drawn), n_checked, wrong, n_changed=int(np.sum(~kept)))
        status[drawn[~kept & (drawn >= 0)]] = LOOK
        if audit.level is not None:
            status[drawn[kept]] = CERTIFIED
        audit = audit.without(int(np.sum(status[drawn[kept]] == LOOK)))
    return replace(found, status=status), audit
