"""Probabilities from scores that have no scale of their own, such as margins."""

import numpy as np
from scipy.optimize import brentq

from .segments import row_max, row_sum


def softmax_scale(
    scores: np.ndarray, indptr: np.ndarray, indices: np.ndarray, weight: np.ndarray
) -> float:
    """The factor ``t`` for which ``softmax(t·scores)`` makes the candidates most likely.

    Temperature scaling (Guo et al. 2017) with candidate sets in place of labels: it maximises ``Σ_i
    w_i [(1-ε) log P(S_i) + ε log(1 - P(S_i))]``. As in Platt (1999), ``ε = 1 / (Σw + 2)`` keeps the
    scale finite if the scores fit every candidate set.

    Parameters
    ----------
    scores : ndarray of shape (m, l)
        Scores of the training instances.
    indptr, indices : ndarray
        Their candidates, as compressed rows.
    weight : ndarray of shape (m,)
        Their weights.

    Returns
    -------
    float
    """
    sizes = np.diff(indptr)
    inside = np.zeros(scores.shape, bool)
    inside[np.repeat(np.arange(len(sizes)), sizes), indices] = True
    informative = (
        sizes < scores.shape[1]
    )  # a row with every label as a candidate is not informative
    scores, inside, weight = scores[informative], inside[informative], weight[informative]
    distance = scores - scores.max(axis=1, keepdims=True)
    spread = weight @ -distance.mean(axis=1) / max(weight.sum(), np.finfo(float).tiny)
    if spread == 0:  # all scores are equal, or no row is informative
        return 1.0
    distance /= spread
    epsilon = 1 / (weight.sum() + 2)

    def mean_distance(t: float, among: np.ndarray) -> np.ndarray:
        best = np.where(among, distance, -np.inf).max(axis=1, keepdims=True)
        share = np.where(among, np.exp(np.minimum(t * (distance - best), 0)), 0)
        return (share * distance).sum(axis=1) / share.sum(axis=1)

    def slope(log_t: float) -> float:
        # d log(Σ_{j∈A} exp(t d_j)) / dt is the mean of d over A, weighted by these exponentials.
        t = np.exp(log_t)
        gain = (1 - epsilon) * mean_distance(t, inside) + epsilon * mean_distance(t, ~inside)
        return float(weight @ (gain - mean_distance(t, np.ones_like(inside))))

    low, high = -5.0, 5.0
    if slope(low) <= 0 or slope(high) >= 0:  # the best scale is outside the interval
        log_t = low if slope(low) <= 0 else high
    else:
        log_t = brentq(slope, low, high)
    # Scores that hardly differ would need a scale larger than any float.
    return float(min(np.exp(log_t), np.finfo(float).max * min(spread, 1)) / spread)


def row_softmax(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Softmax of the entries of each compressed row."""
    sizes = np.diff(indptr)
    positive = np.exp(values - np.repeat(row_max(values, indptr), sizes))
    return positive / np.repeat(row_sum(positive, indptr), sizes)
