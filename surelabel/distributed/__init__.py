"""SURE and PURE on a Dask cluster: ``from surelabel.distributed import SUREClassifier``, with dask
arrays or data frames as ``X``.

Every block of rows lives on a worker, with its features, candidates and confidences. A pass over
the rows is one task per block and a tree of sums in a fixed order, so the result does not depend on
the number of workers. The model ``W`` (D × l) is sent to the workers, and sums of its size come
back.

Confidences depend on the block and the model; the previous ones are needed only for the size of the
change. If a worker is lost, Dask's scheduler computes what it held again, from at most two models,
and the fit continues. (A step of PURE needs the previous confidences, so all steps, at most 30, are
repeated.)
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ..extras import extra

with extra("dask", "surelabel.distributed"):
    import dask.array as da
    import distributed  # noqa: F401 (raises the error if it is missing)
    from dask.base import is_dask_collection
    from dask.delayed import delayed

from ..data.candidates import CandidateSets
from ..data.rows import Rows
from ..estimators.kernel import KernelClassifier
from ..estimators.pure import PUREClassifier as _PURE
from ..estimators.sure import SUREClassifier as _SURE
from ..exceptions import InputError, ParameterError
from ..solvers.features import FeatureMap
from ._passes import DaskPasses
from ._rows import (
    ClusterError,
    DaskRows,
    find_client,
    float_type,
    is_frame,
    on_cluster,
    whole_rows,
)

__all__ = ["ClusterError", "PUREClassifier", "SUREClassifier"]


class OnCluster(KernelClassifier):
    """Base class of the methods on dask arrays and data frames: ``fit`` and prediction on a
    cluster, for a class that works in memory.

    ``fit`` accepts whatever the class in memory accepts, and handles it in the same way. It also
    takes

    - ``X``: a dask array in blocks of rows, or a dask data frame of numbers. A
      :class:`dask.distributed.Client` must be active.
    - ``y``: candidates in any form in local memory, which are sent to the blocks; or a dask array,
      data frame, column or bag in the same partitions as ``X``; or a list of
      :class:`~dask.delayed.Delayed`, one per block, each holding candidates in any form.

    The solver is "nystroem" ("primal" for the linear kernel), never an exact one, because that
    needs a matrix of all pairs of rows in one place. Features are kept between passes if a worker's
    share takes at most half of its memory; otherwise the instances are kept, and features are
    computed again in every pass.

    ``confidence_`` and ``transduction_`` are gathered at the end into local memory: 12 bytes for
    each candidate of a row. ``predict``, ``predict_proba`` and ``decision_function`` of dask input
    are lazy and work block by block: arrays give arrays, and data frames give columns or data
    frames with the same index.
    """

    _in_memory: ClassVar[type[KernelClassifier]]

    # ---------------------------------------------------------------- fit

    def _validate_fit(
        self, X: Any, y: Any, *, all_votes: bool = False
    ) -> tuple[Any, CandidateSets]:
        if is_dask_collection(X):
            self._check_parameters()
            X = self._validate_X(X, reset=True)
            y = X.hold(y) if on_cluster(y) else y
        return super()._validate_fit(X, y, all_votes=all_votes)

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        if isinstance(X, DaskRows):  # already converted
            return X
        if not is_dask_collection(X):
            return super()._validate_X(X, reset=reset)
        client = find_client()
        self._check_columns(X, reset=reset)
        return DaskRows(X, client)

    def _check_columns(self, X: Any, *, reset: bool) -> None:
        try:
            validate_data(self, X._meta if is_frame(X) else X, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise InputError(str(error)) from None

    def _solver_for(self, X: Any, n_classes: int = 0) -> str:
        if not isinstance(X, DaskRows):
            return super()._solver_for(X, n_classes)
        if self.kernel == "precomputed" or self.solver == "dual":
            raise ParameterError(
                "kernel='precomputed' and solver='dual' need a matrix of all pairs of rows in one "
                "place, which a cluster does not have; use solver='nystroem', or X.compute() if "
                "that fits into memory"
            )
        if self.solver == "auto":
            return "primal" if self.kernel == "linear" else "nystroem"
        return super()._solver_for(X, n_classes)

    def _passes(
        self, rows: Rows, features: FeatureMap, candidates: CandidateSets, weight: np.ndarray | None
    ) -> Any:
        if not isinstance(rows, DaskRows):
            return super()._passes(rows, features, candidates, weight)
        return DaskPasses(rows, features, candidates, weight, self.prior)

    # ---------------------------------------------------------------- predict

    def predict(self, X: Any, loss: str = "zero_one") -> Any:
        """The label of each instance; lazy for dask input: an array, or a column with the index of
        the frame.
        """
        if not is_dask_collection(X):
            return super().predict(X, loss)
        return self._blockwise("predict", X, loss=loss)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes; lazy for dask input: an array, or a data frame with a
        column per class.
        """
        return (
            self._blockwise("predict_proba", X)
            if is_dask_collection(X)
            else super().predict_proba(X)
        )

    def decision_function(self, X: Any) -> Any:
        """Scores of the classes, one column for two classes; lazy for dask input, as
        :meth:`predict_proba`.
        """
        return (
            self._blockwise("decision_function", X)
            if is_dask_collection(X)
            else super().decision_function(X)
        )

    def _blockwise(self, method: str, X: Any, **how: str) -> Any:
        check_is_fitted(self)
        if self.kernel == "precomputed":
            raise ParameterError(
                "kernel='precomputed' needs kernel values in memory: use X.compute()"
            )
        labels, n_classes = method == "predict", len(self.classes_)
        fitted = self.members_[0] if hasattr(self, "members_") else self
        dtype = (
            self.classes_.dtype
            if labels
            else np.result_type(float_type(X), fitted.intercept_.dtype)
        )
        self._check_columns(X, reset=False)
        flat = labels or (method == "decision_function" and n_classes == 2)
        empty = np.empty(0 if flat else (0, n_classes), dtype)
        model = self._without_rows()
        if is_frame(X):
            table = _table(empty, X._meta.index, self.classes_)
            return X.map_partitions(
                _serve_frame, model=model, method=method, empty=empty, how=how, meta=table
            )
        X = whole_rows(X)
        shape: dict[str, Any] = (
            {"drop_axis": 1} if flat else {"chunks": (X.chunks[0], (n_classes,))}
        )
        return da.map_blocks(
            _serve,
            X,
            model=delayed(model, traverse=False),
            method=method,
            empty=empty,
            how=how,
            meta=empty,
            **shape,
        )

    def _without_rows(self) -> KernelClassifier:
        """The model in memory, without the attributes of training rows: what workers need to
        predict.
        """
        model = self._in_memory(**self.get_params(deep=False) | {"callback": None, "n_jobs": 1})
        # Blocks have no column names; they were checked before.
        left_out = (
            *("confidence_", "transduction_", "support_", "leverage_", "loo_decision_"),
            "fitted_confidence_",
            "feature_names_in_",
        )
        for name, value in vars(self).items():
            if name.endswith("_") and name not in left_out:
                setattr(model, name, value)
        if hasattr(self, "members_"):
            model.members_ = [member._without_rows() for member in self.members_]
        return model


