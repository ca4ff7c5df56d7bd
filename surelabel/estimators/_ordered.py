"""Labels with an order: the parameter ``ordered``, and predictions that serve the distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..exceptions import ParameterError, first_few, shown
from ..solvers.ordered_labels import median_label
from ._base import PartialLabelClassifier


def has_order(ordered: Any) -> bool:
    """Whether an order was given: ``ordered`` is True, or the classes in their order."""
    return not isinstance(ordered, bool | np.bool_) or bool(ordered)


def label_positions(ordered: Any, classes: np.ndarray) -> np.ndarray:
    """Where each class stands: its number, or its place in the order that was given.

    Parameters
    ----------
    ordered : True or sequence
        True if the classes are numbers (also as text); otherwise the classes in their order.
    classes : ndarray of shape (l,)
        The classes.
    """
    if not isinstance(ordered, bool | np.bool_):
        order = list(ordered)
        missing = [label for label in classes.tolist() if order.count(label) != 1]
        if missing:
            raise ParameterError(
                f"ordered must name every class once; see {first_few(missing)} in {shown(order)}"
            )
        return np.array([order.index(label) for label in classes.tolist()], float)
    try:
        positions = np.array([float(label) for label in classes.tolist()])
    except (TypeError, ValueError):
        positions = np.array([np.nan])
    if not np.all(np.isfinite(positions)) or len(np.unique(positions)) < len(classes):
        raise ParameterError(
            "ordered=True is for labels that are different numbers, but these are "
            f"{first_few(classes.tolist())}: give the classes in their order, as "
            "ordered=['low', 'medium', 'high']"
        )
    return positions


class OrderedLabels(PartialLabelClassifier):
    """A classifier with the parameter ``ordered``."""

    ordered: Any

    def predict(self, X: Any, loss: str = "zero_one") -> np.ndarray:
        """The label of each instance.

        Memory does not grow with the number of rows: they are predicted in blocks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n)
            The instances; for SURE and PURE also a memory map, an h5py or Zarr array or a Parquet
            data set larger than memory.
        loss : {"zero_one", "absolute"}, default="zero_one"
            "zero_one" gives the most probable label (ties go to the first class). "absolute" gives
            the one with the smallest expected distance to the truth, the median of the
            probabilities; it needs labels with an order.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if loss == "zero_one":
            return super().predict(X)
        if loss != "absolute":
            raise ParameterError(f"loss must be 'zero_one' or 'absolute'; got {loss!r}")
        if not has_order(self.ordered):
            raise ParameterError(
                "loss='absolute' needs the order of the labels: fit with ordered=True, or with "
                "ordered=['low', 'medium', 'high']"
            )
        check_is_fitted(self)
        positions = label_positions(self.ordered, self.classes_)
        return self._chosen_by(
            lambda scores: median_label(self._probabilities(scores), positions), X
        )
