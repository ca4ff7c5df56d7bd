"""Metrics for predictions.

A rate or accuracy is a share, and higher is better; for an error, lower is better. ``y`` may be
true labels or candidates in any form: a prediction counts as right if it is one of the candidates.
``SCORERS`` contains the metrics as scorers for scikit-learn's searches.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.stats import kendalltau
from sklearn.utils.metadata_routing import MetadataRequest

from ..data.candidates import CandidateSets, as_candidates
from ..data.label_order import has_order, label_positions
from ..exceptions import (
    CandidateError,
    InputError,
    ParameterError,
    SurelabelError,
    first_few,
    shown,
)
from ..solvers.sparse_rows import row_argmax, row_max, row_sum

MOST_BINS = 10**6  # maximum for a calibration error
ROUNDING = 1e-5  # a probability may exceed 1 by this, as sums in single precision do


def covering_rate(y: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of predictions that lie inside the candidate set.

    It needs no true labels, so it can be used to choose parameters. With one label per row it is
    the accuracy.

    Parameters
    ----------
    y : CandidateSets or any form of candidates
        What is known of each instance.
    y_pred : array-like of shape (m,)
        Predicted labels.
    sample_weight : array-like of shape (m,), default=None
        Weights of the instances.

    Returns
    -------
    float
    """
    return _mean(_known(y).contains(y_pred), sample_weight)


def approximated_accuracy(
    y: Any, proba: Any, *, classes: Any = None, sample_weight: Any = None
) -> float:
    """Accuracy estimated from candidates alone: the probability of the prediction, renormalised
    over the candidates.

    A prediction outside the candidate set counts as 0; inside, as its share of the probability that
    the model gives to all candidates.

    Parameters
    ----------
    y : CandidateSets or any form of candidates
        What is known of each instance.
    proba : array-like of shape (m, l)
        Predicted probabilities.
    classes : array-like of shape (l,), default=None
        The class of each column of ``proba``; by default the classes of ``y``.
    sample_weight : array-like of shape (m,), default=None
        Weights of the instances.

    Returns
    -------
    float
    """
    candidates, proba = _aligned(y, proba, classes)
    inside = proba[candidates.rows, candidates.indices]
    mass = row_sum(inside, candidates.indptr)
    best = proba.argmax(axis=1)
    covered = candidates.contains(candidates.classes[best])
    expected = np.divide(
        proba[np.arange(len(proba)), best],
        mass,
        out=np.zeros(len(mass)),
        where=covered & (mass > 0),
    )
    return _mean(expected, sample_weight)


def accuracy_within(
    y: Any, y_pred: Any, k: float, *, ordered: Any = True, sample_weight: Any = None
) -> float:
    """Share of predictions at most ``k`` away from the true label, for labels with an order, such
    as ages.

    The paper's MAE3 and MAE5 are ``k = 3`` and ``k = 5``. With several candidates, the nearest one
    counts.

    Parameters
    ----------
    y : array-like of shape (m,), or candidates in any form
        What is known of each instance.
    y_pred : array-like of shape (m,)
        Predicted labels.
    k : float
        The largest distance allowed.
    ordered : True or sequence, default=True
        As for :func:`mean_absolute_error`.
    sample_weight : array-like of shape (m,), default=None
        Weights of the instances.

    Returns
    -------
    float

    Examples
    --------
    >>> accuracy_within([20, 30, 40, 50], [23, 30, 44, 10], k=3)
    0.5
    """
    if not isinstance(k, Real) or not 0 <= k <= sys.float_info.max:
        raise ParameterError(f"k must be a distance: a finite number, at least 0; got {shown(k)}")
    return _mean(_distances(y, y_pred, ordered) <= k, sample_weight)


