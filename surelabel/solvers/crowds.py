"""Votes of annotators: how often each annotator is right, and what they all say about each row.

A vote ``y_ia`` is drawn from a confusion matrix of the annotator: ``C_a[z, v]`` is the probability
of the vote ``v`` if ``z`` is the truth. If ``f_i(z)`` is the probability of every class before the
votes are seen, the truth of row ``i`` has

    p_i(z) ∝ f_i(z) Π_a C_a[z, y_ia].

Dawid and Skene (1979) alternate this with ``C_a[z, v] ∝ Σ_i p_i(z) [y_ia = v]`` and ``f`` the mean
of ``p``. Three things are added here.

*Few votes.* ``C_a`` is the mean of a Dirichlet posterior: the counts, plus ``s`` times a simple
matrix of the same annotator, ``α_a I + (1 - α_a) G_a``. An annotator knows the truth with
probability ``α_a``, and otherwise guesses: by the habit ``G_a = 1π_aᵀ``, or, where classes have an
order, near the truth. For somebody who gives every row the same label, or labels at random, ``α_a =
0``, and the votes carry no information. The mean is over two values of ``s`` (and both guesses),
in proportion to the evidence of the annotator's counts.

*Features.* ``f_i = (1 - ε) softmax(t Q_i) + ε π``, where ``Q_i`` are the outputs of a model that
did not learn from row ``i``, and ``t`` and ``ε`` make all votes most likely. At first, half of the
counts compare a vote with what the features and the *other* votes say: otherwise a single label per
row would always confirm itself. Features are used only if left-out votes are then more likely than
by the votes alone. Within the rounds, weak features would confirm themselves: the labels of a row
have shaped those of its neighbours, which shape its own.

Annotators who copy each other count as one (:mod:`.copied_votes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse
from scipy.special import betaincinv, gammaln, softmax

from .leave_one_out import class_shares

#: How many votes the simple matrix counts for in each row of an annotator's matrix. On the seven
#: real crowds, a single value from 10 to 100 or both of these differ by .02 at most (labelme); of
#: 100 to 200 of cifar10n's first votes, .66 are right with both, and .60 with 20 alone.
STRENGTHS = (10, 100)
#: How many votes the whole crowd counts for in the simple matrix of each annotator. On movies rated
#: by people with three votes each (Hutto and Gilbert 2014), 5 leaves the labels a fifth farther
#: from the truth than 20 to 80. On the seven real crowds, these differ by at most .003.
POOLING = 20
#: How many votes a soft label counts for. Of the votes of labelme, cifar10n, sentiment and temp as
#: shares, .87, .94, .88 and .93 of the labels are found with 3; 2 finds .44 on temp, and 5 finds
#: .84 on labelme.
SOFT_VOTES = 3
#: Rounds of votes alone; half as many with features. On labelme, cifar10n and sentiment nothing is
#: gained later; with one vote per row, labels are lost: of cifar10n's first votes .856 are right
#: after 4 rounds and .798 after 16; of wsd's, without features, all after 8 and .73 after 100.
ROUNDS = 8
#: An annotator whose agreement with the truth (Cohen's kappa) is surely below this answers at
#: random: it is "slight" at most (Landis and Koch 1977). In the seven real crowds this holds for 14
#: of 741 annotators, whose kappa with the known truth is .11 at most.
SLIGHT = 0.2

#: Called with posterior and evidence; returns ``log f`` by a model that did not learn from the row.
ClassModel = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class CrowdFit:
    """The result of a fit to votes of ``m`` rows and ``l`` classes.

    Attributes
    ----------
    posterior : ndarray of shape (m, l)
        Probabilities of the classes of every row.
    confusion : ndarray of shape (annotators, l, l)
        ``C_a``: a row for each truth, a column for each vote.
    evidence, log_prior : ndarray of shape (m, l)
        ``Σ_a log C_a[z, y_ia]`` and ``log f``.
    """

    posterior: np.ndarray
    confusion: np.ndarray
    evidence: np.ndarray
    log_prior: np.ndarray

    @property
    def unseen(self) -> np.ndarray:
        """Probabilities of the classes by votes and features, without known labels."""
        return np.asarray(softmax(self.log_prior + self.evidence, axis=1))


class Tally:
    """Votes, ready to be counted.

    Parameters
    ----------
    votes : ndarray of shape (m, annotators)
        Positions of classes, -1 where there is no vote.
    n_classes : int
        Number of classes ``l``.
    places : ndarray of shape (l,), default=None
        Where the classes stand, if they have an order.
    """

    def __init__(self, votes: np.ndarray, n_classes: int, places: np.ndarray | None = None) -> None:
        self.places, self._n_classes = places, n_classes
        rows, who = np.nonzero(votes >= 0)
        # Each annotator has a column for every class.
        column = who * n_classes + votes[rows, who]
        shape = (len(votes), votes.shape[1] * n_classes)
        self._cast = sparse.csr_array((np.ones(len(rows)), (rows, column)), shape=shape)

    def counts(self, posterior: np.ndarray) -> np.ndarray:
        """``Σ_i p_i(z) [y_ia = v]``, annotators × truths × votes."""
        return self._by_annotator(self._cast.T @ posterior)

    def counts_by_others(self, posterior: np.ndarray, confusion: np.ndarray) -> np.ndarray:
        """As :meth:`counts`, but each vote is compared with what the features and the other votes
        of the row say: the posterior without that vote.
        """
        row, column, chance = self._each_vote(confusion)
        scores = np.log(np.maximum(posterior, np.finfo(float).tiny))
        others = softmax(scores[row] - np.log(chance), axis=1)
        each = (np.ones(len(row)), (column, np.arange(len(row))))
        shape = (self._cast.shape[1], len(row))
        return self._by_annotator(sparse.csr_array(each, shape=shape) @ others)

    def log_likelihood(self, posterior: np.ndarray, confusion: np.ndarray) -> np.ndarray:
        """``log Σ_z p_i(z) C_a[z, y_ia]`` of each vote: how well others predict it."""
        row, _, chance = self._each_vote(confusion)
        likely = np.sum(posterior[row] * chance, axis=1)
        return np.asarray(np.log(np.maximum(likely, np.finfo(float).tiny)))

    def folds(self, likely: list[np.ndarray]) -> Iterator[tuple[Self, Self]]:
        """Five times: a tally of four fifths of the votes, and one of those left out. How likely a
        vote is by each of two models gives its place, not the order of rows and annotators.
        """
        votes = self._cast.tocoo()
        fold = np.argsort(np.lexsort(np.round(likely, 9))) % 5  # without rounding errors
        for left_out in (fold == k for k in range(5)):
            yield self._part(votes, ~left_out), self._part(votes, left_out)

    def _part(self, votes: sparse.coo_array, which: np.ndarray) -> Self:
        part, each = copy(self), (votes.data[which], (votes.row[which], votes.col[which]))
        part._cast = sparse.csr_array(each, shape=votes.shape)
        return part

    def _each_vote(self, confusion: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each vote its row, its column, and its probability given each truth."""
        votes = self._cast.tocoo()
        who, vote = np.divmod(votes.col, self._n_classes)
        return votes.row, votes.col, confusion[who, :, vote]

    def _by_annotator(self, total: np.ndarray) -> np.ndarray:
        l = self._n_classes
        return np.asarray(total).reshape(-1, l, l).transpose(0, 2, 1)

    def evidence(self, confusion: np.ndarray) -> np.ndarray:
        """``Σ_a log C_a[z, y_ia]``, rows × truths."""
        with np.errstate(divide="ignore"):  # Dawid and Skene's matrices have zeros
            logs = np.log(confusion)
        return np.asarray(self._cast @ logs.transpose(0, 2, 1).reshape(-1, self._n_classes))

    def shares(self) -> np.ndarray:
        """Each class's share of the votes of each row; even shares without votes."""
        l = self._n_classes
        total = self._cast @ np.tile(np.eye(l), (self._cast.shape[1] // l, 1))
        return _normalised(total)


class SoftTally(Tally):
    """Soft labels: counts or probabilities of the classes (rows × classes, at least 0), as votes of
    people without names, who share one matrix.
    """

    def __init__(self, counts: np.ndarray) -> None:
        super().__init__(np.empty((len(counts), 0), int), counts.shape[1])
        self._cast = sparse.csr_array(SOFT_VOTES * _normalised(counts))

    def counts_by_others(self, posterior: np.ndarray, confusion: np.ndarray) -> np.ndarray:
        """As :meth:`counts`: nobody has a vote of their own."""
        return self.counts(posterior)

    def folds(self, likely: list[np.ndarray]) -> Iterator[tuple[Self, Self]]:
        """None: without single votes none can be left out, and features are always used."""
        return iter(())


def _normalised(counts: np.ndarray) -> np.ndarray:
    """Counts as shares of their row; even shares where there is nothing."""
    total, even = counts.sum(axis=1, keepdims=True), np.full(counts.shape, 1 / counts.shape[1])
    return np.divide(counts, total, out=even, where=total > 0)


def confusion_matrices(counts: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
    """Each annotator's matrix (truths × votes) from the counts of votes by truth, pulled towards a
    simple matrix ``α_a I + (1 - α_a) G_a`` of the annotator.

    Parameters
    ----------
    counts : ndarray of shape (annotators, l, l)
        Votes by truth and class voted for.
    places : ndarray of shape (l,), default=None
        Where the classes stand, if they have an order.

    Returns
    -------
    ndarray of shape (annotators, l, l)
    """
    matrices = [_simple_matrices(counts, guess) for guess in _guesses(counts, places)]
    met, found, evidence = counts.sum(axis=2), [], []
    for s in STRENGTHS:
        for simple in matrices:
            prior = s * simple
            found.append((counts + prior) / (met + s)[:, :, None])
            within = np.sum(gammaln(prior + counts) - gammaln(prior), axis=(1, 2))
            evidence.append(np.sum(gammaln(s) - gammaln(s + met), axis=1) + within)
    return np.einsum("ka,kazv->azv", softmax(evidence, axis=0), found)


def _guesses(counts: np.ndarray, places: np.ndarray | None) -> list[np.ndarray]:
    """How those vote who do not know the truth ``z``: by habit, and, with an order, ``∝ exp(-|z -
    v|)`` in steps between neighbours.
    """
    wrong = counts.sum(axis=1) - np.einsum("akk->ak", counts)
    usual = (counts.sum(axis=(0, 1)) + 1) / (counts.sum() + counts.shape[1])
    habit = (wrong + POOLING * usual) / (wrong.sum(axis=1, keepdims=True) + POOLING)
    guesses = [habit[:, None]]
    if places is not None:
        step = np.median(np.diff(np.sort(places)))
        guesses.append(softmax(-np.abs(np.subtract.outer(places, places)) / step, axis=1)[None])
    return [np.broadcast_to(guess, counts.shape) for guess in guesses]


def _simple_matrices(counts: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """``α_a I + (1 - α_a) G_a``. As in Cohen's kappa, ``α_a`` is the share that is right beyond the
    guesses that are right by chance.
    """
    chance = np.einsum("azv,azz->a", counts, guess)
    known, rest = np.einsum("akk->a", counts) - chance, counts.sum(axis=(1, 2)) - chance
    # One annotator who never errs does not stand for all.
    together = np.clip(known.sum() / max(rest.sum(), 1), 0, 0.95)
    knows = np.maximum((known + POOLING * together) / (rest + POOLING), 0)[:, None, None]
    return np.asarray(knows * np.eye(counts.shape[1]) + (1 - knows) * guess)


def alternate_crowd(
    tally: Tally, class_model: ClassModel | None = None, *, known: np.ndarray | None = None
) -> CrowdFit:
    """Alternate the posterior of the rows with the estimates of annotators and classes.

    Parameters
    ----------
    tally : Tally
        The votes.
    class_model : callable, default=None
        Called with posterior and evidence; returns ``log f`` of each row by a model that did not
        learn from it. By default the mean of the posterior.
    known : ndarray of shape (m,), default=None
        Position of the true class where it is known, else -1.

    Returns
    -------
    CrowdFit
    """

    def truth(log_prior: np.ndarray) -> np.ndarray:
        return with_known(softmax(log_prior + evidence, axis=1), known)

    posterior = with_known(tally.shares(), known)
    confusion = confusion_matrices(tally.counts(posterior), tally.places)
    evidence = tally.evidence(confusion)
    for number in range(ROUNDS if class_model is None else ROUNDS // 2):
        if class_model is None:
            shares = class_shares(posterior.sum(axis=0), len(posterior))
            log_prior = np.broadcast_to(np.log(shares), posterior.shape)
        else:
            log_prior = class_model(posterior, evidence)
        counts = tally.counts(truth(log_prior))
        if class_model is not None and number == 0:
            # If they differ, either may be wrong. Of first votes, .79 (sentiment), .856 (cifar10n)
            # and .885 (labelme) are right; counted by others alone, each round, .72, .849, .886.
            counts = (counts + tally.counts_by_others(truth(log_prior), confusion)) / 2
        confusion = confusion_matrices(counts, tally.places)
        evidence = tally.evidence(confusion)
        posterior = truth(log_prior)
    return CrowdFit(posterior, confusion, evidence, log_prior)


def with_useful_features(
    tally: Tally, class_model: ClassModel, alone: CrowdFit, *, known: np.ndarray | None = None
) -> CrowdFit:
    """The fit with features if they make left-out votes more likely, by three standard errors; if
    not, the fit to the votes ``alone``. Features that are always used harm draws of 50 to 200 first
    votes of cifar10n and sentiment (benchmarks/useful_features.py), and texts with two or three
    votes each (Hutto and Gilbert 2014).
    """
    gain = gain_by_features(tally, class_model, alone, known)
    if not len(gain) or gain.mean() > 3 * gain.std() / np.sqrt(len(gain)):
        return alternate_crowd(tally, class_model, known=known)
    class_model(alone.posterior, alone.evidence)  # it learns from these votes, for new rows
    return alone


def gain_by_features(
    tally: Tally, class_model: ClassModel, alone: CrowdFit, known: np.ndarray | None = None
) -> np.ndarray:
    """By how much features raise the log-likelihood of each vote, left out with a fifth of all."""
    gains = [np.zeros(0)]
    models = alone.posterior, np.exp(class_model(alone.posterior, alone.evidence))
    for given, left_out in tally.folds([tally.log_likelihood(P, alone.confusion) for P in models]):
        fits = (alternate_crowd(given, model, known=known) for model in (class_model, None))
        beside, without = (left_out.log_likelihood(fit.posterior, fit.confusion) for fit in fits)
        gains.append(beside - without)
    return np.concatenate(gains)


def confirmed(tally: Tally, fit: CrowdFit) -> bool:
    """Whether votes agree with the features and the other votes of the row more often than by
    chance, by two standard errors. If not, nothing shows that any label is right: labelme's first
    votes beside the features of other rows would all be kept, 23 % of them wrong.
    """
    counts = tally.counts_by_others(fit.posterior, fit.confusion).sum(axis=0)
    n = counts.sum()
    chance = counts.sum(axis=0) @ counts.sum(axis=1) / n**2
    return bool(np.trace(counts) - n * chance > 2 * np.sqrt(n * chance * (1 - chance)))


def with_known(posterior: np.ndarray, known: np.ndarray | None) -> np.ndarray:
    """The posterior with certainty where the class is known."""
    if known is None:
        return posterior
    certain = np.eye(posterior.shape[1])[known]
    return np.where((known >= 0)[:, None], certain, posterior)


def judge_annotator(
    votes: np.ndarray, posterior: np.ndarray
) -> tuple[float, tuple[float, float], str]:
    """The expected accuracy of one annotator, from the votes (a column) and the probabilities of
    the truth of all rows; the interval that contains it with probability 0.9 (Jeffreys); and the
    kind of annotator: "wrong" if that interval lies below chance, "random" if agreement is surely
    at most slight.

    Chance refers to the classes of the whole table: in wsd, good annotators saw twenty rows of one
    class, and rightly gave all of them the same label.
    """
    rows, usual = np.flatnonzero(votes >= 0), posterior.mean(axis=0)
    n, votes = len(rows), votes[rows]
    right, chance = posterior[rows, votes].sum(), usual[votes].sum() / max(n, 1)
    low, high = betaincinv(right + 0.5, n - right + 0.5, (0.05, 0.95))
    surely = "wrong" if high < chance else "random"
    kind = surely if high < chance + SLIGHT * (1 - chance) else "usual"
    return float(right / n) if n else np.nan, (float(low), float(high)), kind
