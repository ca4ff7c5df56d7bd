"""Columns in the files of annotation tools that belong to an answer, not to the task."""

from __future__ import annotations

import re
from collections.abc import Collection

#: Columns of Label Studio that belong to one annotation.
OF_ANNOTATION = (
    *("annotation_id", "annotator", "created_at", "updated_at", "lead_time"),
    *("agreement", "history"),
)
#: Fields of Prodigy that belong to an answer, or to the suggestion that was shown with it.
OF_ANSWER = (
    *("label", "options", "accept", "answer", "meta", "config", "tokens"),
    *("score", "priority", "spans"),
)
#: In flat records of Argilla: the answers to a question, or what was suggested.
OF_QUESTION = re.compile(r".+\.(responses|suggestion)(\.\w+)?")


def answer_columns(names: Collection[str]) -> dict[str, str]:
    """The columns that belong to answers, if a table looks like the export of a tool, and the
    reason not to learn from them.

    >>> list(answer_columns(["id", "annotation_id", "annotator", "lead_time", "text"]))
    ['annotation_id', 'annotator', 'lead_time']
    """
    found: dict[str, list[str]] = {}
    if {"annotation_id", "annotator", "lead_time"} <= set(names):
        found["label-studio"] = [name for name in names if name in OF_ANNOTATION]
    if {"_input_hash", "_task_hash", "answer"} <= set(names):
        found["prodigy"] = [name for name in names if name in OF_ANSWER or name.startswith("_")]
    if any(name.endswith(".responses") for name in names):
        found["argilla"] = [
            name for name in names if OF_QUESTION.fullmatch(name) or name == "_server_id"
        ]
    return {
        name: f"part of an answer in an export of {tool} (convert --from {tool} reads it)"
        for tool, columns in found.items()
        for name in columns
    }
