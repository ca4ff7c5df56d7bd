"""Probabilities from scores that have no scale of their own, such as margins: the scale that suits
candidate sets (:func:`softmax_scale`), or votes (:class:`Trust`).
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, softmax

from .leave_one_out import class_shares
from .sparse_rows import entry_rows

ROWS = 2000  # are enough for one number


def candidate_share(scores: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Log of the candidates' share of the softmax of each row; ``inside`` says which they are."""
    among = np.where(inside, scores, -np.inf)
    return np.asarray(logsumexp(among, axis=1) - logsumexp(scores, axis=1))


def softmax_scale(
    scores: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    weight: np.ndarray | None = None,
    sample: np.random.Generator | None = None,
) -> float:
    """The factor ``t`` for which ``softmax(t·scores)`` makes the candidates most likely; ``sample``
    draws at most 2,000 rows to use.

    Temperature scaling (Guo et al. 2017) with candidate sets in place of labels: it maximises ``Σ_i
    w_i [(1-ε) log P(S_i) + ε log(1 - P(S_i))]``. As in Platt (1999), ``ε = 1 / (Σw + 2)`` keeps the
    scale finite if the scores fit every candidate set.
    """
    sizes, scores = np.diff(indptr), scores.astype(np.float64, copy=False)
    inside = np.zeros(scores.shape, bool)
    inside[entry_rows(indptr), indices] = True
    weight = np.ones(len(sizes)) if weight is None else weight.astype(np.float64)
    allowed = np.flatnonzero((weight > 0) & (sizes < scores.shape[1]))
    if sample is not None and len(allowed) > ROWS:
        drawn = np.sort(sample.choice(allowed, ROWS, replace=False))
        sizes, scores, inside, weight = sizes[drawn], scores[drawn], inside[drawn], weight[drawn]
    # A row with every label as a candidate is not informative. Labels are the rows of the arrays:
    # sums over labels take a tenth of the time.
    informative = sizes < scores.shape[1]
    scores, inside = scores[informative].T.copy(), inside[informative].T.copy()
    weight = weight[informative]
    distance = scores - scores.max(axis=0)
    spread = weight @ -distance.mean(axis=0) / max(weight.sum(), np.finfo(float).tiny)
    if spread == 0:  # all scores are equal, or no row is informative
        return 1.0
    distance /= spread
    epsilon = 1 / (weight.sum() + 2)
    best_in, best_out = (
        np.where(among, distance, -np.inf).max(axis=0) for among in (inside, ~inside)
    )
    below = distance - np.where(inside, best_in, best_out)

    def slope(log_t: float) -> float:
        # d log(Σ_{j∈A} exp(t d_j)) / dt is the mean of d over A, weighted by these exponentials.
        t = np.exp(log_t)
        likely = np.exp(t * below)
        pull = likely * distance
        sum_in, pull_in = (likely * inside).sum(axis=0), (pull * inside).sum(axis=0)
        sum_out, pull_out = likely.sum(axis=0) - sum_in, pull.sum(axis=0) - pull_in
        near, far = np.exp(t * best_in), np.exp(t * best_out)
        gain = (1 - epsilon) * pull_in / sum_in + epsilon * pull_out / sum_out
        gain -= (near * pull_in + far * pull_out) / (near * sum_in + far * sum_out)
        return float(weight @ gain)

    low, high = -5.0, 5.0
    if slope(low) <= 0:  # the best scale is outside the interval
        log_t = low
    elif slope(high) >= 0:
        log_t = high
    else:
        log_t = brentq(slope, low, high)
    # Scores that hardly differ would need a scale larger than any float.
    return float(min(np.exp(log_t), np.finfo(float).max * min(spread, 1)) / spread)


@dataclass(frozen=True)
class Trust:
    """How far features are trusted, ``f = (1 - ε) softmax(t · outputs) + ε π``: ``sharpness`` is
    ``t``, ``failure`` is ``ε``, and ``prior`` is ``π``.
    """

    sharpness: float
    failure: float
    prior: np.ndarray

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        """The probabilities ``f``, above 0 so that they have a logarithm."""
        told = softmax(self.sharpness * outputs, axis=1)
        found = (1 - self.failure) * told + self.failure * self.prior
        return np.asarray(np.maximum(found, np.finfo(found.dtype).eps))


def trust_features(outputs: np.ndarray, evidence: np.ndarray, posterior: np.ndarray) -> Trust:
    """The ``t`` and ``ε`` that make the votes most likely, given their evidence and outputs of
    models that did not learn from the row; ``π`` is the mean of the posterior.
    """
    # The features fail rarely: ε is 0.1 on sentiment, 0.02 on cifar10n, and 0 on labelme.
    failures = np.array([0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1])
    prior = class_shares(posterior.sum(axis=0), len(posterior))
    likely = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    scores = outputs - outputs.max(axis=1, keepdims=True)
    unaided = (likely @ prior)[:, None] * failures
    best = (-np.inf, 1.0, 0.0)
    for sharpness in np.geomspace(0.25, 64, 17):
        share = np.exp(sharpness * scores)
        told = np.sum(share * likely, axis=1) / np.sum(share, axis=1)
        mixed = np.maximum(told[:, None] * (1 - failures) + unaided, np.finfo(float).tiny)
        values = np.log(mixed).sum(axis=0)
        k = int(values.argmax())
        best = max(best, (float(values[k]), float(sharpness), float(failures[k])))
    return Trust(best[1], best[2], prior)
