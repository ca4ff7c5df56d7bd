"""What kind a column is by default: number, category, text, vector, time, image or unused."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.arrow_tables import decimal_of, in_words, is_list, is_number, is_text
from ..data.spelling import (
    AMOUNT,
    DURATION,
    NAME_LIKE,
    NUMBER,
    blanked,
    find_decimal,
    missing,
    parse_amounts,
    parse_numbers,
    two_readings,
)
from ..exceptions import first_few
from ._columns import UNSPACED, Kind, Reader, is_plain
from ._pictures import ENDINGS, are_images
from ._times import DATE, find_order, is_time

#: A text column with at most this many different values holds categories.
FEW = 50
#: Cells of several words are text if the column has more different values than this share of its
#: cells: their words repeat more often than the cells do ("buick skylark 320").
MANY = 0.1
#: Number of cells examined to see what a text column holds.
LOOKED_AT = 1000
#: Why images are not used beside vectors: the vectors were most likely computed from them.
BESIDE = "it holds images beside vectors; --as {}=image learns from them, too"
#: Number of images opened to see whether they can be read.
TRIED = 3
_ENTRY = r"(?:np\.[a-z]+[0-9]+\([-+0-9.eE]+\)|[-+0-9.eE]+)"
#: Vectors in text, as Python and NumPy print lists, tuples and arrays; or in files.
VECTOR = rf"^\[[,\s]*(?:{_ENTRY}[,\s]*)*\]$|^\({_ENTRY}(?:,\s+{_ENTRY})+\)$|\.(?i:npy)$"
#: Identifiers: letters followed by a number, or long mixtures of both; and the usual names of
#: columns that hold identifiers.
CODE = (
    r"^([\p{L}]{1,6}[-_#]?[0-9]{2,}|[0-9]+\p{L}"
    r"|(?i:[0-9a-f]{8,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]+))$"
)
ID_NAME = re.compile(r"(?i:(^|[_\W])(id|uuid|guid|key|index|nr|no))$|[a-z]I[Dd]$")
#: A number with a letter after it, such as the house number 136A, is a name among others without
#: one.
NUMBERED = r"^[0-9]+[^\W\d_]$"
#: What numbers with units are called.
AMOUNTS = "numbers with units or thousands separators"
#: Numbers with a decimal separator other than the expected one.
FOREIGN = {".": r"^[-+]?[0-9]+,[0-9]+$", ",": r"^[-+]?[0-9]+\.[0-9]+$"}
#: The other decimal separator, and what they are called.
OTHER, MARKS = {".": ",", ",": "."}, {".": "point", ",": "comma"}

Found = tuple[Kind | None, str]


def column_kinds(table: pa.Table, names: Sequence[str]) -> list[Found]:
    """The kind of each column, or None and why the column is not used.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    names : sequence of str
        The columns.

    Returns
    -------
    list of (kind, reason)
        The reason is empty where there is a kind.
    """
    reader = Reader(table, decimal_of(table) or ".")
    found: dict[str, Found] = {}
    plain = []
    for name in names:
        held = reader.holds(name)
        if is_text(held) or is_plain(held) or pa.types.is_duration(held):
            plain.append(name)
        elif is_list(held) and is_number(held.value_type):
            found[name] = ("vector", "") if reader.is_known(name) else (None, "it is empty")
        elif not reader.is_known(name):
            found[name] = (None, "it is empty")
        elif is_time(held):
            once = len(pc.unique(reader.column(name))) == 1
            found[name] = (None, "it has only one value") if once else ("time", "")
        else:
            found[name] = (None, f"it holds {in_words(held)}")
    for part in reader.column_slices(plain):
        found |= _plain_kinds(reader, plain[part])
    if any(kind == "vector" for kind, _ in found.values()):
        found |= {
            name: (None, BESIDE.format(name))
            for name, (kind, _) in found.items()
            if kind == "image"
        }
    return [found[name] for name in names]


def _plain_kinds(reader: Reader, names: Sequence[str]) -> dict[str, Found]:
    """Kinds of columns that hold numbers, truth values or text."""
    values, wrong = reader.parsed(names)
    known = ~np.isnan(values)
    numbers = np.asarray(~wrong.any(axis=1))
    empty: np.ndarray = numbers & ~np.any(known, axis=1)
    full = known.all(axis=1)
    constant = full & (values == values[:, :1]).all(axis=1)
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        whole: np.ndarray = np.all((values == np.floor(values)) | ~known, axis=1)
        counting: np.ndarray = full & whole & np.all(np.diff(values, axis=1) == 1, axis=1)
    found: dict[str, Found] = {}
    words = []
    for i, name in enumerate(names):
        if empty[i]:
            found[name] = (None, "it is empty")
        elif not numbers[i] or (whole[i] and reader.matches(name, NAME_LIKE)):
            words.append(name)
        elif constant[i]:
            found[name] = (None, "it has only one value")
        elif counting[i] and reader.n_rows > 2:
            found[name] = (None, "it counts the rows")
        elif whole[i] and ID_NAME.search(name) and _all_differ(values[i], known[i]):
            found[name] = (None, "it names the rows: its numbers all differ")
        else:
            # as for the same column of a text file, where True and False are words
            truth = pa.types.is_boolean(reader.holds(name))
            found[name] = ("category" if truth else "number", "")
    return found | (_text_kinds(reader, words) if words else {})


def _all_differ(values: np.ndarray, known: np.ndarray) -> bool:
    return bool(len(np.unique(values[known])) == known.sum() > 2)


def _text_kinds(reader: Reader, names: Sequence[str]) -> dict[str, Found]:
    """Kinds of columns that hold words."""
    texts = reader.flat(names)
    texts = blanked(texts, missing(texts))
    codes = pc.fill_null(texts.dictionary_encode().indices, -1).to_numpy().reshape(len(names), -1)
    known = codes >= 0
    n_known = known.sum(axis=1)
    ordered = np.sort(codes, axis=1)
    different = np.sum((np.diff(ordered, axis=1, prepend=-1) > 0), axis=1)
    # A sample of the texts of each column, evenly spread.
    every = -(-n_known // LOOKED_AT)
    chosen = known & (np.cumsum(known, axis=1) % every[:, None] == 0)
    looked_at = pc.utf8_trim_whitespace(texts.filter(pa.array(chosen.ravel())))
    owner, n_chosen = np.nonzero(chosen)[0], chosen.sum(axis=1)
    ends = np.cumsum(n_chosen).tolist()

    def sample(i: int) -> pa.Array:
        return looked_at.slice(ends[i] - n_chosen[i], n_chosen[i])

    def mean(cells: pa.Array) -> np.ndarray:
        weights = cells.cast(pa.float64()).to_numpy()
        return np.asarray(np.bincount(owner, weights, len(names)) / n_chosen)

    def share(pattern: str) -> np.ndarray:
        return mean(pc.match_substring_regex(looked_at, pattern))

    of_foreign, of_vectors, of_dates, of_numbers = map(
        share, (FOREIGN[reader.decimal], VECTOR, DATE, NUMBER[reader.decimal])
    )
    of_unspaced, of_codes, of_images = map(share, (UNSPACED, CODE, ENDINGS))
    of_amounts, of_others = map(share, (AMOUNT[reader.decimal], AMOUNT[OTHER[reader.decimal]]))
    of_numbered, of_durations = share(NUMBERED), share(DURATION)
    n_words = mean(pc.count_substring_regex(looked_at, r"\S+"))
    found: dict[str, Found] = {}
    for i, name in enumerate(names):
        if different[i] == 1 and n_known[i] == reader.n_rows:
            found[name] = None, "it has only one value"
        elif of_foreign[i] == 1:
            found[name] = None, _hint(reader, name, sample(i))
        elif of_vectors[i] == 1:
            found[name] = "vector", ""
        elif of_dates[i] == 1 or (of_durations[i] == 1 and of_amounts[i] < 1):
            found[name] = _time_kind(sample(i), of_durations[i] == 1)
        elif of_images[i] == 1 and are_images(sample(i).slice(0, TRIED).to_pylist(), reader.source):
            found[name] = "image", ""
        elif different[i] <= min(FEW, n_known[i] / 2):
            found[name] = "category", ""
        else:
            mine = sample(i)
            repeat = MANY * n_known[i] < different[i] <= 0.9 * n_known[i]
            houses = of_numbered[i] > 0 < of_numbers[i] and of_numbered[i] + of_numbers[i] > 0.9999
            united = max(of_amounts[i], of_others[i]) == 1 and not houses
            few_units = 1 if of_numbers[i] <= 0.9 else 0  # a single unit may be a slip
            if united and of_numbers[i] < 1 and _n_units(mine) <= few_units:
                found[name] = None, _hint(reader, name, mine)
                continue
            if of_numbers[i] > 0.9 and (refusal := _refusal(reader, name)):
                found[name] = None, refusal
            elif n_words[i] >= (2 if repeat else 3) or of_unspaced[i] > 0.5:
                found[name] = "text", ""
            elif of_codes[i] > 0.9:
                found[name] = None, "its values look like identifiers"
            elif different[i] > 0.9 * n_known[i]:
                found[name] = None, "nearly all its values differ"
            else:
                found[name] = "category", ""
    return found


def _n_units(texts: pa.Array) -> int:
    """The number of different units after or before numbers."""
    return len({unit for mark in MARKS for unit in parse_amounts(texts, mark)[2]})


def is_hint(reason: str) -> bool:
    """Whether a reason says that a column of text can be read as numbers."""
    return "=number" in reason


def _hint(reader: Reader, name: str, texts: pa.Array) -> str:
    """Why a column of numbers in text is not used, and how to read it."""
    decimal = find_decimal(texts, reader.decimal) or (reader.decimal if reader.said else None)
    if decimal is None:
        cell, point, comma = two_readings(texts)
        return (
            f"it holds numbers that can be read in two ways ({cell!r} is {point:.15g} with "
            f"--settings decimal=. and {comma:.15g} with --settings decimal=,); "
            f"--as {name}=number with one of the two reads them"
        )
    same = decimal == reader.decimal
    _, wrong, *_ = (parse_numbers if same else parse_amounts)(texts, reader.decimal)
    cell = texts[int(np.argmax(wrong))].as_py()  # one that plain numbers do not explain
    held = AMOUNTS if same else f"numbers with a decimal {MARKS[decimal]}"
    return f"it holds {held} ({cell!r}); --as {name}=number reads them"


def _time_kind(texts: pa.Array, durations: bool) -> Found:
    """The kind "time" if the dates can be read, "number" for durations, else None and why not."""
    if find_order(texts) is not None:
        return "time", ""
    if durations:
        return "number", ""
    if pc.all(pc.match_substring_regex(texts, r"^[0-9]+:[0-9]{2}$")).as_py():
        return (
            None,
            "it holds hours beyond 23, or minutes and seconds; write durations as 39:24:00",
        )
    return (
        None,
        "it holds dates in which day and month could be swapped, or dates in different formats",
    )


def _refusal(reader: Reader, name: str) -> str:
    """Why a column of numbers with words among them is refused, and what helps; empty if there are
    no words, or only house numbers.
    """
    rows = np.flatnonzero(reader.parsed([name])[1][0])
    cells = pc.unique(reader.column(name).take(pa.array(rows))).to_pylist()
    if all(re.match(NUMBERED, cell.strip()) for cell in cells):
        return ""
    return (
        f"row {rows[0] + 1}, column {name!r}: {first_few(repr(cell[:40]) for cell in cells)} in a "
        "column of numbers; empty the cell, exclude the column, or say that it is a category "
        f"({len(rows)} such cell(s); --exclude {name}, --as {name}=category)"
    )


def is_refusal(reason: str) -> bool:
    """Whether a reason says that a column of numbers has words among them."""
    return " in a column of numbers; empty the cell, " in reason
