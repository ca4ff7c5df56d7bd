"""PALOC: partial-label learning by one-vs-one decomposition (Wu & Zhang 2018)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.svm import SVC
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from ..data.candidates import CandidateSets
from ..progress import track
from ..solvers.kernels import gamma_of, kernel_matrix, reciprocal
from ..solvers.pairwise import keep_elected, pair_problems, pair_votes, sparse_rows
from ..solvers.sparse_rows import row_normalise
from ._base import N_JOBS, PartialLabelClassifier, check_inner, check_learnable, require_memory
from ._registry import Method

#: Runs ``function(rows, target)`` for each problem and yields the results in order.
Run = Callable[[Callable[..., Any], Iterable[Any]], Iterable[Any]]


@dataclass(eq=False, repr=False)
class PALOCClassifier(MetaEstimatorMixin, PartialLabelClassifier):
    """One classifier for each pair of labels, and one for each label on top of them (PALOC).

    For labels ``j < k`` a binary classifier ``h_jk`` learns from the rows that have exactly one of
    the two as a candidate; a pair without rows for both sides abstains. If the label with the most
    votes of the pairs is a candidate of a row, it replaces the row's candidates. Then one
    classifier ``h_j`` for each label learns from ``[x, all h_jk(x)]`` which rows still have it as a
    candidate. The score of label ``j`` is ``Σ_k [h_jk votes for j] + μ [h_j says yes]``.

    Parameters
    ----------
    estimator : classifier, default=None
        The binary learner. None is ``SVC``: the Gaussian kernel with ``C = 1`` and ``γ = 1 / Σ_j
        Var[x_j]`` over the features of each stage; for standardised features this is libsvm's
        default. (Unlike scikit-learn's "scale", it does not change when a constant is added to a
        feature.) All Gaussian ``SVC`` machines share one kernel matrix (with the variances of all
        rows) and keep each support vector once; other learners are trained one by one.
    mu : float, default=10
        Weight μ of the classifiers of the second stage relative to one vote; the default is the
        paper's value.
    n_jobs : int, default=None
        Number of threads; the model does not depend on it.
    verbose : bool, default=False
        Show progress in a terminal.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The class labels.
    disambiguated_ : CandidateSets
        The candidates after the vote of the pairs.
    confidence_ : csr_array of shape (m, l)
        Scores of the training rows, normalised over their candidates.
    transduction_ : ndarray of shape (m,)
        The candidate with the highest score of each training row.
    n_iter_ : int
        Always 1: each classifier is trained once.
    converged_ : bool
        Always True.

    Notes
    -----
    If several labels have equally many votes, the paper keeps one of them. Here all that are
    candidates stay, so that the model does not depend on the order of the classes. Equal scores of
    a new instance are common; ``predict`` takes the first class.

    The shared kernel takes ``8 m²`` bytes, the outputs of the pairs twice ``4 m l²`` (three
    quarters of that for ``X`` in single precision): 6.5 GiB in total for 171 labels and 17,000
    rows.

    References
    ----------
    X. Wu and M.-L. Zhang (2018). Towards enabling binary decomposition for partial label learning.
    IJCAI, 2868-2874.

    Examples
    --------
    >>> from surelabel.estimators import PALOCClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> sets = [{"a"}, {"a", "b"}, {"a"}, {"b"}, {"a", "b"}, {"b"}]
    >>> PALOCClassifier().fit(X, sets).transduction_
    array(['a', 'a', 'a', 'b', 'b', 'b'], dtype='<U1')
    """

    estimator: BaseEstimator | None = None
    mu: float = 10.0
    n_jobs: int | None = None
    verbose: bool = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [
            HasMethods(["fit", "decision_function"]),
            HasMethods(["fit", "predict_proba"]),
            None,
        ],
        "mu": [Interval(Real, 0, None, closed="left")],
        "n_jobs": N_JOBS,
        "verbose": ["boolean"],
    }

    def _fit(self, X: np.ndarray, candidates: CandidateSets) -> np.ndarray:
        check_learnable(candidates)
        check_inner(self.estimator)
        rows, indices, indptr = candidates.rows, candidates.indices, candidates.indptr
        n_labels = candidates.shape[1]
        n_pairs = n_labels * (n_labels - 1) // 2

        self._possible = np.bincount(indices, minlength=n_labels) > 0
        self._pairs = self._machines(X)
        # The kernel and the distances it is computed from; the outputs of the pairs, as computed
        # and as kept.
        kernel = 1.4 * 8 * len(X) ** 2 if isinstance(self._pairs, _GaussianMachines) else 0
        require_memory(
            f"PALOC with {n_pairs} pairs of labels on {len(X)} rows",
            kernel + (8 + X.itemsize) * len(X) * n_pairs,
            "learn from fewer rows, or use SUREClassifier",
        )
        problems: Iterable[Any] = pair_problems(indptr, indices, n_labels)
        outputs = self._pairs.fit(X, problems, self._run("pairs of labels", n_pairs))
        votes = pair_votes(outputs, n_labels)

        remaining = np.zeros(candidates.shape, bool)
        remaining[rows, indices] = keep_elected(votes, indptr, indices)
        self._remaining = sparse.csr_array(remaining)

        stacked = np.hstack([X, outputs])
        del outputs
        self._labels = self._machines(stacked)
        problems = ((slice(None), target) for target in remaining.T)
        says_yes = self._labels.fit(stacked, problems, self._run("labels", n_labels)) > 0
        self.n_iter_, self.converged_ = 1, True
        return row_normalise((votes + self.mu * says_yes)[rows, indices], indptr).astype(
            X.dtype, copy=False
        )

    @property
    def disambiguated_(self) -> CandidateSets:
        """The candidates that remain after the election."""
        check_is_fitted(self)
        return CandidateSets(self._remaining.indptr, self._remaining.indices, self.classes_)

    def _outputs(self, X: np.ndarray) -> np.ndarray:
        outputs = self._pairs.outputs(X)
        says_yes = self._labels.outputs(np.hstack([X, outputs])) > 0
        scores = pair_votes(outputs, len(self.classes_)) + self.mu * says_yes
        # Labels without candidates rank below those that no machine votes for.
        scores[:, ~self._possible] = -1
        return np.asarray(scores)

    def _width(self) -> int:
        """The kernel with the training rows, and the outputs of all pairs."""
        n_labels = len(self.classes_)
        return max(len(self.transduction_), n_labels * (n_labels - 1) // 2)

    def _machines(self, X: np.ndarray) -> _GaussianMachines | _Machines:
        inner = self.estimator
        if inner is None:
            inner = SVC(gamma=reciprocal(float(X.var(axis=0).sum())))
        shared = type(inner) is SVC and inner.kernel == "rbf"
        return _GaussianMachines(inner) if shared else _Machines(inner)

    def _run(self, description: str, total: int) -> Run:
        """Run in threads: libsvm, which takes most of the time, releases the interpreter lock."""

        def run(function: Callable[..., Any], problems: Iterable[Any]) -> Iterable[Any]:
            parallel = Parallel(self.n_jobs, prefer="threads", return_as="generator")
            results = parallel(delayed(function)(*problem) for problem in problems)
            return track(results, description, total, verbose=self.verbose)

        return run


class _Machines:
    """One fitted clone of a binary classifier for each problem; None for a problem with only one
    class.
    """

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def fit(self, X: np.ndarray, problems: Iterable[Any], run: Run) -> np.ndarray:
        """Train on each problem (rows, target); return the outputs for all rows, one column per
        problem.
        """

        def train(rows: Any, target: np.ndarray) -> Any:
            return clone(self.inner).fit(X[rows], target) if _has_two_sides(target) else None

        self.fitted = list(run(train, problems))
        return self.outputs(X)

    def outputs(self, X: np.ndarray) -> np.ndarray:
        """Return the outputs for new rows, one column per problem."""
        return np.column_stack([_binary_output(machine, X) for machine in self.fitted]).astype(
            X.dtype, copy=False
        )


class _GaussianMachines:
    """The same for Gaussian support vector machines over the same rows: one kernel matrix for all,
    each support vector kept once.
    """

    def __init__(self, inner: Any = None) -> None:
        self.inner = inner  # an SVC, needed to fit only

    def fit(self, X: np.ndarray, problems: Iterable[Any], run: Run) -> np.ndarray:
        gamma = 1 / X.shape[1] if self.inner.gamma == "auto" else self.inner.gamma
        self.gamma = gamma_of("rbf", gamma, 1.0, X)
        K = kernel_matrix("rbf", X, gamma=self.gamma)
        K = K.astype(np.float64, copy=False)  # the only type that libsvm supports
        everywhere = np.arange(len(X))

        def train(rows: Any, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
            if not _has_two_sides(target):
                return everywhere[:0], np.empty(0), 0.0
            part = K if isinstance(rows, slice) else K[np.ix_(rows, rows)]
            machine = clone(self.inner).set_params(kernel="precomputed").fit(part, target)
            return everywhere[rows][machine.support_], machine.dual_coef_[0], machine.intercept_[0]

        support, values, intercept = zip(*run(train, problems), strict=True)
        self.intercept = np.array(intercept)
        coef = sparse_rows(zip(support, values, strict=True), len(X))
        # A kernel needs at least one row, even if all abstain.
        used = np.unique(coef.indices) if coef.nnz else everywhere[:1]
        self.vectors, self.coef = X[used], coef[:, used]
        return self._combine(coef, K, X.dtype)

    def outputs(self, X: np.ndarray) -> np.ndarray:
        K = kernel_matrix("rbf", X, self.vectors, gamma=self.gamma)
        return self._combine(self.coef, K.T, X.dtype)

    def _combine(self, coef: Any, K: np.ndarray, dtype: Any) -> np.ndarray:
        outputs = coef @ K
        outputs += self.intercept[:, None]
        return np.asarray(outputs, dtype).T


def _has_two_sides(target: np.ndarray) -> bool:
    return bool(target.any() and not target.all())


def _binary_output(machine: Any, X: np.ndarray) -> np.ndarray:
    """Return a number per row, positive for yes and negative for no; 0 if there is no machine."""
    if machine is None:
        return np.zeros(len(X))
    return np.asarray(
        machine.decision_function(X)
        if hasattr(machine, "decision_function")
        else machine.predict_proba(X) @ [-1, 1]
    )


METHOD = Method(
    "PALOC",
    PALOCClassifier,
    {},
    reference=(
        "X. Wu and M.-L. Zhang. Towards enabling binary decomposition for partial label learning. "
        "IJCAI 2018."
    ),
    idea=(
        "one SVM per pair of labels on the rows that have exactly one of them, then one per label "
        "on top"
    ),
    cost="l²/2 SVMs that share one kernel matrix",
)
