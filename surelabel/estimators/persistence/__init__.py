"""Model files: surelabel's own models as numbers, texts and plain arrays, and nothing that runs.

``_file`` writes and reads the bytes, ``_values`` the values, and :mod:`surelabel.estimators.stored`
lists the classes and what each must hold.
"""

from __future__ import annotations

import os
import stat
from io import BytesIO
from typing import Any, BinaryIO

from ...exceptions import ModelFileError, ParameterError
from ...files import FULL, checked_path, replacing
from ...text import printable
from ._file import Damaged, Reader, file_of, foreign

__all__ = ["foreign", "load_model", "save_model"]


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, which appears complete or not at all.

    Parameters
    ----------
    model : estimator
        An estimator of surelabel, a ``TableEncoder``, or the model of a table that
        :func:`surelabel.fit` or :func:`surelabel.clean` learned. Pipelines and models around other
        estimators are refused. Parameters that only say how to work are not stored: ``n_jobs``,
        ``verbose``, ``callback``, and a ``cv`` or ``random_state`` that is an object.
    path : path-like
        Where to write it.

    Raises
    ------
    ModelFileError
        If model files cannot hold such a model.
    ParameterError
        If no file can be written at ``path``.
    OSError
        If the disk is full.
    """
    from ._values import write_object

    path = checked_path(path)
    arrays: list[Any] = []
    try:
        content = file_of(write_object(model, arrays), arrays)
        _read(BytesIO(content))  # by all the rules of load_model
    except (MemoryError, OSError):
        raise
    except Exception as error:
        raise ModelFileError(f"{path}: the model cannot be saved: {_one_line(error)}") from error
    try:
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        if error.errno in FULL:  # the path is fine, but the disk is full
            raise
        raise ParameterError(
            f"{path}: the model cannot be written there ({error.strerror}); name another file"
        ) from None


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model that :func:`save_model` wrote. Nothing in the file is run, and every value is
    checked.

    Parameters
    ----------
    path : path-like
        The model file.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file cannot be read, is damaged, or is of another version.
    """
    path = checked_path(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ModelFileError("the model file cannot be read (it is not a file)")
        with open(path, "rb") as file:
            return _read(file)
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


def _read(file: BinaryIO) -> Any:
    from ._values import Sizes, read_object  # imports the methods

    source = Reader(file)
    model = read_object(source.model, source, {"classifier", "encoder", "table model"}, Sizes())
    source.finish()
    return model


def _one_line(error: Exception) -> str:
    """The message of an error, in one short line."""
    text = " ".join(printable(error).split())
    if not isinstance(error, ModelFileError):
        text = f"{type(error).__name__}: {text}"
    return text if len(text) <= 400 else f"{text[:400]}…"
