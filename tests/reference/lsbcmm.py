"""The E step and the evidence lower bound of LSB-CMM, written out term by term as Liu & Dietterich
(2012) have them.
"""

from math import exp, lgamma, log

import numpy as np
from scipy.special import digamma


def stick_weights(scores: np.ndarray) -> list[float]:
    """φ_k of one instance."""
    weights, rest = [], 1.0
    for score in scores:
        taken = 1 / (1 + exp(-score))
        weights.append(rest * taken)
        rest *= 1 - taken
    return [*weights, rest]


def joint_responsibilities(
    scores: np.ndarray, candidate_sets: list[list[int]], posterior: np.ndarray
) -> list[dict]:
    """For each instance a dictionary q[(k, y)] over components and candidates."""
    result = []
    for i, candidates in enumerate(candidate_sets):
        weights = stick_weights(scores[i])
        q = {}
        for k in range(len(posterior)):
            for y in candidates:
                q[k, y] = weights[k] * exp(digamma(posterior[k, y]) - digamma(sum(posterior[k])))
        total = sum(q.values())
        result.append({pair: value / total for pair, value in q.items()})
    return result


def lower_bound(
    scores, candidate_sets, posterior, coef, concentration, precision, sample_weight
) -> float:
    """E_q[log p(z, y, θ | x, w)] + log p(w) + entropy of q, up to the constant of p(w); coef is (n,
    K - 1).
    """
    n_components, n_classes = posterior.shape
    bound = 0.0
    for i, q in enumerate(joint_responsibilities(scores, candidate_sets, posterior)):
        weights = stick_weights(scores[i])
        for (k, y), value in q.items():
            expected = digamma(posterior[k, y]) - digamma(sum(posterior[k]))
            bound += sample_weight[i] * value * (log(weights[k]) + expected - log(value))
    for k in range(n_components):
        prior = posterior_log = 0.0
        for y in range(n_classes):
            expected = digamma(posterior[k, y]) - digamma(sum(posterior[k]))
            prior += (concentration - 1) * expected - lgamma(concentration)
            posterior_log += (posterior[k, y] - 1) * expected - lgamma(posterior[k, y])
        bound += (
            prior + lgamma(n_classes * concentration) - posterior_log - lgamma(sum(posterior[k]))
        )
    return bound - precision / 2 * sum(float(w) ** 2 for w in np.ravel(coef))
