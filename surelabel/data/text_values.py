"""What the text of a cell stands for: a number, a missing value, or just the text. The rules apply
to one cell at a time, whatever the rest of its column holds.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

#: Texts that mean "no value" in columns that are learned from; "None" is not among them, because
#: people use it as a category; "\\N" comes from database dumps.
MISSING = [
    *("", "NA", "N/A", "#N/A", "n/a", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", r"\N")
]
#: Numbers that are identifiers: leading zeros, or more digits than an integer can hold.
NAME_LIKE = r"^\s*[-+]?(0[0-9]|[0-9]{19})"
_NUMBER = r"^[-+]?(([0-9]+{0}?[0-9]*|{0}[0-9]+)([eE][-+]?[0-9]+)?|(?i:inf(inity)?))$"
NUMBER = {".": _NUMBER.format(r"\."), ",": _NUMBER.format(",")}
#: Numbers that can be stored as such without loss: no plus sign, no leading zeros.
_PLAIN = r"^-?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][-+]?[0-9]+)?$"


def missing(texts: pa.Array) -> pa.Array:
    """Whether a text is null, blank, or a word for "missing".

    >>> missing(pa.array(["NA", " ", None, "0", "None"])).to_pylist()
    [True, True, True, False, False]
    """
    words = pa.array(MISSING, texts.type)
    return pc.or_(texts.is_null(), pc.is_in(pc.utf8_trim_whitespace(texts), words))


def parse_numbers(texts: pa.Array, decimal: str = ".") -> tuple[np.ndarray, np.ndarray]:
    """The numbers that texts spell, NaN where there is none; and where a text is neither a number
    nor missing.

    >>> values, wrong = parse_numbers(pa.array(["1.5", " +2e3", "NA", "x", "inf"]))
    >>> values.tolist(), wrong.tolist()
    ([1.5, 2000.0, nan, nan, inf], [False, False, False, True, False])
    """
    if decimal == ".":
        try:  # works for nearly all columns of numbers, and is ten times as fast
            values = _floats(texts)
        except pa.ArrowInvalid:
            pass
        else:
            nothing = texts.take(pa.array(np.flatnonzero(np.isnan(values))))
            if pc.all(missing(nothing), min_count=0).as_py():
                return values, np.zeros(len(values), bool)
    trimmed = pc.utf8_trim_whitespace(texts)
    good = pc.fill_null(pc.match_substring_regex(trimmed, NUMBER[decimal]), False)
    plain = blanked(trimmed, pc.invert(good))
    if decimal == ",":
        plain = pc.replace_substring(plain, ",", ".")
    return _floats(plain), ~flags(pc.or_(good, missing(texts)))


def blanked(texts: pa.Array | pa.ChunkedArray, absent: Any) -> pa.Array | pa.ChunkedArray:
    """Texts, null where ``absent``.

    Not ``if_else(absent, None, texts)``, which returns wrong texts for slices of arrays up to Arrow
    23.
    """
    return pc.if_else(absent, pa.nulls(len(texts), texts.type), texts)


def canonical(texts: pa.Array, decimal: str = ".") -> pa.Array:
    """Make texts that mean the same number or truth value equal.

    >>> canonical(pa.array(["2", "2.0", "2e0", "0.50", "True", "2b", "2.b"])).to_pylist()
    ['2', '2', '2', '0.5', 'true', '2b', '2.b']
    """
    texts = pc.utf8_trim_whitespace(texts)
    values, _ = parse_numbers(texts, decimal)
    known = ~np.isnan(values) & ~flags(
        pc.fill_null(pc.match_substring_regex(texts, r"^(0|-?[1-9][0-9]*)$"), False)
    )
    whole = known & (np.abs(values) < 2**63)
    whole[whole] = values[whole] == np.floor(values[whole])
    integers = pa.array(np.where(whole, values, 0).astype(np.int64), mask=~whole)
    fractions = pa.array(values, mask=whole | ~known)
    lowered = pc.utf8_lower(texts)
    truth = pc.is_in(lowered, pa.array(["true", "false"], texts.type))
    return pc.coalesce(
        integers.cast(texts.type), fractions.cast(texts.type), pc.if_else(truth, lowered, texts)
    )


def typed(texts: pa.Array, decimal: str = ".") -> pa.Array:
    """A column of text as integers, if all are whole numbers; as floats, if none has too many
    digits, a plus sign or leading zeros (as identifiers have). Otherwise it stays text: no value
    changes.

    >>> for column in (["1", "NA"], ["1", "2.50"], ["007", "8"], ["0.12345678901234567", "1"]):
    ...     print(typed(pa.array(column)).type)
    int64
    double
    string
    string
    """
    values, wrong = parse_numbers(texts, decimal)
    absent = np.isnan(values)
    if wrong.any() or absent.all():
        return texts
    plain = blanked(pc.utf8_trim_whitespace(texts), pa.array(absent))
    if decimal == ",":
        plain = pc.replace_substring(plain, ",", ".")
    try:
        integers = plain.cast(pa.int64())
        if _all(pc.equal(integers.cast(plain.type), plain)):
            return integers
    except pa.ArrowInvalid:
        pass
    if not _all(pc.match_substring_regex(plain, _PLAIN)):
        return texts
    numbers = pa.array(values, mask=absent)
    differ = plain.filter(pc.not_equal(numbers.cast(plain.type), plain)).unique()
    exact = all(Decimal(repr(float(text))) == Decimal(text) for text in differ.to_pylist())
    return numbers if exact else texts


def _all(truth: pa.Array) -> bool:
    return bool(pc.all(truth, min_count=0).as_py())


def _floats(texts: pa.Array) -> np.ndarray:
    return np.asarray(pc.fill_null(texts.cast(pa.float64()), np.nan).to_numpy())


def flags(truth: pa.Array) -> np.ndarray:
    """A column of truth values without missing ones, as a NumPy array."""
    return np.asarray(truth.to_numpy(zero_copy_only=False))
