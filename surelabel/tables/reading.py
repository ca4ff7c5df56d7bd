"""A table whose columns are understood: what they say of labels, and what is learned from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa

from ..data.candidates import Unlabelled
from ..data.labelling import Labelling, Labels, read_labels
from ..data.table_files import find_column, from_frame, source_of
from ..exceptions import CandidateError, InputError, TableError, first_few
from ._columns import Kind
from .encoding import TableEncoder, choose_features


class Columns(TypedDict, total=False):
    """Which columns say what: the arguments that all jobs share. One of ``labels``, ``votes`` and
    ``indicator`` must be given.

    See :class:`~surelabel.data.labelling.Labelling` for the columns of labels and
    :func:`~surelabel.tables.encoding.choose_features` for the choice of those to learn from.
    """

    labels: str | None
    separator: str
    votes: Sequence[str]
    indicator: Sequence[str]
    gold: str | None
    id: str | None
    long: bool
    annotator: str | None
    unlabelled: Unlabelled
    features: Sequence[str] | None
    exclude: Collection[str]
    kinds: Mapping[str, Kind] | None


class TableRead:
    """A table whose columns are understood: labels, and what is learned from."""

    def __init__(self, frame: Any, columns: Columns) -> None:
        table = as_table(frame)
        chosen: dict[str, Any] = dict(columns)
        features, exclude, kinds = (
            chosen.pop("features", None),
            chosen.pop("exclude", ()),
            chosen.pop("kinds", None),
        )
        for name in ("votes", "indicator"):
            chosen[name] = tuple(chosen.get(name) or ())
        self.labelling = Labelling(**chosen)
        self.source = source_of(table)
        if self.labelling.long:  # rows of an id need not agree in columns that are left out
            for name in exclude:
                find_column(table, name)
            table, exclude = table.drop_columns(list(exclude)), ()
        self.labels = read_labels(table, self.labelling)
        _check_learnable(self.labels, self.labelling, self.source)
        self.table = self.labels.table
        self.features = choose_features(
            self.table, labelling=self.labelling, features=features, exclude=exclude, kinds=kinds
        )

    def encoded(self) -> tuple[TableEncoder, np.ndarray]:
        """The fitted encoder, and the matrix that it makes of the table."""
        encoder = TableEncoder(self.features).fit(self.table)
        return encoder, encoder.transform(self.table)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Put the name of the table before messages of functions that know arrays only."""
        try:
            yield
        except (CandidateError, InputError) as error:
            raise TableError(f"{self.source}: {error}") from None


def as_table(frame: Any) -> pa.Table:
    """A table as it was read from a file, or made of a data frame."""
    return (
        frame if isinstance(frame, pa.Table) and source_of(frame) != "table" else from_frame(frame)
    )


def _check_learnable(labels: Labels, labelling: Labelling, source: str) -> None:
    """Refuse labels from which nothing can be learned, in the words of the table."""
    candidates = labels.candidates
    where = first_few(
        (
            repr(name)
            for name in labelling.columns
            if name not in (labelling.id, labelling.annotator)
        ),
        3,
    )
    if len(candidates) < 4:
        raise TableError(
            f"{source}: {len(candidates)} row(s) are too few to learn from some and judge others; "
            "add more"
        )
    if candidates.shape[1] < 2:
        raise TableError(
            f"{source}: column {where} holds one label only ({candidates.classes[0]}); there must "
            "be two to tell apart (is the "
            f"separator {labelling.separator!r} right?)"
        )
    if np.all((candidates.sizes == candidates.shape[1]) & (labels.gold < 0)):
        raise TableError(
            f"{source}: column {where} lets every label be possible in every row; there is nothing "
            "to learn from"
        )
