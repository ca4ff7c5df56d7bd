"""The base class of the nearest-neighbour methods, which keep the training instances and look up
neighbours among them.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..exceptions import NumericalError, ParameterError
from ..solvers.neighbours import nearest
from ._base import PartialLabelClassifier


class NeighbourClassifier(PartialLabelClassifier):
    """Base class of the methods with ``n_neighbors``; ``_fit`` calls ``_keep`` first."""

    n_neighbors: int
    X_fit_: np.ndarray
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def _keep(self, X: np.ndarray) -> None:
        if self.n_neighbors > len(X):
            raise ParameterError(
                f"n_neighbors is {self.n_neighbors} but there are {len(X)} training rows: lower "
                "it, or fit on more rows"
            )
        self.X_fit_ = np.asarray(X, dtype=np.float64)

    def _neighbours(self, X: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows of the neighbours of new instances; by default of the training rows,
        without the row itself.
        """
        queries = None if X is None else np.asarray(X, dtype=np.float64)
        k = min(self.n_neighbors, len(self.X_fit_) - 1) if queries is None else self.n_neighbors
        try:
            return nearest(self.X_fit_, k, queries)
        except OverflowError as error:
            raise NumericalError(f"{error}; scale the features") from None

    def _width(self) -> int:
        return max(super()._width(), self.n_neighbors)
