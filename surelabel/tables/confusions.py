"""What is known of annotators from elsewhere: how often they gave which label for which truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.arrow_tables import find_column, source_of
from ..data.labelling import Labels
from ..data.spelling import parse_numbers
from ..exceptions import ParameterError, TableError
from ..text import suggest
from .reading import as_frame, as_table

#: The columns of a table of confusions.
COLUMNS = ("annotator", "truth", "vote", "count")


def read_confusions(given: Any, labels: Labels) -> dict[str, Any]:
    """The votes that are known of each annotator, by truth and vote.

    Parameters
    ----------
    given : mapping, data frame, pyarrow.Table, path or None
        Matrices by the names of annotators; or a table with the columns ``annotator``, ``truth``,
        ``vote`` and ``count``: so often did the annotator give this label where that one was true.
        What it does not list did not happen.
    labels : Labels
        The votes.

    Returns
    -------
    dict of str to ndarray of shape (l, l)
        Empty if nothing is given.
    """
    if given is None:
        return {}
    if labels.votes is None:
        raise ParameterError(
            "confusions are about annotators, and it is not known who gave which label: leave them "
            "out, or name the votes"
        )
    if isinstance(given, Mapping):
        return dict(given)
    table = as_table(as_frame(given))
    source = source_of(table)
    for name in COLUMNS:
        find_column(table, name, source)
    texts = {name: table[name].cast(pa.large_string()).to_pylist() for name in COLUMNS[:3]}
    counts, wrong = parse_numbers(table["count"].combine_chunks().cast(pa.large_string()), ".")
    bad = np.flatnonzero(wrong | ~(np.isfinite(counts) & (counts >= 0)))
    if len(bad):
        raise TableError(
            f"{source}: row {bad[0] + 1}, column 'count': there should be a number of votes, 0 or "
            "more"
        )
    classes = {str(label): k for k, label in enumerate(labels.candidates.classes.tolist())}
    known: dict[str, np.ndarray] = {}
    for row, (who, truth, vote) in enumerate(zip(*texts.values(), strict=True)):
        for name, place in (("truth", truth), ("vote", vote)):
            if place not in classes:
                raise TableError(
                    f"{source}: row {row + 1}, column {name!r}: the label {place!r} is unknown; "
                    f"{suggest(place, classes, 'labels')}"
                )
        matrix = known.setdefault(str(who), np.zeros((len(classes), len(classes))))
        matrix[classes[truth], classes[vote]] += counts[row]
    return known
