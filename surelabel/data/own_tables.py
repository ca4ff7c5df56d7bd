"""A table file → numbers and labels, for a study on your own data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from ..exceptions import TableError, first_few
from .arrow_tables import find_column, in_words, is_number, is_text, source_of
from .candidates import CandidateSets
from .labelling import Labelling, read_labels
from .table_files import read_table
from .text_values import parse_numbers


def read_own_table(
    path: Path, truth: str, candidates: str = ""
) -> tuple[np.ndarray, CandidateSets | None, np.ndarray]:
    """Read the features, the candidate labels (None without ``candidates``) and the true labels.
    All columns except ``truth`` and ``candidates`` are features, and must hold numbers.
    """
    table = read_table(path)
    source = source_of(table)
    for name in filter(None, (truth, candidates)):
        find_column(table, name)
    features = [name for name in table.column_names if name not in (truth, candidates)]
    if not features:
        raise TableError(f"{source}: there are only labels, and no column to learn from")
    X = np.column_stack([_feature_numbers(table, name) for name in features])
    # Without candidates, the true labels are read as sets of one candidate.
    labels = read_labels(
        table, Labelling(labels=candidates or truth, gold=truth if candidates else None)
    )
    sets = labels.candidates
    known = labels.gold >= 0 if candidates else (sets.sizes == 1) & ~labels.unlabelled
    if not known.all():
        raise TableError(
            f"{source}: column {truth!r} has no single label in row "
            f"{first_few(np.flatnonzero(~known) + 1)}; every row needs its true label"
        )
    if not candidates:
        return X, None, sets.classes[sets.indices]
    return X, sets, sets.classes[labels.gold]


def _feature_numbers(table: pa.Table, name: str) -> np.ndarray:
    """A column of finite numbers; anything else is refused."""
    column = table[name].combine_chunks()
    advice = "a study learns from numbers only: encode the column first, or remove it"
    if is_text(column.type):
        values, _ = parse_numbers(column.cast(pa.large_string()))
    elif is_number(column.type) or pa.types.is_boolean(column.type):
        values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    else:
        raise TableError(
            f"{source_of(table)}: column {name!r} holds {in_words(column.type)}; {advice}"
        )
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        cell = column[int(wrong[0])].as_py()
        what = "an empty cell" if cell is None else repr(str(cell)[:40])
        raise TableError(
            f"{source_of(table)}: row {wrong[0] + 1}, column {name!r}: {what} is not a number; "
            f"{advice}"
        )
    return values
