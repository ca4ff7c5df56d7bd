"""Labels as people hold them, made into arrays of one kind: what :mod:`surelabel.data.candidates`
reads its input with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exceptions import CandidateError, first_few


def as_numbers(array: np.ndarray) -> np.ndarray:
    """A table of Python numbers as an array of numbers; anything else as it is."""
    if (
        array.dtype == object
        and array.size
        and all(isinstance(value, int | float | np.number | np.bool_) for value in array.flat)
    ):
        return array.astype(float)
    return array


def check_classes(classes: Any) -> np.ndarray:
    """The label space as an array of its own: not empty, no label twice."""
    classes = homogeneous(as_table(classes, ndim=1))
    if not len(classes):
        raise CandidateError("there is no class: no row has a candidate label")
    labels, counts = np.unique(classes, return_counts=True)
    if len(labels) < len(classes):
        raise CandidateError(
            "class names must differ; given more than once: "
            f"{first_few(labels[counts > 1].tolist())}"
        )
    return classes


def encode(labels: np.ndarray, owners: np.ndarray, classes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions of labels in ``classes`` (by default the sorted labels themselves)."""
    labels = homogeneous(labels, owners)
    if classes is None:
        classes, codes = np.unique(labels, return_inverse=True)
        return codes, classes
    classes = check_classes(classes)
    if len(labels) and (labels.dtype.kind in "US") != (classes.dtype.kind in "US"):
        raise CandidateError(
            f"labels are {labels.dtype} but classes are {classes.dtype}: use one type for both"
        )
    order = np.argsort(classes)
    codes = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
    unknown = classes[codes] != labels
    if np.any(unknown):
        raise CandidateError(
            f"unknown class {first_few(np.unique(labels[unknown]).tolist())} in row "
            f"{first_few(np.unique(owners[unknown]))}; "
            f"the classes are {first_few(classes.tolist())}"
        )
    return codes, classes


def as_table(values: Any, *, ndim: int) -> np.ndarray:
    """A fresh array of the wanted dimension: of its own dtype where it has one, else of objects."""
    if hasattr(values, "to_numpy") and hasattr(values, "isna"):  # pandas: one kind of missing value
        array = values.to_numpy(dtype=object, na_value=None)
    elif hasattr(values, "__array__"):
        array = np.asarray(values)
    else:
        values = list(values)
        array = np.empty(len(values), object) if ndim == 1 else np.array(values, object)
        if ndim == 1:
            array[:] = values
    if array.ndim != ndim:
        raise CandidateError(
            f"expected {ndim} dimension(s) of labels, got an array of shape {array.shape}"
        )
    return array.copy()


def missing(array: np.ndarray) -> np.ndarray:
    """Where a label is absent: ``None``, NaN or the empty string."""
    if array.dtype.kind in "US":
        return array == array.dtype.type("")
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype == object:
        # NaN is the only label that differs from itself; pandas' NA is neither equal nor different.
        absent = [
            value is None or _differs(value) or (isinstance(value, str) and not value)
            for value in array.flat
        ]
        return np.array(absent, bool).reshape(array.shape)
    return np.zeros(array.shape, bool)


def _differs(value: Any) -> bool:
    """Whether a value is not itself: NaN, or pandas' NA, which will not say."""
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


def homogeneous(labels: np.ndarray, owners: np.ndarray | None = None) -> np.ndarray:
    """Labels as one array of strings, integers, booleans or whole floats."""
    if labels.dtype == object:
        kinds = set(map(type, labels.tolist()))
        texts = {kind for kind in kinds if issubclass(kind, str)}
        numbers = {kind for kind in kinds if issubclass(kind, int | float | np.number | np.bool_)}
        if other := kinds - texts - numbers:
            raise CandidateError(
                "labels must be strings or numbers, not "
                f"{first_few(sorted(kind.__name__ for kind in other))}"
            )
        if texts and numbers:
            is_text = np.array([isinstance(label, str) for label in labels.tolist()])
            rare = is_text if is_text.mean() < 0.5 else ~is_text
            where = np.flatnonzero(rare) if owners is None else np.unique(owners[rare])
            raise CandidateError(
                f"labels mix strings and numbers; the rarer kind stands in row {first_few(where)}"
            )
        labels = np.array(labels.tolist(), dtype=str if texts else None)
    if labels.dtype.kind == "f":
        broken = ~np.isfinite(labels) | (labels != np.rint(labels))
        if np.any(broken):
            where = np.flatnonzero(broken) if owners is None else np.unique(owners[broken])
            raise CandidateError(
                "Unknown label type: continuous. Labels must be strings or whole numbers, without "
                "NaN or infinity; "
                f"others stand in row {first_few(where)}"
            )
    elif labels.dtype.kind not in "biuU":
        raise CandidateError(f"labels must be strings or numbers, not {labels.dtype}")
    return labels
