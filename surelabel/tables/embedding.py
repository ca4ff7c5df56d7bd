"""Vectors that a user's function computes from the cells of a column."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.arrow_tables import find_column, source_of
from ..exceptions import ParameterError, TableError, shown
from .images import folder_of

#: The suffix of the names of vector columns.
EMBEDDED = " embedded"
#: A sparse matrix with more columns is refused: with its zeros it would take gigabytes.
WIDEST = 20_000
#: How the user's code may fail; its ``sys.exit()`` does not end the command.
FAILURES = (Exception, SystemExit)


def embed_columns(table: pa.Table, functions: Mapping[str, Any]) -> tuple[pa.Table, dict[str, str]]:
    """Add a column ``NAME embedded`` of vectors for each column that is to be embedded.

    Each column has a function that takes the list of its cells as texts ("" where missing; paths of
    files below the table's folder are made absolute) and returns as many vectors; or an object with
    ``transform``; or the ``"module:name"`` of either. Also returned is the new name of each column.
    """
    names = {}
    for column, function in functions.items():
        find_column(table, column)
        source = source_of(table)
        folder = folder_of(source)
        cells = [
            "" if cell is None else _absolute(str(cell), folder)
            for cell in table[column].to_pylist()
        ]
        function = imported("the function", function)
        function = getattr(function, "transform", function)
        if not callable(function):
            raise ParameterError(f"{shown(function)} is neither a function nor a transformer")
        vectors = _computed(function, cells, f"{source}: column {column!r}")
        new = column + EMBEDDED
        if new in table.column_names:
            raise TableError(f"{source}: the table already has a column {new!r}; rename it")
        flat = pa.array(vectors.ravel())
        lists = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
        table = table.append_column(new, lists.cast(pa.list_(pa.float64())))
        names[column] = new
    return table, names


def _absolute(cell: str, folder: Any) -> str:
    path = os.path.join(folder, cell)
    return path if len(cell) < 1000 and "\0" not in cell and os.path.isfile(path) else cell


def imported(what: str, thing: Any) -> Any:
    """An object, given as such or by its ``"module:name"``; a class is instantiated."""
    if isinstance(thing, str):
        name = thing
        module, sign, attribute = name.partition(":")
        if not sign:
            raise ParameterError(f"{what} must be module:name, not {name!r}")
        if "" not in sys.path:
            sys.path.insert(0, "")  # modules in the current folder, as with python -m
        try:
            if module.startswith("."):
                raise ImportError("the name of a module, not of a file, is needed")
            thing = import_module(module)
            for part in attribute.split("."):
                thing = getattr(thing, part)
        except FAILURES as error:
            raise ParameterError(f"{what} {name!r} cannot be found ({_why(error)})") from error
    if isinstance(thing, type):
        try:
            return thing()
        except FAILURES as error:
            raise ParameterError(
                f"{what} {thing.__name__} cannot be created ({_why(error)})"
            ) from error
    return thing


def _why(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _computed(function: Callable[[list[str]], Any], cells: list[str], where: str) -> np.ndarray:
    """The vectors of the cells; an error says what is wrong with the function."""
    try:
        found = function(cells)
    except (MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a panic of compiled code is not an Exception
        raise TableError(f"{where}: the function that embeds it failed ({_why(error)})") from error
    if hasattr(found, "toarray"):
        if found.shape[-1] > WIDEST:
            raise TableError(
                f"{where}: the vectors that embed it have {found.shape[-1]:,} numbers each, more "
                f"than {WIDEST:,}; compute fewer, or reduce them (TruncatedSVD)"
            )
        found = found.toarray()
    try:
        vectors = np.asarray(found, np.float64)
    except (TypeError, ValueError):
        vectors = np.empty(0)
    if vectors.ndim != 2 or len(vectors) != len(cells) or not vectors.shape[1]:
        raise TableError(
            f"{where}: the function that embeds it should give {len(cells)} vectors of numbers, "
            f"all of equal length, not {shown(found)}"
        )
    if not np.isfinite(vectors).all():
        raise TableError(f"{where}: the function that embeds it gives NaN or infinite numbers")
    return vectors
