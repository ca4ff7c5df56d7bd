"""Which label of a row is best, and how likely it is right.

Bayes' rule combines the probabilities of a model that did not learn from the row (what the features
say) with the row's own candidates or votes (what people said). With ``z`` the log-odds of the best
label,

    confidence = 0.99 σ(a + b z).

Models are too sure, because people make the same mistakes, and a table without known labels does
not show it. But they are too sure in much the same way on all real data of one kind. So a normal
prior of ``(a, log b)`` was learned from such data, and known labels of the table update it.
``benchmarks/real.py`` measures how well this holds on other data.

A model that learns which candidate is right becomes sure of it, even without evidence: where two
labels always occur together, it settles for one of them, and then all rows there confirm it. So a
second model is fitted to even shares of the candidates, and never prefers one. A choice that it
does not confirm counts half.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import optimize
from scipy.special import expit, logit
from sklearn.model_selection import KFold

from ..data.candidates import CandidateSets
from ..data.labelling import Labels

#: No confidence is above this, because even known labels are sometimes wrong.
SUREST = 0.99
#: People make the same mistakes, so n votes count as n / (1 + 0.15 (n - 1)): the design effect of
#: an intraclass correlation of 0.15. On the nine sets of real votes of ``VOTES``, each judged by
#: the others, the log loss is lowest there, and the mean confidence exceeds the accuracy by at most
#: .07 (.09 with 0.05).
SHARED = 0.15
#: Share of the sets that lack the truth. It is .11 in the unions of labelme's votes, and .02 in
#: those of cifar10n; from .02 to .20 the confidences hardly change.
LACKING = 0.05
#: Beyond these log-odds, labels from real candidate sets get no better (Lost, MSRCv2, labelme).
SUREST_SETS = 10


@dataclass(frozen=True)
class Calibration:
    """``0.99 σ(a + b z)``.

    Attributes
    ----------
    shift, slope : float
        ``a`` and ``b``.
    """

    shift: float
    slope: float

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Probability that a label is right."""
        return np.asarray(SUREST * expit(self.shift + self.slope * z))


@dataclass(frozen=True)
class Prior(Calibration):
    """Where ``a`` and ``b`` lie on real data of one kind: mean and spread of ``(a, log b)``."""

    spread: tuple[float, float]


#: Votes: labelme, cifar10n, sentiment, temp, wsd, weather, popularity, and the first votes alone of
#: labelme and cifar10n.
VOTES = Prior(-0.5, 0.55, (0.6, 0.3))
#: Candidate sets, which may lack the truth: the unions of the votes of labelme, cifar10n and
#: sentiment; Lost, MSRCv2 and italian.
SETS = Prior(0.3, 0.45, (0.7, 0.3))
#: Candidate sets that always hold the truth: Lost, MSRCv2, italian.
COMPLETE = Prior(0.6, 0.57, (0.7, 0.3))
#: New rows without labels, by models of sets: the sets of ``SETS``.
NEW_ROWS = Prior(0.4, 0.8, (0.7, 0.3))
#: New rows without labels, by models of votes: labelme, cifar10n (also with their first votes
#: alone) and sentiment, in three folds.
NEW_BESIDE_VOTES = Prior(-0.3, 0.6, (0.7, 0.3))
#: Whether the truth is outside the set: the unions of labelme and cifar10n, and a third crowd.
#: ``a`` differs so much between them that only known labels say anything.
OUTSIDE = Prior(-0.9, 1.0, (1.6, 0.3))


def fit_calibration(z: np.ndarray, right: np.ndarray, prior: Prior) -> Calibration:
    """The most probable ``a`` and ``b``, given known labels and what other data say.

    ``z`` are the model's log-odds on rows whose label is known, computed without that label, and
    ``right`` says whether its own label was right.
    """
    centre = np.array([prior.shift, np.log(prior.slope)])

    def loss(parameters: np.ndarray) -> float:
        sure = Calibration(parameters[0], np.exp(parameters[1]))(z)
        likely = np.log(np.maximum(np.where(right, sure, 1 - sure), np.finfo(float).tiny)).sum()
        return float(0.5 * np.sum(((parameters - centre) / prior.spread) ** 2) - likely)

    found = optimize.minimize(loss, centre, method="BFGS").x if len(right) else centre
    return Calibration(float(found[0]), float(np.exp(found[1])))


def calibrated(
    z: np.ndarray, known: np.ndarray, right: np.ndarray, prior: Prior
) -> tuple[np.ndarray, np.ndarray]:
    """Confidences of all rows, and of each of the rows ``known`` as if its own label were not
    known; ``right`` says whether the model's label is right there.
    """
    confidence = fit_calibration(z[known], right, prior)(z)
    blind = prior(z[known])
    if len(known) > 1:
        folds = KFold(min(5, len(known)), shuffle=True, random_state=0)
        for others, rows in folds.split(known):
            learned = fit_calibration(z[known[others]], right[others], prior)
            blind[rows] = learned(z[known[rows]])
    return confidence, blind


