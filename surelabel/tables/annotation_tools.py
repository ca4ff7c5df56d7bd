"""Files of annotation tools ↔ tables: who gave which label, and tasks with suggested labels.

Each tool has two functions: one reads the answers of an export, the other makes a task.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ..data.arrow_tables import find_column, is_text
from ..data.json_lines import rows_to_table
from ..data.labelling import Labelling
from ..data.unpacking import too_sparse
from ..exceptions import ParameterError, TableError, first_few
from ..text import count, plain, suggest
from .new_columns import NEW_COLUMNS

#: The prefix of vote columns, and the names of the other columns.
VOTE, CANDIDATES, GOLD = "vote_", "candidates", "gold"


@dataclass
class _Answer:
    """One person's answer to a task; a task that nobody has answered has one without labels."""

    key: Any
    data: dict[str, Any]
    who: str = ""
    labels: list[str] = field(default_factory=list)
    gold: bool = False


# -------------------------------------------------------------------- the tools


def _label_studio(records: list[dict[str, Any]], question: str | None) -> Iterator[_Answer]:
    """JSON: tasks with annotations. Cancelled annotations do not count."""
    if not all("data" in record for record in records):
        raise TableError("the entries have no 'data'; export JSON, not JSON-MIN, CSV or TSV")
    results = [
        result["from_name"]
        for record in records
        for annotation in record.get("annotations") or []
        for result in annotation["result"]
        if result.get("type") == "choices"
    ]
    wanted = _one_question(results, question)
    for record in records:
        key = record.get("id", record["data"])
        yield _Answer(key, record["data"])
        for annotation in record.get("annotations") or []:
            who = annotation.get("completed_by")
            who = who.get("email") or who.get("id") if isinstance(who, dict) else who
            labels = [
                label
                for result in annotation["result"]
                if result.get("from_name") == wanted
                for label in _texts(result["value"].get("choices"))
            ]
            if not annotation.get("was_cancelled"):
                name, gold = "" if who is None else str(who), bool(annotation.get("ground_truth"))
                yield _Answer(key, record["data"], name, labels, gold)


def _label_studio_task(
    data: dict[str, Any], label: str | None, score: float | None, question: str, shown: str
) -> dict[str, Any]:
    result = {
        "from_name": question,
        "to_name": shown,
        "type": "choices",
        "value": {"choices": [label]},
    }
    prediction = {"model_version": "surelabel", "score": score, "result": [result]}
    return {"data": data, "predictions": [prediction] if label is not None else []}


def _argilla(records: list[dict[str, Any]], question: str | None) -> Iterator[_Answer]:
    """Records of Argilla 2; drafts and discarded responses do not count."""
    if not all("fields" in record for record in records):
        raise TableError("the records have no 'fields'; export them with records.to_json")
    found = (name for record in records for name in record.get("responses") or {})
    wanted = _one_question(found, question)
    for record in records:
        data = {"id": record.get("id")} | record["fields"] | (record.get("metadata") or {})
        key = record.get("id") or data
        yield _Answer(key, data)
        for one in (record.get("responses") or {}).get(wanted, []):
            if one.get("status") in (None, "submitted"):
                yield _Answer(key, data, str(one.get("user_id") or ""), _texts(one["value"]))


def _argilla_task(
    data: dict[str, Any], label: str | None, score: float | None, question: str, shown: str
) -> dict[str, Any]:
    suggestion = {"value": label, "score": score, "agent": "surelabel"}
    task = {"fields": {shown: data[shown]}, "suggestions": {question: suggestion}}
    if data.get("id") is not None:
        task["id"] = str(data["id"])  # type: ignore[assignment]
    rest = {name: value for name, value in data.items() if name not in (shown, "id")}
    return task | {"metadata": rest, "responses": {}, "vectors": {}} if rest else task


#: How the export of each tool is read, and how a task for it is made.
TOOLS: dict[str, tuple[Callable[..., Iterator[_Answer]], Callable[..., dict[str, Any]]]] = {
    "label-studio": (_label_studio, _label_studio_task),
    "argilla": (_argilla, _argilla_task),
}


