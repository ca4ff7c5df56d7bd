"""The columns that ``clean`` and ``predict`` add to a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from ..data.arrow_tables import source_of
from ..exceptions import ParameterError, TableError, shown

#: Number of decimals of confidences and other shares.
DECIMALS = 4
#: What ``clean`` adds; ``predict`` adds some of these, and ``MEDIAN`` if labels have an order.
NEW_COLUMNS = (
    "label",
    "confidence",
    "margin",
    "second",
    "status",
    "outside",
    "best",
    "outside_probability",
    "look",
)
MEDIAN = "median"
#: Marks a column that we added, in files with typed columns, so that it is not learned from later.
ADDED = b"surelabel.added"


def check_new_columns(table: pa.Table, names: Sequence[str], prefix: str) -> None:
    """Refuse new names that the table already has, before anything is computed."""
    if not isinstance(prefix, str):
        raise ParameterError(f"prefix must be a string, not {shown(prefix)}")
    taken = [prefix + name for name in names if prefix + name in table.column_names]
    if taken:
        raise TableError(
            f"{source_of(table)}: the table already has a column {taken[0]!r}, and the result adds "
            "one of the same name; rename it, or choose a prefix for the new names (--settings "
            "prefix=new_)"
        )


def add_columns(table: pa.Table, columns: Mapping[str, pa.Array], prefix: str) -> pa.Table:
    """The table with these columns after its own."""
    for name, column in columns.items():
        field = pa.field(prefix + name, column.type, metadata={ADDED: name.encode()})
        table = table.append_column(field, column)
    return table


def label_column(classes: np.ndarray, codes: np.ndarray) -> pa.Array:
    """A column of labels from their positions in the classes; -1 is a missing value."""
    return pa.array(classes).take(pa.array(codes, mask=codes < 0))


def rounded(values: np.ndarray) -> pa.Array:
    """A column of confidences or other shares, rounded to ``DECIMALS``."""
    return pa.array(np.round(values.astype(np.float64), DECIMALS))
