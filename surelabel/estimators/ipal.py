"""IPAL: candidates are disambiguated by label propagation; queries get the label whose neighbours
reconstruct them best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils._param_validation import Interval

from ..data.candidates import CandidateSets
from ..evaluation.metrics import approximated_accuracy, covering_rate
from ..evaluation.protocol import grid_search
from ..exceptions import NumericalError
from ..solvers.nnls import explained_shares, prefix_weights, reconstruction_products
from ..solvers.propagation import candidate_graph, propagate, restore_class_mass
from ..solvers.sparse_rows import row_argmax
from ._base import check_learnable, require_memory
from ._neighbours import NeighbourClassifier
from ._registry import Method
from ._search import search_results, truth_for


@dataclass(eq=False, repr=False)
class IPALClassifier(NeighbourClassifier):
    """Instance-based learning from candidate labels by label propagation (Zhang & Yu, 2015).

    Every training instance is reconstructed from its ``k`` nearest neighbours ``N_i``,

    ``min_w ‖x_i - Σ_{j∈N_i} w_ij x_j‖²`` with ``w ≥ 0``, then ``H_ij = w_ij / Σ_j w_ij``;

    confidences propagate along these weights, from ``P_ic = 1/|S_i|`` for the candidates ``c``,

    ``F ← α H F + (1 - α) P``, zero outside the candidates, every row scaled to sum 1;

    and each row keeps the candidate with the largest ``F_ic · Σ_i P_ic / Σ_i F_ic``: the classes
    get back the mass they began with. A new instance is reconstructed in the same way and gets the
    label ``c`` whose neighbours alone leave the smallest error ``‖x - Σ_{j: label c} w_j x_j‖²``.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours ``k``, at most the number of training rows.
    alpha : float, default=0.95
        Share of the neighbours in a round of propagation, from 0 to 1; the rest is the uniform
        initial confidence.
    max_iter : int, default=100
        Largest number of rounds.
    tol : float, default=1e-6
        Propagation stops when no confidence changes by more than this.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels.
    confidence_ : csr_array of shape (m, l)
        Confidence in each candidate of the training rows, after propagation and class mass
        correction.
    transduction_ : ndarray of shape (m,)
        The disambiguated labels: the candidate with the highest confidence.
    X_fit_ : ndarray of shape (m, n)
        The training instances.
    labels_ : ndarray of shape (m,)
        Positions of ``transduction_`` in ``classes_``.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether the rounds stopped because of ``tol``.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    PLKNNClassifier : Lets neighbours vote without disambiguating them.

    Notes
    -----
    ``decision_function`` is the share of the squared length of an instance that the neighbours of
    one label explain, ``1 - ‖x - Σ_j w_j x_j‖² / ‖x‖²``: its arg max is the paper's arg min of the
    error. Labels without a weighted neighbour have no reconstruction and never win. Where no
    neighbour has a weight (the instance is 0, or at an obtuse angle with all of them) the scores
    are the shares of the neighbours' labels.

    The defaults of ``n_neighbors``, ``alpha`` and ``max_iter`` are the authors' choice. The
    reconstruction has no intercept, so the origin and the lengths of the instances matter: rows of
    unit length (``sklearn.preprocessing.Normalizer`` in a pipeline) are worth trying.

    References
    ----------
    M.-L. Zhang and F. Yu. Solving the partial label learning problem: an instance-based approach.
    IJCAI 2015, 4048-4054.

    Examples
    --------
    >>> from surelabel import CandidateSets
    >>> from surelabel.estimators import IPALClassifier
    >>> X = [[0.1, 1.0], [0.2, 1.1], [0.0, 1.2], [1.0, 0.1], [1.1, 0.0], [1.2, 0.2]]
    >>> y = CandidateSets.from_strings(["cat|dog", "cat", "cat|cow", "cow|dog", "cow", "cow|cat"])
    >>> model = IPALClassifier(n_neighbors=2).fit(X, y)
    >>> model.transduction_.tolist()
    ['cat', 'cat', 'cat', 'cow', 'cow', 'cow']
    >>> model.predict([[0.1, 0.9], [0.9, 0.1]]).tolist()
    ['cat', 'cow']
    """

    n_neighbors: int = 10
    _: KW_ONLY
    alpha: float = 0.95
    max_iter: int = 100
    tol: float = 1e-6

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighbourClassifier._parameter_constraints,
        "alpha": [Interval(Real, 0, 1, closed="both")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def _fit(self, X: Any, candidates: CandidateSets) -> np.ndarray:
        check_learnable(candidates)
        self._keep(X)
        indptr, indices = candidates.indptr, candidates.indices
        self._require_memory(len(indices))
        _, neighbours = self._neighbours()
        (weights,) = _weights(self.X_fit_, self.X_fit_, neighbours, [neighbours.shape[1]])
        graph = candidate_graph(neighbours, weights, indptr, indices)
        confidence, n_iter, converged = propagate(
            graph, indptr, [self.alpha], self.max_iter, self.tol
        )
        self.n_iter_, self.converged_ = int(n_iter[0]), bool(converged[0])
        restored = restore_class_mass(confidence[:, 0], indptr, indices)
        self.labels_ = indices[row_argmax(restored, indptr)]
        return restored

    def _outputs(self, X: Any) -> np.ndarray:
        X = np.asarray(X, dtype=np.float64)
        _, neighbours = self._neighbours(X)
        (weights,) = _weights(X, self.X_fit_, neighbours, [self.n_neighbors])
        products = reconstruction_products(X, self.X_fit_, neighbours, weights)
        return _label_scores(weights, products, self.labels_[neighbours], len(self.classes_))

    def _width(self) -> int:
        """The products of all pairs of neighbours."""
        return max(super()._width(), self.n_neighbors**2)

    def _require_memory(self, n_entries: int) -> None:
        # Entries of the graph: neighbours, weights, keys and their positions, and intermediate
        # masks.
        require_memory(
            f"IPAL with {self.n_neighbors} neighbours of {n_entries} candidates",
            30 * n_entries * self.n_neighbors,
            "lower n_neighbors, or learn from fewer rows",
        )


def _weights(
    targets: np.ndarray, instances: np.ndarray, neighbours: np.ndarray, counts: Sequence[int]
) -> Iterator[np.ndarray]:
    """The weights of the nearest neighbours that reconstruct the targets, for each number of
    them.
    """
    try:
        yield from prefix_weights(targets, instances, neighbours, counts)
    except RuntimeError as error:  # raised by scipy's nnls
        raise NumericalError(
            f"an instance cannot be reconstructed from its neighbours ({error}); scale the features"
        ) from None


def _label_scores(
    weights: np.ndarray, products: tuple[np.ndarray, np.ndarray], labels: np.ndarray, n_classes: int
) -> np.ndarray:
    """How much of the targets the neighbours of each label explain."""
    places = (np.arange(len(labels))[:, None] * n_classes + labels).ravel()
    shape = len(labels), n_classes

    def by_label(values: np.ndarray) -> np.ndarray:
        return np.bincount(places, values.ravel(), len(labels) * n_classes).reshape(shape)

    explained = by_label(explained_shares(*products, labels))
    absent = by_label(weights) == 0
    scores = np.where(absent, np.minimum(explained.min(axis=1, keepdims=True), 0), explained)
    unweighted = absent.all(axis=1)
    if unweighted.any():
        scores[unweighted] = by_label(np.full(labels.shape, 1 / labels.shape[1]))[unweighted]
    return scores


@dataclass(eq=False, repr=False)
class SharedSearch(BaseEstimator):
    """As ``GridSearchCV(estimator, grid, refit=False)``, but all points of the grid are computed
    together.
    """

    estimator: Any
    grid: Mapping[str, Sequence[Any]]
    scoring: str
    cv: Any = None

    def fit(self, X: Any, y: Any, y_true: Any = None) -> Self:
        """Score every point of the grid; true labels are for ``scoring="oracle"`` only."""
        estimator = clone(self.estimator)
        X, candidates = estimator._validate_fit(X, y)
        truth = truth_for(self.scoring, y_true, candidates)
        points = list(ParameterGrid(dict(self.grid)))
        for name, value in {(name, value) for point in points for name, value in point.items()}:
            clone(estimator).set_params(**{name: value})._check_parameters()
        folds = list(check_cv(self.cv).split(X))
        scores = np.empty((len(points), len(folds)))
        for f, (train, test) in enumerate(folds):
            known, classes = truth[test], candidates.classes
            found = _grid_outputs(estimator, points, X[train], candidates[train], X[test])
            for i, outputs in enumerate(found):
                scores[i, f] = (
                    approximated_accuracy(known, estimator._probabilities(outputs), classes=classes)
                    if self.scoring == "approximated_accuracy"
                    else covering_rate(known, classes[outputs.argmax(axis=1)])
                )
        self.cv_results_ = search_results(points, scores)
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = points[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        return self


def _grid_outputs(
    estimator: IPALClassifier,
    points: Sequence[dict[str, Any]],
    X: np.ndarray,
    candidates: CandidateSets,
    queries: np.ndarray,
) -> list[np.ndarray]:
    """The scores of the queries at all points of a grid of ``n_neighbors`` and ``alpha``.

    The k nearest neighbours are the first k of more, and neither they nor their weights depend on
    ``alpha``. So each number of neighbours is looked up and reconstructed once, and all ``alpha``
    are propagated along its graph together.
    """
    check_learnable(candidates)
    asked = [estimator.get_params() | point for point in points]
    counts = sorted({point["n_neighbors"] for point in asked})
    widest = clone(estimator).set_params(n_neighbors=counts[-1])
    widest._keep(X)
    indptr, indices = candidates.indptr, candidates.indices
    widest._require_memory(len(indices))
    X, queries = widest.X_fit_, np.asarray(queries, dtype=np.float64)
    (_, around), (_, near) = widest._neighbours(), widest._neighbours(queries)
    here = [min(k, around.shape[1]) for k in counts]  # no row is its own neighbour
    found: dict[tuple[int, float], np.ndarray] = {}
    for k, own, outer in zip(
        counts, _weights(X, X, around, here), _weights(queries, X, near, counts), strict=True
    ):
        alphas = sorted({point["alpha"] for point in asked if point["n_neighbors"] == k})
        graph = candidate_graph(around[:, : own.shape[1]], own, indptr, indices)
        confidence, *_ = propagate(graph, indptr, alphas, estimator.max_iter, estimator.tol)
        products = reconstruction_products(queries, X, near[:, :k], outer)
        scores: dict[bytes, np.ndarray] = {}  # many values of alpha lead to the same labels
        for alpha, column in zip(alphas, confidence.T, strict=True):
            restored = restore_class_mass(column, indptr, indices)
            labels = indices[row_argmax(restored, indptr)]
            key = labels.tobytes()
            if key not in scores:
                scores[key] = _label_scores(
                    outer, products, labels[near[:, :k]], candidates.shape[1]
                )
            found[k, alpha] = scores[key]
    return [found[point["n_neighbors"], point["alpha"]] for point in asked]


def _search(
    estimator: IPALClassifier, grid: Mapping[str, Sequence[Any]] | None, selection: str
) -> Any:
    grid = METHOD.grid if grid is None else grid
    shared = set(grid) <= {"n_neighbors", "alpha"}
    return (SharedSearch if shared else grid_search)(estimator, grid, selection)


METHOD = Method(
    "IPAL",
    IPALClassifier,
    {"n_neighbors": range(5, 11), "alpha": [round(0.1 * step, 1) for step in range(11)]},
    reference=(
        "M.-L. Zhang and F. Yu. Solving the partial label learning problem: an instance-based "
        "approach. IJCAI 2015."
    ),
    idea="confidences travel along nonnegative reconstruction weights of the neighbours",
    cost="m² n, and m small least squares problems",
    search=_search,
)
