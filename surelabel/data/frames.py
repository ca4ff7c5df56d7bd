"""Data frames of any library ↔ :class:`pyarrow.Table`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ..exceptions import SurelabelError, TableError
from ..extras import extra
from .arrow_tables import checked_table, source_of


def from_frame(frame: Any) -> pa.Table:
    """A data frame of any library that narwhals supports as a table."""
    with extra("cli", "the conversion of data frames"):
        import narwhals as nw

    known = None
    try:
        known = nw.from_native(frame, eager_only=True)
        return checked_table(nw.maybe_reset_index(known).to_arrow(), "table")
    except (SurelabelError, MemoryError):
        raise
    except Exception as error:  # every library raises errors of its own
        if known is None and isinstance(error, TypeError):
            raise TableError(
                "expected a data frame in memory (pandas, polars, pyarrow, ...), not "
                f"{type(frame).__name__}"
            ) from None
        reason = " ".join("; ".join(map(str, error.args)).split())
        raise TableError(
            f"the data frame cannot be converted to a table ({reason}); give each column one type "
            "and a name of its own"
        ) from None


def to_frame(table: pa.Table, like: Any) -> Any:
    """A table as a data frame of the same kind as ``like``, with the row index of ``like`` if the
    number of rows is the same.
    """
    with extra("cli", "the conversion of data frames"):
        import narwhals as nw

    if isinstance(like, pa.Table) and source_of(like) != "table":
        return table
    backend = nw.from_native(like, eager_only=True).implementation
    plain = table.replace_schema_metadata(None)
    native = nw.from_arrow(plain, backend=backend).to_native()
    if backend.is_pandas_like() and len(like) == len(native):
        native.index = like.index
    return native
