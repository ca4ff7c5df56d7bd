"""LSB-CMM: a mixture whose components divide the feature space, each with its own distribution of
labels.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import ceil, log2
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from ..data.candidates import CandidateSets
from ..solvers.lsbcmm import fit_mixture, mixture_proba
from ._base import WeightedPartialLabelClassifier, check_learnable, require_memory
from ._registry import Method


@dataclass(eq=False, repr=False)
class LSBCMMClassifier(WeightedPartialLabelClassifier):
    """Logistic stick-breaking conditional multinomial mixture model (Liu & Dietterich, 2012).

    Logistic sticks divide an instance among components, ``φ_k(x) = σ(w_kᵀx + b_k) Π_{j<k} (1 -
    σ(w_jᵀx + b_j))``, and a component draws the label from its multinomial ``θ_k``. Variational EM
    raises a lower bound of the likelihood of the candidate sets; it never falls. Components are
    initialised on the classes in turn, starting with those that are candidates most often: nothing
    is random, and the order of rows and classes does not matter.

    Parameters
    ----------
    n_components : int, default=None
        Number of components; None is ``⌈10 log₂ l⌉`` for ``l`` classes.
    concentration : float, default=0.05
        The Dirichlet prior of the ``θ_k``; the smaller it is, the fewer labels each component has.
    precision : float, default=1.0
        The precision ``λ`` of the Gaussian prior of the ``w_k`` (their intercepts have none). It
        depends on the scale of the features, which should be standardised.
    max_iter : int, default=100
        Largest number of rounds.
    tol : float, default=1e-3
        Stop when a round raises the bound by no more than this per instance.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The class labels.
    coef_ : ndarray of shape (n_components - 1, n)
        The sticks' weights ``w_k``; the last component takes what the sticks leave.
    intercept_ : ndarray of shape (n_components - 1,)
        The sticks' intercepts ``b_k``.
    posterior_ : ndarray of shape (n_components, l)
        Parameters of the Dirichlet posteriors of the ``θ_k``.
    confidence_ : csr_array of shape (m, l)
        Posterior probabilities of the candidates of each training row.
    transduction_ : ndarray of shape (m,)
        The most probable candidate of each training row.
    lower_bound_path_ : ndarray of shape (n_iter_,)
        The evidence lower bound after each round.
    support_ : ndarray
        The training rows that were learned from: those with a weight above 0.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether ``tol`` was reached.

    Notes
    -----
    The defaults of ``n_components`` and ``concentration`` are the usual ones. The start,
    ``precision`` and ``tol`` were chosen by cross-validated accuracy on Lost and MSRCv2 with
    standardised features, so figures on these two sets are optimistic.

    The bound has many local maxima. If candidates are hard to tell apart, the rounds can amplify a
    change in the last digits of the features until a few predictions differ.

    References
    ----------
    L. Liu and T. Dietterich. A conditional multinomial mixture model for superset label learning.
    NIPS 2012.

    Examples
    --------
    >>> from surelabel.estimators import LSBCMMClassifier
    >>> X = [[-1.0], [-0.8], [1.0], [1.2]]
    >>> LSBCMMClassifier().fit(X, [{"a"}, {"a", "b"}, {"b"}, {"a", "b"}]).predict([[-0.9], [1.1]])
    array(['a', 'b'], dtype='<U1')
    """

    n_components: int | None = None
    concentration: float = 0.05
    precision: float = 1.0
    max_iter: int = 100
    tol: float = 1e-3

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        # Below 0.01, exp(E[log θ]) comes near the smallest floating-point number.
        "concentration": [Interval(Real, 0.01, None, closed="left")],
        "precision": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def _fit(
        self, X: np.ndarray, candidates: CandidateSets, weight: np.ndarray | None
    ) -> np.ndarray:
        check_learnable(candidates)
        n_components = self.n_components or ceil(10 * log2(len(candidates.classes)))
        require_memory(
            f"LSB-CMM with {n_components} components on {len(X)} rows",
            8 * len(X) * (12 * n_components + 4 * X.shape[1] + 2 * candidates.shape[1]),
            "lower n_components, learn from fewer rows, or use SUREClassifier",
        )
        mixture = fit_mixture(
            X.astype(np.float64, copy=False),
            candidates.to_sparse().astype(np.float64),
            np.ones(len(candidates)) if weight is None else weight.astype(np.float64, copy=False),
            n_components=n_components,
            concentration=self.concentration,
            precision=self.precision,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self.coef_, self.intercept_ = mixture.coef.T, mixture.intercept
        self.posterior_ = mixture.posterior
        self.lower_bound_path_, self.converged_ = mixture.lower_bound_path, bool(mixture.converged)
        self.n_iter_ = len(mixture.lower_bound_path)
        if not self.converged_:
            warnings.warn(
                f"LSBCMMClassifier did not reach tol={self.tol} in max_iter={self.max_iter} "
                "rounds: raise one of them",
                ConvergenceWarning,
                stacklevel=3,
            )
        return np.asarray(mixture.confidence)

    def _width(self) -> int:
        return max(super()._width(), len(self.posterior_))

    def _outputs(self, X: np.ndarray) -> np.ndarray:
        return mixture_proba(X, self.coef_.T, self.intercept_, self.posterior_)


METHOD = Method(
    "LSBCMM",
    LSBCMMClassifier,
    {},
    reference=(
        "L. Liu and T. G. Dietterich. A conditional multinomial mixture model for superset label "
        "learning. NIPS 2012."
    ),
    idea="mixture of multinomials whose weights are a logistic stick-breaking of x; variational EM",
    cost="⌈10 log₂ l⌉ logistic regressions, side by side",
)
