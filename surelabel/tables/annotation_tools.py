"""Files of annotation tools ↔ tables: who gave which label, and tasks with suggested labels.

Label Studio, Argilla, doccano and Prodigy each have a function that reads the answers of an export
and one that makes a task; all else is common.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..data.arrow_tables import find_column, is_text, source_of
from ..data.json_lines import rows_to_table
from ..data.labelling import Labelling
from ..data.unpacking import too_sparse
from ..exceptions import ParameterError, TableError, first_few
from ..text import count, plain, suggest
from .new_columns import NEW_COLUMNS

#: The tools, and the fields in their files that belong to an answer or to the suggestion that was
#: shown with it, not to the task.
ANSWER_FIELDS = {
    "label-studio": r"annotation_id|annotator|created_at|updated_at|lead_time|agreement|history",
    "argilla": r"status|_server_id|inserted_at|updated_at|.+\.(responses|suggestion)(\.\w+)?",
    "doccano": r"labels?|Comments|username|meta|annotation_approver",
    "prodigy": r"_.*|label|options|accept|answer|meta|config|tokens|score|priority|spans",
}
TOOLS = tuple(ANSWER_FIELDS)
#: The prefix of vote columns, and the names of the other columns.
VOTE, CANDIDATES, GOLD = "vote_", "candidates", "gold"
#: What stands before a label that somebody voted against.
AGAINST = "!"


@dataclass
class _Answer:
    """One person's answer to a task; a task that nobody has answered has one without labels."""

    key: Any
    data: dict[str, Any]
    who: str = ""
    labels: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    gold: bool = False


# -------------------------------------------------------------------- reading


def read_tool(
    files: Mapping[str, list[dict[str, Any]]], tool: str, question: str | None, source: str
) -> tuple[pa.Table, Labelling]:
    """The export of a tool as a table: one row per task.

    Parameters
    ----------
    files : mapping of str to list of dict
        The objects of each file.
    tool : {"label-studio", "argilla", "doccano", "prodigy"}
        The tool that wrote the files.
    question : str or None
        The question whose answers are the labels; needed where there are several.
    source : str
        The name in messages.

    Returns
    -------
    table : pyarrow.Table
        The content of the tasks, without the fields of single answers or suggestions. One column
        ``vote_NAME`` per annotator if each accepted at most one label per task, or only rejected
        one (``!label``); otherwise ``candidates``: the labels as often as they were given, or,
        where labels were only rejected, all others. ``gold`` where an answer is marked as the
        truth.
    labelling : Labelling
        Which columns hold what.
    """
    parse = {
        "label-studio": _label_studio,
        "argilla": _argilla,
        "doccano": _doccano,
        "prodigy": _prodigy,
    }.get(tool)
    if parse is None:
        raise ParameterError(f"there is no tool {tool!r}; {suggest(tool, TOOLS, 'tools')}")
    answers = []
    for name, records in files.items():
        if not records:  # somebody who has answered nothing
            continue
        try:
            answers += list(parse(records, name if len(files) > 1 else "", question))
        except _UnexpectedError as error:
            raise TableError(f"{source}: {error}") from None
        except (KeyError, TypeError, AttributeError, IndexError, ValueError):
            raise TableError(
                f"{source}: this is not an export of {tool}, or one of an unknown kind"
            ) from None
    if not all(isinstance(answer.data, dict) for answer in answers):
        raise TableError(f"{source}: the content of a task of {tool} is not an object with fields")
    if not any(answer.labels or answer.rejected for answer in answers):
        raise TableError(f"{source}: there is no answer in this export of {tool}")
    return _as_table(answers, source)


class _UnexpectedError(Exception):
    """An export that does not look as expected; the message says why."""


