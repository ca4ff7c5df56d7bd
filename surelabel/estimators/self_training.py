"""Self-training on candidate labels, in the plain form that the SURE paper argues against."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.utils._param_validation import Interval

from ..data.candidates import CandidateSets
from ..solvers.sparse_rows import row_argmax
from ._base import WeightedPartialLabelClassifier, check_learnable, require_memory
from ._registry import Method

TIE = 1e-9  # confidences that differ by less are equal up to rounding


@dataclass(eq=False, repr=False)
class SelfTrainingPLClassifier(WeightedPartialLabelClassifier):
    """Train, take the candidates that the model is sure of as true labels, and train again, until
    there are no more.

    This is the straightforward method in the introduction of Feng & An (2019). A multi-output ridge
    regression learns the confidences ``P`` of the labels, at first ``P_ij = 1/|S_i|`` for the
    candidates ``j ∈ S_i`` of a row,

    ``min_{W,b} Σ_i ‖Wᵀx_i + b - p_i‖² + α ‖W‖²``.

    The positive part of its outputs, normalised over the candidates, says how sure it is of each; a
    row with a candidate above the threshold keeps that label alone, ``P_ij = 1``. This choice is
    final, so early mistakes spread, which is what SURE avoids.

    Parameters
    ----------
    alpha : float, default=1
        Strength of the ridge penalty.
    threshold : float, default=0.7
        Confidence that a candidate must exceed to be picked; at 1, none is.
    max_iter : int, default=100
        Maximum number of fits.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The class labels.
    coef_, intercept_ : ndarray of shape (l, n) and (l,)
        The model of the last round.
    picked_ : ndarray of shape (m,)
        Whether the label of a training row is settled: certain, or picked. Rows of weight 0 have no
        entry.
    confidence_ : csr_array of shape (m, l)
        1 for settled labels, otherwise how sure the model is of each candidate.
    transduction_ : ndarray of shape (m,)
        The label with the highest confidence of each training row.
    support_ : ndarray
        The training rows that were learned from: those with a weight above 0.
    n_iter_ : int
        Number of fits.
    converged_ : bool
        Whether it ended because nothing was left to pick.

    References
    ----------
    L. Feng and B. An (2019). Partial label learning with self-guided retraining. AAAI, 3542-3549.

    Examples
    --------
    >>> from surelabel.estimators import SelfTrainingPLClassifier
    >>> X = [[0.0], [0.2], [1.0], [1.2]]
    >>> candidates = [{"a"}, {"a", "b"}, {"b"}, {"a", "b"}]
    >>> SelfTrainingPLClassifier(alpha=0.1).fit(X, candidates).transduction_
    array(['a', 'a', 'b', 'b'], dtype='<U1')
    """

    alpha: float = 1.0
    threshold: float = 0.7
    max_iter: int = 100

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "threshold": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def _fit(self, X: Any, candidates: CandidateSets, weight: np.ndarray | None) -> np.ndarray:
        check_learnable(candidates)
        require_memory(
            f"self-training with {candidates.shape[1]} classes on {X.shape[0]} rows",
            3 * X.dtype.itemsize * X.shape[0] * candidates.shape[1],
            "learn from fewer rows, or use SUREClassifier",
        )
        rows, indices, indptr = candidates.rows, candidates.indices, candidates.indptr
        target = np.zeros(candidates.shape, X.dtype)
        target[rows, indices] = 1 / candidates.sizes[rows]
        self.picked_ = candidates.sizes == 1
        self.converged_ = False
        for iteration in range(1, self.max_iter + 1):
            self.n_iter_ = iteration
            ridge = Ridge(alpha=self.alpha).fit(X, target, sample_weight=weight)
            self.coef_, self.intercept_ = ridge.coef_, ridge.intercept_
            confidence = self._confidence_of(X, candidates)
            best = row_argmax(confidence, indptr, tie=TIE)
            sure = np.flatnonzero((confidence[best] > self.threshold + TIE) & ~self.picked_)
            if not len(sure):
                self.converged_ = True
                break
            target[sure] = 0
            target[sure, indices[best[sure]]] = 1
            self.picked_[sure] = True
        settled = self.picked_[rows]
        confidence[settled] = target[rows, indices][settled]
        return confidence

    def _outputs(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_.T + self.intercept_)


METHOD = Method(
    "Self-training",
    SelfTrainingPLClassifier,
    {"alpha": (0.01, 0.1, 1, 10, 100), "threshold": (0.5, 0.6, 0.7, 0.8, 0.9)},
    reference=(
        "L. Feng and B. An. Partial label learning with self-guided retraining, introduction. AAAI "
        "2019."
    ),
    idea="ridge on confidences; candidates above a threshold become labels; repeat",
    cost="a few ridge fits",
)
