"""Names, numbers and values as text for people, terminals and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from .exceptions import first_few


def printable(text: Any) -> str:
    """Text from a table or a file name, without characters that could move the cursor or break the
    line.

    >>> printable("red" + chr(27) + "[31m")
    'red [31m'
    """
    return "".join(letter if letter.isprintable() else " " for letter in str(text))


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """A question that offers the most similar known name; empty if none is similar.

    >>> did_you_mean("Lable", ["text", "label"])
    "did you mean 'label'? "
    >>> did_you_mean("colour", ["text", "label"])
    ''
    """
    lowered = {other.lower(): other for other in reversed(list(known))}
    close = get_close_matches(str(name).lower(), lowered, n=1)
    return f"did you mean {lowered[close[0]]!r}? " if close else ""


def suggest(name: Any, known: Iterable[str], what: str, listed: int = 12) -> str:
    """Suggest the most similar known name, and list the known ones.

    >>> suggest("lable", ["text", "label"], "columns")
    "did you mean 'label'? The columns are text, label"
    """
    known = list(known)
    meant = did_you_mean(name, known)
    return f"{meant}{'T' if meant else 't'}he {what} are {first_few(known, listed)}"


def percent(share: float | None) -> str:
    """A share in per cent, with one decimal.

    >>> percent(0.98765), percent(None)
    ('98.8 %', '–')
    """
    return "–" if share is None or math.isnan(share) else f"{100 * share:.1f} %"


def short_percent(share: float) -> str:
    """A share in per cent, with one more digit if it is small; number and sign stay on one line.

    >>> [short_percent(share).split() for share in (0.8234, 0.0123, 0.00004)]
    [['82', '%'], ['1.2', '%'], ['<', '0.1', '%']]
    """
    if 0 < share < 0.0005:
        return "<\N{NO-BREAK SPACE}0.1\N{NO-BREAK SPACE}%"
    return f"{100 * share:.{1 if share < 0.0995 and share else 0}f}\N{NO-BREAK SPACE}%"


def count(n: int, one: str = "row", many: str = "rows") -> str:
    """A number with its noun, in the singular or the plural.

    >>> count(1), count(2000), count(0, "class", "classes")
    ('1 row', '2,000 rows', '0 classes')
    """
    return f"{n:,} {one if n == 1 else many}"


def toml(value: Any) -> str:
    r"""A value in TOML, which differs from JSON in tables, infinity and one character.

    >>> print(toml({'say "hi"': ["a", float("inf"), True]}))
    {"say \"hi\"" = ["a", inf, true]}
    """
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{toml(key)} = {toml(part)}' for key, part in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def plain(value: Any) -> Any:
    """A value that JSON can hold: NumPy scalars and arrays as numbers and lists, NaN as null.

    >>> import numpy as np
    >>> plain({"a": np.float64(0.5), "b": np.arange(2), "c": float("nan")})
    {'a': 0.5, 'b': [0, 1], 'c': None}
    """
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays, without importing NumPy
        value = value.tolist()
    match value:
        case Mapping():
            return {str(plain(key)): plain(part) for key, part in value.items()}
        case list() | tuple():
            return [plain(part) for part in value]
        case float():
            return value if math.isfinite(value) else None
        case bool() | int() | str() | None:
            return value
    return str(value)
