"""``convert``: the labels of a table in another form."""

from __future__ import annotations

from typing import Any, Literal, Unpack

from ..data.forms import to_form
from ..data.labelling import read_labels
from ..data.table_files import find_column, to_frame
from .reading import Columns, as_frame, as_table, column_names, make_labelling

Form = Literal["labels", "lists", "indicator", "votes", "long"]


def convert(frame: Any, to: Form, **columns: Unpack[Columns]) -> Any:
    """Write the labels of a table in another form; all other columns stay as they are.

    Parameters
    ----------
    frame : data frame, pyarrow.Table or path
        The table.
    to : {"labels", "lists", "indicator", "votes", "long"}
        One text with the separator, or one list per row; one 0/1 column per class; one column per
        annotator; one row per label (and annotator, if the labels are votes).
    **columns
        Which columns say what of labels, and which to leave out; see
        :class:`~surelabel.tables.Columns`.

    Returns
    -------
    data frame
        Of the kind that was given.

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
    frame = as_frame(frame)
    table = as_table(frame)
    given: dict[str, Any] = dict(columns)
    for name in column_names(given.pop("exclude", None), table):
        find_column(table, name)
        table = table.drop_columns(name)
    labelling = make_labelling(table, **given)
    converted = to_form(read_labels(table, labelling), labelling, to)
    return to_frame(converted, frame)
