"""What scikit-learn is doing when it asks something of us: its metrics and searches look at labels
themselves, and fail over candidates in words that do not help.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

import numpy as np

from ._labels import missing

#: Parts of scikit-learn that split rows into folds.
SPLITTING = ("sklearn.model_selection.", "sklearn.feature_selection.")


def scikit_learn_asks() -> bool:
    """Whether the caller was called by scikit-learn."""
    return any(_scikit_learn_calls())


def a_metric_asks() -> bool:
    """Whether the caller was called by a metric of scikit-learn.

    Its splitters and searches ask for an array, too, by the same functions, and may take the 0/1
    matrix; a metric would fail over it, or take every candidate for true (log loss, area under the
    curve).
    """
    return any(
        name.startswith("sklearn.metrics.") and name != "sklearn.metrics._scorer"
        for name, _ in _scikit_learn_calls()
    )


def votes_to_be_split() -> bool:
    """Whether scikit-learn asks for the kind of estimator to choose the kind of folds for a table
    of votes with empty cells.

    A search, or ``cross_validate``, with ``cv=5`` looks for classes to stratify if the estimator is
    a classifier. It finds none in a table, but sorts the cells first, and fails over empty ones.
    """
    calls = _scikit_learn_calls()
    if not any(call.f_code.co_name == "is_classifier" for _, call in calls):
        return False
    name, caller = next(calls, ("", None))
    if caller is None or not name.startswith(SPLITTING):
        return False
    y = caller.f_locals.get("y")
    if hasattr(y, "indptr"):  # candidate sets have no empty cells
        return False
    is_table = hasattr(y, "__array__") and len(getattr(y, "shape", ())) == 2
    return is_table and bool(missing(np.asarray(y)).any())


def _scikit_learn_calls() -> Iterator[tuple[str, FrameType]]:
    """The calls inside scikit-learn that led here, innermost first, with the names of their
    modules. Subclasses of users may ask on behalf of scikit-learn.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("sklearn."):
            yield name, frame
        elif not name.startswith("surelabel.") and frame.f_code.co_name != "__sklearn_tags__":
            return
        frame = frame.f_back
