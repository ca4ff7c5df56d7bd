"""``fit`` and ``predict``: a model from a table of doubtful labels, and labels for new tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
from sklearn.utils import gen_batches

from ..data.arrow_tables import source_of
from ..data.frames import to_frame
from ..data.label_order import has_order, written_order
from ..estimators import load_model
from ..exceptions import ModelFileError, ParameterError, SurelabelError, first_few
from ..progress import stage
from ..solvers.equal_rows import equal_rows
from ..solvers.memory import block_rows
from ..text import count, percent
from .answers import use_answers
from .calibration import sure_of_new
from .columns import Feature
from .embedding import embed_columns
from .encoding import TableModel
from .methods import VOTES_ONLY, by_content, find_method, fit_method
from .new_columns import MEDIAN, add_columns, check_new_columns, label_column, rounded
from .overview import Overview, Result, kinds, named, written_parameters
from .reading import Columns, Reading, TableRead, kinds_given, open_table


@dataclass(frozen=True, kw_only=True, repr=False)
class Fitted(Result):
    """What :func:`fit` learned.

    Attributes
    ----------
    model : TableModel
        A :class:`~surelabel.tables.TableEncoder` and a classifier; :func:`surelabel.save_model`
        writes it to a file, unless the classifier is built on an ``estimator``.
    features : list of Feature
        The columns learned from.
    n_rows : int
        Number of rows learned from.
    classes : ndarray
        The labels that the model tells apart.
    method, parameters : str, dict
        The method, and the parameters chosen for it.
    cv_score : float
        Covering rate of left-out rows at these parameters; NaN if every label is always a
        candidate, as with soft labels.
    """

    model: TableModel
    features: list[Feature]
    n_rows: int
    classes: np.ndarray
    method: str
    parameters: dict[str, Any]
    cv_score: float

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        return {
            "rows": self.n_rows,
            "classes": self.classes,
            "features": {feature.name: feature.kind for feature in self.features},
            "method": self.method,
            "parameters": self.parameters,
            "covering_rate": self.cv_score,
        }

    def overview(self) -> Overview:
        """A short summary of the result."""
        classes = count(len(self.classes), "class", "classes")
        covering = f"{percent(self.cv_score)} of the predictions are among the candidates"
        return Overview(
            title=f"a model of {count(self.n_rows)} and {classes}",
            facts=[
                ("classes", self._classes()),
                ("learned from", kinds(self.features)),
                ("method", f"{self.method} ({written_parameters(self.parameters)})"),
                *([] if np.isnan(self.cv_score) else [("left-out rows", covering)]),
            ],
        )

    def _classes(self) -> str:
        ordered = getattr(self.model.classifier, "ordered", False)
        if has_order(ordered):
            return written_order(ordered, self.classes)
        return named(self.classes.tolist())


def fit(
    frame: Any,
    *,
    method: str = "PURE",
    answers: Any = None,
    estimator: Any = None,
    random_state: int = 0,
    verbose: bool = False,
    **columns: Unpack[Columns],
) -> Fitted:
    """Learn a model from a table; its parameters are chosen by cross-validation on candidates.

    Parameters
    ----------
    frame : data frame, pyarrow.Table or path
        The table.
    method : str, default="PURE"
        A name in :func:`surelabel.all_methods`; with votes, PURE means "Crowd".
    answers : path-like, default=None
        A file of answers that ``surelabel review`` wrote; they are taken as true.
    estimator : classifier or "module:name", default=None
        With votes, the model of the features: any scikit-learn classifier with ``predict_proba``.
    random_state : int, default=0
        Seed.
    verbose : bool, default=False
        Show progress on a terminal.
    **columns
        Which columns hold what; see :class:`~surelabel.tables.Columns`.

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
    >>> surelabel.predict(fitted, pa.table({"size": [1.15, 8.4]}))["label"].to_pylist()
    ['cat', 'cow']
    """
    if method in VOTES_ONLY:
        raise ParameterError(
            f"{method} goes by votes alone and learns no model of the features: use clean, or "
            "leave the method out"
        )
    find_method(method)
    with stage("labels", verbose=verbose):
        read = TableRead(frame, columns)
        answered = read.labels
        if answers is not None:
            answered, _ = use_answers(answers, answered, read.labelling.id, read.source)
    with read.named():
        with stage("encode", verbose=verbose):
            encoder, X = read.encoded()
        order = by_content(X, read.labels)
        X = X[order]
        learn = partial(
            fit_method,
            method,
            X,
            equal=equal_rows([X]),
            random_state=random_state,
            estimator=estimator,
            verbose=verbose,
        )
        found = learn(read.labels.take(order))
        if answered is not read.labels:
            found = learn(answered.take(order), like=found)
    return Fitted(
        model=TableModel(encoder, found.model),
        features=read.features,
        n_rows=len(X),
        classes=answered.candidates.classes,
        method=found.method,
        parameters=found.parameters,
        cv_score=found.covering_rate,
    )


def predict(
    model: Any,
    frame: Any,
    *,
    prefix: str = "",
    as_: Mapping[str, Any] | None = None,
    **reading: Unpack[Reading],
) -> Any:
    """Label the rows of a table.

    Parameters
    ----------
    model : Fitted, Cleaned, TableModel or path
        As :func:`fit` or :func:`clean` made it, or its file.
    frame : data frame, pyarrow.Table or path
        The table, with the columns that the model learned from; others are kept.
    prefix : str, default=""
        Prefix of the names of the new columns.
    as_ : mapping of str to callable, transformer or "module:name", default=None
        The functions that compute vectors: the same as in :func:`fit`, because model files contain
        no code. Kinds of columns are not needed: the model knows them.
    **reading
        How the file is written; see :class:`~surelabel.tables.Columns`.

    Returns
    -------
    data frame
        The table with the columns ``label``, ``confidence`` (the model's probability of the label)
        and ``second`` (its second choice); if labels have an order, also ``median``, the label with
        the smallest expected distance to the truth. The same kind of frame as given.
    """
    model = load_model(model) if isinstance(model, str | PathLike) else model
    model = getattr(model, "model", model)
    if not isinstance(model, TableModel):
        raise ModelFileError(
            "the model did not learn from a table, so it cannot read one; make it with surelabel "
            "fit"
        )
    frame, table = open_table(frame, **reading)
    ordered = has_order(getattr(model.classifier, "ordered", False))
    check_new_columns(table, ("label", "confidence", "second", *[MEDIAN] * ordered), prefix)
    embedded, _ = embed_columns(table, kinds_given(as_, table)[1])
    with _usable():
        _warn_of_categories(model.encoder.unknown_categories(embedded), source_of(table))
        X = model.encoder.transform(embedded)
        first, second, confidence = _two_best(model.classifier, X)
        found = {
            "label": label_column(model.classes_, first),
            "confidence": rounded(confidence),
            "second": label_column(model.classes_, second),
        }
        if ordered:
            found[MEDIAN] = pa.array(model.classifier.predict(X, loss="absolute"))
    return to_frame(add_columns(table, found, prefix), frame)


def _two_best(classifier: Any, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first and the second class of each row, and how sure the first is; a block of rows at a
    time, because there may be many classes.
    """
    first, second = np.empty(len(X), int), np.empty(len(X), int)
    confidence = np.empty(len(X))
    for part in gen_batches(len(X), block_rows(len(classifier.classes_))):
        proba = classifier.predict_proba(X[part])
        rows = np.arange(len(proba))
        first[part] = proba.argmax(axis=1)
        confidence[part] = sure_of_new(classifier, X[part], proba)
        proba[rows, first[part]] = -1
        second[part] = proba.argmax(axis=1)
    return first, second, confidence


@contextmanager
def _usable() -> Iterator[None]:
    """Turn an unexpected error inside a model into one that says that the model is unusable."""
    try:
        yield
    except (SurelabelError, MemoryError, OSError, Warning):
        raise
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelFileError(f"the model cannot be used ({why}); fit it again") from error


def _warn_of_categories(unknown: dict[str, np.ndarray], source: str) -> None:
    if unknown:
        where = (
            f"column {name!r} in {len(rows)} row(s), the first of them row {rows[0] + 1}"
            for name, rows in unknown.items()
        )
        warnings.warn(
            f"{source}: categories that the model does not know carry no information: "
            f"{first_few(where)}",
            stacklevel=3,
        )
