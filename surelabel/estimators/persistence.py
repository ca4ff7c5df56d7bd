"""Model files: the skops format, which loads data and never code, with our own version stamp
inside.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..exceptions import ModelFileError, first_few
from ..files import replacing

#: Raised when a file of the new form could not be read by the old code.
FORMAT = 1
STAMP = "surelabel.json"


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model (an estimator or a pipeline with one) to a file.

    The file appears complete or not at all: it is written beside its place and then renamed.

    Parameters
    ----------
    model : estimator
        The model.
    path : path-like
        Where to; ``.skops`` is the usual ending.
    """
    # it imports half of the scientific stack: only those who save or load wait for it
    import skops.io

    content = BytesIO(skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(STAMP, json.dumps({"format": FORMAT, "surelabel": version("surelabel")}))
    with replacing(path) as file:
        file.write(content.getvalue())


def load_model(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Read a model that :func:`save_model` wrote. No code from the file is run.

    Parameters
    ----------
    path : path-like
        The model file.
    trusted : sequence of str, default=()
        Names of further types or functions that the file may refer to, such as a kernel function of
        your own.

    Returns
    -------
    estimator
    """
    import skops.io

    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path}: the model file cannot be read ({error.strerror})") from None
    _check_stamp(path, content)
    try:
        named = skops.io.get_untrusted_types(data=content)
        unknown = [name for name in named if not _ours(name) and name not in trusted]
        model = None if unknown else skops.io.loads(content, trusted=named)
    except Exception as error:
        # Whatever makes the reader stumble, it is the file that is broken, or written in a way not
        # known here.
        raise ModelFileError(
            f"{path}: the model file is damaged, or of a newer format ({type(error).__name__}: "
            f"{error}); save the model again"
        ) from error
    if unknown:
        raise ModelFileError(
            f"{path}: the model refers to {first_few(unknown)}, which surelabel does not load by "
            "itself; "
            "if you know where the file comes from, pass these names as trusted=[...]"
        )
    _forget_folders(model, set())
    return model


def _forget_folders(part: Any, seen: set[int]) -> None:
    """Take every cache folder out of a model: what a file names must not be written to, and read as
    pickles.
    """
    if id(part) in seen:
        return
    seen.add(id(part))
    if isinstance(part, BaseEstimator) and getattr(part, "memory", None) is not None:
        part.memory = None
    inner: Iterable[Any] = ()
    if isinstance(part, Mapping):
        inner = part.values()
    elif isinstance(part, list | tuple | set):
        inner = part
    elif isinstance(part, np.ndarray):
        inner = part.flat if part.dtype == object else ()
    elif hasattr(part, "__dict__") and not isinstance(part, type):
        inner = vars(part).values()
    for each in list(inner):
        _forget_folders(each, seen)


def _ours(name: str) -> bool:
    """Whether a type is one of our own, or one of the data types that models are made of and skops
    leaves to the reader.
    """
    return name.startswith(
        ("surelabel.estimators.", "surelabel.data.candidates.", "sklearn.model_selection._split.")
    ) or name in (
        "scipy.sparse._csr.csr_array",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.tree._tree.Tree",
        "surelabel.distributed.SUREClassifier",
        "surelabel.tables._columns.CategoryColumn",
        "surelabel.tables._columns.NumberColumn",
        "surelabel.tables._columns.TextColumn",
        "surelabel.tables._columns.VectorColumn",
        "surelabel.tables.encoding.Feature",
        "surelabel.tables.encoding.TableEncoder",
    )


def _check_stamp(path: Path, content: bytes) -> None:
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            damaged = archive.testzip()
            stamp = json.loads(archive.read(STAMP)) if STAMP in archive.namelist() else None
    except (
        zipfile.BadZipFile,
        zlib.error,
        OSError,
        EOFError,
        ValueError,
        NotImplementedError,
    ) as error:
        raise ModelFileError(
            f"{path}: this is not a surelabel model file, or it is truncated ({error})"
        ) from None
    if damaged is not None:
        raise ModelFileError(
            f"{path}: the model file is damaged (in {damaged}); save the model again"
        )
    if not isinstance(stamp, dict) or not isinstance(stamp.get("format"), int):
        raise ModelFileError(
            f"{path}: this is a file of another program, not a surelabel model; make one with "
            "save_model"
        )
    if stamp["format"] > FORMAT:
        raise ModelFileError(
            f"{path}: the model was saved by surelabel {stamp.get('surelabel')}, newer than this "
            "one "
            f"({version('surelabel')}); upgrade surelabel"
        )