def mean_absolute_error(
    y: Any, y_pred: Any, *, ordered: Any = True, sample_weight: Any = None
) -> float:
    """Mean distance between predictions and true labels, for labels that have an order.

    With several candidates, the nearest one counts, so that it needs no true labels.

    Parameters
    ----------
    y : array-like of shape (m,), or candidates in any form
        What is known of each instance.
    y_pred : array-like of shape (m,)
        Predicted labels.
    ordered : True or sequence, default=True
        True for numbers; otherwise the classes in their order, whose distance is the number of
        steps between them.
    sample_weight : array-like of shape (m,), default=None
        Weights of the instances.

    Returns
    -------
    float

    Examples
    --------
    >>> mean_absolute_error([20, 30, 40, 50], [23, 30, 44, 10])
    11.75
    >>> mean_absolute_error(["low", "high"], ["low", "low"], ordered=["low", "middle", "high"])
    1.0
    """
    return _mean(_distances(y, y_pred, ordered), sample_weight)


def rank_correlation(y_true: Any, y_pred: Any, *, ordered: Any = True) -> float:
    """Kendall's τ_b of predictions and true labels: whether higher labels are predicted higher.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (m,)
        True and predicted labels.
    ordered : True or sequence, default=True
        As for :func:`mean_absolute_error`.

    Returns
    -------
    float
        From -1 to 1; NaN if all predictions are equal.
    """
    truth, found = _places(y_true, "y_true", ordered), _places(y_pred, "y_pred", ordered)
    if truth.shape != found.shape:
        raise CandidateError(f"there are {len(truth)} true and {len(found)} predicted labels")
    return float(kendalltau(truth, found).statistic)


def transductive_accuracy(y_true: Any, transduction: Any, *, sample_weight: Any = None) -> float:
    """Share of training instances for which the right candidate was found.

    Parameters
    ----------
    y_true : array-like of shape (m,)
        True labels of the training instances.
    transduction : array-like of shape (m,)
        The best candidate of each: ``estimator.transduction_``, or :func:`best_candidate`.
    sample_weight : array-like of shape (m,), default=None
        Weights of the instances.

    Returns
    -------
    float
    """
    return covering_rate(
        CandidateSets.from_labels(y_true), transduction, sample_weight=sample_weight
    )


def best_candidate(y: Any, proba: Any, *, classes: Any = None) -> np.ndarray:
    """The most probable candidate of each instance; arguments as for
    :func:`approximated_accuracy`. Ties go to the first class.
    """
    candidates, proba = _aligned(y, proba, classes)
    best = row_argmax(proba[candidates.rows, candidates.indices], candidates.indptr)
    return np.asarray(candidates.classes[candidates.indices[best]])


def expected_calibration_error(
    y: Any, proba: Any, *, classes: Any = None, n_bins: int = 15, sample_weight: Any = None
) -> float:
    """How far the probability of the prediction is from how often it is right: ``Σ_b (n_b/m)
    |right_b - probability_b|``.

    With several candidates, "right" means inside the candidate set, which makes a good model look
    underconfident; if true labels are known, pass those.

    Parameters
    ----------
    y : array-like of shape (m,), or candidates in any form
        What is known of each instance.
    proba : array-like of shape (m, l)
        Predicted probabilities.
    classes : array-like of shape (l,), default=None
        The class of each column of ``proba``; by default the classes of ``y``.
    n_bins : int, default=15
        Number of bins of equal width over probabilities from 0 to 1.
    sample_weight : array-like of shape (m,), default=None
        Weights of the instances.

    Returns
    -------
    float

    References
    ----------
    Guo, Pleiss, Sun and Weinberger. On calibration of modern neural networks. ICML 2017.
    """
    if isinstance(n_bins, bool) or not isinstance(n_bins, Integral) or not 1 <= n_bins <= MOST_BINS:
        raise ParameterError(
            f"n_bins must be a whole number from 1 to {MOST_BINS}; got {shown(n_bins)}"
        )
    candidates, proba = _aligned(y, proba, classes)
    right = candidates.contains(candidates.classes[proba.argmax(axis=1)])
    confidence = proba.max(axis=1)
    weight = (
        np.ones(len(right)) if sample_weight is None else row_weights(sample_weight, len(right))
    )
    # Bins include their right end, such as (0.2, 0.4]: a probability of 1 belongs to the last.
    bins = np.digitize(confidence, np.linspace(0, 1, n_bins + 1)[1:-1], right=True)
    gap = np.bincount(bins, weight * (right - confidence), minlength=n_bins)
    return float(np.abs(gap).sum() / weight.sum())


