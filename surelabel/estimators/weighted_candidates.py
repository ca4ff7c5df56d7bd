"""The plain alternatives: an ordinary classifier on weighted or on unambiguous candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..data.candidates import CandidateSets
from ..exceptions import CandidateError, ParameterError
from ._base import WeightedPartialLabelClassifier, check_inner, check_learnable
from ._linear import in_row_space
from ._registry import Method


@dataclass(eq=False, repr=False)
class WeightedCandidatesClassifier(MetaEstimatorMixin, WeightedPartialLabelClassifier):
    """What anyone can do with an ordinary classifier and candidate labels: the baseline that every
    method must beat.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier. None is ``LogisticRegression(max_iter=1000)``: it is convex, so
        nothing is random; it has probabilities of its own; and it treats a weight as that many
        copies of a row.
    strategy : {"weighted", "unambiguous"}, default="weighted"
        "weighted" makes one example of each candidate of a row, of weight ``1 / |S|``.
        "unambiguous" learns only from rows with one candidate.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The class labels.
    estimator_ : classifier
        The fitted classifier; its classes are 0, 1, … in the order of ``trained_classes_``. A model
        that was loaded from a file has only ``coef_`` and ``intercept_``.
    coef_, intercept_ : ndarray
        Those of the logistic regression, if ``estimator`` is None: one row per trained class, or a
        single row for two classes.
    trained_classes_ : ndarray
        The classes that were learned from; all others have probability 0.
    confidence_ : csr_array of shape (m, l)
        Probabilities of the training rows, renormalised over their candidates.
    transduction_ : ndarray of shape (m,)
        The most probable candidate of each training row.
    support_ : ndarray
        The training rows that were learned from: those with a weight above 0.
    n_iter_ : int
        Always 1: the classifier is trained once.
    converged_ : bool
        Always True.

    See Also
    --------
    SelfTrainingPLClassifier : Picks confident candidates one after the other.

    Examples
    --------
    >>> from surelabel.estimators import WeightedCandidatesClassifier
    >>> X = [[0.0], [0.2], [1.0], [1.2]]
    >>> candidates = [{"a"}, {"a", "b"}, {"b"}, {"a", "b"}]
    >>> WeightedCandidatesClassifier().fit(X, candidates).predict([[0.1], [1.1]])
    array(['a', 'b'], dtype='<U1')
    """

    estimator: BaseEstimator | None = None
    strategy: Literal["weighted", "unambiguous"] = "weighted"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [
            HasMethods(["fit", "predict_proba"]),
            HasMethods(["fit", "decision_function"]),
            None,
        ],
        "strategy": [StrOptions({"weighted", "unambiguous"})],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._inner()).input_tags.sparse
        return tags

    def _inner(self) -> Any:
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    def _fit(self, X: Any, candidates: CandidateSets, weight: np.ndarray | None) -> np.ndarray:
        check_learnable(candidates)
        check_inner(self.estimator)
        rows, labels = candidates.rows, candidates.indices
        if self.strategy == "unambiguous":
            certain = candidates.sizes[rows] == 1
            rows, labels = rows[certain], labels[certain]
        seen, codes = np.unique(labels, return_inverse=True)
        if len(seen) < 2:
            advice = "" if self.strategy == "weighted" else "; try strategy='weighted'"
            raise CandidateError(
                f"strategy={self.strategy!r} finds examples of {len(seen)} class(es) among "
                f"{len(candidates)} rows, and a classifier needs two{advice}"
            )
        self.estimator_ = clone(self._inner())
        if self.strategy == "weighted":
            each = 1 / candidates.sizes[rows]
            weight = each if weight is None else weight[rows] * each
        elif weight is not None:
            weight = weight[rows]
        features, Q = in_row_space(X) if self.estimator is None else (X, None)
        if weight is None:
            self.estimator_.fit(features[rows], codes)
        elif has_fit_parameter(self.estimator_, "sample_weight"):
            self.estimator_.fit(features[rows], codes, sample_weight=weight)
        else:
            raise ParameterError(
                f"{type(self.estimator_).__name__} does not accept sample_weight, which "
                "strategy='weighted' and weighted rows need: choose another estimator or strategy "
                "(transformers belong in a pipeline around this classifier)"
            )
        if Q is not None:
            self.estimator_.coef_ = self.estimator_.coef_ @ Q.T
            self.estimator_.n_features_in_ = X.shape[1]
        self._seen = seen
        if self.estimator is None:
            self.coef_, self.intercept_ = self.estimator_.coef_, self.estimator_.intercept_
        self.n_iter_, self.converged_ = 1, True
        return self._confidence_of(X, candidates).astype(X.dtype, copy=False)

    @property
    def trained_classes_(self) -> np.ndarray:
        """The classes that were learned from."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self._seen])

    def _outputs(self, X: Any) -> np.ndarray:
        """Probabilities of the inner classifier, or its scores if it has none; classes that it
        never saw get 0, or -inf.
        """
        if self.estimator is None:
            scores = np.asarray(X @ self.coef_.T + self.intercept_)
            binary = scores.shape[1] == 1
            seen = softmax(np.hstack([np.zeros_like(scores), scores]) if binary else scores, axis=1)
            unseen = 0.0
        elif hasattr(self.estimator_, "predict_proba"):
            seen, unseen = self.estimator_.predict_proba(X), 0.0
        else:
            scores = self.estimator_.decision_function(X)
            seen = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
            unseen = -np.inf
        outputs = np.full((X.shape[0], len(self.classes_)), unseen, seen.dtype)
        outputs[:, self._seen] = seen
        return outputs


METHOD = Method(
    "Weighted candidates",
    WeightedCandidatesClassifier,
    {},
    reference=(
        "The plain alternative: each of the |S| candidates of a row as an example of weight 1/|S|."
    ),
    idea="any scikit-learn classifier on every candidate, weighted; or on the certain rows only",
    cost="one fit",
)
