"""The order of labels: numbers, or classes in the order that the user gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exceptions import ParameterError, first_few, shown

#: Words of usual scales, each in its order.
SCALES = [
    line.split(", ")
    for line in (
        "very low, low, medium, moderate, high, very high",
        "terrible, very poor, poor, bad, fair, okay, average, good, very good, great, excellent",
        "none, mild, moderate, severe, critical",
        "never, rarely, sometimes, often, always",
        "strongly disagree, disagree, neutral, agree, strongly agree",
        "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
        "very negative, negative, neutral, positive, very positive",
        "very small, small, medium, large, very large",
        "minor, moderate, major, critical",
    )
]


def usual_order(classes: Sequence[Any]) -> bool | list[str]:
    """The usual order of labels: True for three or more numbers, the words of a scale in their
    order, False for others.
    """
    if len(classes) < 3:
        return False
    words = {str(label).casefold().replace("_", " ").replace("-", " "): label for label in classes}
    for scale in SCALES:
        if len(words) == len(classes) and words.keys() <= set(scale):
            return [words[word] for word in scale if word in words]
    try:
        label_positions(True, np.asarray(classes, object))
    except ParameterError:
        return False
    return True


def has_order(ordered: Any) -> bool:
    """Whether an order was given: ``ordered`` is True, or the classes in their order."""
    return not isinstance(ordered, bool | np.bool_) or bool(ordered)


def order_given(ordered: Any) -> list[str]:
    """The names of the classes in the order that was given."""
    if np.asarray(ordered, dtype=object).ndim != 1:  # a set, for one, has no order
        raise ParameterError(
            f"ordered must be True or a list of the classes in their order, not {shown(ordered)}"
        )
    return [str(label) for label in ordered]


def label_positions(ordered: Any, classes: np.ndarray) -> np.ndarray:
    """Where each class stands: its number, or its place in the order that was given.

    Parameters
    ----------
    ordered : True or sequence
        True if the classes are numbers (also as text); otherwise the classes in their order.
    classes : ndarray of shape (l,)
        The classes.
    """
    if not isinstance(ordered, bool | np.bool_):
        order, names = order_given(ordered), [str(label) for label in classes]
        missing = [name for name in names if name not in order]
        repeated = [name for name, n in Counter(order).items() if n > 1]
        if missing or repeated:
            what = "missing" if missing else "repeated"
            raise ParameterError(
                f"ordered must name every class once; {what}: {first_few(missing or repeated)} "
                "(if all classes are numbers, give ordered=True, or --ordered numbers)"
            )
        return np.array([order.index(name) for name in names], float)
    try:
        positions = np.array([float(label) for label in classes.tolist()])
    except (TypeError, ValueError):
        positions = np.array([np.nan])
    with np.errstate(over="ignore", invalid="ignore"):
        span = np.ptp(positions)
    if not np.isfinite(span) or len(np.unique(positions)) < len(classes):
        raise ParameterError(
            "ordered=True, or --ordered numbers, is for labels that are different numbers, but "
            f"these are {first_few(classes.tolist())}: give the classes in their order, as in "
            "low,medium,high"
        )
    return positions


def written_order(ordered: Any, classes: np.ndarray) -> str:
    """The order for people: ``low < medium < high``."""
    names = [str(label) for label in classes[label_positions(ordered, classes).argsort()]]
    return " < ".join(names if len(names) <= 6 else [*names[:3], "…", *names[-2:]])
