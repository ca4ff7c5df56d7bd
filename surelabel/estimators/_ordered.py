"""Labels with an order: the parameter ``ordered``, and predictions for the absolute loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.label_order import has_order, label_positions
from ..exceptions import ParameterError
from ..solvers.ordered_labels import median_label
from ._base import PartialLabelClassifier


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
