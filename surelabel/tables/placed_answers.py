"""Find the rows that answers belong to, even if the table has changed since."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.arrow_tables import is_list
from ..data.labelling import Labels
from ..exceptions import TableError, first_few
from ..text import count
from .answers import Answer, AnswerLog, Draw, read_answers

#: Length of a hash in characters: 64 bits.
DIGITS = 16


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
    """The cells of a column as bytes; a missing cell differs from an empty one."""
    if is_list(column.type) or pa.types.is_nested(column.type):
        return (repr(cell).encode() for cell in column.to_pylist())
    texts = column.cast(pa.large_string()).to_pylist()
    return (b"\0" if cell is None else cell.encode("utf-8", "surrogatepass") for cell in texts)


class RowKeys:
    """How the rows of a table are identified.

    Parameters
    ----------
    table : pyarrow.Table
        The rows.
    ids : ndarray or None
        Their names; without names, equal rows are numbered to tell them apart.
    columns : sequence of str
        The columns that make up the content.

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
    """The keys of a table's rows, made in the same way as those of the answers file."""
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
        For each of its rows, up to the last one answered, the answer or None.
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


def use_answers(path: Any, labels: Labels, id_column: str | None, source: str) -> PlacedAnswers:
    """Read the answers to a table, and warn of those that cannot be used."""
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
