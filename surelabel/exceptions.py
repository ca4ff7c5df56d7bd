"""The errors that users can see. All are ``ValueError``: bad input, explained in one sentence."""

import reprlib
from collections.abc import Iterable
from typing import Any

__all__ = [
    "CandidateError",
    "DataFileError",
    "DataMissingError",
    "DownloadError",
    "InputError",
    "MemoryNeedError",
    "MissingExtraError",
    "ModelFileError",
    "NumericalError",
    "ParameterError",
    "SurelabelError",
    "TableError",
]


class SurelabelError(ValueError):
    """Base class of every error that surelabel raises on purpose."""


class CandidateError(SurelabelError):
    """The candidates cannot be used: an empty set, an unknown class, or not one set per row."""


class InputError(SurelabelError):
    """The instances ``X`` cannot be used: NaN, infinity, or other columns than at fit."""


class InputTypeError(InputError, TypeError):
    """The instances ``X`` are not numbers; a ``TypeError``, too, as scikit-learn requires."""


class ParameterError(SurelabelError):
    """A parameter is out of range, or names something that does not exist."""


class MemoryNeedError(SurelabelError):
    """The computation would need more memory than this machine has."""


class MissingExtraError(SurelabelError, ModuleNotFoundError):
    """A library is not installed; the message names the extra that brings it."""


class NumericalError(SurelabelError):
    """A linear system could not be solved to any accuracy."""


class ModelFileError(SurelabelError):
    """A model file is corrupt, truncated, written by another program, or from a newer version."""


class DataMissingError(SurelabelError):
    """A data set is not on this machine; the message says where its file belongs."""


class DataFileError(SurelabelError):
    """A data file is damaged, or not in the expected form."""


class TableError(SurelabelError):
    """A table cannot be read, written or used; the message names the file, the row and the column,
    and says what to do.
    """


class DownloadError(SurelabelError):
    """A data file could not be downloaded, or is not the expected one; nothing was kept."""


def first_few(items: Iterable[Any], shown: int = 5) -> str:
    """The first few items as text, and how many more there are.

    >>> first_few([3, 8, 12, 40, 41, 50, 77])
    '3, 8, 12, 40, 41 and 2 more'
    """
    items = list(items)
    text = ", ".join(str(item) for item in items[:shown])
    more = len(items) - shown
    return f"{text} and {more:,} more" if more > 0 else text


def shown(value: object) -> str:
    """A value as one short line, for messages.

    >>> shown({"a": list(range(100))})
    "{'a': [0, 1, 2, 3, 4, 5, ...]}"
    """
    return " ".join(reprlib.repr(value).split())
