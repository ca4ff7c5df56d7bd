"""Candidate labels in other forms: one column, a list per row, a column per class or annotator, a
row per label, a .mat file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import io, sparse

from ..exceptions import ParameterError, TableError, first_few
from ..files import replacing
from ..solvers.crowds import AGAINST
from ._delimited import combined
from ._mat import load_mat
from .arrow_tables import decimal_of, is_list, is_text, source_of
from .labelling import Labelling, Labels
from .readers import read_mat
from .spelling import blanked, parse_numbers

FORMS = ("labels", "lists", "indicator", "votes", "long")


def to_form(labels: Labels, labelling: Labelling, form: str) -> pa.Table:
    """The same table with its candidates in another form; all other columns stay.

    Parameters
    ----------
    labels : Labels
        The labels of the table.
    labelling : Labelling
        Their present form. New columns keep its names, or are called ``labels``, ``id`` and
        ``annotator``.
    form : {"labels", "lists", "indicator", "votes", "long"}
        "labels": one text per row, with the separator; "lists": one list per row; "indicator": one
        0/1 column per class; "votes": one column per annotator; "long": one row per label (and
        annotator, if the labels are votes).

    Returns
    -------
    pyarrow.Table
        Rows without any label have an empty cell, an empty list, or 0 in every column.
    """
    if form not in FORMS:
        raise ParameterError(f"there is no form {form!r}; choose from {', '.join(FORMS)}")
    old = {labelling.labels, *labelling.votes, *labelling.of_classes}
    table = labels.table.select([name for name in labels.table.column_names if name not in old])
    if form == "long":
        return _long(table, labels, labelling)
    name, source = labelling.labels or "labels", source_of(table)
    if form == "lists":
        return _append(table, {name: _lists(labels)})
    if form == "labels":
        return _append(table, {name: _joined(labels, labelling.separator, source)})
    if form == "indicator":
        matrix = labels.candidates.to_indicator()
        matrix[labels.unlabelled] = 0
        return _append(
            table,
            {
                str(label): pa.array(column)
                for label, column in zip(labels.candidates.classes, matrix.T, strict=True)
            },
        )
    if labels.votes is None:
        raise TableError(
            f"{source}: it is not known which annotator gave which label, so the labels cannot "
            "become one column per annotator"
        )
    votes = (
        (name, _voted(labels, column, labelling))
        for name, column in zip(labels.annotators, labels.votes.T, strict=True)
    )
    return _append(table, dict(votes))


def _append(table: pa.Table, columns: dict[str, pa.Array]) -> pa.Table:
    there = set(table.column_names)
    for name in columns:
        if name in there:
            raise TableError(
                f"{source_of(table)}: a column {name!r} already exists; rename it first"
            )
    new = [pa.field(name, column.type) for name, column in columns.items()]
    schema = pa.schema([*table.schema, *new], table.schema.metadata)
    return pa.table([*table.columns, *columns.values()], schema=schema)


def _taken(labels: Labels, codes: np.ndarray) -> pa.Array:
    """Labels by their positions; missing for -1."""
    return pa.array(labels.candidates.classes).take(pa.array(codes, mask=codes < 0))


def _voted(labels: Labels, votes: np.ndarray, labelling: Labelling) -> pa.Array:
    """Labels by their positions, ruled out ones with the prefix; none for -1."""
    against = votes <= AGAINST
    if not against.any():
        return _taken(labels, votes)
    given = _taken(labels, np.where(against, AGAINST - votes, votes)).cast(pa.string())
    ruled_out = pc.binary_join_element_wise(pa.scalar(labelling.not_prefix), given, "")
    return pc.if_else(pa.array(against), ruled_out, given)


def _lists(labels: Labels) -> pa.Array:
    candidates = labels.candidates
    given = ~labels.unlabelled
    offsets = np.concatenate([[0], np.cumsum(np.where(given, candidates.sizes, 0))])
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), _taken(labels, candidates.indices[given[candidates.rows]])
    )


def _joined(labels: Labels, separator: str, source: str) -> pa.Array:
    texts = [str(label) for label in labels.candidates.classes.tolist()]
    wrong = [text for text in texts if separator in text]
    if wrong:
        raise TableError(
            f"{source}: the label {wrong[0]!r} contains the separator {separator!r}; use another "
            "separator"
        )
    lists = _lists(labels)
    lists = pa.ListArray.from_arrays(lists.offsets, lists.values.cast(pa.string()))
    joined = pc.binary_join(lists, separator)
    return blanked(joined, pc.equal(joined, ""))


def _long(table: pa.Table, labels: Labels, labelling: Labelling) -> pa.Table:
    """One row per label or vote; a row without labels stays one row."""
    m, candidates = table.num_rows, labels.candidates
    if labelling.id is None:
        table = _append(table, {"id": pa.array(np.arange(1, m + 1))})
    if labels.votes is None:
        given = ~labels.unlabelled[candidates.rows]
        rows, codes = candidates.rows[given], candidates.indices[given]
        who = None
    else:
        rows, who = np.nonzero(labels.votes != -1)
        codes = labels.votes[rows, who]
    bare = np.setdiff1d(np.arange(m), rows)
    order = np.argsort(np.concatenate([rows, bare]), kind="stable")
    table = table.take(pa.array(np.concatenate([rows, bare])[order]))
    nobody = np.full(len(bare), -1)
    if who is not None:
        names = np.concatenate([who, nobody])[order]
        annotator = pa.array(labels.annotators).take(pa.array(names, mask=names < 0))
        table = _append(table, {labelling.annotator or "annotator": annotator})
    given = _voted(labels, np.concatenate([codes, nobody])[order], labelling)
    return _append(table, {labelling.labels or "labels": given})


# -------------------------------------------------------------------- .mat files

#: Further variables, beside ``data``, ``partial_target`` and ``target``, that store names.
LABEL_NAMES, FEATURE_NAMES = "label_names", "feature_names"
MAT_LABELLING = Labelling(labels="labels", gold="gold")


def mat_to_table(path: str | os.PathLike[str]) -> pa.Table:
    """A .mat file of partial-label data as a table with columns of numbers, ``labels`` (lists) and
    ``gold``.

    Parameters
    ----------
    path : path-like
        The file; see :func:`surelabel.data.readers.read_mat`.

    Returns
    -------
    pyarrow.Table
    """
    open(path, "rb").close()  # raises a clear error if the file cannot be opened
    data = read_mat(Path(path))
    names = load_mat(Path(path))
    features = _names(names.get(FEATURE_NAMES), data.X.shape[1]) or [
        f"x{j}" for j in range(1, data.X.shape[1] + 1)
    ]
    classes = _names(names.get(LABEL_NAMES), data.candidates.shape[1])
    table = pa.table(dict(zip(features, data.X.T, strict=True)))
    candidates = data.candidates
    gold = np.searchsorted(candidates.classes, data.y)
    lists = pa.ListArray.from_arrays(
        pa.array(candidates.indptr),
        pa.array(classes or candidates.classes).take(pa.array(candidates.indices)),
    )
    return _append(
        table,
        {"labels": lists, "gold": pa.array(classes or candidates.classes).take(pa.array(gold))},
    )


def _names(found: Any, expected: int) -> list[str]:
    """The names in a file, if they are all different and of the expected number."""
    names = [name.strip() for name in found] if isinstance(found, list) else []
    return names if len(set(names)) == expected == len(names) else []


def labels_to_mat(labels: Labels, labelling: Labelling, path: str | os.PathLike[str]) -> None:
    """Write a .mat file of numbers, candidates and true labels, in the format of published
    partial-label data.

    Parameters
    ----------
    labels : Labels
        Every row must have a known-true label, and all other columns must be numbers or vectors.
    labelling : Labelling
        Which columns hold labels; they are not features.
    path : path-like
        The file.
    """
    source, table = source_of(labels.table), labels.table
    unknown = np.flatnonzero(labels.gold < 0)
    if len(unknown):
        raise TableError(
            f"{source}: a .mat file holds the true label of every row, which is not known in row "
            f"{first_few(unknown + 1)}; name a gold column without missing cells, or use another "
            "form"
        )
    names, blocks = [], []
    for name in table.column_names:
        if name not in labelling.columns:
            block = _numbers(table[name], name, source, decimal_of(table) or ".")
            names += (
                [name]
                if block.shape[1] == 1
                else [f"{name} {j}" for j in range(1, block.shape[1] + 1)]
            )
            blocks.append(block)
    if not blocks:
        raise TableError(f"{source}: a .mat file holds numbers, and there is no column of them")
    m, l = labels.candidates.shape
    target = sparse.csc_array((np.ones(m), (labels.gold, np.arange(m))), shape=(l, m))
    content = {
        "data": np.hstack(blocks),
        "partial_target": sparse.csc_matrix(labels.candidates.to_sparse().T.astype(float)),
        "target": sparse.csc_matrix(target),
        LABEL_NAMES: np.array([str(label) for label in labels.candidates.classes.tolist()], object),
        FEATURE_NAMES: np.array(names, object),
    }
    with replacing(path) as file:
        io.savemat(file, content, do_compression=True)


def _numbers(column: pa.ChunkedArray, name: str, source: str, decimal: str) -> np.ndarray:
    """A column as a matrix, with one matrix column for each number in a cell."""
    if is_text(column.type):
        values, wrong = parse_numbers(combined(column), decimal)
        column = column if wrong.any() else pa.chunked_array([pa.array(values, from_pandas=True)])
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py() + 1
        raise TableError(
            f"{source}: row {row}, column {name!r}: a .mat file needs a number in every cell; fill "
            "it in, or exclude the column"
        )
    try:
        flat = pc.list_flatten(column) if is_list(column.type) else column
        return np.asarray(flat.cast(pa.float64()).to_numpy().reshape(len(column), -1))
    except (pa.ArrowException, ValueError):
        raise TableError(
            f"{source}: column {name!r} holds no numbers, which a .mat file needs; exclude it"
        ) from None
