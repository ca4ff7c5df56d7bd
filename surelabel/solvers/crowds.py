"""Votes of annotators: how often each is right, who copies whom, and what the votes say about each
row.

Votes ``y_ia`` are assumed to be drawn from a confusion matrix of the annotator, ``C_a[z, v]``: the
probability of the vote ``v`` if ``z`` is the truth. With the probability ``f_i(z)`` of every class
before the votes are seen, the truth of row ``i`` has

    p_i(z) ∝ f_i(z) Π_a C_a[z, y_ia]^(w_a).

Dawid and Skene (1979) alternate this with ``C_a[z, v] ∝ Σ_i p_i(z) [y_ia = v]`` and ``f`` the mean
of ``p``, all weights 1. Three things are added here.

*Few votes.* ``C_a`` is pulled towards a simple matrix of the same annotator, ``α_a I + (1 - α_a)
1π_aᵀ``: an annotator knows the truth with probability ``α_a``, and otherwise names a class by the
habit ``π_a`` (the model of MACE, Hovy et al. 2013). ``α_a`` itself is pulled towards that of all
annotators. For an annotator who gives every row the same label, or any label at random, ``α_a =
0``, and the votes carry no information. How strongly ``C_a`` is pulled is decided by the evidence
of the counts (Dirichlet-multinomial).

*Copies.* If ``a`` and ``b`` agree on a share ``o`` of their common rows, while independent votes
would agree on a share ``e``, their dependence is ``ρ = (o - e) / (1 - e)``: 1 for a copy. Votes
have the weight ``w_a = 1 / (1 + Σ_b ρ_ab)``, so that ``k`` copies count as one. At the start, when
the truth is not known, agreement far beyond chance counts as dependence (Cohen's kappa), so that
copies cannot outvote the others; annotators who agree because they are good are recognised later.
An annotator who copies another with exchanged labels is a copy as well
(:mod:`surelabel.solvers.copies`).

*Features.* ``f_i`` may come from a classifier that did not learn from row ``i``. It also shows
whether mistakes are shared: if annotators disagree more where the features are in doubt, some rows
are hard for all of them, and every vote counts for 0.35 of one; that of a single annotator counts
for 0.7.

Votes against labels have a simple matrix of their own (:mod:`surelabel.solvers.against`); all else
is as for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.special import gammaln, logsumexp, softmax

from .against import POOLING, simple_against, simple_both
from .copies import COMMON_ROWS, Mirror, chance_dependence, dependence, find_mirrors

#: Numbers of votes that the simple matrix may count for in each row of an annotator's matrix.
STRENGTHS = (2.0, 5.0, 10.0, 20.0, 50.0, 200.0)
#: Share of the votes of an annotator that are for one class, from which on they say nothing if
#: those of others differ.
ONE_CLASS = 0.9
#: Features that explain a smaller share of the votes' uncertainty are not learned from together
#: with the votes: labels that follow such features explain themselves. Over 100 crowds
#: (``benchmarks/crowds.py``: wine, iris, glass, ecoli, breast cancer; seeds 10 and 11) the features
#: explain 0.22 and more where they help, and those of other rows 0.15 at most; for single labels of
#: which 10 to 30 % are wrong 0.05 and more, and 0.04 at most.
EXPLAINED, EXPLAINED_ALONE = 0.15, 0.045
#: The same for soft labels. Over five kinds of counts on six data sets features explain 0.14 and
#: more of them (0.09 where hardly any count is right), those of other rows 0.14 at most.
EXPLAINED_SOFT = 0.12
#: How often some annotator must know the truth for the votes alone to be preferred.
KNOWS = 0.4
#: Maximum number of annotators compared with each other; more pairs would take too long.
COMPARED = 1000
#: The weights of the votes are fixed after this many iterations.
SETTLED = 10
#: Iterations from the shares of votes in which the weights are those of the start.
WARM = 6
#: Iterations with features in which an annotator is judged by the features and the others alone.
BY_OTHERS = 3
#: What a vote counts for if mistakes are found to be shared.
SHARED = 0.35
#: What a vote counts for if there is only one annotator. Over three kinds of wrong labels on six
#: data sets, at 1 three more labels in a thousand are wrong; at 0.7 half as many wrong labels again
#: are found among hard rows.
ALONE = 0.7
#: A correlation counts if it exceeds this many standard errors.
ERRORS = 2.0
#: The factors of outputs that are tried.
SHARPNESS = np.geomspace(0.5, 64, 15)
SMALLEST = 1e-6  # smallest probability in a confusion matrix
#: Smaller shares of a soft label are raised to this: no soft label is so sure that it could not be
#: wrong.
LEAST_SHARE = 1e-3
#: Agreement with the truth beyond chance below which votes are called random.
TELLS = 0.2


@dataclass(frozen=True)
class CrowdFit:
    """The result of a fit to votes.

    Attributes
    ----------
    posterior : ndarray of shape (m, l)
        Probabilities of the classes of every row.
    confusion : ndarray of shape (annotators, l, l)
        ``C_a``: a row for each truth, a column for each vote.
    knows : ndarray of shape (annotators,)
        ``α_a``.
    dependence : ndarray of shape (annotators, annotators)
        ``ρ``, minus two standard errors, at least 0.
    weight : ndarray of shape (annotators,)
        ``w_a``.
    evidence : ndarray of shape (m, l)
        ``Σ_a w_a log C_a[z, y_ia]``.
    log_prior : ndarray of shape (m, l)
        ``log f``.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the change fell to the tolerance.
    """

    posterior: np.ndarray
    confusion: np.ndarray
    knows: np.ndarray
    dependence: np.ndarray
    weight: np.ndarray
    evidence: np.ndarray
    log_prior: np.ndarray
    n_iter: int
    converged: bool


class Tally:
    """Votes, ready to be counted.

    Parameters
    ----------
    votes : ndarray of shape (m, annotators)
        Positions of classes, -1 where there is no vote.
    n_classes : int
        Number of classes ``l``.
    against : ndarray of shape (annotators,) of bool, default=None
        Whose votes are against the classes that they name; by default nobody's.
    owner : ndarray of shape (annotators,) of int, default=None
        Who cast the votes, if somebody cast votes for and against classes.
    """

    def __init__(
        self,
        votes: np.ndarray,
        n_classes: int,
        against: np.ndarray | None = None,
        owner: np.ndarray | None = None,
    ) -> None:
        self.votes = votes
        self.against = np.zeros(votes.shape[1], bool) if against is None else against
        owner = np.arange(votes.shape[1]) if owner is None else owner
        positive, negative = np.flatnonzero(~self.against), np.flatnonzero(self.against)
        #: The two columns of everybody who voted for and against classes.
        self.pairs = [(int(a), int(b)) for a in positive for b in negative if owner[a] == owner[b]]
        self.n_rows, self.n_annotators = votes.shape
        self.n_classes = n_classes
        rows, who = np.nonzero(votes >= 0)
        place = (rows, who * n_classes + votes[rows, who])
        shape = (self.n_rows, self.n_annotators * n_classes)
        self._cast = sparse.csr_array((np.ones(len(rows)), place), shape=shape)
        self._voted = sparse.csr_array((np.ones(len(rows)), (rows, who)), shape=votes.shape)

    def counts(self, posterior: np.ndarray) -> np.ndarray:
        """``Σ_i p_i(z) [y_ia = v]``, annotators × truths × votes."""
        shape = (self.n_annotators, self.n_classes, self.n_classes)
        return np.asarray(self._cast.T @ posterior).reshape(shape).transpose(0, 2, 1)

    def counts_of_others(
        self, posterior: np.ndarray, confusion: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """As :meth:`counts`, but each vote is compared with what the features and the other votes
        of the row say: the posterior without that vote.
        """
        votes = self._cast.tocoo()
        who, vote = np.divmod(votes.col, self.n_classes)
        own = weight[who, None] * np.log(confusion)[who, :, vote]
        scores = np.log(np.maximum(posterior, np.finfo(float).tiny))
        total = np.zeros((self.n_annotators * self.n_classes, self.n_classes))
        np.add.at(total, votes.col, softmax(scores[votes.row] - own, axis=1))
        return total.reshape(-1, self.n_classes, self.n_classes).transpose(0, 2, 1)

    def evidence(self, confusion: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """``Σ_a w_a log C_a[z, y_ia]``, rows × truths."""
        logs = weight[:, None, None] * np.log(confusion).transpose(0, 2, 1)
        return np.asarray(self._cast @ logs.reshape(-1, self.n_classes))

    def shares(self, weight: np.ndarray) -> np.ndarray:
        """Each class's share of the weighted votes in each row; even shares without votes. A vote
        against a class counts for all others in equal parts.
        """
        named = np.eye(self.n_classes)
        others = (1 - named) / max(self.n_classes - 1, 1)
        each = weight[:, None, None] * np.where(self.against[:, None, None], others, named)
        total = np.asarray(self._cast @ each.reshape(-1, self.n_classes))
        sums = total.sum(axis=1, keepdims=True)
        even = np.full_like(total, 1 / self.n_classes)
        return np.divide(total, sums, out=even, where=sums > 0)

    def common(self, row_weight: np.ndarray | None = None) -> np.ndarray:
        """Number of rows (or sum of their weights) that two annotators both voted on."""
        voted = self._voted if row_weight is None else self._voted * row_weight[:, None]
        return np.asarray((self._voted.T @ voted).toarray())

    def same(self) -> np.ndarray:
        """Number of rows on which two annotators gave the same vote."""
        both = np.zeros((self.n_annotators, self.n_annotators))
        for label in range(self.n_classes):
            cast = self._cast[:, label :: self.n_classes]
            both += (cast.T @ cast).toarray()
        return both

    def disagreement(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows with several votes for classes, and the share of pairs of these that differ."""
        each = np.where(self.against[:, None, None], 0, np.eye(self.n_classes))
        by_class = np.asarray(self._cast @ each.reshape(-1, self.n_classes))
        total = by_class.sum(axis=1)
        rows = np.flatnonzero(total > 1)
        same = np.sum(by_class * (by_class - 1), axis=1)[rows]
        return rows, 1 - same / (total * (total - 1))[rows]

    @cached_property
    def mirrors(self) -> list[Mirror]:
        """Pairs of annotators of whom one gives another label for each label of the other."""
        return find_mirrors(self.votes, self.n_classes)

    def frequencies(self) -> np.ndarray:
        """Share of each class among the votes of each annotator."""
        counts = np.asarray(self._cast.sum(axis=0)).reshape(self.n_annotators, self.n_classes)
        return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)

    def several(self) -> bool:
        """Whether there are several annotators, not counting those who say the same everywhere."""
        return bool(np.sum(~self.constant()) > 1)

    def constant(self) -> np.ndarray:
        """Who votes for one class almost everywhere, while others in the same rows do not."""
        cast = self._cast * np.repeat(~self.against, self.n_classes)
        own = np.asarray(cast.sum(axis=0)).reshape(self.n_annotators, self.n_classes)
        named = cast @ np.tile(np.eye(self.n_classes), (self.n_annotators, 1))
        others = self._voted.T @ named - own
        everyone, most = np.arange(self.n_annotators), own.argmax(axis=1)
        share, usual = (
            votes[everyone, most] / np.maximum(votes.sum(axis=1), 1) for votes in (own, others)
        )
        compared = np.minimum(own.sum(axis=1), others.sum(axis=1)) >= COMMON_ROWS
        return np.asarray(compared & (share >= ONE_CLASS) & (usual < share - 0.1))


