"""What the linear methods share: scores ``x·w_j + b_j``, and probabilities made of them."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval

from ..data.candidates import CandidateSets
from ..solvers.scale import row_softmax, softmax, softmax_scale
from ._base import WeightedPartialLabelClassifier, check_learnable


class LinearPartialLabelClassifier(WeightedPartialLabelClassifier):
    """Base class of methods with linear scores: a method writes ``_weights(X, candidates, weight)``."""

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    @abstractmethod
    def _weights(self, X: Any, candidates: CandidateSets, weight: np.ndarray) -> np.ndarray:
        """Learn; set ``n_iter_`` and ``converged_``; return the weights, one column per label."""

    def _fit(self, X: Any, candidates: CandidateSets, weight: np.ndarray | None) -> np.ndarray:
        check_learnable(candidates)
        X = X.astype(np.float64, copy=False)
        n = X.shape[1]
        if self.fit_intercept:
            stack = sparse.hstack if sparse.issparse(X) else np.hstack
            X = stack([X, np.ones((X.shape[0], 1))])
            X = X.tocsr() if sparse.issparse(X) else X
        weight = np.ones(X.shape[0]) if weight is None else weight.astype(np.float64)
        W = self._weights(X, candidates, weight)
        if not self.converged_:
            warnings.warn(
                f"{type(self).__name__} did not reach tol={self.tol} in {self.n_iter_} iterations (max_iter={self.max_iter}): "
                "raise one of them, or scale the features",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.coef_, self.intercept_ = W[:n].T, W[n] if self.fit_intercept else np.zeros(W.shape[1])
        self.scale_ = softmax_scale(X @ W, candidates.indptr, candidates.indices, weight)
        return self._confidence_of(X[:, :n], candidates)

    def _outputs(self, X: Any) -> np.ndarray:
        return X @ self.coef_.T + self.intercept_

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return softmax(self.scale_ * scores)

    def _confidence_of(self, X: Any, candidates: CandidateSets) -> np.ndarray:
        """The model's probabilities given that one of the candidates is right."""
        return row_softmax(self.scale_ * self._outputs(X)[candidates.rows, candidates.indices], candidates.indptr)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
