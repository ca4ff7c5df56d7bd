"""The order of labels: numbers, or classes in the order that the user gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exceptions import ParameterError, first_few, shown


def has_order(ordered: Any) -> bool:
    """Whether an order was given: ``ordered`` is True, or the classes in their order."""
    return not isinstance(ordered, bool | np.bool_) or bool(ordered)


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
        order = list(ordered)
        wrong = [label for label in classes.tolist() if order.count(label) != 1]
        if wrong:
            raise ParameterError(
                f"ordered must name every class once; see {first_few(wrong)} in {shown(order)}"
            )
        return np.array([order.index(label) for label in classes.tolist()], float)
    try:
        positions = np.array([float(label) for label in classes.tolist()])
    except (TypeError, ValueError):
        positions = np.array([np.nan])
    if not np.all(np.isfinite(positions)) or len(np.unique(positions)) < len(classes):
        raise ParameterError(
            "ordered=True is for labels that are different numbers, but these are "
            f"{first_few(classes.tolist())}: give the classes in their order, as "
            "ordered=['low', 'medium', 'high']"
        )
    return positions
