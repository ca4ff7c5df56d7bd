"""``convert``: exports of annotation tools as tables, and tables as tasks for them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, Unpack

import pyarrow as pa

from ..data.arrow_tables import find_column
from ..data.file_formats import path_text
from ..data.frames import to_frame
from ..data.readers import read_mat
from ..data.table_files import read_records
from ..exceptions import ParameterError
from ..text import suggest
from .annotation_tools import TOOLS, read_tool, to_answers, to_tasks
from .reading import Names, Reading, column_names, open_table

Tool = Literal["label-studio", "argilla"]
Form = Literal["answers", "label-studio", "argilla"]


def convert(
    frame: Any,
    to: Form | None = None,
    *,
    tool: Tool | None = None,
    question: str | None = None,
    shown: str | None = None,
    prefix: str = "",
    id: str | None = None,
    exclude: Names = None,
    **reading: Unpack[Reading],
) -> Any:
    """Read a table or the export of an annotation tool, or make tasks with suggested labels.

    Parameters
    ----------
    frame : data frame, pyarrow.Table or path
        The table; a ``.mat`` file of candidate labels becomes the columns ``x1``, ``x2``, …,
        ``labels`` (``1|4``) and ``gold``.
    to : {"answers", "label-studio", "argilla"}, default=None
        "answers" (needs ``tool`` and ``id``): one row per task, to be written as JSON lines for
        ``clean(answers=…)``. A tool: tasks with the column ``label`` of :func:`clean` or
        :func:`predict` as the suggestion, and the rows to look at first. None: the table itself;
        with ``tool``, votes if each annotator gave at most one label, otherwise lists.
    tool : {"label-studio", "argilla"}, default=None
        ``frame`` is the path of an export of this tool, or a pattern of several.
    question : str, default=None
        The tool's question; needed if an export has several. In tasks, by default "label".
    shown : str, default=None
        In tasks, the column that is shown; by default the first text column.
    prefix : str, default=""
        In tasks, the prefix of the names of the columns of :func:`clean`.
    id : str, default=None
        In answers, the column that names the rows.
    exclude : names of columns, default=None
        Columns to leave out.
    **reading
        How the file is written; see :class:`~surelabel.tables.Columns`.

    Returns
    -------
    data frame
        The same kind of frame as given; a :class:`pyarrow.Table` for a file.

    Examples
    --------
    >>> import pandas as pd
    >>> import surelabel
    >>> cleaned = pd.DataFrame({"text": ["meow"], "label": ["cat"], "confidence": [0.9]})
    >>> surelabel.convert(cleaned, "label-studio")["data"][0]
    {'text': 'meow'}
    """
    if to is not None and to not in ("answers", *TOOLS):
        raise ParameterError(
            f"there is no form {to!r}; {suggest(to, ('answers', *TOOLS), 'forms')}"
        )
    if to == "answers" and tool is None:
        raise ParameterError("answers come from an annotation tool: say which one (--from)")
    if tool is not None:
        frame = path_text(frame)
        table, labelling = read_tool(read_records(frame), tool, question, frame)
    elif isinstance(frame, str | os.PathLike) and Path(frame).suffix == ".mat":
        table = _read_mat(Path(frame))
    else:
        _, table = open_table(frame, **reading)
    for name in column_names(exclude, table):
        find_column(table, name)
        table = table.drop_columns(name)
    if to == "answers":
        table = to_answers(table, labelling, id, frame)
    elif to is not None:
        table = to_tasks(table, to, question=question, shown=shown, prefix=prefix)
    return table if isinstance(frame, str | os.PathLike) else to_frame(table, frame)


def _read_mat(path: Path) -> pa.Table:
    """A .mat file of partial-label data as a table."""
    X, candidates, y = read_mat(path)
    features = {f"x{j}": column for j, column in enumerate(X.T, 1)}
    labels = ["|".join(map(str, row)) for row in candidates.to_lists()]
    return pa.table(features | {"labels": labels, "gold": y})
