"""PLSVM: the best candidate should beat every other label by a margin."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..data.candidates import CandidateSets
from ..solvers.plsvm import fit_plsvm
from ._linear import LinearPartialLabelClassifier
from ._registry import Method


@dataclass(eq=False, repr=False)
class PLSVMClassifier(LinearPartialLabelClassifier):
    """Maximum-margin learning from candidate labels (Nguyen & Caruana, 2008).

    Linear scores ``f_j(x) = w_j·x`` minimise

    ``λ/2 ‖W‖² + (1/m) Σ_i max(0, 1 - (max_{j∈S_i} f_j(x_i) - max_{k∉S_i} f_k(x_i)))``:

    the best candidate should beat every other label by 1. A row whose candidates are all labels has
    no loss. With one candidate per row it is the support vector machine of Crammer & Singer (2001).

    Parameters
    ----------
    lam : float, default=0.01
        The penalty λ. The default suits features of standard deviation 1; features ``a`` times as
        large need a penalty ``a²`` times as large.
    fit_intercept : bool, default=False
        Whether to add a constant feature, penalised like the others. The paper has none.
    tol : float, default=1e-3
        Stop when a round gains less than this fraction of all that was gained since ``W = 0``.
    max_iter : int, default=100
        Largest number of rounds.

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
    objective_ : ndarray of shape (n_iter_ + 1,)
        The objective at ``W = 0`` and after each round; it never rises.
    confidence_ : csr_array of shape (m, l)
        Confidence in each candidate of the training rows: the model's probabilities given that a
        candidate is right.
    transduction_ : ndarray of shape (m,)
        The candidate with the highest confidence: the one whose margin is trained.
    support_ : ndarray
        The training rows that were learned from: those with a weight above 0.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether ``tol`` was reached.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    CLPLClassifier : A convex relative, which compares the mean of the candidates.

    Notes
    -----
    The objective is not convex. The paper descends by subgradients; here each round fixes the best
    candidate of every row and solves the convex problem that is left, until nothing is gained.
    There is no randomness: the first round weights the candidates by their probabilities under
    :class:`CLPLClassifier` with the same penalty. Like any descent it ends in a local minimum,
    which may lie above or below the one that another start leads to. Each round is
    solved as precisely as the next one needs, so another solver might end at another minimum.

    The scale is fitted to training rows: if a model can fit all their candidates (few rows, many
    features and labels), its probabilities are overconfident.

    References
    ----------
    N. Nguyen and R. Caruana. Classification with partial labels. KDD 2008, 551-559.

    K. Crammer and Y. Singer. On the algorithmic implementation of multiclass kernel-based vector
    machines. Journal of Machine Learning Research 2, 2001, 265-292.

    Examples
    --------
    >>> from surelabel import CandidateSets
    >>> from surelabel.estimators import PLSVMClassifier
    >>> X = [[0.0, 1.0], [0.1, 0.9], [0.2, 1.1], [1.0, 0.0], [1.1, 0.1], [1.2, 0.2]]
    >>> y = CandidateSets.from_strings(["cat|dog", "cat", "cat|cow", "cow|dog", "cow", "cow|cat"])
    >>> model = PLSVMClassifier().fit(X, y)
    >>> model.predict([[0.1, 1.0], [1.0, 0.1]]).tolist()
    ['cat', 'cow']
    >>> model.transduction_.tolist()
    ['cat', 'cat', 'cat', 'cow', 'cow', 'cow']
    """

    lam: float = 0.01
    _: KW_ONLY
    fit_intercept: bool = False
    tol: float = 1e-3
    max_iter: int = 100

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearPartialLabelClassifier._parameter_constraints,
        "lam": [Interval(Real, 0, None, closed="neither")],
    }

    _score_matrices = 11

    def _weights(self, X: Any, candidates: CandidateSets, weight: np.ndarray) -> np.ndarray:
        found = fit_plsvm(
            X,
            candidates.indptr,
            candidates.indices,
            candidates.shape[1],
            weight,
            self.lam,
            self.tol,
            self.max_iter,
        )
        self.converged_, self.objective_ = found.converged, np.array(found.objective)
        self.n_iter_ = len(found.objective) - 1
        return np.asarray(found.weights)


METHOD = Method(
    "PLSVM",
    PLSVMClassifier,
    {"lam": [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3]},
    reference="N. Nguyen and R. Caruana. Classification with partial labels. KDD 2008.",
    idea="margin between the best candidate and the best other label; non-convex",
    cost="a few convex problems in turn",
)
