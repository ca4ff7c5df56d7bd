"""The jobs for tables: a table or a data frame in, labels or a model out. The commands do nothing
more than call these.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
from sklearn.pipeline import Pipeline

from ..data.forms import to_form
from ..data.labelling import Labels
from ..data.table_files import source_of, to_frame
from ..exceptions import CandidateError, ModelFileError, TableError
from ..progress import stage
from . import cleaning, comparison, inspection
from .encoding import Feature, TableEncoder, column_kind
from .reading import Columns, TableRead, as_table

#: Confidences are written with so many decimals.
DECIMALS = 4


@dataclass(frozen=True)
class Inspected:
    """What :func:`inspect` found.

    Attributes
    ----------
    inspection : Inspection
        How ambiguous the table is, and what is wrong with it.
    unused : dict of str to str
        Columns that are not learned from, and why.
    """

    inspection: inspection.Inspection
    unused: dict[str, str]


@dataclass(frozen=True)
class Fitted:
    """What :func:`fit` learned.

    Attributes
    ----------
    model : Pipeline
        A :class:`~surelabel.tables.encoding.TableEncoder` and a classifier;
        :func:`surelabel.save_model` writes it to a file.
    features : list of Feature
        The columns learned from.
    n_rows : int
        Number of rows learned from.
    classes : ndarray
        The labels told apart.
    method, parameters : str, dict
        The method, and the parameters chosen for it.
    cv_score : float
        Covering rate of left-out rows at these parameters.
    seconds : dict of str to float
        Time by stage.
    """

    model: Pipeline
    features: list[Feature]
    n_rows: int
    classes: np.ndarray
    method: str
    parameters: dict[str, Any]
    cv_score: float
    seconds: dict[str, float]


@dataclass(frozen=True)
class CleanedTable:
    """What :func:`clean` found.

    Attributes
    ----------
    frame : data frame
        The rows as they were, with the columns of :func:`clean` added; of the kind that was given.
    cleaned : Cleaned
        Everything behind these columns.
    labels : Labels
        The labels as they were read.
    features : list of Feature
        The columns learned from.
    X : ndarray of shape (m, n)
        What they became.
    model : Pipeline
        The encoder and the final classifier, as :func:`fit` gives them.
    seconds : dict of str to float
        Time by stage.
    """

    frame: Any
    cleaned: cleaning.Cleaned
    labels: Labels
    features: list[Feature]
    X: np.ndarray
    model: Pipeline
    seconds: dict[str, float]


# -------------------------------------------------------------------- the jobs


def inspect(frame: Any, **columns: Unpack[Columns]) -> Inspected:
    """Look at a table of doubtful labels before anything is learned from it.

    Parameters
    ----------
    frame : pyarrow.Table or data frame
        The table: pandas, polars, or what :func:`~surelabel.data.table_files.read_table` gives.
    **columns
        Which columns say what; see :class:`Columns`.

    Returns
    -------
    Inspected
    """
    read = TableRead(frame, columns)
    known = {*read.labelling.columns, *(feature.name for feature in read.features)}
    left = [name for name in read.table.column_names if name not in known]
    chosen = columns.get("features") is not None
    unused = {
        name: "it was left out"
        if chosen or name in columns.get("exclude", ())
        else column_kind(read.table[name])[1]
        for name in left
    }
    return Inspected(inspection.inspect(read.labels, read.features, read.table), unused)


def fit(
    frame: Any,
    *,
    method: str = "SURE",
    random_state: int = 0,
    verbose: bool = False,
    **columns: Unpack[Columns],
) -> Fitted:
    """Learn a model from a table; its parameters are chosen by cross-validation on candidates.

    Parameters
    ----------
    frame : pyarrow.Table or data frame
        The table.
    method : str, default="SURE"
        A name in :func:`surelabel.all_methods`.
    random_state : int, default=0
        Seed.
    verbose : bool, default=False
        Say on a terminal how far it is.
    **columns
        Which columns say what; see :class:`Columns`.

    Returns
    -------
    Fitted

    Examples
    --------
    >>> import pyarrow as pa
    >>> import surelabel
    >>> sizes = [1.0, 1.1, 1.2, 1.3, 8.0, 8.1, 8.2, 8.3]
    >>> labels = ["cat", "cat", "cat|cow", "cat", "cow", "cow|cat", "cow", "cow"]
    >>> table = pa.table({"size": sizes, "labels": labels})
    >>> fitted = surelabel.fit(table, labels="labels")
    >>> surelabel.predict(fitted.model, pa.table({"size": [1.15, 8.4]}))["label"].to_pylist()
    ['cat', 'cow']
    """
    comparison.find_method(method)
    seconds: dict[str, float] = {}
    with stage("labels", seconds, verbose=verbose):
        read = TableRead(frame, columns)
    with read.named():
        with stage("encode", seconds, verbose=verbose):
            encoder, X = read.encoded()
        with stage("choose parameters", seconds, verbose=verbose):
            known = cleaning.with_gold(read.labels)
            chosen = comparison.compare(
                X, known, methods=[method], folds=min(5, len(X)), random_state=random_state
            )[0]
            if chosen.error:
                raise CandidateError(chosen.error)
        with stage("fit", seconds, verbose=verbose):
            classifier = comparison.find_method(method).estimator(**chosen.parameters).fit(X, known)
    return Fitted(
        _pipeline(encoder, classifier),
        read.features,
        len(X),
        known.classes,
        method,
        chosen.parameters,
        chosen.covering_rate,
        seconds,
    )


def predict(model: Pipeline, frame: Any, *, prefix: str = "") -> Any:
    """Label the rows of a table.

    Parameters
    ----------
    model : Pipeline
        As :func:`fit` made it, or :func:`surelabel.load_model` read it.
    frame : pyarrow.Table or data frame
        The table; it has the columns that the model learned from, and any others.
    prefix : str, default=""
        What the names of the new columns begin with.

    Returns
    -------
    data frame
        The table with the columns ``label``, ``confidence`` (the model's probability of the label)
        and ``second`` (its second choice); of the kind that was given.
    """
    if not isinstance(model, Pipeline) or not isinstance(model[0], TableEncoder):
        raise ModelFileError(
            "the model did not learn from a table, so it cannot read one; make it with surelabel "
            "fit"
        )
    table = as_table(frame)
    _check_new(table, ("label", "confidence", "second"), prefix)
    for name in model[0].strange_categories(table):
        warnings.warn(
            f"{source_of(table)}: column {name!r} has no category that the model knows, so it "
            "tells nothing; is it the same "
            "column as before?",
            stacklevel=2,
        )
    proba = model.predict_proba(table)
    first, rows = proba.argmax(axis=1), np.arange(len(proba))
    confidence = proba[rows, first]
    proba[rows, first] = -1
    found = {
        "label": _labels(model.classes_, first),
        "confidence": _rounded(confidence),
        "second": _labels(model.classes_, proba.argmax(axis=1)),
    }
    return to_frame(_with_columns(table, found, prefix), frame)


def clean(
    frame: Any,
    *,
    method: str = "SURE",
    max_error: float = 0.02,
    prefix: str = "",
    random_state: int = 0,
    verbose: bool = False,
    **columns: Unpack[Columns],
) -> CleanedTable:
    """Choose a label for every row of a table, say how sure it is, and which rows a person should
    look at.

    The columns added are ``label``, ``confidence``, ``margin``, ``second``, ``status`` (certain,
    likely or look), ``outside`` (the true label is probably not among the candidates),
    ``suggestion`` (the label that the features then speak for), ``duplicate`` (number of a group of
    rows with equal features but different candidates) and ``look`` (1 for the row to look at first,
    2 for the next). In long form the rows of an id become one, with the candidates as a list.

    Parameters
    ----------
    frame : pyarrow.Table or data frame
        The table.
    method : str, default="SURE"
        A name in :func:`surelabel.all_methods`.
    max_error : float, default=0.02
        Labels whose estimated error is at most this are certain.
    prefix : str, default=""
        What the names of the new columns begin with.
    random_state : int, default=0
        Seed.
    verbose : bool, default=False
        Say on a terminal how far it is.
    **columns
        Which columns say what; see :class:`Columns`.

    Returns
    -------
    CleanedTable
    """
    comparison.find_method(method)
    seconds: dict[str, float] = {}
    with stage("labels", seconds, verbose=verbose):
        read = TableRead(frame, columns)
        _check_new(read.table, NEW_COLUMNS, prefix)
    with read.named():
        with stage("encode", seconds, verbose=verbose):
            encoder, X = read.encoded()
        found = cleaning.clean(
            X,
            read.labels,
            method=method,
            max_error=max_error,
            random_state=random_state,
            verbose=verbose,
        )
    # Rows that have become one keep their candidates as a list.
    table = to_form(read.labels, read.labelling, "lists") if read.labelling.long else read.table
    return CleanedTable(
        frame=to_frame(_with_columns(table, _found(found), prefix), frame),
        cleaned=found,
        labels=read.labels,
        features=read.features,
        X=X,
        model=_pipeline(encoder, found.model),
        seconds=seconds | found.seconds,
    )


def compare(
    frame: Any,
    *,
    methods: Sequence[str] | None = None,
    folds: int = 5,
    max_rows: int = 2000,
    random_state: int = 0,
    verbose: bool = False,
    **columns: Unpack[Columns],
) -> list[comparison.Comparison]:
    """Compare which method, with which parameters, suits a table, by cross-validation that looks at
    candidates only.

    Parameters
    ----------
    frame : pyarrow.Table or data frame
        The table.
    methods : sequence of str, default=None
        Names in :func:`surelabel.all_methods`; None for all of them.
    folds : int, default=5
        Number of folds.
    max_rows : int, default=2000
        Compare on a random sample of at most so many rows.
    random_state : int, default=0
        Seed of the sample and the folds.
    verbose : bool, default=False
        Say on a terminal how far it is.
    **columns
        Which columns say what; see :class:`Columns`.

    Returns
    -------
    list of Comparison
        The best covering rate first; methods that could not be run last.
    """
    for name in methods or ():
        comparison.find_method(name)
    read = TableRead(frame, columns)
    with read.named():
        return comparison.compare(
            read.encoded()[1],
            cleaning.with_gold(read.labels),
            methods=methods,
            folds=folds,
            max_rows=max_rows,
            random_state=random_state,
            verbose=verbose,
        )


# -------------------------------------------------------------------- new columns

NEW_COLUMNS = (
    "label",
    "confidence",
    "margin",
    "second",
    "status",
    "outside",
    "suggestion",
    "duplicate",
    "look",
)


def _found(cleaned: cleaning.Cleaned) -> dict[str, pa.Array]:
    """The columns that :func:`clean` adds."""
    rank = np.zeros(len(cleaned.label), np.int64)
    rows = cleaning.rows_to_look_at(cleaned)
    rank[rows] = np.arange(1, len(rows) + 1)
    columns = (
        _labels(cleaned.classes, cleaned.label),
        _rounded(cleaned.confidence),
        _rounded(cleaned.margin),
        _labels(cleaned.classes, cleaned.second),
        pa.array(cleaned.status),
        pa.array(cleaned.outside),
        _labels(cleaned.classes, cleaned.suggestion),
        pa.array(cleaned.duplicate + 1, mask=cleaned.duplicate < 0),
        pa.array(rank, mask=rank == 0),
    )
    return dict(zip(NEW_COLUMNS, columns, strict=True))


def _check_new(table: pa.Table, names: Sequence[str], prefix: str) -> None:
    """Refuse names that the table has already, before anything is computed."""
    taken = [prefix + name for name in names if prefix + name in table.column_names]
    if taken:
        raise TableError(
            f"{source_of(table)}: there is a column {taken[0]!r} already, and a new one would be "
            "called so; rename it, or let "
            "the new names begin with a word of their own (--prefix new_)"
        )


def _with_columns(table: pa.Table, columns: dict[str, pa.Array], prefix: str) -> pa.Table:
    for name, column in columns.items():
        table = table.append_column(prefix + name, column)
    return table


def _labels(classes: np.ndarray, codes: np.ndarray) -> pa.Array:
    """Labels by their positions, none for -1."""
    return pa.array(classes).take(pa.array(codes, mask=codes < 0))


def _rounded(values: np.ndarray) -> pa.Array:
    return pa.array(np.round(values.astype(np.float64), DECIMALS))


def _pipeline(encoder: TableEncoder, classifier: Any) -> Pipeline:
    return Pipeline([("encoder", encoder), ("classifier", classifier)])
