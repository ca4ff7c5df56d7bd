"""Answers from an annotation tool, in the format of the review page."""

from __future__ import annotations

import warnings

import pyarrow as pa

from ..data.arrow_tables import find_column
from ..data.labelling import Labelling
from ..exceptions import ParameterError, TableError, first_few
from ..text import count, plain
from .annotation_tools import VOTE


def to_answers(table: pa.Table, labelling: Labelling, id: str | None, source: str) -> pa.Table:
    """One answer per task, for ``clean --answers``.

    A task has an answer if everyone who answered it gave the same label, or if one answer is marked
    as the truth. A warning names the other tasks.

    Parameters
    ----------
    table, labelling : pyarrow.Table, Labelling
        Of :func:`~surelabel.tables.annotation_tools.read_tool`.
    id : str or None
        The column that names the rows in the table that the tasks were made from.
    source : str
        The name in messages.

    Returns
    -------
    pyarrow.Table
        With the columns ``row``, ``label`` and ``who``.
    """
    if id is None:
        raise ParameterError(
            "answers are matched to rows by name: say which column holds the names (--id)"
        )
    find_column(table, id)
    found, differing = [], []
    for row in table.to_pylist():
        name = row[id]
        if labelling.votes:
            given = {vote: row[vote] for vote in labelling.votes if row[vote] is not None}
        else:
            labels = row[str(labelling.labels)] or []
            given = {f"{VOTE}{place}": label for place, label in enumerate(labels)}
        ruled_out = set()
        if labelling.not_prefix is not None:
            ruled_out = {
                label.removeprefix(labelling.not_prefix)
                for label in given.values()
                if label.startswith(labelling.not_prefix)
            }
            given = {
                vote: label
                for vote, label in given.items()
                if not label.startswith(labelling.not_prefix)
            }
        if labelling.gold is not None and row[labelling.gold] is not None:
            given, ruled_out = {VOTE: row[labelling.gold]}, set()
        if not given:
            continue
        if name is None:
            raise TableError(f"{source}: an answered task has no {id!r}; give it one")
        if len(set(given.values())) > 1 or ruled_out & set(given.values()):
            differing.append(str(plain(name)))
            continue
        who = ", ".join(vote.removeprefix(VOTE) for vote in given if labelling.votes)
        found.append(
            {"row": str(plain(name)), "label": str(next(iter(given.values()))), "who": who}
        )
    if differing:
        warnings.warn(
            f"{source}: {count(len(differing), 'task has', 'tasks have')} several labels, "
            f"or one that somebody rejected ({first_few(differing)}), so no answer; decide on one, "
            "or clean the votes",
            stacklevel=2,
        )
    if not found:
        raise TableError(f"{source}: there is no task on whose label everyone who answered agrees")
    return pa.Table.from_pylist(found, pa.schema([(key, pa.string()) for key in found[0]]))
