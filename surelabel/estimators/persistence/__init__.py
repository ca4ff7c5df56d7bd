"""Model files: zip archives with a list of parts in JSON and plain arrays, from which only known
types are built.

``_archive`` reads and writes the zip archive, ``_taking_apart`` turns a model into parts
(``_parts``), ``_checking`` checks the parts of a file, ``_building`` builds a model from them,
``_types`` says which types and functions a file may name, and ``_consistency`` checks what compiled
code does not check.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from io import BytesIO
from typing import Any, BinaryIO

from ...exceptions import ModelFileError, ParameterError
from ...files import FULL, checked_path, replacing
from ...text import printable
from ._archive import Damaged, read_archive, write_archive
from ._types import Types

# The modules for parts import half of scikit-learn, so they are imported only to save or load.

__all__ = ["load_model", "save_model"]


def save_model(model: Any, path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> None:
    """Write a fitted model (an estimator or a pipeline with one) to a file.

    The file appears complete or not at all. A model that :func:`load_model` would refuse is not
    written.

    Parameters
    ----------
    model : estimator
        The model.
    path : path-like
        Where to write it.
    trusted : sequence of str, default=()
        Names of your own types or functions that the model contains, such as
        ``"my_module.my_kernel"``; :func:`load_model` needs them, too.

    Raises
    ------
    ModelFileError
        If the model contains something that cannot be written to model files.
    ParameterError
        If no file can be written at ``path``.
    OSError
        If the disk is full.
    """
    from ._taking_apart import take_apart

    path = checked_path(path)
    content = BytesIO()
    types = Types(trusted)
    try:
        write_archive(content, *take_apart(model, types))
        _read(content, types)  # check by all the rules of load_model
    except (MemoryError, OSError):
        raise
    except Exception as error:
        raise ModelFileError(f"{path}: the model cannot be saved: {_one_line(error)}") from error
    try:
        with replacing(path) as file:
            file.write(content.getbuffer())
    except OSError as error:
        if error.errno in FULL:  # the disk is at fault, not the path
            raise
        raise ParameterError(
            f"{path}: the model cannot be written there ({error.strerror}); name another file"
        ) from None


def load_model(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Read a model that :func:`save_model` wrote. Nothing in the file is run.

    Only these are built: estimators and encoders of surelabel, those of scikit-learn that the guide
    lists, arrays, sparse matrices and Python's own containers. Everything is checked before
    anything is built. ``memory`` and ``n_jobs`` of estimators are not taken from a file.

    Parameters
    ----------
    path : path-like
        The model file.
    trusted : sequence of str, default=()
        Names of further types or functions that the file may refer to, such as
        ``"my_module.my_kernel"``. Their modules are imported, so name only what you trust.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file cannot be read, is damaged, is of another version, or refers to something that
        is not trusted.
    """
    path = checked_path(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ModelFileError("the model file cannot be read (it is not a file)")
        with open(path, "rb") as file:
            return _read(file, Types(trusted))
    except MemoryError:
        raise
    except OSError as error:
        raise ModelFileError(f"{path}: the model file cannot be read ({error.strerror})") from None
    except Exception as error:
        if isinstance(error, ModelFileError) and not isinstance(error, Damaged):
            raise ModelFileError(f"{path}: {_one_line(error)}") from None
        # Whatever error the reader raises, the cause is a damaged file.
        raise ModelFileError(
            f"{path}: the model file is damaged ({_one_line(error)}); save the model again"
        ) from error


def _read(file: BinaryIO, types: Types) -> Any:
    from ._building import build
    from ._checking import check

    content, arrays = read_archive(file)
    return build(check(content, arrays, types), arrays, types)


def _one_line(error: Exception) -> str:
    """The message of an error, in one line that is not too long."""
    text = " ".join(printable(error).split())
    if not isinstance(error, ModelFileError):
        text = f"{type(error).__name__}: {text}"
    return text if len(text) <= 400 else f"{text[:400]}…"
