"""Dates and times that are written as text, or have a type of their own → days and seconds."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.arrow_tables import combined, in_words, is_text
from ..data.text_values import blanked, flags, missing
from ..exceptions import TableError

_CLOCK = (
    r"(?P<H>[0-9]{1,2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.,][0-9]+)?)?"
    r"(?: ?(?P<P>[AaPp])\.?[Mm]\.?)?"
)
_REST = rf"(?:,?[T ]+{_CLOCK} ?(?:Z|UTC|GMT|[-+][0-9]{{2}}:?[0-9]{{2}})?)?$"
_DAY, _MONTH = r"(?P<d>[0-9]{1,2})", r"(?P<m>[0-9]{1,2})"
#: Years of two digits begin in 1930, as in spreadsheets.
_YEAR, FIRST_SHORT = r"(?P<y>[0-9]{4}|[0-9]{2})", 30
#: Formats of dates and times. Times are local: a time zone after them is ignored.
ORDERS = {
    "year-month-day": rf"^(?P<y>[0-9]{{4}})[-/.]{_MONTH}[-/.]{_DAY}{_REST}",
    "day.month.year": rf"^{_DAY}[-/.]{_MONTH}[-/.]{_YEAR}{_REST}",
    "month/day/year": rf"^{_MONTH}[-/.]{_DAY}[-/.]{_YEAR}{_REST}",
    "clock": rf"^{_CLOCK}$",
}
#: What looks like a date or time, in whatever format.
DATE = "|".join(re.sub(r"\?P<\w>", "?:", pattern) for pattern in ORDERS.values())
DAY = 86_400.0
YEAR, WEEK = 365.2425, 7.0
#: Days from 1 January 1970, a Thursday, to a Monday.
MONDAY = 4


def is_time(kind: pa.DataType) -> bool:
    """Whether a column holds dates or times, and not durations."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind))


def find_order(texts: pa.Array, *, all_of_them: bool = True) -> str | None:
    """The format of all texts, or of most; None if they are not dates or times, or if day and month
    could be swapped.
    """
    wrong = {order: int(parse_times(texts, order)[2].sum()) for order in ORDERS}
    least = min(wrong.values())
    fitting = [order for order, n in wrong.items() if n == least]
    if len(fitting) > 1 or least > (0 if all_of_them else len(texts) / 2):
        return None
    return fitting[0]


def parse_times(texts: pa.Array, order: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Days since 1970 and seconds since midnight (NaN where there is none), and where a text is
    neither missing nor in the format ``order``.

    >>> parse_times(pa.array(["1970-01-03 10:00", "NA", "1970-02-31"]), "year-month-day")
    (array([ 2., nan, nan]), array([36000.,    nan,    nan]), array([False, False,  True]))
    """
    found = pc.extract_regex(pc.utf8_trim_whitespace(texts), ORDERS[order])
    there = flags(found.is_valid())

    def numbers(name: str) -> np.ndarray:
        part = pc.struct_field(found, name)
        part = pc.if_else(pc.equal(part, ""), "0", part).cast(pa.int64())
        return np.asarray(pc.fill_null(part, 0).to_numpy(zero_copy_only=False))

    hour, minute, second = numbers("H"), numbers("M"), numbers("S")
    half = pc.utf8_lower(pc.struct_field(found, "P"))  # AM or PM: 12 AM is midnight
    twelve = flags(pc.fill_null(pc.is_in(half, pa.array(["a", "p"], half.type)), False))
    good = there & (~twelve | ((hour > 0) & (hour < 13)))
    hour = np.where(twelve, hour % 12, hour)
    hour += 12 * flags(pc.fill_null(pc.equal(half, "p"), False))
    good &= (hour < 24) & (minute < 60) & (second < 61)
    days = np.zeros(len(there))
    if order != "clock":
        year, month, day = numbers("y"), numbers("m"), numbers("d")
        short = flags(pc.equal(pc.fill_null(pc.utf8_length(pc.struct_field(found, "y")), 0), 2))
        year = year + short * np.where(year < FIRST_SHORT, 2000, 1900)
        good &= (month >= 1) & (month <= 12) & (day >= 1)
        months = (year - 1970).astype("M8[Y]").astype("M8[M]") + np.where(good, month - 1, 0)
        dates = months.astype("M8[D]") + np.where(good, day - 1, 0)
        good &= dates.astype("M8[M]") == months  # no 31st of February
        days = dates.astype(np.float64)
    seconds = 3600.0 * hour + 60 * minute + second
    days[~good], seconds[~good] = np.nan, np.nan
    return days, seconds, ~good & ~flags(missing(texts))


def read_times(
    column: pa.ChunkedArray, order: str | None, name: str, source: str
) -> tuple[np.ndarray, np.ndarray]:
    """Days since 1970 and seconds since midnight, NaN where missing."""
    kind = column.type
    if is_text(kind):
        texts = combined(column)
        texts = blanked(texts, missing(texts))
        if order is None:
            raise TableError(
                f"{source}: column {name!r} holds text that is not a date or time, or in which day "
                "and month could be swapped; write dates as 2020-01-31"
            )
        days, seconds, wrong = parse_times(texts, order)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise TableError(
                f"{source}: row {row + 1}, column {name!r}: {str(column[row].as_py())[:40]!r} "
                f"where a date or time is needed ({order}); correct or empty the cell"
            )
        return days, seconds
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan), np.full(len(column), np.nan)
    if not is_time(kind):
        raise TableError(
            f"{source}: column {name!r} holds {in_words(kind)}, not dates or times; leave the "
            "column out"
        )
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        column = pc.local_timestamp(column)
    per_second = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
    scale = {pa.date32(): 1 / DAY, pa.date64(): 1000.0}.get(kind) or per_second[kind.unit]
    width = pa.int32() if column.type.bit_width == 32 else pa.int64()
    values = column.cast(width).cast(pa.float64(), safe=False)
    total = np.asarray(pc.fill_null(values, np.nan).to_numpy()) / scale
    days = np.floor(total / DAY)
    return days, total - days * DAY