def _as_table(answers: list[_Answer], source: str) -> tuple[pa.Table, Labelling]:
    """One row per task, with votes if they can be told apart by annotator, otherwise candidates."""
    tasks: dict[str, list[_Answer]] = {}
    for answer in answers:
        tasks.setdefault(json.dumps(answer.key, sort_keys=True, default=str), []).append(answer)
    classes = sorted({label for answer in answers for label in answer.labels + answer.rejected})
    if len(classes) == 1:  # what is not of the only class is of another
        for answer in answers:
            answer.labels += [f"not {label}" for label in answer.rejected]
            answer.rejected = []
    rejected = any(answer.rejected for answer in answers)
    votes, why = _votes(tasks), "somebody gave or rejected several labels of one task"
    if rejected and any(label.startswith(AGAINST) for label in classes):
        votes, why = None, f"some labels begin with {AGAINST!r}, the sign of rejected ones"
    elif votes is not None and too_sparse(len(tasks), len(votes), len(answers)):
        why = f"a table of {len(tasks):,} tasks and {len(votes):,} annotators would be too large"
        votes = None
    if votes is None and len({answer.who for answer in answers if answer.labels} - {""}) > 1:
        warnings.warn(f"{source}: who gave which label is left out, because {why}", stacklevel=5)
    new: dict[str, list[Any]] = (
        {CANDIDATES: [_candidates(task, classes) for task in tasks.values()]}
        if votes is None
        else {VOTE + who: [given.get(key) for key in tasks] for who, given in votes.items()}
    )
    if any(answer.gold for answer in answers):
        new[GOLD] = [_truth(task) for task in tasks.values()]
    table = _content(tasks, new, source)
    names = tuple(VOTE + who for who in votes or ())
    return table, Labelling(
        labels=None if names else CANDIDATES,
        votes=names,
        gold=GOLD if GOLD in new else None,
        not_prefix=AGAINST if rejected and names else None,
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


def _votes(tasks: Mapping[str, list[_Answer]]) -> dict[str, dict[str, str]] | None:
    """What each annotator said of each task: a label, or one that it is not. None if somebody said
    more than that of a task, or if nobody is named.
    """
    votes: dict[str, dict[str, str]] = {}
    for key, task in tasks.items():
        said: dict[str, tuple[set[str], set[str]]] = {}
        for answer in task:
            if not answer.gold and (answer.labels or answer.rejected):
                accepted, rejected = said.setdefault(answer.who, (set(), set()))
                accepted.update(answer.labels)
                rejected.update(answer.rejected)
        for who, (accepted, rejected) in said.items():
            ballots = accepted or {AGAINST + label for label in rejected}
            if len(ballots) > 1 or accepted & rejected:
                return None
            votes.setdefault(who, {})[key] = ballots.pop()
    return None if set(votes) <= {""} else dict(sorted(votes.items()))


def _candidates(task: list[_Answer], classes: list[str]) -> list[str] | None:
    """The labels of a task, as often as they were given, but for those that were rejected at least
    as often; or those that nobody rejected.
    """
    given = [answer for answer in task if not answer.gold]
    accepted = [label for answer in given for label in answer.labels]
    yes, no = Counter(accepted), Counter(label for answer in given for label in answer.rejected)
    open_ = [label for label in classes if label not in no] if no else []
    return [label for label in accepted if yes[label] > no[label]] or accepted or open_ or None


def _texts(value: Any) -> list[str]:
    """One label or several, as texts."""
    if isinstance(value, dict) and "choices" in value:
        value = value["choices"]
    values = value if isinstance(value, list) else [] if value in (None, "") else [value]
    if any(isinstance(one, dict | list) for one in values):
        raise _UnexpectedError(
            f"an answer is {json.dumps(values[0])[:60]}, but the label of a whole task is "
            "expected; export the answers to a question with choices"
        )
    return [str(one) for one in values]


def _without_answers(record: dict[str, Any], tool: str) -> dict[str, Any]:
    """The fields of a record that belong to the task."""
    return {k: v for k, v in record.items() if not re.fullmatch(ANSWER_FIELDS[tool], k)}


def _one_question(found: dict[str, None], question: str | None) -> str:
    """The question that was asked for, or the only one."""
    if question is not None:
        if question not in found:
            raise _UnexpectedError(
                f"there is no question {question!r}; {suggest(question, list(found), 'questions')}"
            )
        return question
    if len(found) != 1:
        raise _UnexpectedError(
            f"there are the questions {first_few(found, 12)}; say which one (--question NAME)"
            if found
            else "there is no question with choices"
        )
    return next(iter(found))


def _label_studio(records: list[dict[str, Any]], _: str, question: str | None) -> Iterator[_Answer]:
    """JSON: tasks with annotations, of which those that were cancelled do not count."""
    if not all("data" in record for record in records):
        raise _UnexpectedError("the entries have no 'data'; export JSON, not JSON-MIN, CSV or TSV")
    wanted = _one_question(
        {
            result["from_name"]: None
            for record in records
            for annotation in record.get("annotations") or []
            for result in annotation["result"]
            if result.get("type") == "choices"
        },
        question,
    )
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
                for label in _texts(result["value"])
            ]
            if not annotation.get("was_cancelled"):
                gold = bool(annotation.get("ground_truth"))
                yield _Answer(
                    key, record["data"], "" if who is None else str(who), labels, gold=gold
                )


