"""SURE and PURE on a Dask cluster: ``from surelabel.distributed import SUREClassifier``, and dask
arrays or data frames for ``X``.

Every block of rows has its place on a worker: its features, its candidates and its confidences. A
pass over the rows is a task per block and a tree of sums in a fixed order, so the answer does not
depend on the number of workers. The model ``W`` (D × l) goes to the workers, sums of its size come
back.

Confidences are a function of the block and of the model; those before them are needed only for the
size of the change. What a lost worker held is therefore made again from at most two models, however
many iterations lie behind: Dask's scheduler does it, and the fit goes on. (A step of PURE needs the
confidences before it, so there the steps are made again from the start, at most 30.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

try:
    import dask
    import dask.array as da
    from dask.base import is_dask_collection
    from dask.delayed import delayed
    from dask.distributed import Client, Future
    from dask.sizeof import sizeof
except ImportError as error:
    raise ImportError(
        f"surelabel.distributed needs Dask ({error}): pip install 'surelabel[dask]'"
    ) from error

from .data.candidates import CandidateSets
from .data.dask_rows import (
    ClusterError,
    DaskRows,
    explained,
    find_client,
    float_type,
    gather,
    is_frame,
    on_cluster,
    whole_rows,
)
from .data.rows import Rows
from .estimators._base import check_finite
from .estimators._kernel import KernelClassifier, make_blocks
from .estimators._lowrank import FeatureMap
from .estimators.pure import PUREClassifier as _PURE
from .estimators.sure import SUREClassifier as _SURE
from .exceptions import InputError, ParameterError
from .solvers.confidence import CandidateBlocks
from .solvers.lowrank import (
    LowRankModel,
    Moments,
    Targets,
    block_change,
    block_moments,
    block_start,
    block_step,
)
from .solvers.passes import block_rows
from .solvers.peer_passes import block_advance_peers

__all__ = ["ClusterError", "PUREClassifier", "SUREClassifier"]

FAN = 8  # sums that one task adds up


class OnCluster(KernelClassifier):
    """What methods on dask arrays and data frames share: ``fit`` and prediction on a cluster, for a
    class that works in memory.

    ``fit`` takes, besides everything that the class in memory takes and then works as that does,

    - ``X``: a dask array in blocks of rows, or a dask data frame of numbers. A
      :class:`dask.distributed.Client` must be there.
    - ``y``: candidates in any form here, which are sent to the blocks; or a dask array, data frame,
      column or bag in the same partitions as ``X``, or a list of :class:`~dask.delayed.Delayed`,
      one for each, whose parts have such a form.

    The solver is "nystroem" or "fourier" ("primal" for the linear kernel), never an exact one, as
    that needs a matrix of all pairs of rows in one place; "auto" is "nystroem". Features stay with
    their block between passes if the share of a worker takes at most half of its memory; else the
    instances stay, and features are made again in every pass.

    ``confidence_`` and ``transduction_`` are gathered at the end and are as in memory: 12 bytes for
    each candidate of a row. ``predict``, ``predict_proba`` and ``decision_function`` of dask input
    are lazy and work block by block: arrays give arrays, data frames give columns or data frames
    with the same index.
    """

    _in_memory: ClassVar[type]

    # ---------------------------------------------------------------- fit

    def _validate_fit(self, X: Any, y: Any) -> tuple[Any, CandidateSets]:
        if not is_dask_collection(X):
            return super()._validate_fit(X, y)
        self._check_parameters()
        rows = self._validate_X(X, reset=True)
        return super()._validate_fit(rows, rows.hold(y) if on_cluster(y) else y)

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        if isinstance(X, DaskRows):  # made here before
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
                "place, which a cluster does "
                "not have; use solver='nystroem', or X.compute() where that fits into memory"
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

    def predict(self, X: Any) -> Any:
        """The most likely label of each instance; lazy for dask input: an array, or a column with
        the index of the frame.
        """
        return self._blockwise("predict", X) if is_dask_collection(X) else super().predict(X)

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
        """Scores of the classes, with two classes one column; lazy for dask input, as
        :meth:`predict_proba`.
        """
        return (
            self._blockwise("decision_function", X)
            if is_dask_collection(X)
            else super().decision_function(X)
        )

    def _blockwise(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        if self.kernel == "precomputed":
            raise ParameterError(
                "kernel='precomputed' takes kernel values in memory: use X.compute()"
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
                _serve_frame, model=model, method=method, empty=empty, meta=table
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
            meta=empty,
            **shape,
        )

    def _without_rows(self) -> KernelClassifier:
        """The model in memory, without what belongs to training rows: what workers need
        to predict.
        """
        model = self._in_memory(**self.get_params(deep=False) | {"callback": None, "n_jobs": 1})
        # Blocks come without the names of their columns, which have been checked.
        left_out = (
            *("confidence_", "transduction_", "support_", "leverage_", "loo_decision_"),
            "feature_names_in_",
        )
        for name, value in vars(self).items():
            if name.endswith("_") and name not in left_out:
                setattr(model, name, value)
        if hasattr(self, "members_"):
            model.members_ = [member._without_rows() for member in self.members_]
        return model


class SUREClassifier(OnCluster, _SURE):
    """SURE on dask arrays and data frames; parameters and fitted attributes are those of
    :class:`surelabel.SUREClassifier`, input and predictions those of :class:`OnCluster`.

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
    """PURE on dask arrays and data frames; parameters and fitted attributes are those of
    :class:`surelabel.PUREClassifier`, input and predictions those of :class:`OnCluster`.

    ``kernel="auto"`` chooses on a sample of rows, which comes here. Groups are for exact solvers,
    in memory.

    See Also
    --------
    surelabel.PUREClassifier : Describes parameters and attributes.
    """

    _in_memory = _PURE


