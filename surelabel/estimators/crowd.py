"""Votes of annotators and features together: who is reliable, and which label is right."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from ..data.candidates import CandidateSets, as_candidates
from ..data.label_order import has_order, label_positions
from ..exceptions import CandidateError, InputError
from ..solvers.copied_votes import merge_copies
from ..solvers.crowds import (
    CrowdFit,
    SoftTally,
    Tally,
    alternate_crowd,
    confirmed,
    with_useful_features,
)
from ..solvers.temperature import Trust
from ..solvers.threads import blas_threads
from ._annotators import Annotator, describe_annotators
from ._base import check_inner
from ._feature_models import CrossFitted, KernelPeers, class_outputs, kernel_outputs
from ._ordered import OrderedLabels


class CrowdClassifier(OrderedLabels):
    """Learn from the votes of annotators and the features; each shows how far to trust the other.

    Every annotator has a confusion matrix. The probability of a label is its probability by a model
    of the features that has not seen the row, times the probabilities of the row's votes given the
    label. Model and matrices are then fitted to these probabilities, and so on for four rounds
    (eight without features). Annotators who always give the same label, or answer at random, have
    no influence. Votes of somebody who is wrong on purpose count against the label they name.
    Copies count as one. Features that do not help are not used for the training rows. The label
    found may be one that nobody voted for.

    Parameters
    ----------
    estimator : classifier, default=None
        The model of the features: any scikit-learn classifier with ``predict_proba``, cross-fitted
        in five folds. None is the mean of four kernel ridge regressions, whose leave-one-out
        outputs have a closed form.
    random_state : int, default=0
        Seed of the landmarks for more than 3000 rows.
    ordered : bool or sequence, default=False
        The order of the labels, as in :class:`SUREClassifier`. Annotators who err may then name a
        neighbour more often, and ``predict(X, loss="absolute")`` has the least expected distance.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The label space.
    confidence_ : csr_array of shape (m, l)
        Probability of every label of the training rows, given votes and features. People make the
        same mistakes, so these probabilities are too sure; :func:`surelabel.clean` corrects them.
    transduction_ : ndarray of shape (m,)
        The most probable label of each training row.
    blind_proba_ : ndarray of shape (m, l)
        As ``confidence_``, but each row without its own known label.
    loo_proba_ : ndarray of shape (m, l)
        Probabilities of each training row by the features alone, from a model that did not learn
        from it.
    votes_alone_ : ndarray of shape (m,)
        Positions in ``classes_`` of the labels that the votes give without the features.
    annotators_ : list of Annotator
        Each annotator's accuracy with an interval, confusion matrix, kind and copies.
    kernels_ : list of dict
        The kernels that are averaged: ``scaling``, ``kernel``, ``gamma``, ``beta``.
    scale_, failure_, class_prior_ : float, float, ndarray of shape (l,)
        ``predict_proba`` is ``(1 - failure_) softmax(scale_ · outputs) + failure_ · class_prior_``,
        with the numbers that make the votes most likely.
    estimator_ : classifier
        The fitted ``estimator``, if one was given.
    confirmed_ : bool
        Whether votes agree with features and other votes more often than by chance. If not, nothing
        shows that any label is right.

    See Also
    --------
    surelabel.solvers.crowds : The equations.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from surelabel import CandidateSets, CrowdClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> rng = np.random.default_rng(0)
    >>> right = rng.random((150, 3)) < 0.6
    >>> votes = np.where(right, y[:, None], rng.integers(3, size=(150, 3)))
    >>> model = CrowdClassifier().fit(X, CandidateSets.from_votes(votes))
    >>> bool(np.mean(model.transduction_ == y) > 0.95)
    True
    >>> [round(annotator.accuracy, 1) for annotator in model.annotators_]
    [0.7, 0.7, 0.7]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "random_state": ["random_state"],
        "ordered": ["boolean", "array-like"],
    }

    annotators_: list[Annotator]

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        random_state: Any = 0,
        ordered: Any = False,
    ) -> None:
        self.estimator = estimator
        self.random_state = random_state
        self.ordered = ordered

    def fit(self, X: Any, y: Any, known: Any = None) -> Self:
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

        Returns
        -------
        self
        """
        self._check_parameters()
        check_inner(self.estimator)
        if X is not None:
            X, candidates = self._validate_fit(X, y, all_votes=True)
        else:
            candidates = as_candidates(y)
            self.n_features_in_ = 0
        self.classes_ = candidates.classes
        if len(self.classes_) < 2:
            raise CandidateError(
                f"there is only one class ({self.classes_.tolist()[0]!r}): a classifier needs more "
                "than one class to tell apart"
            )
        with blas_threads(len(candidates)):
            self._fit(X, candidates, _known_classes(known, candidates))
        return self

    def _fit(self, X: Any, candidates: CandidateSets, known: np.ndarray) -> np.ndarray:
        order = has_order(self.ordered)
        places = label_positions(self.ordered, self.classes_) if order else None
        names, votes, tally, group = _ballots(candidates, places)
        alone = fit = alternate_crowd(tally, known=known)
        self.kernels_: list[dict[str, Any]] = []
        self.loo_proba_ = np.exp(alone.log_prior)
        if X is not None:
            fit = self._fit_features(X, tally, alone, known)
        self.blind_proba_, self.confirmed_ = fit.unseen, confirmed(tally, fit)
        self.annotators_ = describe_annotators(votes, names, self.classes_, fit, group)
        self.confidence_ = sparse.csr_array(fit.posterior)
        self.transduction_ = self.classes_[fit.posterior.argmax(axis=1)]
        self.votes_alone_ = alone.posterior.argmax(axis=1)
        return np.asarray(self.confidence_.data)

    def _fit_features(self, X: Any, tally: Tally, alone: CrowdFit, known: np.ndarray) -> CrowdFit:
        """The fit with features; the model that predicts is fitted to its probabilities."""
        peers: KernelPeers | CrossFitted = (
            KernelPeers(X, np.random.default_rng(self.random_state))
            if self.estimator is None
            else CrossFitted(X, self.estimator, len(self.classes_))
        )
        fit, trust = with_useful_features(tally, peers, alone, known=known), peers.trust
        self.loo_proba_ = peers.proba
        self.scale_, self.failure_, self.class_prior_ = trust.sharpness, trust.failure, trust.prior
        if isinstance(peers, CrossFitted):
            self.estimator_ = peers.fit(fit.posterior)
        else:
            self.kernels_, self.scalings_ = peers.kernels, peers.scalings
            self.points_ = peers.points
            self.dual_coefs_, self.intercept_ = peers.coefficients(fit.posterior)
        return fit

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
        model = self.kernels_, self.scalings_, self.points_, self.dual_coefs_, self.intercept_
        return kernel_outputs(X, *model)

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return Trust(self.scale_, self.failure_, self.class_prior_)(scores)


def _ballots(
    candidates: CandidateSets, places: np.ndarray | None
) -> tuple[tuple[str, ...], np.ndarray, Tally, np.ndarray]:
    """Names of the annotators, their votes, the votes to count, and equal numbers for annotators
    who copy each other. Certain labels are the votes of one annotator; soft labels have none.
    """
    l, votes, names = candidates.shape[1], candidates.votes, candidates.annotators
    if votes is None and candidates.counts is not None:
        nobody = np.empty((len(candidates), 0), int)
        return (), nobody, SoftTally(candidates.to_counts()), np.empty(0, int)
    if votes is None and np.all(candidates.sizes == 1):
        votes, names = candidates.indices[:, None], ("annotator 1",)
    if votes is None:
        raise CandidateError(
            "CrowdClassifier learns from votes of known annotators, but these are candidate sets: "
            "use CandidateSets.from_votes, or PUREClassifier for sets"
        )
    if np.all(votes == -1):
        raise CandidateError("there are no votes: there is nothing to learn from")
    merged, group = merge_copies(votes, l)
    return names, votes, Tally(merged, l, places), group


def _known_classes(known: Any, candidates: CandidateSets) -> np.ndarray:
    """Position of the known class of every row, -1 where it is not known."""
    if known is None:
        return np.full(len(candidates), -1)
    sets = CandidateSets.from_labels(known, classes=candidates.classes, unlabelled="all")
    if len(sets) != len(candidates):
        raise InputError(f"known has {len(sets)} labels, but there are {len(candidates)} rows")
    return np.where(sets.sizes == 1, sets.indices[sets.indptr[:-1]], -1)