def sure_of_new(model: Any, X: Any, proba: np.ndarray) -> np.ndarray:
    """How sure the most probable label of every new row is; ``proba`` are the probabilities that a
    classifier gives to the rows ``X``.

    If it has a model at even shares, as PURE does, a label that this one does not confirm counts
    half. If it learned from votes, it is too sure, and is corrected. Others are taken at their
    word.
    """
    rows, label = np.arange(len(proba)), proba.argmax(axis=1)
    said = proba[rows, label]
    if hasattr(model, "votes_alone_"):
        score, prior = log_odds(said), NEW_BESIDE_VOTES
    elif hasattr(model, "at_even_shares"):
        even = model.at_even_shares().predict_proba(X)[rows, label]
        score, prior = log_odds(said * (1 + even) / 2), NEW_ROWS
    else:
        return np.asarray(said)
    return np.asarray(np.maximum(prior(score), 1 / proba.shape[1]))


def log_odds(probability: np.ndarray) -> np.ndarray:
    """``log p / (1 - p)``, finite for 0 and 1."""
    least = np.finfo(float).eps
    return np.asarray(logit(np.clip(probability.astype(float), least, 1 - least)))


@dataclass(frozen=True, kw_only=True, repr=False)
class Judgement:
    """What is found about every row; arrays have one entry per row.

    Attributes
    ----------
    label, second : ndarray of int
        The best label, and the second best; with candidate sets the best of the candidates.
    confidence : ndarray of float
        Estimated probability that ``label`` is right.
    shares : ndarray of shape (m, l)
        Probabilities of all labels: ``confidence`` for the best; the others share the rest.
    outside : ndarray of int
        1 for the row whose true label is most likely none of those given, 2 for the next; 0 where
        nothing speaks for another label.
    best : ndarray of int
        The most probable of all labels; where ``outside``, one that was not given.
    outside_probability : ndarray of float
        How likely the true label is none of those given; NaN without known labels.
    score, prior : ndarray of float, Prior
        The log-odds and the prior from which the confidence is computed.
    gold_confidence, gold_right : ndarray of shape (n_gold,)
        Confidence of the gold rows, by the other gold rows alone, and whether the choice was right.
    """

    label: np.ndarray
    second: np.ndarray
    confidence: np.ndarray
    shares: np.ndarray
    outside: np.ndarray
    best: np.ndarray
    outside_probability: np.ndarray
    score: np.ndarray
    prior: Prior
    gold_confidence: np.ndarray
    gold_right: np.ndarray

    def put_back(self, order: np.ndarray) -> Judgement:
        """The judgement of a table whose rows were judged in this order."""
        names = ["label", "second", "confidence", "shares", "score"]
        names += ["outside", "best", "outside_probability"]
        place = np.argsort(order)
        return replace(self, **{name: getattr(self, name)[place] for name in names})


def judge_votes(
    posterior: np.ndarray,
    labels: Labels,
    label: np.ndarray | None = None,
    *,
    confirmed: bool = True,
) -> Judgement:
    """Judge every row by its votes (or soft label) and features; the label may be one that nobody
    voted for.

    Parameters
    ----------
    posterior : ndarray of shape (m, l)
        Probabilities of the labels by votes and features, without known labels.
    labels : Labels
        Votes and gold labels as given.
    label : ndarray of int, default=None
        The labels to judge; by default the most probable ones.
    confirmed : bool, default=True
        Whether anything shows that the votes are right; see
        :func:`~surelabel.solvers.crowds.confirmed`.

    Returns
    -------
    Judgement
    """
    rows = np.arange(len(posterior))
    label = posterior.argmax(axis=1) if label is None else label
    n_votes = 1 if labels.votes is None else np.maximum(np.sum(labels.votes != -1, axis=1), 1)
    score = log_odds(posterior[rows, label]) / (1 + SHARED * (n_votes - 1))
    score = score if confirmed else np.zeros(len(label))
    nobody = ~labels.candidates.contains(labels.candidates.classes[label])
    rank = _ranked(np.where(nobody, score, -np.inf))
    found = _judged(posterior, label, score, labels.gold, VOTES)
    probability = np.full(len(rows), np.nan)
    if np.any(labels.gold >= 0):
        inside = labels.candidates.to_indicator().astype(bool)
        probability = np.sum(found["shares"], axis=1, where=~inside)
    return Judgement(**found, outside=rank, best=label, outside_probability=probability)