def _serve(
    X: np.ndarray,
    model: KernelClassifier,
    method: str,
    empty: np.ndarray,
    block_id: tuple[int, ...] = (),
) -> np.ndarray:
    """Predictions of one block."""
    if not len(X):
        return empty
    try:
        return getattr(model, method)(X)
    except InputError as error:
        raise InputError(
            f"in block {block_id[0]} of X: {error}" if block_id else str(error)
        ) from None


def _serve_frame(X: Any, model: KernelClassifier, method: str, empty: np.ndarray) -> Any:
    """Predictions of one partition of a data frame."""
    return _table(
        _serve(X.to_numpy(float_type(X), na_value=np.nan), model, method, empty),
        X.index,
        model.classes_,
    )


def _table(values: np.ndarray, index: Any, classes: np.ndarray) -> Any:
    import pandas as pd

    return pd.Series(values, index) if values.ndim == 1 else pd.DataFrame(values, index, classes)


# ---------------------------------------------------------------- one block of rows on its worker


@dataclass(frozen=True)
class Piece:
    """Some rows of a block, few enough that their features can be made again: ``values`` are
    features, or instances.
    """

    values: np.ndarray
    candidates: CandidateBlocks
    weight: np.ndarray | None


@dataclass(frozen=True)
class Step:
    """A confidence step of a block: confidences ``p`` and outputs ``q`` of its pieces, and the sums
    over its rows.
    """

    p: list[np.ndarray]
    q: list[np.ndarray]
    sums: tuple[Targets, ...]


Block: TypeAlias = list[Piece]
Features: TypeAlias = (
    Callable[[np.ndarray], np.ndarray] | None
)  # None where the values are features already


@sizeof.register((Piece, Step, CandidateBlocks, Moments, Targets))
def _size(value: Any) -> int:
    """Bytes; by them the scheduler knows that blocks are dear to move."""
    return sum(sizeof(part) for part in vars(value).values())


def _make_block(
    X: np.ndarray,
    candidates: CandidateSets,
    weight: np.ndarray | None,
    first: int,
    step: int,
    prior: float,
    features: Features,
) -> Block:
    """Rows and their candidates in pieces of ``step`` rows; ``first`` is the number of the first
    row.
    """
    check_finite(X, np.arange(first, first + len(X)))
    block = []
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        share = None if weight is None else weight[part]
        blocks = make_blocks(candidates[part], share, X.dtype, prior)
        block.append(Piece(_features(np.ascontiguousarray(X[part]), features), blocks, share))
    return block