class SUREClassifier(OnCluster, _SURE):
    """SURE on dask arrays and data frames. :class:`surelabel.SUREClassifier` describes parameters
    and fitted attributes, :class:`OnCluster` input and predictions.

    See Also
    --------
    surelabel.SUREClassifier : Describes parameters and attributes.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from surelabel import make_partial
    >>> from surelabel.distributed import SUREClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> blocks = da.from_array(X, chunks=(50, -1))
    >>> candidates = make_partial(y, p=0.8, r=1, random_state=0)
    >>> with Client(processes=False, dashboard_address=None):
    ...     model = SUREClassifier(n_components=50).fit(blocks, candidates)
    ...     predicted = model.predict(blocks).compute()
    >>> bool((model.transduction_ == y).mean() > 0.9)
    True
    """

    _in_memory = _SURE


class PUREClassifier(OnCluster, _PURE):
    """PURE on dask arrays and data frames. :class:`surelabel.PUREClassifier` describes parameters
    and fitted attributes, :class:`OnCluster` input and predictions.

    ``kernel="auto"`` chooses on a sample of rows, which is fetched into local memory. Groups need
    an exact solver, and so data in memory. The cluster does not look for equal rows: each is judged
    by a model that has learned from its copies.

    See Also
    --------
    surelabel.PUREClassifier : Describes parameters and attributes.
    """

    _in_memory = _PURE

    def _equal_rows(self, X: Any, numbers: np.ndarray | None = None) -> np.ndarray | None:
        return None if isinstance(X, DaskRows) else super()._equal_rows(X, numbers)


def _serve(
    X: np.ndarray,
    model: KernelClassifier,
    method: str,
    empty: np.ndarray,
    how: dict[str, str],
    block_id: tuple[int, ...] = (),
) -> np.ndarray:
    """Predictions of one block."""
    if not len(X):
        return empty
    try:
        return np.asarray(getattr(model, method)(X, **how))
    except InputError as error:
        raise InputError(
            f"in block {block_id[0]} of X: {error}" if block_id else str(error)
        ) from None


def _serve_frame(
    X: Any, model: KernelClassifier, method: str, empty: np.ndarray, how: dict[str, str]
) -> Any:
    """Predictions of one partition of a data frame."""
    return _table(
        _serve(X.to_numpy(float_type(X), na_value=np.nan), model, method, empty, how),
        X.index,
        model.classes_,
    )


def _table(values: np.ndarray, index: Any, classes: np.ndarray) -> Any:
    import pandas as pd

    return pd.Series(values, index) if values.ndim == 1 else pd.DataFrame(values, index, classes)