def _argilla(records: list[dict[str, Any]], _: str, question: str | None) -> Iterator[_Answer]:
    """Records, nested or flat; drafts and discarded responses do not count."""
    if not all("fields" in record for record in records):
        records = [_nested(record) for record in records]
    found = {name: None for record in records for name in record.get("responses") or {}}
    wanted = _one_question(found, question)
    for record in records:
        data = {"id": record.get("id")} | record["fields"] | (record.get("metadata") or {})
        key = record.get("id") or data
        yield _Answer(key, data)
        for one in (record.get("responses") or {}).get(wanted, []):
            if one.get("status") in (None, "submitted"):
                yield _Answer(key, data, str(one.get("user_id") or ""), _texts(one["value"]))


def _nested(record: dict[str, Any]) -> dict[str, Any]:
    """A flat record of Argilla, ``label.responses`` beside ``label.responses.users``, as a nested
    one.
    """
    end, responses = ".responses", {}
    for question in (name.removesuffix(end) for name in record if name.endswith(end)):
        values = record[question + end] or []
        users = record.get(f"{question}{end}.users") or [None] * len(values)
        states = record.get(f"{question}{end}.status") or [None] * len(values)
        responses[question] = [
            {"value": value, "user_id": user, "status": status}
            for value, user, status in zip(values, users, states, strict=True)
        ]
    fields = _without_answers(record, "argilla")
    return {"id": record.get("id"), "fields": fields, "responses": responses}


def _doccano(records: list[dict[str, Any]], file: str, _: str | None) -> Iterator[_Answer]:
    """Lines with ``label`` or ``labels`` (in CSV several are joined by ``#``); each annotator has
    their own file, or is named in the line.
    """
    for record in records:
        if "_task_hash" in record:
            raise _UnexpectedError("the entries are those of prodigy (--from prodigy)")
        name = next((name for name in ("label", "labels") if name in record), None)
        if name is None:
            raise _UnexpectedError(
                "an entry has neither 'label' nor 'labels', unlike those of doccano for the "
                "classes of whole texts or images; export JSONL"
            )
        given = record[name] or []
        if isinstance(given, str) and all(given.split("#")):
            given = given.split("#")
        data = _without_answers(record, "doccano")
        key = next((record[key] for key in ("id", "doc_id", "text") if key in record), data)
        yield _Answer(key, data, str(record.get("username") or file), _texts(given))


def _prodigy(records: list[dict[str, Any]], file: str, _: str | None) -> Iterator[_Answer]:
    """A label or several options, accepted or rejected; ignored ones do not count as answers."""
    for record in records:
        if "answer" not in record:
            raise _UnexpectedError("an entry has no 'answer', unlike those of prodigy")
        data = _without_answers(record, "prodigy")
        key = record.get("_input_hash", data)
        who = str(record.get("_annotator_id") or record.get("_session_id") or file)
        yield _Answer(key, data)
        options = "accept" in record or "options" in record
        labels = _texts(record.get("accept") if options else record.get("label"))
        if record["answer"] == "accept":
            yield _Answer(key, data, who, labels)
        elif record["answer"] == "reject" and not options:
            yield _Answer(key, data, who, rejected=labels)
        elif record["answer"] not in ("reject", "ignore"):
            raise _UnexpectedError(
                f"an answer is {record['answer']!r}, but prodigy has accept, reject and ignore"
            )


def check_accepted(table: pa.Table) -> None:
    """Refuse an export of Prodigy in which a label may have been rejected or ignored."""
    if not {"_task_hash", "answer"} <= {*table.column_names} or not is_text(table["answer"].type):
        return
    others = table.num_rows - int(pc.sum(pc.equal(table["answer"], "accept")).as_py() or 0)
    if others:
        raise TableError(
            f"{source_of(table)}: {count(others)} of this export of prodigy have labels that were "
            "rejected or ignored; convert --from prodigy makes a table of votes of it"
        )