def judge_sets(proba: np.ndarray, even: np.ndarray, labels: Labels) -> Judgement:
    """Judge every row by its candidates and features; the label is one of the candidates.

    With ``q`` the probabilities of the model, ``e`` those of the model at even shares, ``S`` the
    set of s of l labels and j the best of them,

        P(r) = r_j / (Σ_{k∈S} r_k + λ / (1 - λ) · s / (l - s) · Σ_{k∉S} r_k),
        z = logit of P(q) (1 + P(e)) / 2,

    where λ is the share of sets that lack the truth: given the truth, C(l-1, s-1) sets hold it, and
    C(l-1, s) lack it.

    Parameters
    ----------
    proba, even : ndarray of shape (m, l)
        Probabilities by models that did not learn from the row: the method, and one that learned
        from even shares of the candidates.
    labels : Labels
        Candidates and gold labels as given, and whether every set holds the truth.

    Returns
    -------
    Judgement
    """
    candidates, complete, rows = labels.candidates, labels.complete, np.arange(len(proba))
    inside = candidates.to_indicator().astype(bool)
    lacking = 0.0 if complete else LACKING
    label = np.where(inside, proba, -1).argmax(axis=1)
    shares = _posterior(proba, candidates, inside, lacking)
    confirmed = _posterior(even, candidates, inside, lacking)[rows, label]
    score = np.clip(log_odds(shares[rows, label] * (1 + confirmed) / 2), -SUREST_SETS, SUREST_SETS)
    if complete:
        score[candidates.sizes == 1] = np.inf
    found = _judged(shares, label, score, labels.gold, COMPLETE if complete else SETS)
    # As if half of the sets lacked the truth: then the features decide whether this one does.
    open_to_all = shares if complete else _posterior(proba, candidates, inside, 0.5)
    missing = log_odds(np.sum(open_to_all, axis=1, where=~inside))
    best = open_to_all.argmax(axis=1)
    favoured = ~inside[rows, best]
    gold = np.flatnonzero(labels.gold >= 0)
    lacks = ~inside[gold, labels.gold[gold]]
    probability = calibrated(missing, gold, lacks, OUTSIDE)[0] if len(gold) else np.nan
    return Judgement(
        **found,
        outside=_ranked(np.where(favoured, missing, -np.inf)),
        best=np.where(favoured, best, label),
        outside_probability=np.full(len(proba), probability),
    )


def _posterior(
    proba: np.ndarray, candidates: CandidateSets, inside: np.ndarray, lacking: float
) -> np.ndarray:
    """Probabilities of all classes, given features and candidates, if the share ``lacking`` of the
    sets lacks the truth.
    """
    sizes, l = candidates.sizes.astype(float), proba.shape[1]
    others = lacking / (1 - lacking) * sizes / np.maximum(l - sizes, 1)
    found = np.where(inside, proba, proba * others[:, None].astype(proba.dtype))
    total = found.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(found, total, out=inside / sizes[:, None], where=total > 0))


def _judged(
    shares: np.ndarray, label: np.ndarray, score: np.ndarray, gold: np.ndarray, prior: Prior
) -> dict[str, Any]:
    """The part that votes and sets share: confidences, and the shares of the other labels."""
    known = np.flatnonzero(gold >= 0)
    right = label[known] == gold[known]
    confidence, blind = calibrated(score, known, right, prior)
    confidence = np.maximum(confidence, 1 / shares.shape[1])  # the best of l labels
    shares = with_confidence(shares, label, confidence)
    others = shares.copy()
    others[np.arange(len(label)), label] = -1
    second = others.argmax(axis=1)
    none = others[np.arange(len(label)), second] <= 0
    return {
        "label": label,
        "second": np.where(none, -1, second),
        "confidence": confidence,
        "shares": shares,
        "score": score,
        "prior": prior,
        "gold_confidence": blind,
        "gold_right": right,
    }


def with_confidence(shares: np.ndarray, label: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Probabilities of all labels: the label chosen has its confidence, and the others share the
    rest in proportion, but none exceeds it.
    """
    rows = np.arange(len(label))
    found = shares.astype(float)
    found[rows, label] = 0
    rest = found.sum(axis=1)
    found *= ((1 - confidence) / np.where(rest > 0, rest, 1))[:, None]
    found = np.minimum(found, confidence[:, None])
    found[rows, label] = confidence
    return np.asarray(found, np.float32)


def _ranked(score: np.ndarray) -> np.ndarray:
    """1 for the largest score, 2 for the next; 0 where it is -∞."""
    rank = np.zeros(len(score), np.int64)
    rows = np.flatnonzero(np.isfinite(score))
    rank[rows[np.argsort(-score[rows], kind="stable")]] = np.arange(1, len(rows) + 1)
    return rank