def _features(values: np.ndarray, features: Features) -> np.ndarray:
    return values if features is None else features(values)


def _moments(block: Block, features: Features) -> tuple[Moments]:
    return _add(
        [(block_moments(_features(piece.values, features), piece.weight),) for piece in block]
    )


def _start(block: Block, features: Features, init: str) -> Step:
    parts = [
        block_start(_features(piece.values, features), piece.candidates, init) for piece in block
    ]
    return Step([p for p, _, _ in parts], [], _add([sums for _, *sums in parts]))


def _step(
    block: Block, features: Features, model: tuple[np.ndarray, np.ndarray], lam: float
) -> Step:
    parts = [
        block_step(_features(piece.values, features), piece.candidates, *model, lam)
        for piece in block
    ]
    return Step(
        [p for p, _, _ in parts],
        [q for _, q, _ in parts],
        _add([(targets,) for _, _, targets in parts]),
    )


def _leverage(block: Block, features: Features, model: LowRankModel) -> list[np.ndarray]:
    return [model.leverage(_features(piece.values, features), piece.weight) for piece in block]


def _peer_step(
    block: Block,
    before: Step,
    leverage: list[np.ndarray],
    features: Features,
    model: tuple[np.ndarray, np.ndarray, np.ndarray, float],
) -> Step:
    """A confidence step of PURE: unlike SURE's it needs the confidences before it."""
    parts = [
        block_advance_peers(_features(piece.values, features), piece.candidates, p, h, *model)
        for piece, p, h in zip(block, before.p, leverage, strict=True)
    ]
    return Step([p for p, _ in parts], [], _add([(targets,) for _, targets in parts]))


def _sums(step: Step) -> tuple[Targets, ...]:
    return step.sums


def _change(block: Block, old: Step, new: Step) -> tuple[Targets]:
    """The sums of a step, with what it changed."""
    pieces = zip(block, old.p, new.p, new.q, strict=True)
    change, fall = _add(
        [block_change(piece.candidates, before, after, q) for piece, before, after, q in pieces]
    )
    return (replace(new.sums[0], change=change, fall=fall),)


def _entries(block: Block, step: Step) -> np.ndarray:
    return np.concatenate(
        [piece.candidates.all_entries(p) for piece, p in zip(block, step.p, strict=True)]
    )


