"""Calibrate a model's probabilities by candidates alone, or by rows whose true label is known.

Candidates do not say which of them is right, so a choice among them cannot be checked. A choice
among more labels can: take a row with candidates ``S``, and another row with candidates ``S'`` that
shares one of them. Among the labels of ``S ∪ S'``, the true label of the first row is in ``S``. How
often the model says so shows how far it can be trusted with labels that occur together. The
calibration maximises ``Σ log p(S) / p(S ∪ S')`` over pairs of rows drawn at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize
from scipy.special import expit, logit, softmax

from ..data.candidates import CandidateSets
from ..solvers.segments import row_sum

#: Partners drawn for each row, and maximum number of rows: more of either changes the result by
#: less than its own uncertainty.
PARTNERS, MAX_ROWS = 8, 5000
#: The share of sets that lack the truth: its prior is that of this many rows with 0 such sets, and
#: its maximum is where sets that say nothing would explain as much.
PRIOR_ROWS, MOST_LACKING = 5, 0.3
#: Sets alone cannot tell a set without the truth from misleading features, and the likelihood may
#: find no such set. This share is assumed all the same, so that no label is kept that the features
#: contradict.
LEAST_LACKING = 0.01
#: Smaller probabilities are raised to this.
FLOOR = 1e-12


@dataclass(frozen=True)
class Calibration:
    """Calibrates a model's probabilities ``q``: ``p = (1 - failure) softmax(sharpness · log q +
    bias) + failure / l``.

    Attributes
    ----------
    sharpness : float
        The inverse of a temperature.
    bias : ndarray of shape (l,)
        Corrects the extra weight of labels that are often candidates together with others.
    failure : float
        Share of rows on which the features say nothing.
    """

    sharpness: float
    bias: np.ndarray
    failure: float

    def __call__(self, proba: np.ndarray) -> np.ndarray:
        """Calibrated probabilities of all classes."""
        scores = self.sharpness * np.log(np.maximum(proba, FLOOR)) + self.bias.astype(proba.dtype)
        return np.asarray(
            (1 - self.failure) * softmax(scores, axis=1) + self.failure / proba.shape[1]
        )


def fit_calibration(
    proba: np.ndarray, candidates: CandidateSets, rng: np.random.Generator
) -> Calibration:
    """Calibrate probabilities by candidates alone.

    Parameters
    ----------
    proba : ndarray of shape (m, l)
        Probabilities from models that did not learn from the row.
    candidates : CandidateSets
        The candidates of the rows.
    rng : numpy Generator
        Random generator for rows and partners.

    Returns
    -------
    Calibration
    """
    m, l = candidates.shape
    rows = np.sort(rng.permutation(m)[:MAX_ROWS])
    inside = candidates[rows].to_indicator().astype(bool)
    unions = [
        inside | candidates[_partners(candidates, rows, rng)].to_indicator().astype(bool)
        for _ in range(PARTNERS)
    ]
    log_q = np.log(np.maximum(proba[rows].astype(float), FLOOR))

    def loss_and_gradient(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        log_sharpness, bias, failure = parameters[0], parameters[1:-1], expit(parameters[-1])
        scores = softmax(np.exp(log_sharpness) * log_q + bias, axis=1)
        p = (1 - failure) * scores + failure / l
        # Weak priors: log-sharpness and biases are standard normal, so that 30 rows cannot move
        # them far.
        loss = 0.5 * log_sharpness**2 + 0.5 * bias @ bias
        slope = np.zeros_like(p)
        for allowed, weight in ((inside, -1.0), *((union, 1 / PARTNERS) for union in unions)):
            mass = np.sum(p, axis=1, where=allowed)
            loss += weight * np.log(mass).sum()
            slope += weight * allowed / mass[:, None]
        by_failure = np.sum(slope * (1 / l - scores)) * failure * (1 - failure)
        slope -= np.sum(slope * scores, axis=1, keepdims=True)
        slope *= (1 - failure) * scores
        by_sharpness = np.exp(log_sharpness) * np.vdot(slope, log_q) + log_sharpness
        return loss, np.concatenate([[by_sharpness], slope.sum(axis=0) + bias, [by_failure]])

    start = np.concatenate([np.zeros(l + 1), [-3.0]])
    bounds = [(-4, 3), *[(-8, 8)] * l, (-9, 4)]
    found = optimize.minimize(
        loss_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds
    ).x
    return Calibration(float(np.exp(found[0])), found[1:-1], float(expit(found[-1])))


def without_truth(
    proba: np.ndarray, candidates: CandidateSets, gold: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Probability that the set of a row lacks its true label, for each row.

    With ``p = softmax(sharpness · log q)``, a set ``S`` of s labels that holds the truth has the
    likelihood ``(1 - share) p(S)``, one that lacks it ``share (1 - p(S)) s / (l - s)``: given the
    truth, the former is one of C(l-1, s-1) sets, the latter one of C(l-1, s). Sharpness and share
    are those of the highest likelihood over all rows, the share at least ``LEAST_LACKING``. Where
    the truth is known, it says whether the set lacks it.

    Parameters
    ----------
    proba : ndarray of shape (m, l)
        Probabilities ``q`` from models that did not learn from the row.
    candidates : CandidateSets
        The candidates as given.
    gold : ndarray of shape (m,)
        The true label where it is known, else -1.
    rng : numpy Generator
        Random generator for rows.

    Returns
    -------
    ndarray of shape (m,)
        For rows of known truth, too, this is the probability without that knowledge.
    """
    m, l = candidates.shape
    ratio = candidates.sizes / np.maximum(l - candidates.sizes, 1) * (candidates.sizes < l)

    def mass(log_sharpness: float, rows: np.ndarray) -> np.ndarray:
        scores = np.exp(log_sharpness) * np.log(np.maximum(proba[rows].astype(float), FLOOR))
        inside = candidates[rows].to_indicator().astype(bool)
        total = np.sum(softmax(scores, axis=1), axis=1, where=inside)
        return np.asarray(np.clip(total, FLOOR, 1 - FLOOR))

    known = np.flatnonzero(gold >= 0)
    lacking = int(np.sum(~candidates[known].contains(candidates.classes[gold[known]])))
    doubtful = np.flatnonzero(gold < 0)
    sample = np.sort(rng.permutation(doubtful)[:MAX_ROWS])

    def loss(parameters: np.ndarray) -> float:
        log_sharpness, share = parameters[0], expit(parameters[1])
        inside = mass(log_sharpness, sample)
        both = (1 - share) * inside + share * (1 - inside) * ratio[sample]
        seen = lacking * np.log(share) + (PRIOR_ROWS + len(known) - lacking) * np.log1p(-share)
        return float(0.5 * log_sharpness**2 - seen - np.log(both).sum())

    bounds = [(-4, 4), (-9, logit(MOST_LACKING))]
    tried = [
        optimize.minimize(loss, [start, -4.0], method="Nelder-Mead", bounds=bounds)
        for start in (0.0, 1.5)
    ]
    log_sharpness, logit_share = min(tried, key=lambda result: float(result.fun)).x
    share, found = max(float(expit(logit_share)), LEAST_LACKING), np.empty(m)
    for start in range(0, m, MAX_ROWS):
        rows = np.arange(start, min(start + MAX_ROWS, m))
        inside = mass(log_sharpness, rows)
        lacks = share * (1 - inside) * ratio[rows]
        found[rows] = lacks / ((1 - share) * inside + lacks)
    return found


