"""SURE: partial label learning with self-guided retraining (Feng & An, AAAI 2019)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..data.candidates import CandidateSets
from ..data.rows import ArrayRows, Rows, as_rows
from ..evaluation.protocol import grid_search
from ..exceptions import ParameterError
from ..solvers.alternate import Iteration, Trajectory, alternate
from ..solvers.confidence import CandidateBlocks
from ..solvers.dual import DualModel
from ..solvers.features import LANDMARKS, Centred, FourierFeatures, Landmarks, move_origin
from ..solvers.kernels import BLOCK, KERNELS, distances, exponentiate, gamma_of, kernel_matrix
from ..solvers.lowrank import LowRankFit
from ..solvers.passes import ordered_map
from ..solvers.primal import PrimalModel
from ..solvers.segments import row_normalise
from ..solvers.threads import blas_threads
from ._base import (
    N_JOBS,
    WeightedPartialLabelClassifier,
    check_learnable,
    check_rows,
    finite_blocks,
    require_memory,
)
from ._compress import compress
from ._lowrank import FeatureMap, choose_solver, definite, exact_need, fit_low_rank, local_passes
from ._registry import Method

M = TypeVar("M", PrimalModel, DualModel)

#: λ at most; from 2 on the confidences stay the same.
LARGEST_LAM = 1e8

#: Rounding errors of kernel values, in parts of β, from which on there is a warning.
ROUNDING = {np.float64: 1e-4, np.float32: 5e-2}

#: The values that the paper tries for λ and for β.
GRID = (0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 1.0)

KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(KERNELS)), callable],
    "gamma": [
        StrOptions({"mean_distance", "median_distance", "scale"}),
        Interval(Real, 0, None, closed="neither"),
    ],
    "bandwidth": [Interval(Real, 0, None, closed="neither")],
    "degree": [Interval(Real, 0, None, closed="neither")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "solver": [StrOptions({"auto", "dual", "primal", "nystroem", "fourier"})],
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "landmarks": [StrOptions(set(LANDMARKS))],
    "random_state": ["random_state"],
    "init": [StrOptions({"candidates", "uniform"})],
    "prior": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "verbose": ["verbose"],
}


class SUREClassifier(WeightedPartialLabelClassifier):
    """Self-guided retraining: train the model and find the right candidate jointly.

    Minimises ``Σ_i (‖f(x_i) - p_i‖² - λ‖p_i‖_∞) + β‖f‖²`` over the model ``f`` and confidences
    ``p_i`` on the probability simplex of the candidate set (eq. 2), by alternating the model step
    (eq. 4 or 6, one Cholesky factor for all iterations) and the confidence step (eq. 10, in closed
    form). Both steps are exact, so the objective never rises.

    Where the candidates come with votes (``CandidateSets.counts``), the objective also has ``-κ Σ_i
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
        Of the polynomial kernel ``(γ xᵀx' + coef0)^degree``.
    solver : {"auto", "dual", "primal", "nystroem", "fourier"}, default="auto"
        "dual" solves for one coefficient per instance, "primal" (linear kernel only) for one per
        feature: both are exact. "nystroem" approximates the kernel by ``n_components`` landmarks,
        "fourier" (rbf and laplacian) by as many random Fourier features; rows are then read in
        blocks, and ``X`` may be larger than memory. "auto" is exact up to 25,000 rows where the
        kernel matrix fits into memory, "nystroem" beyond; ``solver_`` says which it was.
    n_components : int, default=1000
        Number ``D`` of landmarks or Fourier features.
    landmarks : {"uniform", "kmeans++", "leverage"}, default="uniform"
        How landmarks are chosen among the training rows (see
        :func:`~surelabel.solvers.features.choose_landmarks`).
    init : {"candidates", "uniform"}, default="candidates"
        Start at ``P = Y`` as the paper does, or at ``Y / |S|``.
    prior : float, default=1.0
        The weight κ of the votes; without votes it has no effect. Over 24 simulated crowds
        (``benchmarks/votes.py``) 88.1 % of the training labels were found at κ = 1 and 85.7 % at κ
        = 0; new rows were right in 83.1 % and 82.3 %. The default was picked among five values on
        the same crowds.
    max_iter : int, default=200
        Number of iterations at most.
    tol : float, default=1e-3
        Stop when ``‖ΔP‖_F / √m`` falls to this.
    callback : callable, default=None
        Called with an :class:`~surelabel.solvers.alternate.Iteration` after each iteration; a true
        answer stops the fit.
    verbose : bool or int, default=0
        Print a line per iteration, and the solver chosen.
    random_state : int, RandomState instance or None, default=0
        Of the landmarks and Fourier features; exact solvers have nothing random.
    n_jobs : int, default=None
        Threads that work on blocks of rows, in prediction and low-rank fits; None for as many as
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
        What the kernel of new instances is taken with: the training instances, or the landmarks.
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
        Of the linear kernel: a point near the training instances, and the outputs there. Outputs
        are computed as ``(x - origin_) @ coef_.T + origin_output_``, which loses no digits where
        ``x @ coef_.T + intercept_`` does, far from 0.
    gamma_ : float or None
        The number behind ``gamma``.
    support_ : ndarray
        The training rows that were learned from: those with a weight above 0.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        **KERNEL_CONSTRAINTS,
        "callback": [callable, None],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        lam: float = 0.3,
        beta: float = 0.05,
        *,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: str | float = "mean_distance",
        bandwidth: float = 1.0,
        degree: float = 3,
        coef0: float = 1,
        solver: str = "auto",
        n_components: int = 1000,
        landmarks: str = "uniform",
        init: str = "candidates",
        prior: float = 1.0,
        max_iter: int = 200,
        tol: float = 1e-3,
        callback: Callable[[Iteration], bool | None] | None = None,
        verbose: bool | int = 0,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.lam = lam
        self.beta = beta
        self.kernel = kernel
        self.gamma = gamma
        self.bandwidth = bandwidth
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.n_components = n_components
        self.landmarks = landmarks
        self.init = init
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = isinstance(self.kernel, str) and self.kernel == "linear"
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        """As for every estimator; what is better not read at once becomes
        :class:`~surelabel.data.rows.Rows`.
        """
        rows = as_rows(X)
        if rows is None:
            return super()._validate_X(X, reset=reset)
        check_rows(self, rows, reset=reset)
        if self.kernel == "precomputed" or (reset and self._solver_for(rows) == "dual"):
            return super()._validate_X(np.concatenate(list(rows.blocks(BLOCK))), reset=reset)
        return rows

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_lam(self.lam)

    def _solver_for(self, X: Any, n_classes: int = 0) -> str:
        """The solver for these instances; ``n_classes`` where it is known."""
        if self.solver == "primal" and self.kernel != "linear":
            raise ParameterError("solver='primal' is for kernel='linear' only; use solver='auto'")
        if self.solver in ("nystroem", "fourier") and self.kernel in ("linear", "precomputed"):
            raise ParameterError(
                f"solver={self.solver!r} has nothing to approximate with kernel={self.kernel!r}; "
                "use 'auto'"
            )
        return (
            choose_solver(self.kernel, X.shape, n_classes, X.dtype.itemsize)
            if self.solver == "auto"
            else self.solver
        )

    def _fit(self, X: Any, candidates: CandidateSets, weight: np.ndarray | None) -> np.ndarray:
        check_learnable(candidates, votes=self.prior > 0)
        self.solver_ = self._solver_for(X, candidates.shape[1])
        if self.verbose:
            print(f"solver: {self.solver_}")
        if self.solver_ in ("nystroem", "fourier") or isinstance(X, Rows):
            return self._fit_blocks(X if isinstance(X, Rows) else ArrayRows(X), candidates, weight)
        with blas_threads(X.shape[0], enough=1500):
            return self._fit_exactly(X, candidates, weight)

    def _fit_blocks(
        self, rows: Rows, candidates: CandidateSets, weight: np.ndarray | None
    ) -> np.ndarray:
        self.gamma_: float | None = None
        confidence, fit, features = fit_low_rank(self, rows, candidates, weight)
        self.intercept_ = fit.b.astype(rows.dtype)
        if isinstance(features, Centred):
            self._set_linear(fit.W.T.astype(rows.dtype), features.origin, self.intercept_)
        elif isinstance(features, Landmarks):
            self.X_fit_, self.dual_coef_ = features.points, features.dual(fit.W).astype(rows.dtype)
        else:
            self.frequencies_, self.phases_ = features.frequencies, features.phases
            self.dual_coef_ = fit.W.astype(rows.dtype)
        self._set_path(fit)
        return confidence

    def _passes(
        self, rows: Rows, features: FeatureMap, candidates: CandidateSets, weight: np.ndarray | None
    ) -> Any:
        """Passes over the rows, as a context that leaves the confidences in ``confidence``."""
        return local_passes(
            rows, features, candidates, weight, votes_of(candidates, self.prior), self.n_jobs
        )

    def _fit_exactly(
        self, X: Any, candidates: CandidateSets, weight: np.ndarray | None
    ) -> np.ndarray:
        if self.kernel in ("linear", "rbf", "laplacian") and not sparse.issparse(X):
            warn_of_offset(X)
        blocks = make_blocks(candidates, weight, X.dtype, self.prior)
        order = blocks.row_order
        X_ordered = X[np.ix_(order, order)] if self.kernel == "precomputed" else X[order]
        if self.kernel == "linear":
            self.origin_ = move_origin(X_ordered, blocks.weight)
        model: PrimalModel | DualModel
        if self.solver_ == "primal":
            self.gamma_ = None
            model = factorise(PrimalModel, X_ordered, self.beta, blocks)
        else:
            K = self._train_kernel(X_ordered, blocks.weight)
            warn_of_rounding(K, self.beta)
            model = factorise(DualModel, K, self.beta, blocks)
        path = alternate(
            model,
            blocks,
            np.array([self.lam], X.dtype),
            init=self.init,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=self._report,
        )[0]
        self._set_coefficients(model, path, X, X_ordered, order)
        self._set_path(path)
        return blocks.all_entries(path.p)

    def _train_kernel(self, X: Any, weight: np.ndarray | None) -> np.ndarray:
        """The kernel matrix of the training instances, as an array that may be overwritten."""
        need = exact_need(X.shape[0], 0, X.dtype.itemsize)
        require_memory(
            f"an exact kernel fit of {X.shape[0]} rows", need, "use solver='nystroem' (or 'auto')"
        )
        if self.kernel == "precomputed":
            self.gamma_ = None
            return np.asarray(X)
        if self.kernel in ("rbf", "laplacian"):
            D = distances(self.kernel, X)
            self.gamma_ = gamma_of(self.kernel, self.gamma, self.bandwidth, X, D, weight)
            return exponentiate(D, self.gamma_)
        self.gamma_ = gamma_of(self.kernel, self.gamma, self.bandwidth, X, None, weight)
        return kernel_matrix(
            self.kernel, X, gamma=self.gamma_, degree=self.degree, coef0=self.coef0
        )

    def _set_coefficients(
        self, model: Any, path: Trajectory, X: Any, X_ordered: Any, order: np.ndarray
    ) -> None:
        with blas_threads(X.shape[0], enough=6000):  # few right-hand sides, as in the iterations
            (coefficients,), (self.intercept_,) = model.coefficients(path.fitted_p[None])
        if self.kernel == "linear":
            W = coefficients if isinstance(model, PrimalModel) else X_ordered.T @ coefficients
            self._set_linear(W.T, self.origin_, self.intercept_)
        else:
            self.dual_coef_ = np.empty_like(coefficients)
            self.dual_coef_[order] = coefficients
            if self.kernel != "precomputed":
                self.X_fit_ = X

    def _set_linear(self, coef: np.ndarray, origin: np.ndarray, output: np.ndarray) -> None:
        """The linear model, from its weights and its output at the origin."""
        self.coef_, self.origin_, self.origin_output_ = coef, origin, output
        self.intercept_ = (output - coef.astype(np.float64) @ origin).astype(coef.dtype)

    def _set_path(self, path: Trajectory | LowRankFit) -> None:
        self.n_iter_ = len(path.delta_path)
        self.converged_ = path.converged
        self.delta_path_ = np.array(path.delta_path)
        self.objective_path_ = np.array(path.objective_path)
        if not path.converged and self.n_iter_ == self.max_iter:
            warnings.warn(
                f"SURE stopped after max_iter={self.max_iter} iterations with a change of "
                f"{path.delta_path[-1]:.2g}, "
                f"above tol={self.tol:g}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _report(self, iteration: Iteration) -> bool | None:
        if self.verbose:
            print(
                f"iteration {iteration.number}: change {iteration.delta:.3g}, objective "
                f"{iteration.objective:.6g}"
            )
        return self.callback(iteration) if self.callback is not None else None

    def _outputs(self, X: Any) -> np.ndarray:
        """Eq. 11; in blocks of rows, so that the kernel with the training instances stays small."""
        if self.kernel == "precomputed":
            return np.asarray(X[:, self.support_] @ self.dual_coef_ + self.intercept_)
        if sparse.issparse(X):
            moved = np.flatnonzero(self.origin_)
            near = X[:, moved].toarray() - self.origin_[moved]
            still = np.where(self.origin_ == 0, self.coef_, 0)
            return np.asarray(X @ still.T + near @ self.coef_[:, moved].T + self.origin_output_)
        return np.concatenate(list(self._output_blocks(X)))

    def predict(self, X: Any) -> np.ndarray:
        """The most likely label of each instance (ties go to the first class).

        Outputs of a block of rows are dropped when its labels are known, so memory does not grow
        with the number of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n)
            The instances; also a memory map, an h5py or Zarr array or a Parquet data set larger
            than memory.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        if self.kernel == "precomputed" or sparse.issparse(X):
            return np.asarray(self.classes_[self._outputs(X).argmax(axis=1)])
        best = [scores.argmax(axis=1) for scores in self._output_blocks(X)]
        return np.asarray(self.classes_[np.concatenate(best)])

    def _output_blocks(self, X: Any) -> Iterator[np.ndarray]:
        width = self.coef_.shape[1] if self.kernel == "linear" else len(self.dual_coef_)
        step = max(1, BLOCK // width)
        blocks = finite_blocks(X, step) if isinstance(X, Rows) else ArrayRows(X).blocks(step)
        return ordered_map(self._block_outputs, blocks, self.n_jobs)

    def _block_outputs(self, X: np.ndarray) -> np.ndarray:
        if self.kernel == "linear":
            return np.asarray((X - self.origin_) @ self.coef_.T + self.origin_output_)
        if self.solver_ == "fourier":
            features = FourierFeatures(self.frequencies_, self.phases_)(X)
            return np.asarray(features @ self.dual_coef_ + self.intercept_)
        K = kernel_matrix(
            self.kernel, X, self.X_fit_, gamma=self.gamma_, degree=self.degree, coef0=self.coef0
        )
        return np.asarray((K @ self.dual_coef_).astype(X.dtype, copy=False) + self.intercept_)

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return probabilities(scores)

    def compress(self, n_components: int, X: Any = None, y: Any = None) -> SUREClassifier:
        """A model with few landmarks that stands for this one: for serving, as small and fast as
        one wants.

        Landmarks are chosen as in ``fit`` (``landmarks``, ``random_state``), and their coefficients
        are those that come nearest to the outputs of this model, in the sense of least squares.

        Parameters
        ----------
        n_components : int
            Number of landmarks.
        X : array-like of shape (m, n), default=None
            Instances on which the outputs should be near, and among which the landmarks are; also
            larger than memory. By default ``X_fit_``: the training instances of an exact model, the
            landmarks of a low-rank one.
        y : array-like of shape (m,) or candidates, default=None
            True labels of ``X``, or their candidates, to measure by what is lost.

        Returns
        -------
        SUREClassifier
            Fitted; without what belongs to training rows (``confidence_``, ``transduction_``,
            ``support_`` and the paths). What was lost stands in its ``compression_``: ``changed``,
            the share of the instances whose prediction is another, and ``rms``, the root mean
            squared difference of outputs, both over the ``n_rows`` instances. With ``y`` also the
            ``score`` (accuracy, or covering rate for candidates) and the ``score_before``.

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
            raise ParameterError("y are the labels of X: pass both")
        small: SUREClassifier = compress(self, n_components, X)
        if y is not None:
            small.compression_ |= {"score": small.score(X, y), "score_before": self.score(X, y)}
        return small


def check_lam(lam: float) -> None:
    """Refuse a λ beside which the loss has no digits left."""
    if lam > LARGEST_LAM:
        raise ParameterError(
            f"lam must be at most {LARGEST_LAM:g}; got {lam:g}. From 2 on every row takes one "
            "candidate: a larger lam changes no confidence, only the digits of the objective"
        )


def warn_of_offset(X: np.ndarray) -> None:
    """Warn where instances are so far from 0 that half of the digits in which they differ are gone
    before they come here.
    """
    with np.errstate(over="ignore"):
        offset, spread = np.linalg.norm(X.mean(axis=0)), np.sqrt(X.var(axis=0).sum())
    if offset * np.sqrt(np.finfo(X.dtype).eps) > spread > 0:
        warnings.warn(
            f"the instances are {offset / spread:.1g} times as far from 0 as they spread: "
            f"{X.dtype} keeps few digits of what tells them apart; subtract the mean of each "
            "column where the numbers are made",
            RuntimeWarning,
            stacklevel=5,
        )


def warn_of_rounding(K: np.ndarray, beta: float) -> None:
    """Warn where rounding errors of the kernel values are not small beside β: they are solved
    with.
    """
    largest = float(np.abs(K.diagonal()).max())
    error = np.finfo(K.dtype).eps * np.sqrt(len(K)) * largest
    if error > ROUNDING[K.dtype.type] * beta:
        warnings.warn(
            f"kernel values as large as {largest:.2g} are exact to {error:.1g} only, which is not "
            f"small beside beta={beta:g}: labels may change with it; centre and scale the features "
            "(a precomputed kernel: KernelCenterer), or raise beta",
            RuntimeWarning,
            stacklevel=5,
        )


def probabilities(outputs: np.ndarray) -> np.ndarray:
    """Outputs of SURE as probabilities: a softmax at temperature 0.1.

    Chosen by calibration out of fold on seven problems (``benchmarks/calibration.py``): mean
    expected calibration error 0.08, against 0.12 for the projection onto the simplex, 0.16 for
    normalised positive parts, 0.09 at temperature 0.15. The temperature was picked among six on the
    same problems, so its own figure is a little too good.
    """
    return np.asarray(softmax(outputs / np.asarray(0.1, outputs.dtype), axis=1))


def make_blocks(
    candidates: CandidateSets, weight: np.ndarray | None, dtype: Any, prior: float
) -> CandidateBlocks:
    """The candidates as the solvers take them, with the votes that stand behind them."""
    votes = votes_of(candidates, prior)
    return CandidateBlocks(
        candidates.indptr, candidates.indices, candidates.shape[1], weight, dtype, votes
    )


def votes_of(candidates: CandidateSets, prior: float) -> np.ndarray | None:
    """``κ π`` of every candidate; None where there are no votes.

    A row without any vote gets even shares, which move all its outputs alike and so change nothing.
    """
    if not prior or candidates.counts is None:
        return None
    return prior * row_normalise(candidates.counts.astype(float), candidates.indptr)


def factorise(model: type[M], matrix: Any, beta: float, blocks: CandidateBlocks) -> M:
    """Make the model step, with an error that says what to do when the matrix has no Cholesky
    factor.
    """
    with definite(beta):
        return model(matrix, beta, blocks)


def _search(
    estimator: SUREClassifier, grid: Mapping[str, Sequence[Any]] | None, selection: str
) -> Any:
    """:class:`SURECV`, where the grid is one of those it knows."""
    from .sure_cv import SURECV  # which is made of what stands here

    if grid is not None and not set(grid) <= {"lam", "beta", "kernel", "bandwidth"}:
        return grid_search(estimator, grid, selection)
    fixed = {
        name: value
        for name, value in estimator.get_params().items()
        if name not in ("lam", "beta", "callback", "n_jobs")
    }
    if grid is None:
        return SURECV(**fixed | {"kernel": "auto"}, scoring=selection)
    tried = {name: values for name, values in grid.items() if name in fixed}
    lams, betas = grid.get("lam", [estimator.lam]), grid.get("beta", [estimator.beta])
    return SURECV(lams, betas, **fixed | tried, scoring=selection)


METHOD = Method(
    "SURE",
    SUREClassifier,
    {"lam": GRID, "beta": GRID},
    reference="L. Feng and B. An. Partial label learning with self-guided retraining. AAAI 2019.",
    idea="kernel ridge on confidences, which move to the candidate that the model prefers",
    cost="one m × m Cholesky factor; linear: n × n",
    search=_search,
    many_rows={"solver": "nystroem"},
    votes=True,
    path=True,
)