def _texts(value: Any) -> list[str]:
    """One label or several, as texts."""
    values = value if isinstance(value, list) else [] if value in (None, "") else [value]
    if any(isinstance(one, dict | list) for one in values):
        raise TableError(
            f"an answer is {json.dumps(values[0])[:60]}, but the label of a whole task is "
            "expected; export the answers to a question with choices"
        )
    return [str(one) for one in values]


def _one_question(names: Iterable[str], question: str | None) -> str:
    """The question that was asked for, or the only one."""
    found = list(dict.fromkeys(names))
    if question is not None and question not in found:
        raise TableError(
            f"there is no question {question!r}; {suggest(question, found, 'questions')}"
        )
    if question is None and len(found) != 1:
        raise TableError(
            f"there are the questions {first_few(found, 12)}; say which one (--question NAME)"
            if found
            else "there is no question with choices"
        )
    return question or found[0]


# -------------------------------------------------------------------- reading


def read_tool(
    records: list[dict[str, Any]], tool: str, question: str | None, source: str
) -> tuple[pa.Table, Labelling]:
    """The objects of an export as a table, one row per task, and which columns hold what.

    The table holds the content of the tasks, without the fields of single answers or suggestions,
    and one column ``vote_NAME`` per annotator if each gave at most one label per task; otherwise
    ``candidates``: each label as often as it was given. ``gold`` is the label of an answer that is
    marked as the truth.
    """
    if tool not in TOOLS:
        raise ParameterError(f"there is no tool {tool!r}; {suggest(tool, [*TOOLS], 'tools')}")
    try:
        answers = list(TOOLS[tool][0](records, question))
    except TableError as error:
        raise TableError(f"{source}: {error}") from None
    except (KeyError, TypeError, AttributeError, IndexError, ValueError):
        raise TableError(
            f"{source}: this is not an export of {tool}, or one of an unknown kind"
        ) from None
    if not all(isinstance(answer.data, dict) for answer in answers):
        raise TableError(f"{source}: the content of a task of {tool} is not an object with fields")
    if not any(answer.labels for answer in answers):
        raise TableError(f"{source}: there is no answer in this export of {tool}")
    return _as_table(answers, source)


def _as_table(answers: list[_Answer], source: str) -> tuple[pa.Table, Labelling]:
    """One row per task, with votes if they can be told apart by annotator, otherwise candidates."""
    tasks: dict[str, list[_Answer]] = {}
    for answer in answers:
        tasks.setdefault(json.dumps(answer.key, sort_keys=True, default=str), []).append(answer)
    votes, why = _votes(tasks), "somebody gave a task several labels"
    if votes is not None and too_sparse(len(tasks), len(votes), len(answers)):
        why = f"a table of {len(tasks):,} tasks and {len(votes):,} annotators would be too large"
        votes = None
    if votes is None and len({answer.who for answer in answers if answer.labels} - {""}) > 1:
        warnings.warn(f"{source}: who gave which label is left out, because {why}", stacklevel=5)
    new: dict[str, list[Any]] = (
        {CANDIDATES: [_given(task) or None for task in tasks.values()]}
        if votes is None
        else {VOTE + who: [given.get(key) for key in tasks] for who, given in votes.items()}
    )
    if any(answer.gold for answer in answers):
        new[GOLD] = [_truth(task) for task in tasks.values()]
    table = _content(tasks, new, source)
    names = tuple(VOTE + who for who in votes or ())
    return table, Labelling(
        labels=None if names else CANDIDATES, votes=names, gold=GOLD if GOLD in new else None
    )


def _content(
    tasks: Mapping[str, list[_Answer]], new: Mapping[str, list[Any]], source: str
) -> pa.Table:
    """The content of the tasks, and the new columns beside it."""
    table = rows_to_table((task[0].data for task in tasks.values()), source)
    if clash := new.keys() & set(table.column_names):
        raise TableError(
            f"{source}: the tasks have a field {min(clash)!r}, which is the name of a column for "
            "the answers; rename the field"
        )
    # a field that is empty in all tasks has no type of its own
    columns = [
        column.cast(pa.string()) if pa.types.is_null(column.type) else column
        for column in (*table.columns, *map(pa.chunked_array, ([cells] for cells in new.values())))
    ]
    return pa.table(columns, names=[*table.column_names, *new])