def _partners(candidates: CandidateSets, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For each row another one, at random, that shares a random one of its candidates (or the row
    itself).
    """
    label = candidates.indices[candidates.indptr[rows] + rng.integers(candidates.sizes[rows])]
    by_label = candidates.to_sparse().tocsc()
    first, count = by_label.indptr[label], np.diff(by_label.indptr)[label]
    return np.asarray(by_label.indices[first + rng.integers(count)])


def separable(learned: CandidateSets, candidates: CandidateSets, label: np.ndarray) -> np.ndarray:
    """How far candidates can tell the label chosen from its rivals at all, for each row: a factor
    of its confidence.

    Where a rival ``k`` occurs ``b`` times without the label chosen, there are ``b`` rows in which
    the model could have shown that it tells them apart. Even without a failure in ``b`` trials, a
    probability of ``1/2 / (b + 1)`` remains (Krichevsky & Trofimov 1981). A rival that never occurs
    without the label leaves one half: candidates cannot tell the two apart.

    Parameters
    ----------
    learned : CandidateSets
        What the model learned from.
    candidates : CandidateSets
        The candidates chosen among.
    label : ndarray of shape (m,)
        The candidate chosen in each row.

    Returns
    -------
    ndarray of shape (m,)
    """
    ones = learned.to_sparse().astype(np.int64)
    together = (ones.T @ ones).toarray()
    doubt = 0.5 / (together.diagonal()[:, None] - together + 1)  # doubt[k, j]: k may hide behind j
    np.fill_diagonal(doubt, 0)
    return np.asarray(
        np.exp(
            row_sum(np.log1p(-doubt[candidates.indices, label[candidates.rows]]), candidates.indptr)
        )
    )


@dataclass(frozen=True)
class GoldCorrection:
    """A correction of confidences, learned from rows of known truth: ``logit(c') = slope · logit(c)
    + shift``.
    """

    slope: float = 1.0
    shift: float = 0.0

    def __call__(self, confidence: np.ndarray) -> np.ndarray:
        """Corrected confidences."""
        return np.asarray(expit(self.slope * _safe_logit(confidence) + self.shift))


def fit_gold(confidence: np.ndarray, right: np.ndarray) -> GoldCorrection:
    """Platt's correction, with a prior towards "no correction" that a few dozen rows outweigh.

    Confidence is raised less easily than lowered: upwards the prior counts five times. (On thirty
    small problems with a tenth of the rows gold, the labels kept at 2 % had a larger error in 4 %
    of the runs; with a symmetric prior in 7 %.)

    Parameters
    ----------
    confidence : ndarray of shape (n,)
        Confidence of the choices on gold rows, made without knowing their labels.
    right : ndarray of bool of shape (n,)
        Whether they were right.

    Returns
    -------
    GoldCorrection
    """
    if not len(right):
        return GoldCorrection()
    scores, target = _safe_logit(confidence), right.astype(float)

    def loss_and_gradient(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        slope, shift = parameters
        z = slope * scores + shift
        gap = expit(z) - target
        pull = 4 * (slope - 1) * (5 if slope > 1 else 1), shift * (5 if shift > 0 else 1)
        loss = (
            np.sum(np.logaddexp(0, z) - target * z) + (pull[0] * (slope - 1) + pull[1] * shift) / 2
        )
        return loss, np.array([gap @ scores + pull[0], gap.sum() + pull[1]])

    bounds: Any = [(0.05, 5), (-10, 10)]
    found = optimize.minimize(
        loss_and_gradient, [1.0, 0.0], jac=True, method="L-BFGS-B", bounds=bounds
    ).x
    return GoldCorrection(*map(float, found))


def _safe_logit(confidence: np.ndarray) -> np.ndarray:
    return np.asarray(logit(np.clip(confidence, 1e-6, 1 - 1e-6)))