# ---------------------------------------------------------------- scorers


@dataclass(frozen=True)
class CandidateScorer:
    """A metric as a scikit-learn scorer: ``scoring=SCORERS[name]`` in ``GridSearchCV`` or
    ``cross_validate``.

    ``y`` holds the candidates that the search is given. An *oracle* scorer also needs the true
    labels; scikit-learn passes them on if its metadata routing is enabled::

        with sklearn.config_context(enable_metadata_routing=True):
            GridSearchCV(estimator, grid, scoring=SCORERS["oracle"]).fit(X, candidates, y_true=y)

    Attributes
    ----------
    name : str
        Its name in ``SCORERS``.
    function : callable
        ``function(estimator, X, y)``, with ``y_true`` as a fourth argument for an oracle; higher is
        better.
    oracle : bool
        Whether it uses true labels.
    """

    name: str
    function: Callable[..., float]
    oracle: bool = False

    def __call__(self, estimator: Any, X: Any, y: Any, y_true: Any = None) -> float:
        """Score a fitted estimator."""
        if not self.oracle:
            return self.function(estimator, X, y)
        if y_true is None:
            raise ParameterError(
                f"the scorer {self.name!r} needs the true labels: fit(X, candidates, y_true=...) "
                "under sklearn.config_context(enable_metadata_routing=True)"
            )
        return self.function(estimator, X, y, y_true)

    def get_metadata_routing(self) -> MetadataRequest:
        """What scikit-learn must pass on: the true labels, for an oracle."""
        request = MetadataRequest(owner=self.name)
        if self.oracle:
            request.score.add_request(param="y_true", alias=True)
        return request


def _score_covering(estimator: Any, X: Any, y: Any) -> float:
    return covering_rate(y, estimator.predict(X))


def _score_approximated(estimator: Any, X: Any, y: Any) -> float:
    return approximated_accuracy(y, estimator.predict_proba(X), classes=estimator.classes_)


def _score_calibration(estimator: Any, X: Any, y: Any) -> float:
    return -expected_calibration_error(y, estimator.predict_proba(X), classes=estimator.classes_)


def _score_within(k: float, estimator: Any, X: Any, y: Any) -> float:
    return accuracy_within(y, estimator.predict(X), k, ordered=_order_of(estimator))


def _order_of(estimator: Any) -> Any:
    """The order that a model was fitted with; numbers have theirs."""
    ordered = getattr(estimator, "ordered", True)
    return ordered if has_order(ordered) else True


def _score_distance(estimator: Any, X: Any, y: Any) -> float:
    return -mean_absolute_error(y, estimator.predict(X), ordered=_order_of(estimator))


def _score_absolute(estimator: Any, X: Any, y: Any, y_true: Any) -> float:
    return -mean_absolute_error(y_true, estimator.predict(X), ordered=_order_of(estimator))


def _score_ranks(estimator: Any, X: Any, y: Any, y_true: Any) -> float:
    return rank_correlation(y_true, estimator.predict(X), ordered=_order_of(estimator))


def _score_oracle(estimator: Any, X: Any, y: Any, y_true: Any) -> float:
    return covering_rate(CandidateSets.from_labels(y_true), estimator.predict(X))


def _score_transductive(estimator: Any, X: Any, y: Any, y_true: Any) -> float:
    return transductive_accuracy(
        y_true, best_candidate(y, estimator.predict_proba(X), classes=estimator.classes_)
    )