def majority(votes: np.ndarray, n_classes: int, against: np.ndarray | None = None) -> np.ndarray:
    """Each class's share of the votes in each row; even shares without votes.

    Parameters
    ----------
    votes : ndarray of shape (m, annotators)
        Positions of classes, -1 where there is no vote.
    n_classes : int
        Number of classes.
    against : ndarray of shape (annotators,) of bool, default=None
        Whose votes are against the classes that they name: for all others in equal parts.

    Returns
    -------
    ndarray of shape (m, l)
    """
    return Tally(votes, n_classes, against).shares(np.ones(votes.shape[1]))


def dawid_skene(
    votes: np.ndarray,
    n_classes: int,
    against: np.ndarray | None = None,
    *,
    max_iter: int = 100,
    tol: float = 1e-5,
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the classes and confusion matrices, by Dawid and Skene's method.

    Parameters
    ----------
    votes : ndarray of shape (m, annotators)
        Positions of classes, -1 where there is no vote.
    n_classes : int
        Number of classes.
    against : ndarray of shape (annotators,) of bool, default=None
        Whose votes are against the classes that they name; it matters at the start only.
    max_iter : int, default=100
        Number of iterations at most.
    tol : float, default=1e-5
        It ends when no probability changes by more than this.

    Returns
    -------
    posterior : ndarray of shape (m, l)
    confusion : ndarray of shape (annotators, l, l)
        Rows for classes that an annotator never saw are even.

    References
    ----------
    A. P. Dawid and A. M. Skene. Maximum likelihood estimation of observer error-rates using the EM
    algorithm. Applied Statistics 28(1), 1979.
    """
    tally, weight = Tally(votes, n_classes, against), np.ones(votes.shape[1])
    posterior = tally.shares(weight)
    for _ in range(max_iter):
        counts = tally.counts(posterior)
        met = counts.sum(axis=2, keepdims=True)
        confusion = np.full_like(counts, 1 / n_classes)
        np.divide(counts, met, out=confusion, where=met > 0)
        with np.errstate(divide="ignore"):  # an impossible class stays impossible
            prior = np.log(posterior.mean(axis=0))
            evidence = tally.evidence(confusion, weight)
        before, posterior = posterior, softmax(prior + evidence, axis=1)
        if np.abs(posterior - before).max() <= tol:
            break
    return posterior, confusion


def confusion_matrices(
    counts: np.ndarray,
    against: np.ndarray | None = None,
    pairs: Sequence[tuple[int, int]] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Each annotator's matrix, pulled towards a simple one of the same annotator.

    Parameters
    ----------
    counts : ndarray of shape (annotators, l, l)
        Votes (last axis) by truth.
    against : ndarray of shape (annotators,) of bool, default=None
        Whose votes are against the classes that they name.
    pairs : sequence of (int, int), default=()
        The votes for and against classes that are the same person's.

    Returns
    -------
    confusion : ndarray of shape (annotators, l, l)
    knows : ndarray of shape (annotators,)
        ``α_a``.
    """
    simple, knows = np.empty(counts.shape), np.empty(len(counts))
    negative = np.zeros(len(counts), bool) if against is None else against
    for which, matrices in ((~negative, _simple_matrices), (negative, simple_against)):
        simple[which], knows[which] = matrices(counts[which])
    for pair in map(list, pairs):
        simple[pair], knows[pair] = simple_both(counts[pair])
    simple = np.maximum(simple, SMALLEST)
    met = counts.sum(axis=2)
    evidence = [
        np.sum(gammaln(strength) - gammaln(strength + met))
        + np.sum(gammaln(strength * simple + counts) - gammaln(strength * simple))
        for strength in STRENGTHS
    ]
    strength = STRENGTHS[int(np.argmax(evidence))]
    confusion = (counts + strength * simple) / (met[:, :, None] + strength)
    # Votes against labels say too little about more than α.
    confusion[negative] = simple[negative]
    return confusion, knows


def _simple_matrices(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``α_a I + (1 - α_a) 1π_aᵀ`` by expectation-maximisation, and ``α_a``."""
    n_classes = counts.shape[1]
    total, votes = counts.sum(axis=(1, 2)), counts.sum(axis=1)
    right = np.einsum("akk->ak", counts)
    knows = np.clip(right.sum(axis=1) / np.maximum(total, 1), 0.05, 0.95)
    usual = (votes.sum(axis=0) + 1) / (votes.sum() + n_classes)
    habit = np.tile(usual, (len(counts), 1))
    for _ in range(20):
        # Of the votes that are right, this share was known, not right by habit.
        known = right * (knows / (knows + (1 - knows) * habit.T)).T
        # One annotator who never errs, or never knows, does not stand for all.
        together = np.clip(knows @ total / max(total.sum(), 1), 0.3, 0.95)
        knows = (known.sum(axis=1) + POOLING * together) / (total + POOLING)
        guessed = votes - known
        habit = (guessed + usual) / (guessed.sum(axis=1, keepdims=True) + 1)
    simple = knows[:, None, None] * np.eye(n_classes) + (1 - knows)[:, None, None] * habit[:, None]
    return simple, knows


def beyond_chance(
    vote: np.ndarray, posterior: np.ndarray, against: bool = False
) -> tuple[float, float]:
    """Cohen's kappa of one annotator's votes and the truth, and its standard error.

    Parameters
    ----------
    vote : ndarray of shape (n,)
        Positions of classes.
    posterior : ndarray of shape (n, l)
        Probabilities of the classes of the same rows.
    against : bool, default=False
        Whether the votes are against the classes, and right where the truth is another.

    Returns
    -------
    kappa, error : float
    """
    n, n_classes = posterior.shape
    votes = np.bincount(vote, minlength=n_classes) / n
    right, chance = posterior[np.arange(n), vote].mean(), votes @ posterior.mean(axis=0)
    if against:
        right, chance = 1 - right, 1 - chance
    rest = max(1 - chance, 1e-6)
    return float((right - chance) / rest), float(np.sqrt(right * (1 - right) / n) / rest)


def mistakes_are_shared(tally: Tally, log_prior: np.ndarray) -> bool:
    """Whether annotators disagree more on rows that the features leave in doubt.

    Independent mistakes depend on a row only through its class. If they depend on more, rows are
    hard for all annotators, and those who agree may be wrong together.

    Parameters
    ----------
    tally : Tally
        The votes.
    log_prior : ndarray of shape (m, l)
        Log-probabilities of the classes by the features, without the row.

    Returns
    -------
    bool
        Whether the correlation of disagreement and doubt within the classes that the features name
        exceeds two standard errors.
    """
    rows, disagreement = tally.disagreement()
    if len(rows) < COMMON_ROWS:
        return False
    best = log_prior[rows].argmax(axis=1)
    doubt = 1 - np.exp(log_prior[rows].max(axis=1))
    size = np.maximum(np.bincount(best, minlength=tally.n_classes), 1)

    def within(values: np.ndarray) -> np.ndarray:
        return values - (np.bincount(best, values, tally.n_classes) / size)[best]

    x, y = within(disagreement), within(doubt)
    spread = np.sqrt((x @ x) * (y @ y))
    return bool(spread > 0 and x @ y > ERRORS / np.sqrt(len(rows)) * spread)


def _at_first(tally: Tally, weight: np.ndarray, before: np.ndarray | float) -> np.ndarray:
    """The posterior before anything is learned: shares of the votes, or by what is known of the
    annotators.
    """
    if not np.any(before):
        # Good annotators look like copies of each other: one who says the same everywhere could
        # outvote them.
        return tally.shares(weight * ~tally.constant())
    shape = (tally.n_annotators, tally.n_classes, tally.n_classes)
    counts = np.broadcast_to(before, shape)
    confusion, _ = confusion_matrices(counts, tally.against, tally.pairs)
    told = counts.any(axis=(1, 2))  # nothing is assumed of the others yet
    return np.asarray(softmax(tally.evidence(confusion, weight * told), axis=1))


def alternate_crowd(
    votes: np.ndarray,
    n_classes: int,
    class_model: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    *,
    against: np.ndarray | None = None,
    owner: np.ndarray | None = None,
    start: np.ndarray | None = None,
    known: np.ndarray | None = None,
    before: np.ndarray | float = 0.0,
    max_iter: int = 30,
    tol: float = 2e-3,
) -> CrowdFit:
    """Alternate the posterior of the rows with the estimates of annotators and classes.

    Parameters
    ----------
    votes : ndarray of shape (m, annotators)
        Positions of classes, -1 where there is no vote.
    n_classes : int
        Number of classes.
    class_model : callable, default=None
        Called with posterior and evidence; returns ``log f``, for each row without having learned
        from it. By default the mean of the posterior.
    against : ndarray of shape (annotators,) of bool, default=None
        Whose votes are against the classes that they name; by default nobody's.
    owner : ndarray of shape (annotators,) of int, default=None
        Who cast the votes, if somebody cast votes for and against classes.
    start : ndarray of shape (m, l), default=None
        Probabilities to start from; by default the shares of the votes, copies counted as one, or
        what the votes say in view of ``before``.
    known : ndarray of shape (m,), default=None
        Position of the true class where it is known, else -1.
    before : ndarray of shape (annotators, l, l), default=0
        Votes (last axis) by truth that are already known about the annotators; they are counted as
        well.
    max_iter : int, default=30
        Number of iterations at most.
    tol : float, default=2e-3
        It ends when ``‖ΔP‖_F / √m`` falls to this.

    Returns
    -------
    CrowdFit
    """
    tally = Tally(votes, n_classes, against, owner)
    compared = tally.n_annotators <= COMPARED
    related = np.zeros((tally.n_annotators, tally.n_annotators if compared else 0))
    warm = WARM if start is None else 0
    if start is None:
        related = chance_dependence(tally) if compared else related
        posterior = _at_first(tally, 1 / (1 + related.sum(axis=1)), before)
    else:
        posterior = start
    posterior = _with_known(posterior, known)
    counts = tally.counts(posterior)
    # With a single annotator, shared mistakes cannot be seen, because nobody disagrees.
    most = ALONE if class_model is not None and tally.n_annotators == 1 else 1.0
    shared = False
    for number in range(1, max_iter + 1):
        confusion, knows = confusion_matrices(counts + before, tally.against, tally.pairs)
        if compared and warm < number <= warm + SETTLED:
            related = dependence(tally, posterior, confusion)
        weight = 1 / (1 + related.sum(axis=1))
        weight *= SHARED if shared else most
        evidence = tally.evidence(confusion, weight)
        if class_model is None:
            mean = (posterior.sum(axis=0) + 1) / (len(posterior) + n_classes)
            log_prior = np.broadcast_to(np.log(mean), posterior.shape)
        else:
            log_prior = class_model(posterior, evidence)
            shared = shared or (number <= SETTLED and mistakes_are_shared(tally, log_prior))
        last, posterior = posterior, _with_known(softmax(log_prior + evidence, axis=1), known)
        # At first, nobody is judged by their own votes; otherwise a single annotator would always
        # be found right.
        by_others = class_model is not None and number <= BY_OTHERS and not tally.pairs
        counts = (
            tally.counts_of_others(posterior, confusion, weight)
            if by_others
            else tally.counts(posterior)
        )
        change = np.linalg.norm(posterior - last) / np.sqrt(len(posterior))
        converged = bool(change <= tol and number > warm and not by_others)
        if converged:
            break
    return CrowdFit(
        posterior, confusion, knows, related, weight, evidence, log_prior, number, converged
    )


def soft_evidence(counts: np.ndarray) -> np.ndarray:
    """The evidence of counts or probabilities of the classes for each row: ``log p_i(z) / mean
    p(z)``, as from one vote that says how sure it is; 0 for rows without any.

    Parameters
    ----------
    counts : ndarray of shape (m, l)
        Numbers, at least 0.

    Returns
    -------
    ndarray of shape (m, l)
    """
    total = counts.sum(axis=1, keepdims=True)
    even = np.full(counts.shape, 1 / counts.shape[1])
    share = np.maximum(np.divide(counts, total, out=even, where=total > 0), LEAST_SHARE)
    return np.where(total > 0, np.log(share / share.mean(axis=0)), 0)


def alternate_soft(
    evidence: np.ndarray,
    class_model: Callable[[np.ndarray, np.ndarray], np.ndarray],
    *,
    known: np.ndarray,
    max_iter: int,
    tol: float,
) -> CrowdFit:
    """As :func:`alternate_crowd`, but with given evidence of the rows: nothing is learned about
    annotators. Features that explain too little of it are left out.
    """
    posterior = _with_known(softmax(evidence, axis=1), known)
    n_iter, converged = 0, False
    while n_iter < max_iter and not converged:
        n_iter += 1
        log_prior = class_model(posterior, evidence)
        last, posterior = posterior, _with_known(softmax(log_prior + evidence, axis=1), known)
        converged = bool(np.linalg.norm(posterior - last) / np.sqrt(len(posterior)) <= tol)
    alone = np.broadcast_to(np.log(softmax(evidence, axis=1).mean(axis=0)), evidence.shape)
    gained = _log_likelihood(log_prior, evidence) - _log_likelihood(alone, evidence)
    if gained < EXPLAINED_SOFT * evidence.any(axis=1).sum() * np.log(evidence.shape[1]):
        log_prior, posterior = alone, _with_known(softmax(alone + evidence, axis=1), known)
    nobody = np.empty((0, *posterior.shape[1:] * 2)), np.empty(0), np.empty((0, 0)), np.empty(0)
    return CrowdFit(posterior, *nobody, evidence, log_prior, n_iter, converged)


def _with_known(posterior: np.ndarray, known: np.ndarray | None) -> np.ndarray:
    """The posterior with certainty where the class is known."""
    if known is None:
        return posterior
    certain = np.eye(posterior.shape[1])[known]
    return np.where((known >= 0)[:, None], certain, posterior)


def likelihood(fit: CrowdFit) -> float:
    """The log-likelihood of the votes, ``Σ_i log Σ_z f_i(z) exp(evidence_i(z))``."""
    return _log_likelihood(fit.log_prior, fit.evidence)


def _log_likelihood(log_prior: np.ndarray, evidence: np.ndarray) -> float:
    return float(logsumexp(log_prior + evidence, axis=1).sum())


def features_tell(fit: CrowdFit, alone: CrowdFit, votes: np.ndarray) -> bool:
    """Whether the features explain enough of the votes: how much more likely they make them, per
    row that has any, as a share of ``log l``. In both fits, what looks like copies counts as one.
    If the votes alone say nothing, any features will do.

    Parameters
    ----------
    fit, alone : CrowdFit
        Fits with features and without.
    votes : ndarray of shape (m, annotators)
        Positions of classes, -1 where there is no vote.

    Returns
    -------
    bool
    """
    if alone.knows.max() < KNOWS:
        return True
    n_classes = fit.posterior.shape[1]
    tally = Tally(votes, n_classes)
    weight = np.ones(tally.n_annotators)
    if tally.n_annotators <= COMPARED:
        weight /= 1 + chance_dependence(tally).sum(axis=1)
    with_features, without = (
        _log_likelihood(found.log_prior, tally.evidence(found.confusion, weight))
        for found in (fit, alone)
    )
    uncertainty = (votes >= 0).any(axis=1).sum() * np.log(n_classes)
    share = EXPLAINED if tally.several() else EXPLAINED_ALONE
    return bool(with_features - without >= share * uncertainty)


def more_often_wrong(fit: CrowdFit) -> bool:
    """Whether, with two classes, most annotators are found to name the wrong one: then the classes
    were swapped, which the votes alone cannot show.
    """
    if fit.posterior.shape[1] != 2:
        return False
    better = fit.confusion[:, 0, 0] + fit.confusion[:, 1, 1] - 1
    return bool(fit.weight @ np.sign(np.where(np.abs(better) > 0.1, better, 0)) < 0)


def fit_sharpness(outputs: np.ndarray, evidence: np.ndarray) -> tuple[float, float]:
    """The factor ``t`` for which ``f = softmax(t · outputs)`` makes the votes most likely.

    Parameters
    ----------
    outputs : ndarray of shape (m, l)
        Outputs of a model that did not learn from the row.
    evidence : ndarray of shape (m, l)
        Log-likelihood of the row's votes for every class.

    Returns
    -------
    sharpness : float
    likelihood : float
        ``Σ_i log Σ_z f_i(z) exp(evidence_i(z))``.
    """
    # Σ_z softmax(t q)_z exp(e_z), with the largest of q and e moved to 0.
    scores = outputs - outputs.max(axis=1, keepdims=True)
    highest = evidence.max(axis=1, keepdims=True)
    likely = np.exp(evidence - highest)
    values = []
    for factor in SHARPNESS:
        share = np.exp(factor * scores)
        ratio = np.sum(share * likely, axis=1) / np.sum(share, axis=1)
        values.append(float(np.sum(np.log(np.maximum(ratio, np.finfo(float).tiny)))))
    best = int(np.argmax(values))
    return float(SHARPNESS[best]), values[best] + float(highest.sum())
