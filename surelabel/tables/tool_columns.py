"""Columns in the files of annotation tools that belong to an answer, not to the task."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..data.arrow_tables import is_text, source_of
from ..exceptions import TableError
from ..text import count

#: Columns of Label Studio that belong to one annotation.
OF_ANNOTATION = (
    *("annotation_id", "annotator", "created_at", "updated_at", "lead_time"),
    *("agreement", "history"),
)
#: Fields of what was marked in Label Studio, beside those that end in "labels".
MARKS = {"choices", "taxonomy", "rating", "number", "datetime", "selected", "ranker"}
#: Number of cells by which a column of marks is recognised.
MARKED = 100
#: Fields of Prodigy that belong to an answer, or to the suggestion that was shown with it.
OF_ANSWER = (
    *("label", "options", "accept", "answer", "meta", "config", "tokens"),
    *("score", "priority", "spans"),
)
#: What Argilla adds to flat records.
OF_RECORD = ("status", "_server_id", "inserted_at", "updated_at")
#: In flat records of Argilla: the answers to a question, or what was suggested.
OF_QUESTION = re.compile(r".+\.(responses|suggestion)(\.\w+)?")


def answer_columns(table: pa.Table, others: Collection[str] = ()) -> dict[str, str]:
    """The columns that belong to answers, if a table looks like the export of a tool, and the
    reason not to learn from them; ``others`` are columns that the table had before.

    >>> names = ["id", "annotation_id", "annotator", "lead_time", "text"]
    >>> list(answer_columns(pa.table([["1"]] * 5, names=names)))
    ['annotation_id', 'annotator', 'lead_time']
    """
    names = list(dict.fromkeys((*table.column_names, *others)))
    found: dict[str, list[str]] = {}
    if {"annotation_id", "annotator", "lead_time"} <= set(names):
        found["label-studio"] = [
            name for name in names if name in OF_ANNOTATION or _holds_marks(table, name)
        ]
    if {"_input_hash", "_task_hash", "answer"} <= set(names):
        found["prodigy"] = [name for name in names if name in OF_ANSWER or name.startswith("_")]
    if any(f"{name}.users" in names for name in names if name.endswith(".responses")):
        found["argilla"] = [
            name for name in names if OF_QUESTION.fullmatch(name) or name in OF_RECORD
        ]
    return {
        name: f"part of an answer in an export of {tool} (convert --from {tool} reads it, with "
        "who gave it)"
        for tool, columns in found.items()
        for name in columns
    }


def _holds_marks(table: pa.Table, name: str) -> bool:
    """Whether the cells of a column are what annotators of Label Studio marked."""
    if name not in table.column_names or not is_text(table[name].type):
        return False
    cells = [cell for cell in pc.drop_null(table[name])[:MARKED].to_pylist() if cell]
    return bool(cells) and all(map(is_mark, cells))


def check_accepted(table: pa.Table) -> None:
    """Refuse an export of Prodigy in which a label may have been rejected or ignored."""
    if "answer" not in answer_columns(table) or not is_text(table["answer"].type):
        return
    others = table.num_rows - int(pc.sum(pc.equal(table["answer"], "accept")).as_py() or 0)
    if others:
        raise TableError(
            f"{source_of(table)}: {count(others)} of this export of prodigy have labels that were "
            "rejected or ignored; convert --from prodigy makes a table of votes of it"
        )


def parsed_json(value: Any) -> Any:
    """The object or list that a text spells; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except ValueError:  # a label such as "[other]"
        return value


def is_mark(value: Any) -> bool:
    """Whether a cell holds what somebody marked: an object of Label Studio, or a list of them."""
    value = parsed_json(value)
    marks = value if isinstance(value, list) else [value]
    return bool(marks) and all(
        isinstance(mark, dict) and any(key in MARKS or key.endswith("labels") for key in mark)
        for mark in marks
    )