def _add(parts: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Sums of tuples, in order."""
    return tuple(reduce(add, column) for column in zip(*parts, strict=True))


# ---------------------------------------------------------------- passes over all blocks


class DaskPasses:
    """Passes over blocks on a cluster, as :class:`~surelabel.solvers.lowrank.Passes`; use it as a
    context.

    Parameters
    ----------
    rows : DaskRows
        The instances.
    features : callable
        The feature map, with its ``size``.
    candidates : CandidateSets
        Those of all rows; sent to the blocks, unless ``rows`` holds them.
    weight : ndarray of shape (m,) or None
        Weights of the rows.
    prior : float
        The weight κ of the votes.
    """

    def __init__(
        self,
        rows: DaskRows,
        features: FeatureMap,
        candidates: CandidateSets,
        weight: np.ndarray | None,
        prior: float,
    ) -> None:
        client = self._client = rows.client
        self._dtype = rows.dtype
        parts = [slice(start, stop) for start, stop in pairwise(rows.bounds.tolist())]
        held = rows.candidates or [_carry(client, candidates[part]) for part in parts]
        carried = _carry(client, features)
        keep = keeps_features(rows, features.size)
        self._features = None if keep else carried
        # One graph, so that the scheduler reads a block, makes its features and drops it before it
        # reads the next.
        self._blocks = client.compute(
            [
                delayed(_make_block, pure=False)(
                    X,
                    own,
                    None if weight is None else weight[part],
                    part.start,
                    block_rows(features.size),
                    prior,
                    carried if keep else None,
                )
                for X, own, part in zip(rows.blocks_of_X, held, parts, strict=True)
            ]
        )
        self._steps: list[Future] = []
        self._leverages: list[Future] = []

    def __enter__(self) -> DaskPasses:
        return self

    def __exit__(self, *_: Any) -> None:
        self._blocks = self._steps = self._leverages = []  # the cluster drops what nobody refers to

    def moments(self) -> Moments:
        """Sums over the features of all rows."""
        (moments,) = self._total(self._map(_moments, self._blocks, features=self._features))
        return moments

    def start(self, init: str) -> tuple[Targets, Targets]:
        """Set the confidences; the sums over certain and over ambiguous rows."""
        self._steps = self._map(_start, self._blocks, features=self._features, init=init)
        certain, moving = self._total(self._map(_sums, self._steps))
        return certain, moving

    def advance(self, W: np.ndarray, b: np.ndarray, lam: float) -> Targets:
        """Confidence step of all rows."""
        model = _carry(self._client, (W.astype(self._dtype), b.astype(self._dtype)))
        steps = self._map(_step, self._blocks, features=self._features, model=model, lam=lam)
        (targets,) = self._total(self._map(_change, self._blocks, self._steps, steps))
        self._steps = steps
        return targets

    def keep_leverage(self, model: LowRankModel) -> None:
        """Leave its leverage with every row."""
        carried = _carry(self._client, model)
        self._leverages = self._map(_leverage, self._blocks, features=self._features, model=carried)

    def advance_peers(
        self, W: np.ndarray, b: np.ndarray, mean: np.ndarray, shift: float
    ) -> Targets:
        """Confidence step of PURE, of all rows."""
        model = _carry(self._client, (W.astype(self._dtype), b.astype(self._dtype), mean, shift))
        self._steps = self._map(
            _peer_step,
            self._blocks,
            self._steps,
            self._leverages,
            features=self._features,
            model=model,
        )
        (targets,) = self._total(self._map(_sums, self._steps))
        return targets

    @property
    def leverage(self) -> np.ndarray:
        """Leverages of all rows, gathered."""
        return np.concatenate([np.concatenate(h) for h in gather(self._client, self._leverages)])

    @property
    def confidence(self) -> np.ndarray:
        """Confidences of all candidates, gathered."""
        return np.concatenate(gather(self._client, self._map(_entries, self._blocks, self._steps)))

    def _map(self, function: Callable, *futures: Sequence[Any], **arguments: Any) -> list[Future]:
        return self._client.map(function, *futures, pure=False, **arguments)

    def _total(self, sums: list[Future]) -> tuple[Any, ...]:
        """Add up by a tree, whose shape depends on the number of blocks only: the order of sums is
        always the same.
        """
        while len(sums) > 1:
            sums = self._map(
                _add, [sums[start : start + FAN] for start in range(0, len(sums), FAN)]
            )
        return gather(self._client, sums)[0]


def _carry(client: Client, value: Any) -> Future:
    """A value as the result of a task: unlike scattered data, the scheduler can make it again when
    its worker is lost.
    """
    with dask.config.set(
        {"distributed.admin.large-graph-warning-threshold": "1 TiB"}
    ):  # it is as small as it can be
        return client.submit(_identity, value, pure=False)


def _identity(value: Any) -> Any:
    return value


def keeps_features(rows: DaskRows, n_components: int) -> bool:
    """Whether features stay with their blocks between passes: if a worker's share takes at most
    half of its memory.
    """
    with explained(rows.client):
        workers = rows.client.scheduler_info(n_workers=-1)["workers"].values()
    limit = min(
        (worker["memory_limit"] for worker in workers if worker["memory_limit"]), default=None
    )
    lengths = np.diff(rows.bounds)
    share = (
        -(-len(lengths) // max(len(workers), 1))
        * int(lengths.max())
        * n_components
        * rows.dtype.itemsize
    )
    return limit is None or share <= limit / 2