def _truth(task: list[_Answer]) -> str | None:
    """The label that is marked as the truth, if there is exactly one."""
    truth = {label for answer in task if answer.gold for label in answer.labels}
    return truth.pop() if len(truth) == 1 else None


def _given(task: list[_Answer]) -> list[str]:
    """The labels of a task, as often as they were given."""
    return [label for answer in task if not answer.gold for label in answer.labels]


def _votes(tasks: Mapping[str, list[_Answer]]) -> dict[str, dict[str, str]] | None:
    """The label that each annotator gave to each task. None if somebody gave a task several labels,
    or if nobody is named.
    """
    votes: dict[str, dict[str, str]] = {}
    for key, task in tasks.items():
        for answer in task:
            for label in [] if answer.gold else answer.labels:
                if votes.setdefault(answer.who, {}).setdefault(key, label) != label:
                    return None
    return None if set(votes) <= {""} else dict(sorted(votes.items()))


# -------------------------------------------------------------------- answers and tasks


def to_answers(table: pa.Table, labelling: Labelling, id: str | None, source: str) -> pa.Table:
    """One answer per task, in the columns ``row``, ``label`` and ``who``: for ``clean --answers``.

    A task has an answer if everyone who answered it gave the same label, or if one answer is marked
    as the truth. A warning names the other tasks.
    """
    if id is None:
        raise ParameterError(
            "answers are matched to rows by name: say which column holds the names (--id)"
        )
    find_column(table, id)
    found, differing = [], []
    for row in table.to_pylist():
        name = row[id]
        given = {who.removeprefix(VOTE): row[who] for who in labelling.votes if row[who]}
        labels = {*given.values()} if labelling.votes else {*(row[CANDIDATES] or ())}
        if labelling.gold is not None and row[GOLD] is not None:
            given, labels = {}, {row[GOLD]}
        if not labels:
            continue
        if name is None:
            raise TableError(f"{source}: an answered task has no {id!r}; give it one")
        if len(labels) > 1:
            differing.append(str(plain(name)))
        else:
            who = ", ".join(given)
            found.append({"row": str(plain(name)), "label": str(labels.pop()), "who": who})
    if differing:
        warnings.warn(
            f"{source}: {count(len(differing), 'task has', 'tasks have')} several labels "
            f"({first_few(differing)}), so no answer; decide on one, or clean the votes",
            stacklevel=2,
        )
    if not found:
        raise TableError(f"{source}: there is no task whose answers all agree")
    return pa.Table.from_pylist(found, pa.schema([(key, pa.string()) for key in found[0]]))


def to_tasks(
    table: pa.Table, tool: str, *, question: str | None, shown: str | None, prefix: str
) -> pa.Table:
    """Make tasks with suggested labels from what ``clean`` or ``predict`` wrote; the rows to look
    at come first.
    """
    find_column(table, f"{prefix}label")
    ours = {prefix + name for name in NEW_COLUMNS}
    names = [name for name in table.column_names if name not in ours]
    if shown is None:
        texts = [name for name in names if is_text(table.schema.field(name).type)]
        shown = "text" if "text" in names else next(iter(texts), "")
    find_column(table, shown)
    rows = table.to_pylist()
    look = f"{prefix}look"
    rows.sort(key=lambda row: (row.get(look) is None, int(row.get(look) or 0)))
    tasks = []
    for row in rows:
        label, score = row[f"{prefix}label"], row.get(f"{prefix}confidence")
        tasks.append(
            TOOLS[tool][1](
                {name: row[name] for name in names},
                None if label is None else str(label),
                None if score in (None, "") else float(score),
                question or "label",
                shown,
            )
        )
    return pa.Table.from_pylist(tasks)
