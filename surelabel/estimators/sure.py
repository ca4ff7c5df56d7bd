"""SURE: partial label learning with self-guided retraining (Feng & An, AAAI 2019)."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from ..data.candidates import CandidateSets
from ..data.label_order import has_order
from ..solvers.alternate import Trajectory, alternate
from ..solvers.confidence import SortedSets
from ..solvers.leave_one_out import LeftOut
from ..solvers.out_of_core import LowRankFit, Passes, alternate_passes
from ..solvers.ridge import KernelRidge, LinearRidge
from .kernel import KernelClassifier

#: The values of λ. Above 2, every row takes one candidate; 10⁸ leaves digits of the objective.
LAM = [Interval(Real, 0, 1e8, closed="both")]

#: The values that the paper tries for λ and for β.
GRID = (0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 1.0)


@dataclass(eq=False, repr=False)
class SUREClassifier(KernelClassifier):
    """Self-guided retraining: train the model and find the right candidate jointly.

    Minimises ``Σ_i (‖f(x_i) - p_i‖² - λ‖p_i‖_∞) + β‖f‖²`` over the model ``f`` and confidences
    ``p_i`` on the probability simplex of the candidate set (eq. 2), by alternating the model step
    (eq. 4 or 6, one Cholesky factor for all iterations) and the confidence step (eq. 10, in closed
    form). Both steps are exact, so the objective never rises.

    If the candidates come with votes (``CandidateSets.counts``), the objective also has ``-κ Σ_i
    π_iᵀp_i``, with ``π_ij`` the share of row i's votes that candidate j has; the confidence step is
    then eq. 10 of ``q + κ/2 π``.

    Parameters
    ----------
    lam : float, default=0.3
        The weight λ of the infinity norm: how strongly one candidate is preferred over the others.
    beta : float, default=0.05
        The regularisation β of the model.
    kernel : {"rbf", "laplacian", "linear", "precomputed"}, default="rbf"
        The kernel of the model; "linear" is the model of eq. 3, and only it takes a sparse ``X``.
        For any other kernel, compute its matrix and pass it as ``X`` ("precomputed").
    gamma : {"mean_distance", "scale"} or float, default="mean_distance"
        Kernel coefficient. "mean_distance" is the paper's rule: ``exp(-‖x-x'‖² / (2σ²))`` with σ
        the average distance between training instances (laplacian: ``exp(-‖x-x'‖₁ / σ)`` with the
        average L1 distance); "scale" is scikit-learn's ``1 / (n Var[X])``; a number is γ in
        ``exp(-γ‖x-x'‖²)``.
    bandwidth : float, default=1.0
        Multiplies σ when ``gamma`` is "mean_distance".
    solver : {"auto", "dual", "primal", "nystroem"}, default="auto"
        "dual" solves for one coefficient per instance, "primal" (linear kernel only) for one per
        feature: both are exact, and with fewer features than instances the linear kernel always
        uses "primal". "nystroem" approximates the kernel by ``n_components`` landmarks, rows drawn
        at random; rows are then read in blocks, and ``X`` may be larger than memory. "auto" is
        exact up to 25,000 rows if the kernel matrix fits into memory, otherwise "nystroem";
        ``solver_`` says which was used.
    n_components : int, default=1000
        Number ``D`` of landmarks.
    init : {"candidates", "uniform"}, default="candidates"
        Start at ``P = Y`` as the paper does, or at ``Y / |S|``.
    prior : float, default=1.0
        The weight κ of the votes; without votes it has no effect. The default was chosen among five
        values on simulated crowds (``benchmarks/votes.py``).
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-3
        Stop when ``‖ΔP‖_F / √m`` falls to this.
    callback : callable, default=None
        Called with an :class:`~surelabel.solvers.alternate.Iteration` after each iteration; if it
        returns True, the fit stops.
    verbose : bool or int, default=0
        Print the solver chosen, and a line per iteration.
    random_state : int, RandomState instance or None, default=0
        Seed of the landmarks; exact solvers are not random.
    ordered : bool or sequence, default=False
        Whether the labels have an order, such as ages or grades: True if they are numbers, whose
        distances count; otherwise the classes in their order. Outputs are then smoothed over
        neighbouring labels (:mod:`surelabel.solvers.ordered_labels`).
    n_jobs : int, default=None
        Number of threads for blocks of rows, in prediction and low-rank fits; None for as many as
        BLAS has.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The label space.
    confidence_ : csr_array of shape (m, l)
        Confidence of each candidate of the training rows; every row sums to 1.
    transduction_ : ndarray of shape (m,)
        The most confident candidate of each training row.
    solver_ : {"dual", "primal", "nystroem"}
        The solver used.
    X_fit_ : ndarray
        The instances to compare new ones with: the training instances, or the landmarks.
    dual_coef_ : ndarray of shape (m, l)
        ``A`` of eq. 6 (kernels other than "linear"): one row for each of ``X_fit_``.
    coef_ : ndarray of shape (l, n)
        ``Wᵀ`` of eq. 4 (linear kernel).
    intercept_ : ndarray of shape (l,)
        ``b``.
    origin_, origin_output_ : ndarray of shape (n,) and (l,)
        For the linear kernel: a point near the training instances, and the outputs there. Outputs
        are computed as ``(x - origin_) @ coef_.T + origin_output_``, which loses no digits far from
        0, unlike ``x @ coef_.T + intercept_``.
    gamma_ : float or None
        The number behind ``gamma``.
    support_ : ndarray
        The training rows that were learned from: those with a weight above 0.
    width_, scale_, loo_decision_ : float, float, ndarray of shape (m, l)
        With ``ordered``: the width of the smoothing (0 if there is none), the factor of the outputs
        in the softmax of ``predict_proba``, and, for exact solvers, the leave-one-out outputs that
        both are chosen by.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the change fell to ``tol`` before ``max_iter``.
    delta_path_ : ndarray of shape (n_iter_,)
        ``‖ΔP‖_F / √m`` of each iteration.
    objective_path_ : ndarray of shape (n_iter_,)
        Value of objective (2) after each iteration.

    See Also
    --------
    SURECV : Chooses λ and β by cross-validation without true labels.
    SURERetrainer : The same idea around any scikit-learn model.

    References
    ----------
    L. Feng and B. An. Partial label learning with self-guided retraining. AAAI 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from surelabel import SUREClassifier, make_partial
    >>> X, y = load_iris(return_X_y=True)
    >>> candidates = make_partial(y, p=0.8, r=1, random_state=0)
    >>> model = SUREClassifier().fit(X, candidates)
    >>> bool((model.transduction_ == y).mean() > 0.95)
    True
    """

    lam: float = 0.3
    beta: float = 0.05
    _: KW_ONLY
    init: str = "candidates"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        "lam": LAM,
        "init": [StrOptions({"candidates", "uniform"})],
    }

    def _fit(self, X: Any, candidates: CandidateSets, weight: Any, *_: Any) -> np.ndarray:
        equal = self._equal_rows(X) if has_order(self.ordered) else None
        return super()._fit(X, candidates, weight, None, equal)

    def _alternate(self, model: LinearRidge | KernelRidge, sets: SortedSets, X: Any) -> Trajectory:
        (path,) = alternate(
            model,
            sets,
            np.array([self.lam], sets.weight.dtype),
            init=self.init,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=self._report,
        )
        p = path.fitted_p
        (coefficients,), (intercept,) = model.coefficients(p[None])
        self._set_coefficients(coefficients, intercept, X, sets.row_order)
        if has_order(self.ordered):
            equal = None if self._equal is None else self._equal[sets.row_order]
            outputs = model.outputs(p, coefficients, intercept)
            left_out = LeftOut(model.leverage(), equal).outputs(sets.dense(p), outputs)
            self.loo_decision_ = left_out[np.argsort(sets.row_order)]
        return path

    def _alternate_passes(self, passes: Passes, candidates: CandidateSets) -> LowRankFit:
        fit = alternate_passes(
            passes,
            self.beta,
            self.lam,
            init=self.init,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=self._report,
            with_leverage=has_order(self.ordered),
        )
        if has_order(self.ordered):
            self.leverage_ = passes.leverage
        return fit

    def _set_path(self, path: Trajectory | LowRankFit) -> None:
        super()._set_path(path)
        if not path.converged and self.n_iter_ == self.max_iter:
            warnings.warn(
                f"SURE stopped after max_iter={self.max_iter} iterations with a change of "
                f"{path.delta_path[-1]:.2g}, above tol={self.tol:g}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=6,
            )
