"""Whether a difference between methods is more than chance.

On one data set, from the scores of the folds: :func:`two_sample_t` (the paper's test) and
:func:`corrected_paired_t` (which takes into account that folds are paired and share training rows).
Over many data sets: :func:`friedman` and :func:`critical_difference`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import stats

from ..exceptions import ParameterError

Verdict = Literal["win", "tie", "loss"]


def two_sample_t(a: Any, b: Any, alpha: float = 0.05) -> Verdict:
    """Whether ``a`` is significantly better ("win") or worse ("loss") than ``b``, by Student's
    t-test for two independent samples of equal variance, as the paper does.

    Folds of one cross-validation are not independent, so this test is not exact. Use it to count
    wins and losses as the paper does.

    >>> two_sample_t([0.80, 0.82, 0.81], [0.70, 0.71, 0.69])
    'win'
    """
    a, b = _scores(a), _scores(b)
    n_a, n_b = len(a), len(b)
    pooled = ((n_a - 1) * a.var(ddof=1) + (n_b - 1) * b.var(ddof=1)) / (n_a + n_b - 2)
    p = _p_value(a.mean() - b.mean(), pooled * (1 / n_a + 1 / n_b), n_a + n_b - 2)
    if p >= alpha:
        return "tie"
    return "win" if a.mean() > b.mean() else "loss"


def corrected_paired_t(a: Any, b: Any, n_train: float, n_test: float) -> float:
    """P-value of the paired t-test with the variance corrected for training sets that overlap.

    ``t = mean(d) / sqrt((1/k + n_test/n_train) · var(d))`` with k - 1 degrees of freedom, where
    ``d`` are the differences of the k folds.

    Parameters
    ----------
    a, b : array-like of shape (k,)
        Scores of both methods on the same folds.
    n_train, n_test : float
        Number of training and of test rows of a fold.

    Returns
    -------
    float
        Two-sided p-value; 1 if the scores are the same, 0 if they differ by the same amount in all
        folds.

    References
    ----------
    Nadeau and Bengio. Inference for the generalization error. Machine Learning 52, 2003.
    """
    a, b = _scores(a), _scores(b)
    if len(a) != len(b):
        raise ParameterError(
            f"a paired test needs the same folds of both methods; there are {len(a)} and {len(b)} "
            "scores"
        )
    if not (n_train > 0 and n_test > 0):
        raise ParameterError(
            f"n_train and n_test must be numbers of rows; got {n_train} and {n_test}"
        )
    difference = a - b
    variance = (1 / len(a) + n_test / n_train) * difference.var(ddof=1)
    return _p_value(difference.mean(), variance, len(a) - 1)


class Friedman(NamedTuple):
    """Result of :func:`friedman`."""

    statistic: float  # χ², corrected for ties
    p_value: float
    average_ranks: np.ndarray  # mean rank of each method; 1 is best


def friedman(scores: Any) -> Friedman:
    """Friedman's test of whether methods differ in their ranks over data sets (Demšar. Statistical
    comparisons of classifiers over multiple data sets. JMLR 7, 2006).

    ``scores`` has a row per data set and a column per method; higher is better. Scores that differ
    by rounding errors only, such as means of the same numbers in another order, are ties.
    """
    scores = np.asarray(scores, float)
    if scores.ndim != 2 or min(scores.shape) < 2 or not np.isfinite(scores).all():
        raise ParameterError(
            "Friedman's test needs at least two data sets and two methods, without gaps; got "
            f"{scores.shape}"
        )
    n, k = scores.shape
    size = np.abs(scores).max(axis=1, keepdims=True)
    ranks = stats.rankdata(-np.round(scores / np.where(size > 0, size, 1), 12), axis=1)
    average = ranks.mean(axis=0)
    # scipy.stats.friedmanchisquare refuses two methods, and gives NaN if all scores are equal.
    # Between methods over within data sets; without ties the latter is n·k(k² - 1)/12 and this is
    # Friedman's formula.
    within = np.square(ranks - (k + 1) / 2).sum()
    between = n**2 * np.square(average - (k + 1) / 2).sum()
    statistic = float((k - 1) * between / within) if within else 0.0
    return Friedman(statistic, float(stats.chi2.sf(statistic, k - 1)), average)


def critical_difference(n_methods: int, n_datasets: int, alpha: float = 0.05) -> float:
    """Nemenyi's critical difference: average ranks further apart than this differ significantly.

    ``q_α · sqrt(k(k + 1) / 6n)`` for k methods on n data sets, where ``q_α`` is the Studentised
    range at infinitely many degrees of freedom, over √2.

    Parameters
    ----------
    n_methods, n_datasets : int
        The numbers of methods and data sets compared.
    alpha : float, default=0.05
        Significance level.

    Returns
    -------
    float

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    if n_methods < 2 or n_datasets < 1 or not 0 < alpha < 1:
        raise ParameterError(
            "a critical difference needs at least two methods, at least one data set, and alpha "
            f"between 0 and 1; got {n_methods}, {n_datasets} and {alpha}"
        )
    q = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def _scores(values: Any) -> np.ndarray:
    scores: np.ndarray = np.asarray(values, float)
    if scores.ndim != 1 or len(scores) < 2 or not np.isfinite(scores).all():
        raise ParameterError(
            f"a t-test needs the scores of at least two folds, without gaps; got {scores.tolist()}"
        )
    return scores


def _p_value(difference: float, variance: float, degrees: int) -> float:
    """Two-sided p-value of ``t = difference / sqrt(variance)``; without variance, any difference is
    certain (``scipy.stats.ttest_ind`` gives NaN).
    """
    # Scores are shares: a variance below 1e-12 is rounding.
    if variance <= 1e-24:
        return float(abs(difference) <= 1e-12)
    return float(2 * stats.t.sf(abs(difference) / np.sqrt(variance), degrees))
