"""The base class of the linear methods: scores ``x·w_j + b_j``, and their probabilities."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval

from ..data.candidates import CandidateSets
from ..exceptions import NumericalError
from ..solvers.canonical_order import distinct_rows
from ..solvers.sparse_rows import row_softmax
from ..solvers.temperature import softmax_scale
from ._base import WeightedPartialLabelClassifier, check_learnable, require_memory


def in_row_space(X: Any) -> tuple[Any, np.ndarray | None]:
    """For many more columns than rows, X = L Qᵀ with orthonormal columns of Q: scores and |W|² are
    the same for V and W = Q V, so a linear method learns V from L, which has as many columns as
    rows. Returns L and Q; X and None if X stays as it is.
    """
    if not isinstance(X, np.ndarray) or X.shape[1] <= 2 * X.shape[0]:
        return X, None
    Q, R = np.linalg.qr(X.T)
    return np.ascontiguousarray(R.T), Q


class LinearPartialLabelClassifier(WeightedPartialLabelClassifier):
    """Base class of methods with linear scores; a method implements ``_weights(X, candidates,
    weight)``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    #: The peak memory of a fit, in m × l matrices.
    _score_matrices: ClassVar[int]

    @abstractmethod
    def _weights(self, X: Any, candidates: CandidateSets, weight: np.ndarray) -> np.ndarray:
        """Learn; set ``n_iter_`` and ``converged_``; return the weights, one column per label."""

    def _fit(self, X: Any, candidates: CandidateSets, weight: np.ndarray | None) -> np.ndarray:
        check_learnable(candidates)
        m, n = X.shape
        require_memory(
            f"{type(self).__name__} with {candidates.shape[1]} labels on {m} rows",
            8 * self._score_matrices * m * candidates.shape[1],
            "learn from fewer rows, or use SUREClassifier(kernel='linear')",
        )
        X = self._with_constant(X)
        weight = np.ones(m) if weight is None else weight.astype(np.float64)
        rows, total = distinct_rows(X, candidates.to_sparse(), weight)
        inner, Q = in_row_space(X[rows])
        try:
            W = self._weights(inner, candidates[rows], total)
        except np.linalg.LinAlgError:
            raise NumericalError(
                f"{type(self).__name__} cannot learn from features of this size: scale them, for "
                "example with StandardScaler"
            ) from None
        W = W if Q is None else Q @ W
        mass = np.bincount(candidates.indices, weight[candidates.rows], candidates.shape[1])
        self._possible = mass > 0
        if not self.converged_:
            warnings.warn(
                f"{type(self).__name__} did not reach tol={self.tol} in {self.n_iter_} iterations "
                f"(max_iter={self.max_iter}): scale the features, or raise "
                f"{'tol' if self.n_iter_ < self.max_iter else 'tol or max_iter'}",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.coef_, self.intercept_ = W[:n].T, W[n] if self.fit_intercept else np.zeros(W.shape[1])
        scores = X @ W
        self.scale_ = softmax_scale(scores, candidates.indptr, candidates.indices, weight)
        return row_softmax(
            self.scale_ * scores[candidates.rows, candidates.indices], candidates.indptr
        )

    def _with_constant(self, X: Any) -> Any:
        """The instances in double precision, with a column of ones for the intercept."""
        X = X.astype(np.float64, copy=False)
        if not self.fit_intercept:
            return X
        ones = np.ones((X.shape[0], 1))
        return sparse.hstack([X, ones]).tocsr() if sparse.issparse(X) else np.hstack([X, ones])

    def _linear_scores(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def _outputs(self, X: Any) -> np.ndarray:
        """The linear scores; -inf for a class that is not in any candidate set."""
        scores = self._linear_scores(X)
        scores[:, ~self._possible] = -np.inf
        return scores

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        probabilities = np.zeros_like(scores)
        probabilities[:, self._possible] = softmax(self.scale_ * scores[:, self._possible], axis=1)
        return probabilities

    def _confidence_of(self, X: Any, candidates: CandidateSets) -> np.ndarray:
        """The model's probabilities given that one of the candidates is right."""
        return row_softmax(
            self.scale_ * self._linear_scores(X)[candidates.rows, candidates.indices],
            candidates.indptr,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
