"""Files of published data sets → arrays: MATLAB files of partial-label data, labelled CSV tables
and ``.npz`` archives.
"""

from __future__ import annotations

import csv
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..exceptions import CandidateError, DataFileError, SurelabelError, first_few
from ._mat import load_mat
from .candidates import CandidateSets
from .unpacking import check_members, no_memory


class PartialLabelData(NamedTuple):
    """Instances, their candidate labels and their true labels."""

    X: np.ndarray
    candidates: CandidateSets
    y: np.ndarray


def read_mat(path: Path) -> PartialLabelData:
    """Read a partial-label data set in M.-L. Zhang's format (MATLAB v5 or v7).

    The file holds ``data`` (instances × features), ``partial_target`` (labels × instances, 1 =
    candidate) and ``target`` (labels × instances, one 1 per instance), each dense or sparse, of any
    numeric type. Labels are numbered from 0.
    """
    try:
        return _partial_label_data(load_mat(path), path)
    except MemoryError:
        raise no_memory(path) from None


def _partial_label_data(content: dict[str, Any], path: Path) -> PartialLabelData:
    missing = [name for name in ("data", "partial_target", "target") if name not in content]
    if missing:
        raise DataFileError(
            f"{path} has no variable {first_few(missing)}; it holds "
            f"{first_few(content) or 'nothing'}"
        )
    X, partial, target = (
        _number_matrix(content, name, path) for name in ("data", "partial_target", "target")
    )
    try:
        X = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
    except ValueError:  # numpy's error for an array too large for any memory
        raise no_memory(path) from None
    if not np.isfinite(X).all():
        raise DataFileError(
            f"{path}: 'data' holds NaN or infinity in row "
            f"{first_few(np.unique(np.nonzero(~np.isfinite(X))[0]))}"
        )
    for name, matrix in (("partial_target", partial), ("target", target)):
        if matrix.shape != (partial.shape[0], len(X)):
            raise DataFileError(
                f"{path}: {name!r} is {matrix.shape[0]} × {matrix.shape[1]}, but it should be "
                f"{partial.shape[0]} × {len(X)} (labels × instances)"
            )
    try:
        candidates, truth = (CandidateSets.from_indicator(matrix.T) for matrix in (partial, target))
    except CandidateError as error:
        raise DataFileError(f"{path}: {error}") from None
    if len(several := np.flatnonzero(truth.sizes != 1)):
        raise DataFileError(
            f"{path}: 'target' names more than one true label for instance {first_few(several)}"
        )
    return PartialLabelData(X, candidates, truth.classes[truth.indices])


def read_csv(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read instances and labels from a table with a header line. The last column holds the labels:
    integers if all are whole numbers, otherwise strings. The other columns hold numbers.
    """
    with path.open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    y = np.array([row[-1] for row in rows])
    if all(label.isdecimal() for label in y.tolist()):
        y = y.astype(np.int64)
    return np.array([row[:-1] for row in rows], dtype=np.float64), y


def read_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read an archive with the arrays ``X`` (instances × features) and ``y`` (labels)."""
    X, y = _arrays(path, "y")
    return X, y


def read_crowd(path: Path) -> PartialLabelData:
    """Read an archive of votes: ``row``, ``annotator`` and ``label`` of each, numbered from 0, and
    ``X``, ``truth`` and ``classes``. The candidates are the labels with a vote; they keep the
    votes, too.
    """
    X, truth, classes, row, annotator, label = _arrays(
        path, "truth", "classes", "row", "annotator", "label"
    )
    try:
        if min(truth.min(), row.min(), label.min()) < 0:
            raise ValueError("a row or a label has a number below 0")
        names, column = np.unique(annotator, return_inverse=True)
        votes = np.full((len(X), len(names)), -1)
        votes[row, column] = label
        candidates = CandidateSets.from_ballots(votes, classes, unlabelled="error")
        return PartialLabelData(X, candidates, classes[truth])
    except MemoryError:
        raise no_memory(path) from None
    except (ValueError, TypeError, IndexError) as error:
        raise DataFileError(f"{path}: these are not votes: {_error_text(error)}") from None


def _arrays(path: Path, truth: str, *names: str) -> list[np.ndarray]:
    """``X``, the true labels and other arrays of an ``.npz`` archive."""
    try:
        with path.open("rb") as file:
            with zipfile.ZipFile(file) as archive:
                check_members(archive.infolist(), path, DataFileError)
            with np.load(file, allow_pickle=False) as arrays:
                X, y = arrays["X"].astype(np.float64), arrays[truth]
                others = [arrays[name] for name in names]
    except KeyError as error:
        raise DataFileError(f"{path} lacks an array: {error.args[0]}") from None
    except SurelabelError:
        raise
    except MemoryError:
        raise no_memory(path) from None
    except Exception as error:  # zipfile, zlib and numpy raise errors of many kinds
        raise DataFileError(
            f"{path} is damaged, or not an .npz archive of numbers: {_error_text(error)}"
        ) from None
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise DataFileError(
            f"{path}: X has shape {X.shape} and {truth} {y.shape}; they should be (m, n) and (m,)"
        )
    return [X, y, *others]


def _error_text(error: BaseException) -> str:
    """The message of an error, on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _number_matrix(content: dict[str, Any], name: str, path: Path) -> Any:
    """A variable as a matrix of numbers, dense or sparse."""
    matrix = content[name]
    if isinstance(matrix, str):
        raise DataFileError(f"{path}: {name!r} should be a matrix of numbers; it holds {matrix}")
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DataFileError(
            f"{path}: {name!r} should be a matrix of numbers; it is of shape {matrix.shape}"
        )
    return matrix
