"""Votes of annotators and features together: who is reliable, and which label is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from ..data.ballots import weighed_votes
from ..data.candidates import CandidateSets, as_candidates
from ..exceptions import CandidateError, InputError, shown
from ..solvers.against import Ballots, split_ballots
from ..solvers.crowds import (
    LEAST_SHARE,
    WARM,
    CrowdFit,
    Tally,
    alternate_crowd,
    alternate_soft,
    features_tell,
    likelihood,
    more_often_wrong,
    soft_evidence,
)
from ..solvers.kernels import kernel_matrix
from ..solvers.scalings import rescale
from ..solvers.threads import blas_threads
from ..text import suggest
from ._annotators import Annotator, describe_annotators
from ._base import PartialLabelClassifier, check_inner
from ._peer_models import CrossFitted, KernelBank, KernelPeers, PeerKernel, class_outputs
from .pure import PUREClassifier

SAMPLE = 800  # rows used to choose kernels
EXACT_ROWS = 3000  # with more rows, only the best kernel is used, with landmarks
LANDMARKS = 500
CHECKED = 5000  # rows by which it is seen whether the features tell something about the votes


class CrowdClassifier(PartialLabelClassifier):
    """Learns from the votes of annotators and from the features; each shows how far the other can
    be trusted.

    Every annotator has a confusion matrix. The probability of a label is that of a model of the
    features which has not seen the row, times the probabilities of all votes for the row given the
    label. The model and the matrices are fitted to these probabilities, and so on until nothing
    changes. So an annotator who always gives the same label, or answers at random, has no
    influence; the votes of one who is wrong on purpose count against the label they name; and
    copies count as one. The label found may be one that nobody voted for.

    Parameters
    ----------
    estimator : classifier, default=None
        The model of the features: any scikit-learn classifier with ``predict_proba``, cross-fitted
        in five folds. None is the mean of three kernel ridge regressions, whose leave-one-out
        outputs have a closed form.
    max_iter : int, default=30
        Maximum number of iterations.
    tol : float, default=2e-3
        Stop when ``‖ΔP‖_F / √m`` falls to this.
    random_state : int, default=0
        Seed of the 800 rows used to choose β, and of the landmarks for more than 3000 rows.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The label space.
    confidence_ : csr_array of shape (m, l)
        Probability of every label of the training rows, given votes and features.
    transduction_ : ndarray of shape (m,)
        The most probable label of each training row.
    loo_proba_ : ndarray of shape (m, l)
        Probabilities of each training row by the features alone, from a model that did not learn
        from it.
    annotators_ : list of Annotator
        Each annotator's accuracy with an interval, confusion matrix, kind and copies. Somebody who
        also voted against labels is there twice, the second time as "name (against)".
    kernels_ : list of dict
        The kernels that are averaged: ``scaling``, ``kernel``, ``gamma``, ``beta``.
    scale_ : float
        ``predict_proba`` is the softmax of ``scale_`` times the outputs: the factor that makes the
        votes most likely.
    estimator_ : classifier
        The fitted ``estimator``, if one was given.
    n_iter_, converged_
        Number of iterations, and whether the change fell to ``tol``.

    See Also
    --------
    surelabel.solvers.crowds : The equations.

    Examples
    --------
    >>> import numpy as np
    >>> from surelabel import CandidateSets, CrowdClassifier
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> votes = [["a", "a"], ["a", "b"], ["a", "a"], ["b", "b"], ["b", "a"], ["b", "b"]]
    >>> model = CrowdClassifier().fit(X, CandidateSets.from_votes(votes))
    >>> model.transduction_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    >>> [annotator.agreement for annotator in model.annotators_][0]
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    annotators_: list[Annotator]

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        max_iter: int = 30,
        tol: float = 2e-3,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, known: Any = None, confusions: Mapping[str, Any] | None = None
    ) -> Self:
        """Learn from instances and the votes for their labels.

        Parameters
        ----------
        X : array-like of shape (m, n) or None
            The instances; None if there are only votes.
        y : CandidateSets with votes, or labels
            The votes, as :meth:`CandidateSets.from_votes` reads them. One label per instance is a
            single annotator. Counts or probabilities of the labels
            (:meth:`CandidateSets.from_counts`) are soft labels: ``annotators_`` is empty.
        known : array-like of shape (m,), default=None
            The true labels where they are known, and missing values (None, NaN, "") elsewhere.
        confusions : mapping of str to array-like of shape (l, l), default=None
            Prior knowledge about annotators, by name: how many votes they gave for each label
            (columns) when each label was the truth (rows), in the order of the classes. To give
            probabilities the weight of n votes per true label, multiply them by n.

        Returns
        -------
        self
        """
        self._check_parameters()
        check_inner(self.estimator)
        if X is not None:
            X, candidates = self._validate_fit(X, y)
        else:
            candidates = as_candidates(y)
            self.n_features_in_ = 0
        soft = candidates.votes is None and candidates.counts is not None
        votes, names = (np.empty((len(candidates), 0), int), ()) if soft else _votes_of(candidates)
        l = candidates.shape[1]
        ballots = split_ballots(votes, l)
        names = ballots.names(names)
        if l < 2:
            raise CandidateError(
                f"there is only one class ({candidates.classes.tolist()[0]!r}): a classifier needs "
                "more than one class to tell apart"
            )
        self.classes_ = candidates.classes
        truth = _known_classes(known, candidates)
        before = _known_confusions(confusions, names, l)
        with blas_threads(len(candidates)):
            peers, fit = (
                self._soft(X, candidates, truth)
                if soft
                else self._alternate(X, candidates, ballots, truth, before)
            )
        self.loo_proba_ = np.exp(fit.log_prior)
        self.n_iter_, self.converged_ = fit.n_iter, fit.converged
        self.annotators_ = describe_annotators(ballots, names, self.classes_, fit)
        self.confidence_ = sparse.csr_array(fit.posterior)
        self.transduction_ = self.classes_[fit.posterior.argmax(axis=1)]
        self._set_model(peers, fit)
        return self

    def _alternate(
        self,
        X: Any,
        candidates: CandidateSets,
        ballots: Ballots,
        truth: np.ndarray,
        before: np.ndarray,
    ) -> tuple[KernelPeers | CrossFitted | None, CrowdFit]:
        """The model of the features (None without features), and the fit."""
        votes, l = ballots.votes, before.shape[-1]
        given: dict[str, Any] = {"known": truth, "before": before}
        given |= {"against": ballots.against, "owner": ballots.owner}
        stop: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        if X is None:
            peers: Any = None
            fit = alternate_crowd(votes, l, **given, **stop)
        else:
            said = alternate_crowd(votes, l, **given, max_iter=WARM)
            if self.estimator is None:
                peers, start = self._kernel_peers(X, votes, said, given)
            else:
                peers, start = CrossFitted(X, self.estimator, l), said.posterior
            fit = alternate_crowd(votes, l, peers, start=start, **given, **stop)
            if ballots.mixed and self.estimator is None and len(X) <= EXACT_ROWS:
                other = self._from_sets(X, candidates, votes, given, stop)
                peers, fit = max((peers, fit), other, key=lambda found: likelihood(found[1]))
            if not ballots.against.any():
                peers, fit = self._beside_votes_alone(X, votes, peers, fit, given, stop)
        if more_often_wrong(fit) and not np.any(truth >= 0) and not before.any():
            turned = fit.posterior[:, ::-1]
            fit = alternate_crowd(votes, l, peers, start=turned, **stop)
        return peers, fit

    def _beside_votes_alone(
        self,
        X: np.ndarray,
        votes: np.ndarray,
        peers: Any,
        fit: CrowdFit,
        given: dict[str, Any],
        stop: dict[str, Any],
    ) -> tuple[Any, CrowdFit]:
        """The model and the fit, or what the votes say without features if these explain too little
        of them. Otherwise useless features end in labels that follow the features alone, and good
        annotators who agree are taken for copies.
        """
        m, l = fit.posterior.shape
        rows = np.sort(np.random.default_rng(self.random_state).permutation(m)[:CHECKED])
        some = given | {"known": given["known"][rows]}
        alone = alternate_crowd(votes[rows], l, **some, **stop)
        if features_tell(replace(fit, log_prior=fit.log_prior[rows]), alone, votes[rows]):
            return peers, fit
        if len(rows) < m:
            alone = alternate_crowd(votes, l, **given, **stop)
        if self.estimator is None:
            peers = self._chosen_peers(X, alone.posterior, alone.evidence)
        peers(alone.posterior, alone.evidence)  # calibrates what it predicts for new rows
        return peers, alone

    def _from_sets(
        self,
        X: np.ndarray,
        candidates: CandidateSets,
        votes: np.ndarray,
        given: dict[str, Any],
        stop: dict[str, Any],
    ) -> tuple[KernelPeers, CrowdFit]:
        """As :meth:`_alternate`, starting from what PURE finds if the votes are candidate sets:
        few "yes" among many "no" are too little to start from.
        """
        pure = PUREClassifier(random_state=self.random_state).fit(X, weighed_votes(candidates))
        start = np.maximum(pure.confidence_.toarray(), LEAST_SHARE)
        start /= start.sum(axis=1, keepdims=True)
        l = start.shape[1]
        said = alternate_crowd(votes, l, start=start, **given, max_iter=1)
        peers = self._chosen_peers(X, start, said.evidence)
        return peers, alternate_crowd(votes, l, peers, start=start, **given, **stop)

    def _soft(
        self, X: Any, candidates: CandidateSets, truth: np.ndarray
    ) -> tuple[KernelPeers | CrossFitted, CrowdFit]:
        """As :meth:`_alternate`, from soft labels."""
        if X is None:
            raise CandidateError("soft labels need features to be judged by, and there are none")
        evidence = soft_evidence(candidates.to_counts())
        if self.estimator is not None:
            peers: Any = CrossFitted(X, self.estimator, evidence.shape[1])
        else:
            peers = self._chosen_peers(X, softmax(evidence, axis=1), evidence)
        stop: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        return peers, alternate_soft(evidence, peers, known=truth, **stop)

    def _chosen_peers(
        self, X: np.ndarray, posterior: np.ndarray, evidence: np.ndarray
    ) -> KernelPeers:
        """The models, with the kernels that suit these probabilities and votes."""
        m, l = posterior.shape
        rng = np.random.default_rng(self.random_state)
        drawn = np.sort(rng.permutation(m)[:SAMPLE])
        kernels = KernelBank(X[drawn], l).choose(posterior[drawn], evidence[drawn])
        return self._peers(X, kernels, l, rng)

    def _peers(
        self, X: np.ndarray, kernels: list[PeerKernel], l: int, rng: np.random.Generator
    ) -> KernelPeers:
        """The models of all rows; for many rows, only the best kernel, with landmarks."""
        m = len(X)
        if m <= EXACT_ROWS:
            return KernelPeers(X, kernels, l)
        return KernelPeers(X, kernels[:1], l, np.sort(rng.permutation(m)[:LANDMARKS]))

    def _kernel_peers(
        self, X: np.ndarray, votes: np.ndarray, said: CrowdFit, given: dict[str, Any]
    ) -> tuple[KernelPeers, np.ndarray]:
        """The models with their β, and the initial probabilities of all rows."""
        m, l = said.posterior.shape
        rng = np.random.default_rng(self.random_state)
        drawn = np.sort(rng.permutation(m)[:SAMPLE])
        sample, ballots = X[drawn], votes[drawn]
        given = given | {"known": given["known"][drawn]}
        posterior, evidence = said.posterior[drawn], said.evidence[drawn]
        bank = KernelBank(sample, l)
        for _ in range(2):
            kernels = bank.choose(posterior, evidence)
            peers = KernelPeers(sample, kernels, l)
            fit = alternate_crowd(ballots, l, peers, start=posterior, **given, max_iter=3)
            posterior, evidence = fit.posterior, fit.evidence
        kernels = bank.choose(posterior, evidence)
        peers = self._peers(X, kernels, l, rng)
        if m <= SAMPLE:
            return peers, posterior
        everywhere = Tally(votes, l, given["against"]).evidence(fit.confusion, fit.weight)
        return peers, softmax(np.log(posterior.mean(axis=0)) + everywhere, axis=1)

    def _set_model(self, peers: KernelPeers | CrossFitted | None, fit: CrowdFit) -> None:
        """Set the model that predicts, fitted to the probabilities of the training rows."""
        self.kernels_: list[dict[str, Any]] = []
        if peers is None:
            return
        if isinstance(peers, CrossFitted):
            self.scale_ = peers.sharpness
            self.estimator_ = peers.fit(fit.posterior)
        else:
            self.scale_ = peers.sharpness
            self.scalings_ = peers.scalings
            self.points_ = [model.points for model in peers.models]
            fitted = [model.coefficients(fit.posterior) for model in peers.models]
            self.dual_coefs_ = [A / len(fitted) for A, _ in fitted]
            self.intercept_ = np.mean([b for _, b in fitted], axis=0)
            self.kernels_ = [
                {
                    "scaling": kernel.scaling,
                    "kernel": kernel.kernel,
                    "gamma": model.gamma,
                    "beta": kernel.beta,
                }
                for kernel, model in zip(peers.kernels, peers.models, strict=True)
            ]

    def _taken(self, candidates: CandidateSets) -> CandidateSets:
        return candidates  # all votes: fit finds out what they are worth

    def _fit(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise NotImplementedError  # fit does it all, because votes are not candidate sets

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        if self.n_features_in_ == 0:
            raise InputError(
                "CrowdClassifier learned from votes alone and cannot predict: transduction_ has "
                "the labels of its rows"
            )
        return super()._checked(X)

    def _width(self) -> int:
        return max(super()._width(), *map(len, self.points_)) if self.kernels_ else super()._width()

    def _outputs(self, X: np.ndarray) -> np.ndarray:
        if not self.kernels_:
            return class_outputs(self.estimator_, X, len(self.classes_))
        total = np.tile(self.intercept_, (len(X), 1))
        for kernel, learned, points, coefficients in zip(
            self.kernels_, self.scalings_, self.points_, self.dual_coefs_, strict=True
        ):
            Z = rescale(kernel["scaling"], learned, X)
            total += (
                kernel_matrix(kernel["kernel"], Z, points, gamma=kernel["gamma"]) @ coefficients
            )
        return total

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return np.asarray(softmax(self.scale_ * scores, axis=1))


def _votes_of(candidates: CandidateSets) -> tuple[np.ndarray, tuple[str, ...]]:
    """The votes by annotator; certain labels are the votes of a single annotator."""
    if candidates.votes is not None:
        if np.all(candidates.votes == -1):
            raise CandidateError("there are no votes: there is nothing to learn from")
        return candidates.votes, candidates.annotators
    if np.all(candidates.sizes == 1):
        return candidates.indices[:, None], ("annotator 1",)
    raise CandidateError(
        "CrowdClassifier learns from votes of known annotators, but these are candidate sets: use "
        "CandidateSets.from_votes, or PUREClassifier for sets"
    )


def _known_confusions(given: Mapping[str, Any] | None, names: Sequence[str], l: int) -> np.ndarray:
    """Known votes by true label for each annotator, 0 where nothing is known."""
    counts = np.zeros((len(names), l, l))
    if given is not None and not isinstance(given, Mapping):
        raise InputError(
            f"confusions must be a matrix for each annotator by name, not {shown(given)}"
        )
    for name, matrix in (given or {}).items():
        if name not in names:
            raise InputError(
                f"confusions: there is no annotator {name!r}; "
                f"{suggest(name, list(names), 'annotators')}"
            )
        try:
            known = np.asarray(matrix, float)
        except (TypeError, ValueError):
            known = np.empty(0)
        if known.shape != (l, l) or not np.all(np.isfinite(known) & (known >= 0)):
            raise InputError(
                f"confusions: the matrix of {name!r} must have {l} rows (truths) and {l} columns "
                "(votes) of finite numbers, none below 0"
            )
        counts[list(names).index(name)] = known
    return counts


def _known_classes(known: Any, candidates: CandidateSets) -> np.ndarray:
    """Position of the known class of every row, -1 where it is not known."""
    if known is None:
        return np.full(len(candidates), -1)
    sets = CandidateSets.from_labels(known, classes=candidates.classes, unlabelled="all")
    if len(sets) != len(candidates):
        raise InputError(f"known has {len(sets)} labels, but there are {len(candidates)} rows")
    return np.where(sets.sizes == 1, sets.indices[sets.indptr[:-1]], -1)