# -------------------------------------------------------------------- answers and tasks


def to_answers(table: pa.Table, labelling: Labelling, id: str | None, source: str) -> pa.Table:
    """One answer per task, for ``clean --answers``.

    A task has an answer if everyone who answered it gave the same label, or if one answer is marked
    as the truth. A warning names the other tasks.

    Parameters
    ----------
    table, labelling : pyarrow.Table, Labelling
        Of :func:`read_tool`.
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


def to_tasks(
    table: pa.Table, tool: str, *, question: str | None, shown: str | None, prefix: str
) -> pa.Table:
    """Tasks with suggested labels for an annotation tool, from a table that ``clean`` or
    ``predict`` made; the rows to look at come first.

    Parameters
    ----------
    table : pyarrow.Table
        It has a column ``label``, and perhaps ``confidence`` and ``look``.
    tool : {"label-studio", "argilla", "doccano", "prodigy"}
        The tool that will read them.
    question : str or None
        The name of the question; by default "label".
    shown : str or None
        The column that is shown; by default the first text column.
    prefix : str
        Prefix of the names of the new columns.

    Returns
    -------
    pyarrow.Table
        To be written as JSON, or as JSON lines for doccano and prodigy.
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
    labels = {
        str(row[prefix + name])
        for row in rows
        for name in ("label", "second", "best")
        if row.get(prefix + name) is not None
    }
    tasks = []
    for row in rows:
        data = {name: row[name] for name in names}
        label, score = row[f"{prefix}label"], row.get(f"{prefix}confidence")
        label = None if label is None else str(label)
        score = None if score in (None, "") else float(score)
        tasks.append(_TASKS[tool](data, label, score, question or "label", shown, sorted(labels)))
    if tool == "doccano":
        _write_out_gaps(tasks)
    return pa.Table.from_pylist(tasks)


def _label_studio_task(
    data: dict[str, Any], label: str | None, score: float | None, question: str, shown: str, _: Any
) -> dict[str, Any]:
    result = {"from_name": question, "to_name": shown, "type": "choices"}
    result |= {"value": {"choices": [label]}}  # type: ignore[dict-item]
    prediction = {"model_version": "surelabel", "score": score, "result": [result]}
    return {"data": data, "predictions": [prediction] if label is not None else []}


def _argilla_task(
    data: dict[str, Any], label: str | None, score: float | None, question: str, shown: str, _: Any
) -> dict[str, Any]:
    suggestion = {"value": label, "score": score, "agent": "surelabel"}
    task = {"fields": {shown: data[shown]}, "suggestions": {question: suggestion}}
    if data.get("id") is not None:
        task["id"] = str(data["id"])  # type: ignore[assignment]
    rest = {name: value for name, value in data.items() if name not in (shown, "id")}
    return task | {"metadata": rest, "responses": {}, "vectors": {}} if rest else task


def _doccano_task(
    data: dict[str, Any], label: str | None, score: float | None, _: str, shown: str, __: Any
) -> dict[str, Any]:
    rest = {name: value for name, value in data.items() if name != shown}
    labels = [] if label is None else [label]
    return {"text": data[shown], "label": labels, "confidence": score} | rest


def _write_out_gaps(tasks: list[dict[str, Any]]) -> None:
    """Numbers as texts where some are missing: doccano would import NaN, which it cannot store."""
    for name in tasks[0]:
        values = [task[name] for task in tasks]
        if None in values and any(isinstance(value, int | float | Decimal) for value in values):
            for task, value in zip(tasks, values, strict=True):
                task[name] = "" if value is None else str(value)


def _prodigy_task(
    data: dict[str, Any],
    label: str | None,
    score: float | None,
    _: str,
    shown: str,
    labels: list[str],
) -> dict[str, Any]:
    rest = {name: value for name, value in data.items() if name != shown}
    options = [{"id": name, "text": name} for name in labels]
    accept = [] if label is None else [label]
    own = {"text": data[shown], "options": options, "accept": accept, "meta": {"confidence": score}}
    return rest | own


_TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "label-studio": _label_studio_task,
    "argilla": _argilla_task,
    "doccano": _doccano_task,
    "prodigy": _prodigy_task,
}
