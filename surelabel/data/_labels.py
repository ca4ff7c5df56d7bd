"""Labels in any form → arrays of one type; used by :mod:`surelabel.data.candidates` to read its
input.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ..exceptions import CandidateError, ParameterError, first_few, shown


def as_numbers(array: np.ndarray) -> np.ndarray:
    """A table of Python numbers as an array of numbers; anything else unchanged."""
    if (
        array.dtype == object
        and array.size
        and all(isinstance(value, int | float | np.number | np.bool_) for value in array.flat)
    ):
        with suppress(OverflowError, TypeError):
            return array.astype(float)
    return array


def as_texts(cells: np.ndarray) -> np.ndarray:
    """Cells as strings, "" where missing; numbers as Python prints them."""
    if cells.dtype.kind == "U":
        return cells
    cells = cells.astype(object)
    cells[missing(cells)] = ""
    allowed = str | int | float | np.number | np.bool_
    if other := [kind for kind in set(map(type, cells.tolist())) if not issubclass(kind, allowed)]:
        rows = [i for i, cell in enumerate(cells.tolist()) if isinstance(cell, tuple(other))]
        raise CandidateError(
            f"each cell must be a string of labels, not {other[0].__name__}: row {first_few(rows)}"
        )
    return cells.astype(str)


def check_classes(classes: Any) -> np.ndarray:
    """The label space as a copy: not empty, and without duplicates."""
    classes = homogeneous(as_table(classes, ndim=1))
    if not len(classes):
        raise CandidateError("there are no classes: no row has a candidate label")
    labels, counts = np.unique(classes, return_counts=True)
    if len(labels) < len(classes):
        raise CandidateError(
            "class names must differ; given more than once: "
            f"{first_few(labels[counts > 1].tolist())}"
        )
    return np.asarray(classes)


def encode(labels: np.ndarray, owners: np.ndarray, classes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions of labels in ``classes`` (by default the sorted labels themselves)."""
    labels = homogeneous(labels, owners)
    if classes is None:
        classes, codes = np.unique(labels, return_inverse=True)
        return codes, classes
    classes = check_classes(classes)
    codes = find(labels, classes)
    unknown = codes < 0
    if np.any(unknown):
        raise CandidateError(
            f"unknown class {first_few(np.unique(labels[unknown]).tolist())} in row "
            f"{first_few(np.unique(owners[unknown]))}; "
            f"the classes are {first_few(classes.tolist())}"
        )
    return codes, classes


def find(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Positions of labels in ``classes``, -1 for unknown ones."""
    if len(labels) and (labels.dtype.kind == "U") != (classes.dtype.kind == "U"):
        raise CandidateError(
            f"labels are {labels.dtype} but classes are {classes.dtype}: use one type for both"
        )
    order = np.argsort(classes)
    wanted, same = _as_type(labels, classes.dtype)
    codes = order[np.minimum(np.searchsorted(classes, wanted, sorter=order), len(classes) - 1)]
    return np.where(same & (classes[codes] == wanted), codes, -1)


def _as_type(labels: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Labels in the type of the classes, and which of them keep their value in it."""
    if not len(labels) or labels.dtype.kind == "U" or labels.dtype == dtype:
        return labels, np.ones(len(labels), bool)
    with np.errstate(invalid="ignore"):
        converted = labels.astype(dtype)
    same = converted == labels
    # NumPy compares a large integer with a float as floats; Python compares the numbers.
    for i in np.flatnonzero(same & (np.abs(labels.astype(float)) >= 2**53)):
        same[i] = converted[i].item() == labels[i].item()
    return converted, same


def as_list(values: Any, what: str) -> list[Any]:
    """The items of any iterable."""
    try:
        return list(values)
    except TypeError:
        raise CandidateError(
            f"{what} must be a sequence with one item per row, not {type(values).__name__}"
        ) from None


def as_array(values: Any, what: str, dtype: Any = None) -> np.ndarray:
    """The values as an array, or an error that names them."""
    try:
        return np.asarray(values, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise CandidateError(f"{what} cannot be read as an array: {error}") from None


def as_table(values: Any, *, ndim: int) -> np.ndarray:
    """A new array with ``ndim`` dimensions, of its own dtype if it has one, otherwise of
    objects.
    """
    if hasattr(values, "to_numpy") and hasattr(
        values, "isna"
    ):  # pandas: make all missing values alike
        array = values.to_numpy(dtype=object, na_value=None)
    elif hasattr(values, "__array__"):
        array = as_array(values, "labels")
    else:
        values = as_list(values, "labels")
        array = np.empty(len(values), object)
        if ndim == 1:
            array[:] = values
        else:
            array = as_array(values, "labels", object)
    if array.ndim != ndim:
        raise CandidateError(
            f"expected {ndim} dimension(s) of labels, got an array of shape {array.shape}"
        )
    return np.asarray(array.copy())


def missing(array: np.ndarray) -> np.ndarray:
    """Where a label is missing: ``None``, NaN or the empty string."""
    if array.dtype.kind in "US":
        return np.asarray(array == array.dtype.type(""))
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array))
    if array.dtype == object:
        # NaN is the only label that differs from itself; pandas' NA cannot be compared.
        absent = [
            value is None or _differs(value) or (isinstance(value, str) and not value)
            for value in array.flat
        ]
        return np.array(absent, bool).reshape(array.shape)
    return np.zeros(array.shape, bool)


