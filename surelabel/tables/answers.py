"""The answers file of the review page: which row each answer belongs to, and what it says.

The file holds one JSON object per line. The first line says how rows are identified: by a column of
names (``id``), or by their content (``columns``). An answer has ``row`` and ``label``, or the
``verdict`` "none" (none of the candidates), "unknown" (nobody can tell), "skip" or "undo". A draw
lists the rows to be kept and their labels in a random order. It is written before the first of them
is checked: the bound on their errors (:mod:`surelabel.evaluation.audits`) is about exactly these
labels. Several servers may share the file: each says which rows it ``shows``, so that the others
show different ones.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..exceptions import TableError
from ..files import checked_path

#: The version of the format, which the first line names.
FORMAT = "answers 1"
LABEL, NONE, UNKNOWN, SKIP, UNDO = "label", "none", "unknown", "skip", "undo"
VERDICTS = (LABEL, NONE, UNKNOWN, SKIP, UNDO)


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes
    ----------
    row : str
        The key of the row (:func:`row_keys`).
    verdict : {"label", "none", "unknown", "skip", "undo"}
        What was answered; "undo" takes back the same person's last answer to the row.
    label : str or None
        The label, where the verdict is one.
    who, when, note : str
        Who answered, when, and their note.
    draw : int or None
        If the row was a check: the number of its draw, counted from 0.
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
        if not isinstance(columns, list) or not _texts(columns) or not isinstance(name, str | None):
            raise TableError(
                f"{where}: columns must be a list of names, and id a name; correct the line"
            )
        self.columns, self.id = list(columns), name

    def last(self) -> dict[str, Answer]:
        """The answer that counts for each row: the last one that was not taken back, skips
        aside.
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


def _texts(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(part, str) for part in given)


def has_half_characters(text: str) -> bool:
    """Whether a text contains a surrogate without its other half, which no file can hold."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _draw(said: dict[str, Any], where: str) -> Draw:
    rows, labels, contents = (
        said.get(f"draw_{name}", []) for name in ("rows", "labels", "contents")
    )
    if not all(map(_texts, (rows, labels, contents))) or not (
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
