"""CLPL: convex learning from partial labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..data.candidates import CandidateSets
from ..solvers.clpl import fit_clpl
from ._linear import LinearPartialLabelClassifier
from ._registry import Method


@dataclass(eq=False, repr=False)
class CLPLClassifier(LinearPartialLabelClassifier):
    """Convex learning from partial labels (Cour, Sapp & Taskar, 2011), with the squared hinge loss.

    Linear scores ``f_j(x) = w_j·x`` minimise the paper's convex loss, with ``ψ(z) = max(0, 1-z)²``
    and an L2 penalty,

    ``½‖W‖² + C Σ_i [ψ(mean of f_j(x_i) over j ∈ S_i) + Σ_{j∉S_i} ψ(-f_j(x_i))]``:

    the candidates should score above 1 on average, every other label below -1. With one candidate
    per row it is the one-vs-rest support vector machine, :class:`sklearn.svm.LinearSVC`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the penalty; 1 is LIBLINEAR's default.
    fit_intercept : bool, default=False
        Whether to add a constant feature, penalised like the others (LIBLINEAR's bias term). The
        paper has none. An intercept learns how often a label is a candidate, which need not be how
        often it is right: on features of mean 0, it lowered accuracy where some labels are
        candidates much more often than others (Lost, MSRCv2) and raised it elsewhere.
    tol : float, default=1e-8
        Stop when the gradient is at most this fraction of that at ``W = 0``.
    max_iter : int, default=1000
        Largest number of iterations of L-BFGS.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels.
    coef_ : ndarray of shape (l, n)
        The weights ``w_j``.
    intercept_ : ndarray of shape (l,)
        The intercepts (0 without ``fit_intercept``).
    scale_ : float
        Probabilities are ``softmax(scale_ · scores)``: the scale under which the candidates are
        most likely.
    confidence_ : csr_array of shape (m, l)
        Confidence in each candidate of the training rows: the model's probabilities given that a
        candidate is right.
    transduction_ : ndarray of shape (m,)
        The candidate with the highest confidence.
    support_ : ndarray
        The training rows that were learned from: those with a weight above 0.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether ``tol`` was reached.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    PLSVMClassifier : Compares the best candidate, instead of their mean, with the other labels.

    Notes
    -----
    The scale is fitted to training rows: if a model can fit all their candidates (few rows, many
    features and labels), its probabilities are overconfident.

    References
    ----------
    T. Cour, B. Sapp and B. Taskar. Learning from partial labels. Journal of Machine Learning
    Research 12, 2011, 1501-1536.

    Examples
    --------
    >>> from surelabel import CandidateSets
    >>> from surelabel.estimators import CLPLClassifier
    >>> X = [[0.0, 1.0], [0.1, 0.9], [0.2, 1.1], [1.0, 0.0], [1.1, 0.1], [1.2, 0.2]]
    >>> y = CandidateSets.from_strings(["cat|dog", "cat", "cat|cow", "cow|dog", "cow", "cow|cat"])
    >>> model = CLPLClassifier().fit(X, y)
    >>> model.predict([[0.1, 1.0], [1.0, 0.1]]).tolist()
    ['cat', 'cow']
    >>> model.transduction_.tolist()
    ['cat', 'cat', 'cat', 'cow', 'cow', 'cow']
    """

    C: float = 1.0
    _: KW_ONLY
    fit_intercept: bool = False
    tol: float = 1e-8
    max_iter: int = 1000

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearPartialLabelClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
    }

    _score_matrices = 6

    def _weights(self, X: Any, candidates: CandidateSets, weight: np.ndarray) -> np.ndarray:
        found = fit_clpl(
            X,
            candidates.indptr,
            candidates.indices,
            candidates.shape[1],
            self.C * weight,
            self.tol,
            self.max_iter,
        )
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        return found.weights


METHOD = Method(
    "CLPL",
    CLPLClassifier,
    {},
    reference=(
        "T. Cour, B. Sapp and B. Taskar. Learning from partial labels. Journal of Machine Learning "
        "Research 12, 2011."
    ),
    idea=(
        "squared hinge loss: the mean score of the candidates above 1, every other score below -1; "
        "convex"
    ),
    cost="a few dozen products with X",
)
