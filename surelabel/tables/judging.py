"""Choose among each row's candidates, and estimate how likely the choice is right.

The probabilities of a model that did not learn from the row (what the features say) are combined by
Bayes' rule with the row's own candidates or votes (what people said). A set of candidates is
assumed to be equally likely whichever of them is the truth. It may also lack the truth, about as
often as the features contradict sets overall. Votes are weighted by annotator
(:mod:`surelabel.solvers.crowds`).

A model that learns which candidate is right becomes sure of it, even where there is no evidence: in
a corner of the feature space where two labels always occur together it settles for one of them, and
then finds it confirmed by all rows there. So there is a second model, which is fitted to even
shares of the candidates and never prefers one; a choice that it does not confirm counts half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import optimize
from scipy.special import expit, log_softmax, logsumexp, softmax
from sklearn.model_selection import KFold

from ..data.candidates import CandidateSets
from ..solvers.against import Ballots, split_ballots
from ..solvers.crowds import (
    TELLS,
    Tally,
    alternate_crowd,
    beyond_chance,
    fit_sharpness,
    soft_evidence,
)
from ..solvers.scale import row_softmax
from ..solvers.segments import row_argmax, row_sum
from .calibration import FLOOR, MAX_ROWS, fit_calibration, fit_gold, separable, without_truth

if TYPE_CHECKING:
    from ..data.labelling import Labels

#: Mistakes are not independent, so neither votes nor features count for more than this. Over 14
#: crowds on ecoli, glass and two stories, three times as many of the labels kept at 2 % are wrong
#: at 1; at 0.5 almost none are kept.
INDEPENDENT = 0.7
#: Log-likelihood within which the features are assumed to fail most often: about 95 %.
SLACK = 2.0
#: Even shares keep the probabilities of the second model close together, so they are raised to this
#: power. Over 38 problems, at 2 a sixth fewer rows are kept; at 6 one more problem exceeds its
#: max_error. On 20 other problems (digits, vowel, vehicle and segment, PURE, three draws) 0.9 % of
#: the labels kept at 2 % are wrong (estimated: 0.7 %), at 2 a twelfth fewer are kept, 0.7 % of them
#: wrong.
EVEN_SHARPNESS = 4.0


@dataclass(frozen=True)
class Judgement:
    """The result for every row, found without knowing its gold label.

    Attributes
    ----------
    label, second : ndarray of int
        The best and the second best candidate; -1 where there is no second.
    confidence : ndarray of float
        Estimated probability that ``label`` is right.
    margin : ndarray of float
        Confidence minus that of the second.
    outside : ndarray of bool
        Whether the true label is probably not among the candidates.
    best : ndarray of int
        The most probable of all labels; where ``outside``, one that is not a candidate.
    best_confidence : ndarray of float
        Its probability.
    proba : ndarray of shape (m, l)
        Calibrated probabilities from the features alone.
    gold_confidence, gold_right : ndarray of shape (n_gold,)
        Confidence of the gold rows, corrected by other gold rows only, and whether the choice was
        right.
    estimated : bool
        Whether the confidence says how often labels are wrong; not if soft labels may come from the
        features, and share their mistakes.
    """

    label: np.ndarray
    second: np.ndarray
    confidence: np.ndarray
    margin: np.ndarray
    outside: np.ndarray
    best: np.ndarray
    best_confidence: np.ndarray
    proba: np.ndarray
    gold_confidence: np.ndarray
    gold_right: np.ndarray
    estimated: bool = True


def judge(
    proba: np.ndarray,
    labels: Labels,
    known: CandidateSets,
    rng: np.random.Generator,
    even: np.ndarray | None = None,
) -> Judgement:
    """Judge every row.

    Parameters
    ----------
    proba : ndarray of shape (m, l)
        Probabilities of models that did not learn from the row.
    labels : Labels
        Candidates, votes and gold labels as given.
    known : CandidateSets
        What the models learned from: the candidates, or the gold label alone.
    rng : numpy Generator
        Draws samples of rows.
    even : ndarray of shape (m, l), default=None
        Probabilities of models that learned from even shares of the candidates and not from the
        row. Not used with votes.

    Returns
    -------
    Judgement
    """
    if labels.votes is not None:
        return judge_votes(proba, labels, *_found_by_votes(proba, labels), rng)
    if labels.soft:
        return judge_soft(proba, labels, rng)
    candidates = labels.candidates
    lacks = without_truth(proba, candidates, labels.gold, rng)
    trusted = (lacks < 0.5) | (labels.gold >= 0)
    # Sets without the truth do not show how well the labels of a set are told apart.
    proba = fit_calibration(proba[trusted], known[np.flatnonzero(trusted)], rng)(proba)
    posterior = _posterior(proba, candidates, lacks)
    mass = posterior[candidates.rows, candidates.indices].astype(float)
    best = row_argmax(mass, candidates.indptr)
    label, first = candidates.indices[best].astype(np.int64), mass[best]
    outside = row_sum(mass, candidates.indptr) < 0.5
    mass[best] = 0
    posterior[candidates.rows, candidates.indices] -= 2  # labels outside the set come first
    beyond = posterior.argmax(axis=1)
    runner = row_argmax(mass, candidates.indptr)
    single = candidates.sizes == 1

    confidence = first * separable(known, candidates, label)
    if even is not None:
        confidence *= (1 + _confirmed(even, candidates, best)) / 2
    confidence, gold_confidence, gold_right = _corrected(confidence, label, labels.gold, rng)
    # If a choice loses confidence, no rival gains it; if it gains, its rivals lose in proportion.
    rival = mass[runner] * np.minimum(
        confidence / np.maximum(first, 1e-12), (1 - confidence) / np.maximum(1 - first, 1e-12)
    )
    return Judgement(
        label=label,
        second=np.where(single, -1, candidates.indices[runner]),
        confidence=confidence,
        margin=confidence - rival,
        outside=outside,
        best=np.where(outside, beyond, label),
        best_confidence=np.where(outside, posterior[np.arange(len(label)), beyond], confidence),
        proba=proba,
        gold_confidence=gold_confidence,
        gold_right=gold_right,
    )


def judge_votes(
    proba: np.ndarray,
    labels: Labels,
    confusion: np.ndarray,
    weight: np.ndarray,
    rng: np.random.Generator,
) -> Judgement:
    """Judge every row by its votes and its features; the label may be one that nobody voted for.

    Confusion matrices and features are estimated together, so each makes the other too sure. The
    label is what both say together. For the confidence, neither counts for more than
    ``INDEPENDENT`` of what it would if all mistakes were independent, and the features are assumed
    to fail at random as often as makes all votes most likely.

    Parameters
    ----------
    proba : ndarray of shape (m, l)
        What the features alone say, by models that did not learn from the row.
    labels : Labels
        Votes and gold labels as given.
    confusion : ndarray of shape (columns, l, l)
        Probabilities of a vote (last axis) given the truth; the columns are those of
        :func:`~surelabel.solvers.against.split_ballots`.
    weight : ndarray of shape (columns,)
        The weight of the votes of each column.
    rng : numpy Generator
        Draws samples of rows.

    Returns
    -------
    Judgement
    """
    assert labels.votes is not None
    ballots = split_ballots(labels.votes, proba.shape[1])
    votes = Tally(ballots.votes, proba.shape[1], ballots.against)
    scores = np.log(np.maximum(proba, FLOOR)).astype(float)
    posterior = softmax(scores + votes.evidence(confusion, weight), axis=1)
    said = votes.evidence(confusion, np.ones_like(weight))
    # Votes against labels hardly show whether the features fail, so the worst is assumed.
    slack = SLACK if ballots.against.any() else 0.0
    features = _careful(scores, said, rng, slack)
    less = votes.evidence(confusion, np.minimum(weight, INDEPENDENT))
    careful = softmax(np.log(features) + less, axis=1)
    # The votes of a single annotator can only be checked by the features.
    if not _any_informative(ballots, posterior if votes.several() else proba):
        # No annotator is informative, so only votes for the label count in its favour; even where
        # they agree, it is not known to be right rather than wrong.
        careful = np.minimum(careful, np.minimum(votes.shares(np.ones_like(weight)), 0.5))
    return _by_posterior(posterior, careful, proba, labels, rng)


def judge_soft(proba: np.ndarray, labels: Labels, rng: np.random.Generator) -> Judgement:
    """Judge every row by its soft label and by models that did not learn from it."""
    evidence = soft_evidence(labels.candidates.to_counts())
    scores = np.log(np.maximum(proba, FLOOR)).astype(float)
    features = _careful(scores, evidence, rng)
    careful = softmax(np.log(features) + INDEPENDENT * evidence, axis=1)
    return _by_posterior(softmax(scores + evidence, axis=1), careful, proba, labels, rng)


def _by_posterior(
    posterior: np.ndarray,
    careful: np.ndarray,
    proba: np.ndarray,
    labels: Labels,
    rng: np.random.Generator,
) -> Judgement:
    """Choose the most probable label; its confidence comes from the more careful estimate."""
    rows = np.arange(len(posterior))
    label = posterior.argmax(axis=1)
    others = posterior.copy()
    others[rows, label] = -1
    second = others.argmax(axis=1)
    sure = careful[rows, label]
    confidence, gold_confidence, gold_right = _corrected(sure, label, labels.gold, rng)
    return Judgement(
        label=label,
        second=second,
        confidence=confidence,
        margin=np.maximum(confidence - careful[rows, second], 0),
        outside=~labels.candidates.contains(labels.candidates.classes[label]),
        best=label,
        best_confidence=confidence,
        proba=proba.astype(np.float32),
        gold_confidence=gold_confidence,
        gold_right=gold_right,
    )


def _any_informative(ballots: Ballots, proba: np.ndarray) -> bool:
    """Whether the votes of any annotator agree with these probabilities beyond chance."""
    return any(
        beyond_chance(vote[vote >= 0], proba[vote >= 0], against)[0] >= TELLS
        for vote, against in zip(ballots.votes.T, ballots.against, strict=True)
        if np.any(vote >= 0)
    )


def _found_by_votes(proba: np.ndarray, labels: Labels) -> tuple[np.ndarray, np.ndarray]:
    """Confusion matrices and weights of the annotators, given a model's probabilities."""
    scores = np.log(np.maximum(proba, FLOOR)).astype(float)

    def features(_: np.ndarray, evidence: np.ndarray) -> np.ndarray:
        return np.asarray(log_softmax(fit_sharpness(scores, evidence)[0] * scores, axis=1))

    assert labels.votes is not None
    votes, against, owner = split_ballots(labels.votes, proba.shape[1])
    fit = alternate_crowd(
        votes, proba.shape[1], features, against=against, owner=owner, known=labels.gold
    )
    return fit.confusion, fit.weight


