"""Facts about a :class:`pyarrow.Table`: its file, its columns and their types."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from ..exceptions import TableError, first_few
from ..text import suggest

#: Metadata keys of a table: the name and format of its file, how a text file is written, and the
#: decimal separator of numbers that are text.
SOURCE, FORM = b"surelabel.source", b"surelabel.form"
DIALECT, DECIMAL = b"surelabel.dialect", b"surelabel.decimal"
#: Metadata key of a column that holds the cells of a text file: its name as written.
HEADER = b"surelabel.header"
#: Maximum number of cells in columns that are processed together: a few MB of text.
CELLS_AT_A_TIME = 1 << 18


# -------------------------------------------------------------------- metadata


def source_of(table: pa.Table) -> str:
    """The file that a table was read from, or "table"."""
    return str((table.schema.metadata or {}).get(SOURCE, b"table").decode("utf-8", "surrogatepass"))


def form_read(table: pa.Table) -> str:
    """The format of the file that a table was read from; "" for a data frame."""
    return str((table.schema.metadata or {}).get(FORM, b"").decode())


def decimal_of(table: pa.Table) -> str | None:
    """The decimal separator of numbers that are written as text; None if it was not given."""
    given = (table.schema.metadata or {}).get(DECIMAL)
    return given.decode() if given else None


def with_decimal(table: pa.Table, decimal: str | None) -> pa.Table:
    """The table, with the decimal separator of its texts if one is given."""
    if decimal is None:
        return table
    if decimal not in (".", ","):
        raise TableError(
            f"{source_of(table)}: the decimal separator must be a point or a comma, not {decimal!r}"
        )
    return table.replace_schema_metadata(
        (table.schema.metadata or {}) | {DECIMAL: decimal.encode()}
    )


def is_cell(field: pa.Field) -> bool:
    """Whether a column holds the cells of a text file, as written there."""
    return HEADER in (field.metadata or {})


# -------------------------------------------------------------------- columns


def find_column(table: pa.Table, name: str, source: str | None = None) -> pa.ChunkedArray:
    """The column of that name; if there is none, the error suggests an existing one."""
    if (position := table.schema.get_field_index(name)) >= 0:
        return table.column(position)
    raise TableError(
        f"{source or source_of(table)}: there is no column {name!r}; "
        f"{suggest(name, table.column_names, 'columns')}"
    )


def column_slices(n_columns: int, n_rows: int) -> Iterator[slice]:
    """Columns to process together: many short ones, or one long one."""
    step = max(1, CELLS_AT_A_TIME // max(1, n_rows))
    return (slice(start, start + step) for start in range(0, n_columns, step))


def combined(*columns: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Columns of text as one array, column after column, however long they are."""
    chunks = [chunk for column in columns for chunk in getattr(column, "chunks", [column])]
    if all(chunk.type == pa.string() for chunk in chunks):
        try:  # one cast for many short columns
            return pa.concat_arrays(chunks).cast(pa.large_string())
        except pa.ArrowInvalid:  # too long for one array
            pass
    return pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in chunks])


# -------------------------------------------------------------------- checks


def checked_table(table: pa.Table, source: str, form: str = "") -> pa.Table:
    """The table with its name, in common types. Tables without rows, or with two columns of the
    same name, are refused.
    """
    names = table.column_names
    if len(set(names)) < len(names):
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        raise TableError(
            f"{source}: more than one column is named {first_few(map(repr, twice))}; rename the "
            "others"
        )
    if not table.num_rows or not table.num_columns:
        raise TableError(f"{source}: the table has no {'rows' if table.num_columns else 'columns'}")
    table.validate(full=True)  # damaged cells could crash the process later
    for i, field in enumerate(table.schema):
        _check_zones(field.type, f"{source}: column {field.name!r}")
        plain = _plain_type(field.type)
        if plain != field.type:
            table = table.set_column(i, field.with_type(plain), _as_plain(table.column(i), plain))
    known = table.schema.metadata or {}
    return table.replace_schema_metadata(
        {SOURCE: source.encode("utf-8", "surrogatepass"), FORM: form.encode()}
        | {key: known[key] for key in (DIALECT, DECIMAL) if key in known}
    )


def _check_zones(kind: pa.DataType, where: str) -> None:
    """Refuse times in an unknown time zone: they could be read, but not printed."""
    for i in range(kind.num_fields):
        _check_zones(kind.field(i).type, where)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        try:
            pa.scalar(0, kind).as_py()
        except (ValueError, LookupError, OSError):  # as zoneinfo raises them
            raise TableError(
                f"{where} holds times in the time zone {kind.tz!r}, which is not known"
            ) from None


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The common type that a rare type corresponds to."""
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_type(kind.storage_type)
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_run_end_encoded(kind) or (pa.types.is_dictionary(kind) and not is_text(kind)):
        return _plain_type(kind.value_type)
    return kind


def _as_plain(column: pa.ChunkedArray, plain: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_run_end_encoded(column.type):  # Arrow cannot cast these
        chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
        column = pa.chunked_array(chunks, column.type.value_type)
    return column.cast(plain)


# -------------------------------------------------------------------- types


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text, including dictionary-encoded text."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def in_words(kind: pa.DataType) -> str:
    """The values of a type, in words.

    >>> in_words(pa.date32()), in_words(pa.list_(pa.string()))
    ('dates', 'lists of text')
    """
    types = pa.types
    if types.is_dictionary(kind):
        return in_words(kind.value_type)
    if is_list(kind):
        return f"lists of {in_words(kind.value_type)}"
    words = {
        "text": is_text(kind),
        "truth values": types.is_boolean(kind),
        "whole numbers": types.is_integer(kind),
        "numbers": types.is_floating(kind) or types.is_decimal(kind),
        "dates": types.is_date(kind),
        "dates with times": types.is_timestamp(kind),
        "times": types.is_temporal(kind),
        "objects": types.is_struct(kind) or types.is_map(kind),
        "nothing": types.is_null(kind),
    }
    return next((word for word, fits in words.items() if fits), str(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether a column holds numbers."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def is_list(kind: pa.DataType) -> bool:
    """Whether a column holds lists."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )
