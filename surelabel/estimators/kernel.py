"""The base class of the methods with SURE's model: kernel, linear or low-rank ridge regression on
confidences.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.utils._param_validation import Interval, StrOptions

from ..data.candidates import CandidateSets
from ..data.label_order import has_order, label_positions
from ..data.rows import ArrayRows, Rows, as_rows
from ..exceptions import ParameterError
from ..solvers.alternate import Iteration, Trajectory
from ..solvers.confidence import SortedSets
from ..solvers.equal_rows import equal_rows
from ..solvers.features import Centred, FeatureMap, move_origin
from ..solvers.kernels import KERNELS, distances, exponentiate, gamma_of, kernel_matrix
from ..solvers.leave_one_out import LeftOut
from ..solvers.memory import block_rows
from ..solvers.ordered_labels import choose_width, smoothing_matrix
from ..solvers.out_of_core import LowRankFit, ordered_map
from ..solvers.ridge import KernelRidge, LinearRidge
from ..solvers.sparse_rows import row_normalise
from ..solvers.temperature import ROWS
from ..solvers.threads import blas_threads
from ._base import (
    N_JOBS,
    WeightedPartialLabelClassifier,
    check_learnable,
    check_rows,
    require_memory,
)
from ._lowrank import (
    BANDWIDTH_ROWS,
    draw,
    draw_rows,
    generator,
    local_passes,
    make_features,
    positive_definite,
)
from ._ordered import OrderedLabels
from .limits import choose_solver, exact_need

M = TypeVar("M", LinearRidge, KernelRidge)

#: Rounding errors of kernel values above this fraction of β cause a warning.
ROUNDING = {np.float64: 1e-4, np.float32: 5e-2}

#: The attributes that hold the weights of a model with one kernel.
WEIGHTS = ("dual_coef_", "coef_", "origin_output_", "intercept_")

#: Values of ``gamma`` and ``bandwidth`` whose squares and cubes are numbers.
WIDTHS = 1e-100, 1e100


@dataclass(kw_only=True, eq=False, repr=False)
class KernelParameters:
    """The parameters that all methods with a kernel share; :class:`~surelabel.SUREClassifier`
    describes them.
    """

    kernel: str = "rbf"
    gamma: str | float = "mean_distance"
    bandwidth: float = 1.0
    solver: str = "auto"
    n_components: int = 1000
    prior: float = 1.0
    max_iter: int = 200
    tol: float = 1e-3
    verbose: bool | int = 0
    random_state: Any = 0
    ordered: Any = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(KERNELS))],
        "gamma": [StrOptions({"mean_distance", "scale"}), Interval(Real, *WIDTHS, closed="both")],
        "bandwidth": [Interval(Real, *WIDTHS, closed="both")],
        "solver": [StrOptions({"auto", "dual", "primal", "nystroem"})],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "prior": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "ordered": ["boolean", "array-like"],
    }


class _Attributes:
    """Attributes that a dataclass would take for parameters, and β, whose position differs between
    methods.
    """

    beta: float
    gamma_: float | None
    loo_decision_: np.ndarray
    leverage_: np.ndarray
    scale_: float
    width_: float
    kernels_: list[dict[str, Any]]


@dataclass(kw_only=True, eq=False, repr=False)
class KernelClassifier(
    OrderedLabels, WeightedPartialLabelClassifier, KernelParameters, _Attributes
):
    """Base class of the methods that alternate ridge regression on confidences with a confidence
    step. A method implements ``_alternate(model, sets, X)``, which sets the coefficients and
    returns the course of the iterations, and ``_alternate_passes(passes, candidates)`` for rows in
    blocks.
    """

    callback: Callable[[Iteration], bool | None] | None = None
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelParameters._parameter_constraints,
        "beta": [Interval(Real, 0, None, closed="neither")],
        "callback": [callable, None],
        "n_jobs": N_JOBS,
    }

    @abstractmethod
    def _alternate(
        self, model: LinearRidge | KernelRidge, sets: SortedSets, X: Any
    ) -> Trajectory: ...

    @abstractmethod
    def _alternate_passes(self, passes: Any, candidates: CandidateSets) -> LowRankFit: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel == "linear"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        """As for every estimator; data that should not be read at once become
        :class:`~surelabel.data.rows.Rows`.
        """
        rows = as_rows(X)
        if rows is None:
            return super()._validate_X(X, reset=reset)
        check_rows(self, rows, reset=reset)
        if self.kernel == "precomputed" or (reset and self._solver_for(rows) == "dual"):
            return super()._validate_X(
                np.concatenate(list(rows.blocks(block_rows(rows.shape[1])))), reset=reset
            )
        return rows

    def _solver_for(self, X: Any, n_classes: int = 0) -> str:
        """The solver for these instances; ``n_classes`` is 0 if it is not known."""
        if self.solver == "primal" and self.kernel != "linear":
            raise ParameterError("solver='primal' is for kernel='linear' only; use solver='auto'")
        if self.solver == "nystroem" and self.kernel in ("linear", "precomputed"):
            raise ParameterError(
                f"solver='nystroem' has nothing to approximate for kernel={self.kernel!r}; use "
                "'auto'"
            )
        # Dual and primal give the same linear model. With fewer columns than rows, only β keeps the
        # dual system from being singular, and for features of 10⁶ it is less than a rounding error.
        same = self.solver == "dual" and self.kernel == "linear" and not isinstance(X, Rows)
        return (
            choose_solver(self.kernel, X.shape, n_classes, X.dtype.itemsize)
            if self.solver == "auto" or same
            else self.solver
        )

    def _fit(
        self,
        X: Any,
        candidates: CandidateSets,
        weight: np.ndarray | None,
        groups: np.ndarray | None = None,
        equal: np.ndarray | None = None,
    ) -> np.ndarray:
        for name in ("width_", "scale_", "loo_decision_", "fitted_confidence_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        self._groups, self._equal = groups, equal
        try:
            confidence = self._fit_model(X, candidates, weight)
            if has_order(self.ordered):
                confidence = self._smooth_labels(X, candidates, weight, confidence)
        finally:
            del self._groups, self._equal
        return confidence

    def _fit_model(
        self, X: Any, candidates: CandidateSets, weight: np.ndarray | None
    ) -> np.ndarray:
        """Learn, and return the confidences; labels have no order yet."""
        check_learnable(candidates, votes=self.prior > 0)
        self.solver_, self.gamma_ = self._solver_for(X, candidates.shape[1]), None
        if self.verbose:
            print(f"solver: {self.solver_}")
        if self.solver_ == "nystroem" or isinstance(X, Rows):
            return self._fit_blocks(X if isinstance(X, Rows) else ArrayRows(X), candidates, weight)
        return self._fit_exactly(X, candidates, weight)

    def _smooth_labels(
        self, X: Any, candidates: CandidateSets, weight: np.ndarray | None, confidence: np.ndarray
    ) -> np.ndarray:
        """Smooth outputs over neighbouring labels; return the confidences that follow."""
        self.width_, positions = 0.0, label_positions(self.ordered, self.classes_)
        if len(positions) <= 2:
            return confidence
        self._set_confidence(candidates, confidence)
        exact = hasattr(self, "loo_decision_")
        outputs = self.loo_decision_ if exact else self._left_out(X, self._equal)
        drawn = draw(X.shape[0], ROWS, weight, generator(self.random_state))
        known, own = candidates[drawn], None if weight is None else weight[drawn]
        self.width_, self.scale_ = choose_width(
            outputs[drawn], positions, known.indptr, known.indices, own
        )
        if not self.width_:
            return confidence
        G = smoothing_matrix(positions, self.width_).astype(outputs.dtype)
        self._smooth_weights(G)
        outputs = outputs @ G
        if exact:
            self.loo_decision_ = outputs
        chosen = self._probabilities(outputs)[candidates.rows, candidates.indices]
        votes = votes_of(candidates, self.prior)
        if votes is not None:
            chosen = chosen * np.exp(votes)
        return row_normalise(chosen.astype(confidence.dtype), candidates.indptr)

    def _smooth_weights(self, G: np.ndarray) -> None:
        """Replace the outputs ``Q`` of the model by ``QG``."""
        smooth(self.__dict__, G)

    def _left_out(self, X: Any, equal: np.ndarray | None) -> np.ndarray:
        """Outputs of the training rows by the model without them and their equals."""
        # In passes, SURE's model was fitted to the confidences before the last step, which differ
        # by at most tol once it has converged.
        return LeftOut(self.leverage_, equal).outputs(self.confidence_, self._scores(X))

    def _equal_rows(self, X: Any, numbers: np.ndarray | None = None) -> np.ndarray | None:
        """Numbers of the rows, equal for rows with equal features; None if all rows differ."""
        if numbers is None:
            blocks = X.blocks(block_rows(X.shape[1])) if isinstance(X, Rows) else [X]
            numbers = equal_rows(blocks)
        return None if numbers.max() == len(numbers) - 1 else numbers

    def _fit_blocks(
        self, rows: Rows, candidates: CandidateSets, weight: np.ndarray | None
    ) -> np.ndarray:
        features: FeatureMap
        if self.kernel == "linear":
            sample, _ = draw_rows(rows, BANDWIDTH_ROWS, weight, np.random.default_rng(0))
            features = Centred(sample.mean(axis=0))
        else:
            with blas_threads(self.n_components):
                features = make_features(self, rows, weight)
        with (
            positive_definite(self.beta),
            self._passes(rows, features, candidates, weight) as passes,
        ):
            fit = self._alternate_passes(passes, candidates)
            confidence: np.ndarray = passes.confidence
        self._set_low_rank(features, fit, rows.dtype)
        self._set_path(fit)
        return confidence

    def _set_low_rank(self, features: FeatureMap, fit: LowRankFit, dtype: Any) -> None:
        """The model of a fit in passes over the rows."""
        self.intercept_ = fit.b.astype(dtype)
        if isinstance(features, Centred):
            self._set_linear(fit.W.T.astype(dtype), features.origin, self.intercept_)
        else:
            self.X_fit_, self.dual_coef_ = features.points, features.dual(fit.W).astype(dtype)

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
        sets = sort_candidates(candidates, weight, X.dtype, self.prior)
        order = sets.row_order
        if self.kernel == "linear":
            X = X.copy()
            self.origin_ = move_origin(X, weight)
        model: LinearRidge | KernelRidge
        if self.solver_ == "primal":
            model = factorise(LinearRidge, X, self.beta, sets)
        else:
            X_ordered = X[np.ix_(order, order)] if self.kernel == "precomputed" else X[order]
            K = self._train_kernel(X_ordered, sets.weight)
            warn_of_rounding(K, self.beta)
            model = factorise(KernelRidge, K, self.beta, sets)
        path = self._alternate(model, sets, X)
        self._set_path(path)
        return sets.all_entries(path.p)

    def _train_kernel(self, X: Any, weight: np.ndarray | None) -> np.ndarray:
        """The kernel matrix of the training instances, as an array that may be overwritten."""
        need = exact_need(X.shape[0], 0, X.dtype.itemsize)
        require_memory(
            f"an exact kernel fit of {X.shape[0]} rows", need, "use solver='nystroem' (or 'auto')"
        )
        if self.kernel == "precomputed":
            return np.asarray(X)
        if self.kernel in ("rbf", "laplacian"):
            D = distances(self.kernel, X)
            self._set_gamma(X, D, weight)
            return exponentiate(D, self.gamma_)
        return kernel_matrix("linear", X)

    def _set_gamma(self, X: Any, D: np.ndarray | None, weight: np.ndarray | None) -> None:
        """Set γ for these instances; an error if it is 0 or infinite at their precision."""
        with np.errstate(over="ignore"):
            self.gamma_ = gamma_of(self.kernel, self.gamma, self.bandwidth, X, D, weight)
            usable = self.gamma_ is None or 0 < X.dtype.type(self.gamma_) < np.inf
        if not usable:
            raise ParameterError(
                f"gamma={self.gamma!r} and bandwidth={self.bandwidth:g} make gamma_ "
                f"{self.gamma_:.2g}, which is 0 or infinite in {X.dtype}: choose a bandwidth "
                "near 1, or scale the features"
            )

    def _set_coefficients(
        self, coefficients: np.ndarray, intercept: np.ndarray, X: Any, order: np.ndarray
    ) -> None:
        """The model of an exact fit to the rows ``X[order]``."""
        self.intercept_ = intercept
        if self.solver_ == "dual":
            A = np.empty_like(coefficients)
            A[order] = coefficients
            coefficients = X.T @ A if self.kernel == "linear" else A
        if self.kernel == "linear":
            self._set_linear(coefficients.T, self.origin_, intercept)
        else:
            self.dual_coef_ = coefficients
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

    def _report(self, iteration: Iteration) -> bool | None:
        if self.verbose:
            print(
                f"iteration {iteration.number}: change {iteration.delta:.3g}, objective "
                f"{iteration.objective:.6g}"
            )
        return self.callback(iteration) if self.callback is not None else None

    def _output_blocks(self, X: Any) -> Iterator[np.ndarray]:
        return ordered_map(self._outputs, self._row_blocks(X), self.n_jobs)

    def _width(self) -> int:
        """How many numbers computing the outputs of one row takes."""
        own = self.coef_.shape[1] if self.kernel == "linear" else len(self.dual_coef_)
        return max(own, len(self.classes_))

    def _outputs(self, X: Any) -> np.ndarray:
        """Eq. 11."""
        if self.kernel == "precomputed":
            if X.shape[1] > len(self.dual_coef_):  # rows of weight 0 were not learned from
                X = X[:, self.support_]
            return np.asarray(X @ self.dual_coef_ + self.intercept_)
        if sparse.issparse(X):
            moved = np.flatnonzero(self.origin_)
            near = X[:, moved].toarray() - self.origin_[moved]
            still = np.where(self.origin_ == 0, self.coef_, 0)
            return np.asarray(X @ still.T + near @ self.coef_[:, moved].T + self.origin_output_)
        if self.kernel == "linear":
            return np.asarray((X - self.origin_) @ self.coef_.T + self.origin_output_)
        K = kernel_matrix(self.kernel, X, self.X_fit_, gamma=self.gamma_)
        return np.asarray((K @ self.dual_coef_).astype(X.dtype, copy=False) + self.intercept_)

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        if not hasattr(self, "scale_"):
            return probabilities(scores)
        return np.asarray(softmax(np.asarray(self.scale_, scores.dtype) * scores, axis=1))


def smooth(weights: dict[str, Any], G: np.ndarray) -> None:
    """Multiply the weights of a linear model, and thus its outputs, by ``G``."""
    for name in WEIGHTS:
        if name in weights:
            values = weights[name]
            weights[name] = G.T @ values if name == "coef_" else values @ G


def warn_of_offset(X: np.ndarray) -> None:
    """Warn if instances are so far from 0 that they have already lost half of the digits in which
    they differ.
    """
    with np.errstate(over="ignore"):
        offset, spread = np.linalg.norm(X.mean(axis=0)), np.sqrt(X.var(axis=0).sum())
    if offset * np.sqrt(np.finfo(X.dtype).eps) > spread > 0:
        warnings.warn(
            f"the instances are {offset / spread:.1g} times as far from 0 as from their mean: "
            f"{X.dtype} keeps few of the digits in which they differ; subtract the mean of each "
            "column before the numbers become this type",
            RuntimeWarning,
            stacklevel=5,
        )


def warn_of_rounding(K: np.ndarray, beta: float) -> None:
    """Warn if rounding errors of the kernel values are not small compared with β, because the
    solution then depends on them.
    """
    largest = float(np.abs(K.diagonal()).max())
    error = np.finfo(K.dtype).eps * np.sqrt(len(K)) * largest
    if error > ROUNDING[K.dtype.type] * beta:
        warnings.warn(
            f"kernel values as large as {largest:.2g} are exact only to {error:.1g}, which is not "
            f"small compared with beta={beta:g}: labels may change with it; centre and scale "
            "the features (a precomputed kernel: KernelCenterer), or raise beta",
            RuntimeWarning,
            stacklevel=5,
        )


def probabilities(outputs: np.ndarray) -> np.ndarray:
    """Outputs of SURE as probabilities: a softmax at temperature 0.1.

    Chosen by cross-validated calibration on seven problems (``benchmarks/calibration.py``).
    """
    return np.asarray(softmax(outputs / np.asarray(0.1, outputs.dtype), axis=1))


def sort_candidates(
    candidates: CandidateSets, weight: np.ndarray | None, dtype: Any, prior: float
) -> SortedSets:
    """The candidates in the form that solvers need, with their votes."""
    votes = votes_of(candidates, prior)
    return SortedSets(
        candidates.indptr, candidates.indices, candidates.shape[1], weight, dtype, votes
    )


def votes_of(candidates: CandidateSets, prior: float) -> np.ndarray | None:
    """``κ π`` of every candidate; None if there are no votes.

    A row without votes gets even shares, which shift all its outputs equally and so change nothing.
    """
    if not prior or candidates.counts is None:
        return None
    return prior * row_normalise(candidates.counts.astype(float), candidates.indptr)


def factorise(model: type[M], matrix: Any, beta: float, sets: SortedSets) -> M:
    """Make the model step; if the matrix has no Cholesky factor, the error says what to do."""
    with positive_definite(beta):
        return model(matrix, beta, sets)