def _careful(
    scores: np.ndarray, evidence: np.ndarray, rng: np.random.Generator, slack: float = 0.0
) -> np.ndarray:
    """``(1 - ε) softmax(t · scores) + ε / l``, where t and ε make the votes most likely; t is at
    most ``INDEPENDENT``. With ``slack``, the largest ε for which the log-likelihood is lower by no
    more than that.
    """
    m, l = scores.shape
    rows = np.sort(rng.permutation(m)[:MAX_ROWS])

    def features(t: float, failure: float, rows: Any) -> np.ndarray:
        return np.asarray((1 - failure) * softmax(t * scores[rows], axis=1) + failure / l)

    def loss(parameters: np.ndarray) -> float:
        failure = expit(parameters[1])
        mixed = np.log(features(np.exp(parameters[0]), failure, rows)) + evidence[rows]
        return float(-logsumexp(mixed, axis=1).sum() - np.log(failure))

    tried = [
        optimize.minimize(loss, [start, -3.0], method="Nelder-Mead", bounds=[(-4, 1), (-9, 0)])
        for start in (0.0, -1.0)
    ]
    best = min(tried, key=lambda result: float(result.fun))
    log_t, failure = best.x
    if slack:
        # for each larger ε, the t that is best beside it
        beside = {
            larger: min((loss(np.array([t, larger])), t) for t in np.linspace(-4, log_t, 12))
            for larger in np.linspace(failure, 0, 20)
        }
        failure = max(
            [failure, *(e for e, (lost, _) in beside.items() if lost <= best.fun + slack)]
        )
        log_t = beside[failure][1]
    return features(min(float(np.exp(log_t)), INDEPENDENT), float(expit(failure)), slice(None))


