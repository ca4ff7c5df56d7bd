"""PLKNN: the k nearest neighbours vote, each for all its candidates."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import StrOptions

from ..data.candidates import CandidateSets
from ..solvers.memory import block_rows
from ..solvers.sparse_rows import row_normalise
from ._base import check_learnable
from ._neighbours import NeighbourClassifier
from ._registry import Method


@dataclass(eq=False, repr=False)
class PLKNNClassifier(NeighbourClassifier):
    """k nearest neighbours for candidate labels (Hüllermeier & Beringer, 2006).

    Each of the ``k`` nearest training instances votes for all its candidates, and the label with
    most votes wins.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours ``k``, at most the number of training rows.
    weights : {"distance", "uniform"}, default="distance"
        Weight of a neighbour's vote: ``1 - d_i / Σ_j d_j`` over the distances of the ``k``
        neighbours, or 1.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels.
    confidence_ : csr_array of shape (m, l)
        Confidence in each candidate of the training rows: the votes of a row's neighbours (without
        the row itself), restricted to its candidates and normalised (equal if no neighbour shares a
        candidate).
    transduction_ : ndarray of shape (m,)
        The candidate with the highest confidence.
    X_fit_ : ndarray of shape (m, n)
        The training instances.
    candidates_ : csr_array of shape (m, l)
        Their candidates, as 0 and 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    IPALClassifier : Disambiguates the neighbours' candidates first.

    Notes
    -----
    Neighbours at equal distance are taken in the order of the training rows. A single neighbour has
    weight 1.

    References
    ----------
    E. Hüllermeier and J. Beringer. Learning from ambiguously labeled examples. Intelligent Data
    Analysis 10(5), 2006, 419-439.

    Examples
    --------
    >>> from surelabel import CandidateSets
    >>> from surelabel.estimators import PLKNNClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = CandidateSets.from_strings(["cat|dog", "cat", "cat|cow", "cow|dog", "cow", "cow|cat"])
    >>> model = PLKNNClassifier(n_neighbors=3).fit(X, y)
    >>> model.predict([[0.05], [1.05]]).tolist()
    ['cat', 'cow']
    >>> model.transduction_.tolist()
    ['cat', 'cat', 'cat', 'cow', 'cow', 'cow']
    """

    n_neighbors: int = 10
    _: KW_ONLY
    weights: str = "distance"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighbourClassifier._parameter_constraints,
        "weights": [StrOptions({"distance", "uniform"})],
    }

    def _fit(self, X: Any, candidates: CandidateSets) -> np.ndarray:
        check_learnable(candidates)
        self._keep(X)
        self.candidates_ = candidates.to_sparse()
        distances, rows = self._neighbours()
        indptr, indices = candidates.indptr, candidates.indices
        votes = np.empty(len(indices))
        # The votes for all classes take memory.
        for part in gen_batches(len(rows), block_rows(candidates.shape[1])):
            low, high = indptr[part.start], indptr[part.stop]
            votes[low:high] = self._votes(distances[part], rows[part])[
                candidates.rows[low:high] - part.start, indices[low:high]
            ]
        return row_normalise(votes, indptr)

    def _outputs(self, X: Any) -> np.ndarray:
        return self._votes(*self._neighbours(X))

    def _votes(self, distances: np.ndarray, rows: np.ndarray) -> np.ndarray:
        weights = np.ones(rows.shape)
        if self.weights == "distance" and rows.shape[1] > 1:
            total = distances.sum(axis=1, keepdims=True)
            weights -= np.divide(distances, total, out=np.zeros_like(distances), where=total > 0)
        # Votes are added from the nearest neighbour outwards, so labels with the same voters tie
        # exactly.
        starts = np.arange(0, rows.size + 1, rows.shape[1])
        ballots = sparse.csr_array(
            (weights.ravel(), rows.ravel(), starts), shape=(len(rows), len(self.X_fit_))
        )
        return np.asarray((ballots @ self.candidates_).toarray())


METHOD = Method(
    "PLKNN",
    PLKNNClassifier,
    {"n_neighbors": range(5, 11)},
    reference=(
        "E. Hüllermeier and J. Beringer. Learning from ambiguously labeled examples. Intelligent "
        "Data Analysis 10, 2006."
    ),
    idea="the k nearest neighbours vote for all their candidates",
    cost="m² n for the neighbours",
)
