"""SURE: partial label learning with self-guided retraining (Feng & An, AAAI 2019)."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..data.candidates import CandidateSets
from ..data.label_order import has_order
from ..exceptions import ParameterError
from ..solvers.alternate import Trajectory, alternate
from ..solvers.confidence import SortedSets
from ..solvers.leave_one_out import LeftOut
from ..solvers.out_of_core import LowRankFit, Passes, alternate_passes
from ..solvers.ridge import KernelRidge, LinearRidge
from ._compress import compress
from .kernel import KernelClassifier

#: The largest λ allowed; beyond 2 the confidences stay the same.
LARGEST_LAM = 1e8

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
    kernel : str or callable, default="rbf"
        The kernel of the model: "rbf", "laplacian", "polynomial", "linear" (the model of eq. 3),
        "cosine" or "precomputed". Only "linear" takes a sparse ``X``.
    gamma : {"mean_distance", "median_distance", "scale"} or float, default="mean_distance"
        Kernel coefficient. "mean_distance" is the paper's rule: ``exp(-‖x-x'‖² / (2σ²))`` with σ
        the average distance between training instances (laplacian: ``exp(-‖x-x'‖₁ / σ)`` with the
        average L1 distance); "median_distance" takes the median; "scale" is scikit-learn's ``1 / (n
        Var[X])``; a number is γ in ``exp(-γ‖x-x'‖²)``.
    bandwidth : float, default=1.0
        Multiplies σ when ``gamma`` is "mean_distance" or "median_distance".
    degree, coef0 : float, default=3 and 1
        Parameters of the polynomial kernel ``(γ xᵀx' + coef0)^degree``.
    solver : {"auto", "dual", "primal", "nystroem", "fourier"}, default="auto"
        "dual" solves for one coefficient per instance, "primal" (linear kernel only) for one per
        feature: both are exact, and with fewer features than instances the linear kernel always
        uses "primal". "nystroem" approximates the kernel by ``n_components`` landmarks, "fourier"
        (rbf and laplacian) by as many random Fourier features; rows are then read in blocks, and
        ``X`` may be larger than memory. "auto" is exact up to 25,000 rows if the kernel
        matrix fits into memory, otherwise "nystroem"; ``solver_`` says which was used.
    n_components : int, default=1000
        Number ``D`` of landmarks or Fourier features.
    landmarks : {"uniform", "kmeans++", "leverage"}, default="uniform"
        How landmarks are chosen among the training rows (see
        :func:`~surelabel.solvers.features.choose_landmarks`).
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
        Seed of the landmarks and Fourier features; exact solvers are not random.
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
    solver_ : {"dual", "primal", "nystroem", "fourier"}
        The solver used.
    X_fit_ : ndarray
        The instances to compare new ones with: the training instances, or the landmarks.
    dual_coef_ : ndarray of shape (m, l)
        ``A`` of eq. 6 (kernels other than "linear"): one row for each of ``X_fit_``, or for each
        Fourier feature.
    frequencies_, phases_ : ndarray of shape (n, D) and (D,)
        The Fourier features ``√(2/D) cos(xᵀω + φ)``.
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
    compress : A smaller model for serving.

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
        "lam": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"candidates", "uniform"})],
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_lam(self.lam)

    def _fit(self, X: Any, candidates: CandidateSets, weight: Any, *_: Any) -> np.ndarray:
        equal = self._equal_rows(X) if has_order(self.ordered) else None
        return super()._fit(X, candidates, weight, None, equal)

    def _alternate(
        self, model: LinearRidge | KernelRidge, sets: SortedSets
    ) -> tuple[Trajectory, np.ndarray, np.ndarray]:
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
        if has_order(self.ordered):
            equal = None if self._equal is None else self._equal[sets.row_order]
            outputs = model.outputs(p, coefficients, intercept)
            left_out = LeftOut(model.leverage(), equal).outputs(sets.dense(p), outputs)
            self.loo_decision_ = left_out[np.argsort(sets.row_order)]
        return path, coefficients, intercept

    def _alternate_passes(self, passes: Passes) -> LowRankFit:
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

    def compress(self, n_components: int, X: Any = None, y: Any = None) -> SUREClassifier:
        """A model with few landmarks that approximates this one: small and fast, for serving.

        Landmarks are chosen as in ``fit`` (``landmarks``, ``random_state``), and their coefficients
        approximate the outputs of this model by least squares.

        Parameters
        ----------
        n_components : int
            Number of landmarks.
        X : array-like of shape (m, n), default=None
            Instances on which the outputs are approximated and from which the landmarks are chosen;
            may be larger than memory. By default ``X_fit_``: the training instances of an exact
            model, the landmarks of a low-rank one.
        y : array-like of shape (m,) or candidates, default=None
            True labels of ``X``, or their candidates, to measure the loss in accuracy.

        Returns
        -------
        SUREClassifier
            A fitted model without the attributes of training rows (``confidence_``,
            ``transduction_``, ``support_`` and the paths). Its ``compression_`` measures the loss:
            ``changed``, the share of the instances whose prediction changed, and ``rms``, the root
            mean squared difference of outputs, both over the ``n_rows`` instances. With ``y`` also
            ``score`` (accuracy, or covering rate for candidates) and ``score_before``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from surelabel import SUREClassifier, make_partial
        >>> X, y = load_iris(return_X_y=True)
        >>> model = SUREClassifier().fit(X, make_partial(y, p=0.8, r=1, random_state=0))
        >>> small = model.compress(30)
        >>> model.X_fit_.shape, small.X_fit_.shape
        ((150, 4), (30, 4))
        >>> small.compression_["n_rows"], small.compression_["changed"] < 0.01
        (150, True)
        """
        check_is_fitted(self)
        if y is not None and X is None:
            raise ParameterError("y holds the labels of X: pass both")
        small: SUREClassifier = compress(self, n_components, X)
        if y is not None:
            small.compression_ |= {"score": small.score(X, y), "score_before": self.score(X, y)}
        return small


def check_lam(lam: float) -> None:
    """Refuse a λ so large that the loss has no digits left."""
    if lam > LARGEST_LAM:
        raise ParameterError(
            f"lam must be at most {LARGEST_LAM:g}; got {lam:g}. Above 2, every row takes one "
            "candidate, so a larger lam changes no confidence, only the digits of the objective"
        )