def _corrected(
    confidence: np.ndarray, label: np.ndarray, gold: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Confidences corrected by the gold rows; and, for the gold rows, confidences corrected by
    other gold rows only, and whether the choice was right.
    """
    known = np.flatnonzero(gold >= 0)
    right = label[known] == gold[known]
    honest = _corrected_by_others(confidence[known], right, rng)
    if len(known):
        confidence = fit_gold(confidence[known], right)(confidence)
    return confidence, honest, right


def _posterior(proba: np.ndarray, candidates: CandidateSets, lacks: np.ndarray) -> np.ndarray:
    """Probabilities of all classes, given features and candidates."""
    inside = candidates.to_indicator().astype(bool)
    posterior = np.empty_like(proba)
    for part, share in ((inside, 1 - lacks), (~inside, lacks)):
        total = np.sum(proba, axis=1, where=part)
        weight = (share / np.maximum(total, FLOOR)).astype(proba.dtype)
        np.multiply(proba, weight[:, None], out=posterior, where=part)
    return posterior


def _confirmed(even: np.ndarray, candidates: CandidateSets, best: np.ndarray) -> np.ndarray:
    """The even model's share for the candidate chosen (``best``: positions of entries), among all
    candidates of the row.
    """
    scores = EVEN_SHARPNESS * np.log(np.maximum(even[candidates.rows, candidates.indices], FLOOR))
    return np.asarray(row_softmax(scores, candidates.indptr)[best])


def _corrected_by_others(
    confidence: np.ndarray, right: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Confidences of gold rows as they would be if the row itself were not gold."""
    corrected = confidence.copy()
    if len(right) > 1:
        folds = KFold(min(5, len(right)), shuffle=True, random_state=int(rng.integers(2**31)))
        for others, rows in folds.split(right):
            corrected[rows] = fit_gold(confidence[others], right[others])(confidence[rows])
    return corrected