SCORERS: dict[str, CandidateScorer] = {
    scorer.name: scorer
    for scorer in (
        CandidateScorer("covering_rate", _score_covering),
        CandidateScorer("approximated_accuracy", _score_approximated),
        CandidateScorer("neg_expected_calibration_error", _score_calibration),
        CandidateScorer("accuracy_within_3", partial(_score_within, 3)),
        CandidateScorer("accuracy_within_5", partial(_score_within, 5)),
        CandidateScorer("neg_distance_to_set", _score_distance),
        CandidateScorer("neg_mean_absolute_error", _score_absolute, oracle=True),
        CandidateScorer("rank_correlation", _score_ranks, oracle=True),
        CandidateScorer("oracle", _score_oracle, oracle=True),
        CandidateScorer("transductive_accuracy", _score_transductive, oracle=True),
    )
}
"""Every metric as a scorer, by name: ``cross_validate(model, X, candidates,
scoring=SCORERS["covering_rate"])``. With true labels, "oracle" is the accuracy, and
"transductive_accuracy" that of the best candidates.
"""


# ---------------------------------------------------------------- parts


def row_weights(sample_weight: Any, n_rows: int, dtype: Any = np.float64) -> np.ndarray:
    """Weights of rows as numbers: one for each row, not negative, not all zero, and with a finite
    sum.
    """
    with np.errstate(over="ignore"):
        weight = _numbers(sample_weight, "sample_weight", InputError).astype(dtype)
        total = weight.sum()
    if weight.shape != (n_rows,):
        raise InputError(
            f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}: one weight per row"
        )
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(wrong):
        raise InputError(
            f"sample_weight must be finite and not negative; it is not in row {first_few(wrong)}"
        )
    if not 0 < total < np.inf:
        raise InputError(
            f"sample_weight adds up to {total}, but the sum must be finite and above zero"
        )
    return weight


def _mean(values: np.ndarray, sample_weight: Any) -> float:
    """Mean of one value per row."""
    if sample_weight is None:
        return float(np.mean(values))
    return float(np.average(values, weights=row_weights(sample_weight, len(values))))


def _known(y: Any) -> CandidateSets:
    """The candidates of the rows; there must be at least one row."""
    candidates = as_candidates(y)
    if not len(candidates):
        raise CandidateError("there are no rows to score")
    return candidates


def _numbers(values: Any, name: str, error: type[SurelabelError]) -> np.ndarray:
    """An array of float64."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"it holds {array.dtype}")
        return array.astype(float)
    except (TypeError, ValueError, OverflowError) as problem:
        raise error(f"{name} must be numbers: {problem}") from None


def _places(labels: Any, name: str, ordered: Any) -> np.ndarray:
    """Where labels stand; there must be one for each row."""
    if ordered is True:
        places = _numbers(np.asarray(labels, object), name, CandidateError)  # also as text
    else:
        known, number = np.unique(np.asarray(labels, object).astype(str), return_inverse=True)
        places = label_positions(ordered, known)[number]
    if len(absent := np.flatnonzero(np.isnan(places))):
        raise CandidateError(f"there is no label in row {first_few(absent)} of {name}")
    return places


def _distances(y: Any, y_pred: Any, ordered: Any) -> np.ndarray:
    """How far each prediction is from the nearest candidate."""
    candidates, places = _known(y), _places(y_pred, "y_pred", ordered)
    if places.shape != (len(candidates),):
        raise CandidateError(
            f"y_pred has shape {places.shape}, but there are {len(candidates)} rows of candidates"
        )
    own = _places(candidates.classes, "y", ordered)[candidates.indices]
    return np.asarray(-row_max(-np.abs(own - places[candidates.rows]), candidates.indptr))


def _aligned(y: Any, proba: Any, classes: Any) -> tuple[CandidateSets, np.ndarray]:
    """Candidates over the classes of the columns of ``proba``, and ``proba`` as an array of the
    same shape.
    """
    candidates = _known(y)
    if classes is not None:
        candidates = candidates.with_classes(classes)
    proba = _numbers(proba, "proba", InputError)
    if proba.shape != candidates.shape:
        raise CandidateError(
            f"proba has shape {proba.shape} but the candidates are {candidates.shape[0]} rows × "
            f"{candidates.shape[1]} classes"
        )
    wrong = ~((proba >= 0) & (proba <= 1 + ROUNDING))
    if wrong.any():
        rows = np.flatnonzero(wrong.any(axis=1))
        raise InputError(f"proba must hold probabilities, from 0 to 1; see row {first_few(rows)}")
    return candidates, proba
