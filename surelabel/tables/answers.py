"""Answers of people, as the review page writes them: which row each belongs to, and what it says.

The file holds one JSON object per line. The first says what a row is known by: a column of names
(``id``), or its content (``columns``). An answer has ``row`` and ``label``, or the ``verdict``
"none" (none of the candidates), "unknown" (nobody can tell), "skip" or "undo". A draw has the rows
to be kept with their labels in a random order, written before the first of them is checked: the
bound on their mistakes (:mod:`surelabel.evaluation.audits`) is about exactly these labels.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from ..data.arrow_tables import is_list
from ..data.candidates import CandidateSets
from ..data.labelling import Labels
from ..exceptions import TableError, first_few
from ..files import checked_path
from ..text import count
from .auditing import Audit
from .choosing import CERTIFIED, LOOK, PROBABLE

#: Has the attributes ``classes``, ``label``, ``status`` and ``n_kept`` of ChosenLabels.
Found = TypeVar("Found")

#: What the first line says it is.
FORMAT = "answers 1"
LABEL, NONE, UNKNOWN, SKIP, UNDO = "label", "none", "unknown", "skip", "undo"
VERDICTS = (LABEL, NONE, UNKNOWN, SKIP, UNDO)
#: Characters of a hash: 64 bits.
DIGITS = 16


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes
    ----------
    row : str
        The key of the row (:func:`row_keys`).
    verdict : {"label", "none", "unknown", "skip", "undo"}
        What was answered; "undo" takes the last answer of the same person to the row back.
    label : str or None
        The label, where the verdict is one.
    who, when, note : str
        Who answered, when, and what they wrote beside it.
    draw : int or None
        The number of the draw that the row was a check of, counted from 0.
    content : str or None
        Hash of the content of the row when it was answered.
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
    """Rows to be kept, in the random order in which they are checked, with the labels they have."""

    rows: tuple[str, ...]
    labels: tuple[str, ...]
    contents: tuple[str, ...] = ()


@dataclass
class AnswerLog:
    """What an answers file holds.

    Attributes
    ----------
    id : str or None
        The column that names the rows.
    columns : list of str or None
        The columns that make up the content of a row; None before the first line.
    answers : list of Answer
        In the order of the file.
    draws : list of Draw
        Likewise.
    """

    id: str | None = None
    columns: list[str] | None = None
    answers: list[Answer] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)

    def add(self, line: bytes | str, where: str) -> None:
        """Take in one line; ``where`` names it in errors."""
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            raise TableError(f"{where}: this is not JSON; correct or remove the line") from None
        if not isinstance(said, dict):
            raise TableError(f"{where}: a line holds an object {{…}}; correct or remove it")
        if "surelabel" in said:
            self._begin(said, where)
        elif "draw_rows" in said:
            self.draws.append(_draw(said, where))
        else:
            self.answers.append(_answer(said, where))

    def _begin(self, said: dict[str, Any], where: str) -> None:
        if said["surelabel"] != FORMAT:
            raise TableError(
                f"{where}: this file is in the form {said['surelabel']!r}, and this version reads "
                f"{FORMAT!r}; use the version that wrote it"
            )
        columns, name = said.get("columns"), said.get("id")
        if not isinstance(columns, list) or not _texts(columns) or not isinstance(name, str | None):
            raise TableError(f"{where}: columns is a list of names and id a name; correct the line")
        self.columns, self.id = list(columns), name

    def last(self) -> dict[str, Answer]:
        """The answer that counts for each row: the last that was not taken back; skips do not
        count.
        """
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
    log, parts = AnswerLog(), Path(path).read_bytes().split(b"\n")
    for number, line in enumerate(parts, start=1):
        if number == len(parts) and line and not _is_json(line):
            break  # a writer that was cut off, whose answer was never confirmed
        if line.strip():
            log.add(line, f"{path}, line {number}")
    return log


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _texts(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(part, str) for part in given)


def _draw(said: dict[str, Any], where: str) -> Draw:
    rows, labels, contents = (
        said.get(f"draw_{name}", []) for name in ("rows", "labels", "contents")
    )
    if not all(map(_texts, (rows, labels, contents))) or not (
        len(rows) == len(labels) and len(contents) in (0, len(rows))
    ):
        raise TableError(f"{where}: a draw has as many labels as rows, as texts; correct the line")
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
            f"{where}: an answer names its row, and a verdict is one of {', '.join(VERDICTS)}; "
            "correct or remove the line"
        )
    if (verdict == LABEL) != (isinstance(label, str) and bool(label)):
        raise TableError(f"{where}: an answer is a label or a verdict; correct or remove the line")
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


# -------------------------------------------------------------------- rows


def row_contents(table: pa.Table, columns: Sequence[str]) -> list[str]:
    """A hash of the cells of every row.

    Parameters
    ----------
    table : pyarrow.Table
        The rows.
    columns : sequence of str
        The columns that make up the content.

    Returns
    -------
    list of str
    """
    digests = [hashlib.sha256() for _ in range(table.num_rows)]
    for name in columns:
        for digest, cell in zip(digests, _cells(table.column(name)), strict=True):
            digest.update(len(cell).to_bytes(8, "little"))
            digest.update(cell)
    return [digest.hexdigest()[:DIGITS] for digest in digests]


def _cells(column: pa.ChunkedArray) -> Iterable[bytes]:
    """The cells of a column as bytes; a missing one is not an empty one."""
    if is_list(column.type) or pa.types.is_nested(column.type):
        return (repr(cell).encode() for cell in column.to_pylist())
    texts = column.cast(pa.large_string()).to_pylist()
    return (b"\0" if cell is None else cell.encode("utf-8", "surrogatepass") for cell in texts)


class RowKeys:
    """What the rows of a table are known by.

    Parameters
    ----------
    table : pyarrow.Table
        The rows.
    ids : ndarray or None
        Their names; without them, equal rows are told apart by counting them.
    columns : sequence of str
        The columns that make up the content.

    Attributes
    ----------
    keys : list of str
        One of each row.
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
    """The keys of a table's rows, made as the answers file has them."""
    table = labels.table
    if log.columns is None:
        return RowKeys(table, labels.ids, table.column_names)
    if log.id != id_column:
        there = "content" if log.id is None else f"the column {log.id!r}"
        here = "content" if id_column is None else f"the column {id_column!r}"
        raise TableError(
            f"{source}: its answers know the rows by {there}, not by {here}; give the same --id"
        )
    gone = [name for name in log.columns if name not in table.column_names]
    if gone and log.id is None:
        raise TableError(
            f"{source}: its answers know the rows by content, and the column "
            f"{first_few(map(repr, gone), 3)} is gone; bring it back, or name the rows by --id"
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
        Rows that were answered when their content was another: the answer does not count.
    lost : int
        Number of answers whose row is not in the table.
    draw : Draw or None
        The last draw.
    checks : list of Answer or None
        For each of its rows, up to the last one answered, the answer or None.
    drawn : ndarray of int
        The rows of the draw in the table, -1 where gone or changed.
    """

    rows: dict[int, Answer]
    changed: list[int]
    lost: int
    draw: Draw | None
    checks: list[Answer | None]
    drawn: np.ndarray


def place_answers(log: AnswerLog, keys: RowKeys) -> PlacedAnswers:
    """Find the rows of the answers.

    Parameters
    ----------
    log : AnswerLog
        The answers.
    keys : RowKeys
        What the rows are known by.

    Returns
    -------
    PlacedAnswers
    """
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
            there = [
                row < 0 or keys.contents[row] == content
                for row, content in zip(drawn.tolist(), draw.contents, strict=True)
            ]
            drawn[~np.array(there, bool)] = -1
    return PlacedAnswers(rows, sorted(changed), lost, draw, checks, drawn)


# -------------------------------------------------------------------- labels


def labels_with(labels: Labels, placed: PlacedAnswers) -> Labels:
    """Labels that know what was answered.

    An answer to a row that was drawn at random is gold: it also says how far confidences can be
    trusted. Answers to rows that were asked because they are in doubt say nothing of the others:
    there the label becomes the only candidate. (Votes leave no choice: it is gold.) Where none of
    the candidates is right, all others are candidates. A label that is new becomes a class.

    Parameters
    ----------
    labels : Labels
        As the table has them.
    placed : PlacedAnswers
        The answers.

    Returns
    -------
    Labels
    """
    labels = with_classes(labels, [a.label for a in placed.rows.values() if a.label is not None])
    told, gold, changed = told_labels(labels, placed), labels.gold.copy(), {}
    for row, answer in placed.rows.items():
        if answer.verdict == LABEL and (answer.draw is not None or labels.votes is not None):
            gold[row] = told[row]
        elif answer.verdict == LABEL:
            changed[row] = told[row : row + 1]
        elif answer.verdict == NONE:
            start, stop = labels.candidates.indptr[row : row + 2]
            every = np.arange(labels.candidates.shape[1])
            others = np.setdiff1d(every, labels.candidates.indices[start:stop])
            changed |= {row: others} if len(others) else {}
    unlabelled = labels.unlabelled & (told < 0)
    candidates = labels.candidates if labels.votes is not None else _with_sets(labels, changed)
    return replace(labels, candidates=candidates, gold=gold, unlabelled=unlabelled)


def told_labels(labels: Labels, placed: PlacedAnswers) -> np.ndarray:
    """Position of the label that is gold in the table or was answered, -1 where there is none."""
    code_of = {str(label): code for code, label in enumerate(labels.candidates.classes.tolist())}
    told = labels.gold.copy()
    for row, answer in placed.rows.items():
        told[row] = code_of[str(answer.label)] if answer.verdict == LABEL else -1
    return told


def _with_sets(labels: Labels, changed: dict[int, np.ndarray]) -> CandidateSets:
    """The candidates, other ones in some rows."""
    given = labels.candidates
    if not changed:
        return given
    kept = ~np.isin(given.rows, list(changed))
    rows = np.concatenate([given.rows[kept], *(np.full(len(s), r) for r, s in changed.items())])
    order = np.argsort(rows, kind="stable")
    indices = np.concatenate([given.indices[kept], *changed.values()])[order]
    counts = None
    if given.counts is not None:
        n_new = len(rows) - int(kept.sum())
        counts = np.concatenate([given.counts[kept], np.ones(n_new, given.counts.dtype)])[order]
    return CandidateSets(
        np.concatenate([[0], np.cumsum(np.bincount(rows))]), indices, given.classes, counts
    )


def with_classes(labels: Labels, names: Iterable[str]) -> Labels:
    """Labels with these classes, too; new ones come last. Rows that say nothing may be of these."""
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
    empty = labels.unlabelled[given.rows]  # filled again with every class
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


def checked(given: Found, labels: Labels, placed: PlacedAnswers) -> tuple[Found, Audit | None]:
    """Put what was answered into the labels, and say what the checks promise.

    A row that was drawn keeps its status only with the label it was drawn with: the promise is
    about that. Where the answers have changed the label since, a person should look. A check that
    was passed over counts as a mistake until it is answered.

    Parameters
    ----------
    given : ChosenLabels
        The labels chosen, learned with the answers.
    labels : Labels
        What they were learned from.
    placed : PlacedAnswers
        The answers.

    Returns
    -------
    found : ChosenLabels
    audit : Audit or None
        None before the first check.
    """
    found: Any = _told(given, labels, placed)
    status = found.status.copy()
    told = {row for row, answer in placed.rows.items() if answer.verdict == LABEL}
    status[list(told)] = CERTIFIED
    status[list(placed.rows.keys() - told)] = LOOK
    audit = None
    if placed.draw is not None and placed.checks:
        code_of = {str(name): code for code, name in enumerate(found.classes.tolist())}
        n_drawn, n_checked = len(placed.draw.rows), len(placed.checks)
        wrong = sum(
            answer is None or answer.label != label
            for answer, label in zip(placed.checks, placed.draw.labels, strict=False)
        )
        label = np.array([code_of.get(name, -1) for name in placed.draw.labels])
        answered = np.isin(placed.drawn, list(placed.rows))
        passed_over = np.arange(n_drawn) < n_checked
        unchanged = (found.label[placed.drawn] == label) & ~answered & ~passed_over
        kept = (placed.drawn >= 0) & (np.isin(placed.drawn, list(told)) | unchanged)
        audit = Audit(n_drawn, n_checked, wrong, n_changed=int(np.sum(~kept)))
        status[placed.drawn[kept & ~answered]] = PROBABLE if audit.level is None else CERTIFIED
        status[placed.drawn[~kept & (placed.drawn >= 0)]] = LOOK
    return replace(found, status=status, n_kept=int(np.sum(status != LOOK))), audit


def _told(found: Any, labels: Labels, placed: PlacedAnswers) -> Any:
    """Certainty in the rows that were answered, for each of these attributes that is there."""
    code = told_labels(labels, placed)
    rows = np.array([row for row, a in placed.rows.items() if a.verdict == LABEL], np.int64)
    known: dict[str, Any] = dict.fromkeys(("confidence", "best_confidence", "margin"), 1.0)
    known |= {"label": code[rows], "best": code[rows], "second": -1, "outside": False, "gain": 0.0}
    changed = {}
    for name, values in known.items():
        if hasattr(found, name):
            changed[name] = getattr(found, name).copy()
            changed[name][rows] = values
    return replace(found, **changed)


def use_answers(path: Any, labels: Labels, id_column: str | None, source: str) -> PlacedAnswers:
    """Read the answers for a table, and warn of those that cannot be used."""
    log = read_answers(path)
    placed = place_answers(log, keys_for(log, labels, id_column, source))
    for sentence in remarks(placed):
        warnings.warn(f"{path}: {sentence}", stacklevel=3)
    return placed


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
