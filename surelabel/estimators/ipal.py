"""IPAL: candidates disambiguated by label propagation, queries labelled by which neighbours
reconstruct them best.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_memory

from ..data.candidates import CandidateSets
from ..exceptions import NumericalError
from ..solvers.nnls import explained_shares, reconstruction_weights
from ..solvers.propagation import candidate_graph, propagate, restore_class_mass
from ..solvers.segments import row_argmax
from ._base import check_learnable, require_memory
from ._neighbours import NeighbourClassifier
from ._registry import Method


class IPALClassifier(NeighbourClassifier):
    """Instance-based learning from candidate labels by label propagation (Zhang & Yu, 2015).

    Every training instance is reconstructed from its ``k`` nearest neighbours ``N_i``,

    ``min_w ‖x_i - Σ_{j∈N_i} w_ij x_j‖²`` with ``w ≥ 0``, then ``H_ij = w_ij / Σ_j w_ij``;

    along these weights confidences propagate, from ``P_ic = 1/|S_i|`` for the candidates ``c``,

    ``F ← α H F + (1 - α) P``, zero outside the candidates, every row scaled to sum 1;

    and each row keeps the candidate of largest ``F_ic · Σ_i P_ic / Σ_i F_ic``: the classes get back
    the mass they began with. A new instance is reconstructed in the same way and gets the label
    ``c`` whose neighbours alone leave the smallest error ``‖x - Σ_{j: label c} w_j x_j‖²``.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours ``k``, at most the number of training rows.
    alpha : float, default=0.95
        Share of the neighbours in a round of propagation, 0 to 1; the rest is the uniform
        confidence of the start.
    search : {"exact", "approximate"}, default="exact"
        How neighbours are looked for, as in :class:`PLKNNClassifier`.
    max_iter : int, default=100
        Largest number of rounds.
    tol : float, default=1e-6
        Propagation stops when no confidence moves by more.
    memory : str or joblib.Memory, default=None
        A folder that keeps neighbours and their weights, which depend on ``n_neighbors`` alone: a
        search over ``alpha`` then computes them once. A model file does not keep it.

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
    >>> from surelabel.estimators.ipal import IPALClassifier
    >>> X = [[0.1, 1.0], [0.2, 1.1], [0.0, 1.2], [1.0, 0.1], [1.1, 0.0], [1.2, 0.2]]
    >>> y = CandidateSets.from_strings(["cat|dog", "cat", "cat|cow", "cow|dog", "cow", "cow|cat"])
    >>> model = IPALClassifier(n_neighbors=2).fit(X, y)
    >>> model.transduction_.tolist()
    ['cat', 'cat', 'cat', 'cow', 'cow', 'cow']
    >>> model.predict([[0.1, 0.9], [0.9, 0.1]]).tolist()
    ['cat', 'cow']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighbourClassifier._parameter_constraints,
        "alpha": [Interval(Real, 0, 1, closed="both")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "memory": [str, HasMethods(["cache"]), None],
    }

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        alpha: float = 0.95,
        search: str = "exact",
        max_iter: int = 100,
        tol: float = 1e-6,
        memory: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.search = search
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory

    def _fit(self, X: Any, candidates: CandidateSets) -> np.ndarray:
        check_learnable(candidates)
        self._keep(X)
        indptr, indices = candidates.indptr, candidates.indices
        # Entries of the graph: neighbours, weights, keys and their places, and the masks between
        # them.
        require_memory(
            f"IPAL with {self.n_neighbors} neighbours of {len(indices)} candidates",
            30 * len(indices) * self.n_neighbors,
            "lower n_neighbors, or learn from fewer rows",
        )
        neighbours, weights = self._reconstruct(None)
        graph = candidate_graph(neighbours, weights, indptr, indices)
        confidence, self.n_iter_, self.converged_ = propagate(
            graph, indptr, self.alpha, self.max_iter, self.tol
        )
        confidence = restore_class_mass(confidence, indptr, indices)
        self.labels_ = indices[row_argmax(confidence, indptr)]
        return confidence

    def _outputs(self, X: Any) -> np.ndarray:
        X = np.asarray(X, dtype=np.float64)
        neighbours, weights = self._reconstruct(X)
        labels = self.labels_[neighbours]
        explained = self._by_label(
            explained_shares(X, self.X_fit_, neighbours, weights, labels), labels
        )
        absent = self._by_label(weights, labels) == 0
        scores = np.where(absent, np.minimum(explained.min(axis=1, keepdims=True), 0), explained)
        unweighted = absent.all(axis=1)
        scores[unweighted] = self._by_label(
            np.full(labels[unweighted].shape, 1 / labels.shape[1]), labels[unweighted]
        )
        return scores

    def _reconstruct(self, queries: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        cached = check_memory(self.memory).cache(_reconstruct, ignore=["look_up"])
        neighbours, weights = cached(
            self.X_fit_, queries, (self.n_neighbors, self.search), self._neighbours
        )
        return neighbours, weights

    def _by_label(self, values: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Sum of the neighbours' values for each label."""
        sums = np.zeros((len(labels), len(self.classes_)))
        for value, label in zip(values.T, labels.T, strict=True):
            sums[np.arange(len(labels)), label] += value
        return sums


def _reconstruct(
    instances: np.ndarray,
    queries: np.ndarray | None,
    how: tuple[int, str],
    look_up: Callable[..., Any],
) -> tuple[np.ndarray, np.ndarray]:
    """Nearest instances of the queries (by default of the instances themselves), and the weights
    that reconstruct them.

    ``how`` they are looked up is for those who keep results: what ``look_up`` gives depends on
    nothing else.
    """
    _, neighbours = look_up(queries)
    try:
        return neighbours, reconstruction_weights(
            instances if queries is None else queries, instances, neighbours
        )
    except RuntimeError as error:  # of scipy's nnls
        raise NumericalError(
            f"an instance cannot be reconstructed from its neighbours ({error}); scale the features"
        ) from None


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
)
