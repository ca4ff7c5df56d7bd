"""``convert``: the labels of a table in another form."""

from __future__ import annotations

from typing import Any, Literal, Unpack

from ..data.arrow_tables import find_column
from ..data.forms import to_form
from ..data.frames import to_frame
from ..data.labelling import read_labels
from ..data.table_files import file_name, read_records
from ..exceptions import ParameterError
from .annotation_tools import TOOLS, read_tool, to_tasks
from .reading import READING, Columns, as_frame, as_table, column_names, make_labelling
from .tool_answers import to_answers

Form = Literal[
    "labels",
    "lists",
    "indicator",
    "votes",
    "long",
    "answers",
    "label-studio",
    "argilla",
    "doccano",
    "prodigy",
]
Tool = Literal["label-studio", "argilla", "doccano", "prodigy"]


def convert(
    frame: Any,
    to: Form | None = None,
    *,
    tool: Tool | None = None,
    question: str | None = None,
    shown: str | None = None,
    prefix: str = "",
    **columns: Unpack[Columns],
) -> Any:
    """Convert the labels of a table to another form, without changing other columns; read the
    export of an annotation tool; or make tasks with suggested labels for one.

    Parameters
    ----------
    frame : data frame, pyarrow.Table or path
        The table.
    to : {"labels", "lists", "indicator", "votes", "long", "answers"} or a tool, default=None
        "labels": one text per row, with the separator; "lists": one list per row; "indicator": one
        0/1 column per class; "votes": one column per annotator; "long": one row per label (and
        annotator, if the labels are votes). "answers" (needs ``tool`` and ``id``): one row per
        task, to be written as JSON lines for ``clean(answers=…)``. "label-studio", "argilla",
        "doccano" or "prodigy": tasks with the column ``label`` of :func:`clean` or :func:`predict`
        as the suggestion, and the rows to look at first. None is allowed with ``tool`` only: votes
        if each annotator gave at most one label, otherwise lists.
    tool : {"label-studio", "argilla", "doccano", "prodigy"}, default=None
        ``frame`` is the path of an export of this tool (JSON or JSON lines; for Label Studio also
        JSON-MIN, CSV and TSV, for doccano CSV; a pattern or an archive if each annotator has a
        file).
    question : str, default=None
        The tool's question; needed if an export has several. In tasks, by default "label".
    shown : str, default=None
        In tasks, the column that is shown; by default the first text column.
    prefix : str, default=""
        In tasks, the prefix of the names of the columns of :func:`clean`.
    **columns
        Which columns hold labels, and which to leave out; see :class:`~surelabel.tables.Columns`.

    Returns
    -------
    data frame
        A frame of the kind given.

    Examples
    --------
    >>> import pandas as pd
    >>> import surelabel
    >>> pets = pd.DataFrame({"size": [1, 2], "labels": ["cat|dog", "dog"]})
    >>> surelabel.convert(pets, "indicator", labels="labels")
       size  cat  dog
    0     1    1    1
    1     2    0    1
    """
    given: dict[str, Any] = dict(columns)
    exclude = given.pop("exclude", None)
    how = {name: given.pop(name, None) for name in READING}
    source = file_name(frame) if tool is not None else ""
    if tool is not None:
        table, labelling = read_tool(read_records(source), tool, question, source)
        frame = table
    else:
        frame = as_frame(frame, **how)
        table, labelling = as_table(frame, how["decimal"]), None
    for name in column_names(exclude, table):
        find_column(table, name)
        table = table.drop_columns(name)
    if to in TOOLS:
        return to_frame(to_tasks(table, to, question=question, shown=shown, prefix=prefix), frame)
    if to is None:
        if labelling is None:
            raise ParameterError("say which form the labels should have")
        return table
    if to == "answers":
        if tool is None or labelling is None:
            raise ParameterError("answers come from an annotation tool: say which one (tool)")
        return to_answers(table, labelling, given.get("id"), source)
    labelling = labelling or make_labelling(table, **given)
    return to_frame(to_form(read_labels(table, labelling), labelling, to), frame)