def _differs(value: Any) -> bool:
    """Whether a value differs from itself: NaN, or pandas' NA, which cannot be compared."""
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
                f"labels mix strings and numbers; the rarer kind is in row {first_few(where)}"
            )
        if texts and any(label.endswith("\0") for label in labels.tolist()):
            # NumPy drops it, which would make two labels one
            cut = np.array([label.endswith("\0") for label in labels.tolist()])
            places = np.flatnonzero(cut) if owners is None else np.unique(owners[cut])
            raise CandidateError(
                f"labels must not end in a NUL character; one does in row {first_few(places)}"
            )
        labels = (
            np.array(labels.tolist(), dtype=str)
            if texts
            else _exact_numbers(labels.tolist(), owners)
        )
    if labels.dtype.kind == "f":
        broken = ~np.isfinite(labels) | (labels != np.rint(labels))
        if np.any(broken):
            where = np.flatnonzero(broken) if owners is None else np.unique(owners[broken])
            raise CandidateError(
                "Unknown label type: continuous. Labels must be strings or whole numbers, without "
                "NaN or infinity; "
                f"see row {first_few(where)}"
            )
    elif labels.dtype.kind not in "biuU":
        raise CandidateError(f"labels must be strings or numbers, not {labels.dtype}")
    return labels


def _exact_numbers(labels: list[Any], owners: np.ndarray | None) -> np.ndarray:
    """Numbers as an array of one type that holds each of them exactly."""
    labels = [label.item() if isinstance(label, np.generic) else label for label in labels]
    for dtype in (
        None,
        np.int64,
        np.uint64,
    ):  # without a type, NumPy turns large integers into floats
        try:
            numbers = np.array(labels, dtype)
        except (OverflowError, ValueError):
            continue
        if numbers.dtype != object and numbers.tolist() == labels:
            return numbers
    large = np.array([isinstance(label, int) and abs(label) > 2**53 for label in labels])
    if not large.any():  # only NaN, which equals nothing
        return np.array(labels, float)
    where = np.flatnonzero(large) if owners is None else np.unique(owners[large])
    raise CandidateError(
        f"the labels have no common type that keeps numbers as large as "
        f"{str(labels[int(np.argmax(large))])[:30]} exactly (row {first_few(where)}); write them "
        "as strings"
    )


def check_prefix(prefix: object) -> None:
    """Refuse what cannot stand before a label to rule it out."""
    if not isinstance(prefix, str) or not prefix.strip():
        raise ParameterError(
            "not_prefix is what stands before a label that is ruled out, such as '!'; got "
            f"{shown(prefix)}"
        )


def after_prefix(text: str, prefix: str) -> str | None:
    """What follows a prefix, None without it. After a prefix that ends in a letter or digit there
    must be a blank.

    >>> after_prefix("!cat", "!"), after_prefix("not cat", "not"), after_prefix("notch", "not")
    ('cat', 'cat', None)
    """
    rest = text.removeprefix(prefix)
    if not text.startswith(prefix) or (prefix[-1].isalnum() and rest == rest.lstrip() != ""):
        return None
    return rest.strip()
