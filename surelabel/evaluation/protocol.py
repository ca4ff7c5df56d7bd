"""The paper's protocol: ten outer folds to measure accuracy, and five inner folds of the training
rows to choose parameters.

Folds depend only on the number of rows and a seed, so every method gets the same ones. They are not
stratified: training sets have no true labels to stratify by, and some classes of FG-NET have a
single row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, KFold

from ..data.candidates import CandidateSets
from ..exceptions import ParameterError
from .metrics import (
    SCORERS,
    accuracy_within,
    covering_rate,
    mean_absolute_error,
    transductive_accuracy,
)

#: The criteria for choosing parameters. The first two use only candidates; "oracle" uses true
#: labels.
SELECTIONS = ("covering_rate", "approximated_accuracy", "oracle")


@dataclass(frozen=True)
class Fold:
    """The rows of one outer fold."""

    train: np.ndarray  # rows to learn from
    test: np.ndarray  # rows to measure on
    select: np.ndarray  # training rows on which parameters are chosen: all, or a limited number
    inner: list[tuple[np.ndarray, np.ndarray]]  # inner folds, as positions within select


def make_folds(
    n_rows: int, *, n_folds: int = 10, inner_folds: int = 5, max_select: int = 0, seed: int = 0
) -> list[Fold]:
    """Split rows into outer folds, and the training rows of each into inner folds. Parameters are
    chosen on a random sample of at most ``max_select`` training rows; 0 means on all.

    >>> fold = make_folds(1000, max_select=200)[3]
    >>> len(fold.train), len(fold.test), len(fold.select), len(fold.inner)
    (900, 100, 200, 5)
    """
    smallest = n_rows - -(-n_rows // n_folds) if n_folds > 1 else 0
    smallest = min(smallest, max_select) if max_select > 0 else smallest
    if not 1 < n_folds <= n_rows or not 1 < inner_folds <= smallest or max_select < 0:
        raise ParameterError(
            f"{n_rows} rows cannot be split into {n_folds} outer and {inner_folds} inner folds "
            f"(with max_select={max_select}); each fold needs a row, and there must be at least "
            "two folds"
        )
    outer = KFold(n_folds, shuffle=True, random_state=_seed(seed, 0)).split(np.empty(n_rows))
    return [
        _fold(train, test, inner_folds, max_select, _seed(seed, 1 + number))
        for number, (train, test) in enumerate(outer)
    ]


def _fold(
    train: np.ndarray, test: np.ndarray, inner_folds: int, max_select: int, seed: int
) -> Fold:
    select = train
    if 0 < max_select < len(train):
        select = np.sort(np.random.default_rng(seed).choice(train, max_select, replace=False))
    inner = KFold(inner_folds, shuffle=True, random_state=seed).split(select)
    return Fold(train, test, select, list(inner))


def _seed(*identity: int) -> int:
    return int(np.random.SeedSequence(identity).generate_state(1)[0])


def grid_search(estimator: Any, grid: Mapping[str, Sequence[Any]], selection: str) -> GridSearchCV:
    """A search over the grid of any partial-label classifier, for :func:`select_parameters`. It
    does not refit, because the final model learns from all training rows.
    """
    check_selection(selection)
    return GridSearchCV(
        estimator, dict(grid), scoring=SCORERS[selection], refit=False, error_score="raise"
    )


def select_parameters(
    search: Any, X: Any, candidates: CandidateSets, y: Any, fold: Fold, *, selection: str
) -> dict[str, Any]:
    """The best point of the grid on the inner folds of an outer fold. The search comes from
    :meth:`surelabel.estimators.Method.make_search` and scores by ``selection``; the true labels
    ``y`` are passed on for "oracle" only.
    """
    check_selection(selection)
    rows, oracle = fold.select, selection == "oracle"
    truth = {"y_true": np.asarray(y)[rows]} if oracle else {}
    search.set_params(cv=fold.inner)
    # With routing, scikit-learn's search passes the true labels of the left-out rows to the scorer.
    with config_context(enable_metadata_routing=oracle):
        search.fit(X[rows], candidates[rows], **truth)
    return chosen_parameters(search)


def chosen_parameters(search: Any) -> dict[str, Any]:
    """The parameters that a fitted search has chosen, with NumPy numbers as Python numbers."""
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in search.best_params_.items()
    }


def fold_scores(
    candidates: CandidateSets,
    y: Any,
    fold: Fold,
    y_pred: Any,
    transduction: Any,
    *,
    ordered: bool = False,
) -> dict[str, float]:
    """The scores of one outer fold, by name.

    Candidates and true labels are those of the whole data set, ``y_pred`` are the predictions of
    the test rows, and ``transduction`` is the candidate found for each training row
    (``estimator.transduction_``). If labels are ``ordered``, they are numbers whose distance has a
    meaning: the accuracies within 3 and 5 and the mean distance are added.
    """
    y = np.asarray(y)
    truth = CandidateSets.from_labels(y[fold.test])
    scores = {"accuracy": covering_rate(truth, y_pred)}
    if ordered:
        scores |= {f"accuracy_within_{k}": accuracy_within(truth, y_pred, k) for k in (3, 5)}
        scores["mean_absolute_error"] = mean_absolute_error(truth, y_pred)
    scores["transductive_accuracy"] = transductive_accuracy(y[fold.train], transduction)
    scores["covering_rate"] = covering_rate(candidates[fold.test], y_pred)
    return scores


def check_selection(selection: str) -> None:
    """Refuse a criterion that is not in :data:`SELECTIONS`."""
    if selection not in SELECTIONS:
        raise ParameterError(
            f"parameters can be selected by {', '.join(SELECTIONS)}; got {selection!r}"
        )
