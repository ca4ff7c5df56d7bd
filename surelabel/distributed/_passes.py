"""Passes of a low-rank fit over blocks of rows on a Dask cluster: what the workers do with a block,
and the sums over all blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, TypeAlias

import dask
import numpy as np
from dask.delayed import delayed
from dask.distributed import Client, Future
from dask.sizeof import sizeof

from ..data.candidates import CandidateSets
from ..data.finite import check_finite
from ..estimators.kernel import sort_candidates
from ..solvers.confidence import SortedSets
from ..solvers.features import FeatureMap
from ..solvers.memory import feature_rows
from ..solvers.out_of_core import Equal, block_change, block_peer_step, block_start, block_step
from ..solvers.ridge import GramRidge, Moments, Targets, moments_of
from ._rows import DaskRows, explained, gather

FAN_IN = 8  # number of sums that one task adds up

# ---------------------------------------------------------------- one block of rows on its worker


@dataclass(frozen=True)
class Piece:
    """Some rows of a block, few enough that their features can be recomputed; ``values`` are
    features or instances.
    """

    values: np.ndarray
    sets: SortedSets
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
#: Makes features of the values of a piece; the identity if they are features already.
Features: TypeAlias = Callable[[np.ndarray], np.ndarray]


def _size(value: Any) -> int:
    """Size in bytes, which tells the scheduler that blocks are expensive to move."""
    return sum(sizeof(part) for part in vars(value).values())


sizeof.register((Piece, Step, SortedSets, Moments, Targets), _size)


def _make_block(
    X: np.ndarray,
    candidates: CandidateSets,
    weight: np.ndarray | None,
    first: int,
    step: int,
    prior: float,
    features: Features,
) -> Block:
    """The rows and their candidates, in pieces of ``step`` rows; ``first`` is the number of the
    first row.
    """
    check_finite(X, np.arange(first, first + len(X)))
    block = []
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        share = None if weight is None else weight[part]
        sets = sort_candidates(candidates[part], share, X.dtype, prior)
        block.append(Piece(features(np.ascontiguousarray(X[part])), sets, share))
    return block


def _moments(block: Block, features: Features) -> tuple[Moments]:
    return _add([(moments_of(features(piece.values), piece.weight),) for piece in block])


def _start(block: Block, features: Features, init: str) -> Step:
    parts = [block_start(features(piece.values), piece.sets, init) for piece in block]
    return Step([p for p, _, _ in parts], [], _add([sums for _, *sums in parts]))


def _step(
    block: Block, features: Features, model: tuple[np.ndarray, np.ndarray], lam: float
) -> Step:
    parts = [block_step(features(piece.values), piece.sets, *model, lam) for piece in block]
    p, q, targets = zip(*parts, strict=True)
    return Step(list(p), list(q), (reduce(add, targets),))


def _leverage(block: Block, features: Features, model: GramRidge) -> list[np.ndarray]:
    return [model.leverage(features(piece.values), piece.weight) for piece in block]


def _peer_step(
    block: Block,
    before: Step,
    leverage: list[np.ndarray],
    features: Features,
    model: tuple[np.ndarray, np.ndarray, np.ndarray, float],
) -> Step:
    """A confidence step of PURE, which, unlike SURE's, needs the previous confidences."""
    parts = [
        block_peer_step(features(piece.values), piece.sets, p, p, h, model)
        for piece, p, h in zip(block, before.p, leverage, strict=True)
    ]
    p, targets = zip(*parts, strict=True)
    return Step(list(p), [], (reduce(add, targets),))


def _sums(step: Step) -> tuple[Targets, ...]:
    return step.sums


def _change(block: Block, old: Step, new: Step) -> tuple[Targets]:
    """The sums of a step, including the size of its change."""
    pieces = zip(block, old.p, new.p, new.q, strict=True)
    change, fall = _add(
        [block_change(piece.sets, before, after, q) for piece, before, after, q in pieces]
    )
    return (replace(new.sums[0], change=change, fall=fall),)


def _entries(block: Block, step: Step) -> np.ndarray:
    return np.concatenate(
        [piece.sets.all_entries(p) for piece, p in zip(block, step.p, strict=True)]
    )


def _add(parts: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Sums of tuples, in order."""
    return tuple(reduce(add, column) for column in zip(*parts, strict=True))


# ---------------------------------------------------------------- passes over all blocks


class DaskPasses:
    """:class:`~surelabel.solvers.out_of_core.Passes` over blocks on a cluster."""

    def __init__(
        self,
        rows: DaskRows,
        features: FeatureMap,
        candidates: CandidateSets,  # sent to the blocks, unless the rows already have them
        weight: np.ndarray | None,
        prior: float,  # the weight κ of the votes
    ) -> None:
        client = self._client = rows.client
        self._dtype = rows.dtype
        parts = [slice(start, stop) for start, stop in pairwise(rows.bounds.tolist())]
        held = rows.candidates or [_carry(client, candidates[part]) for part in parts]
        carried = _carry(client, features)
        keep = keeps_features(rows, features.size)
        self._features = _identity if keep else carried
        # One graph, so that the scheduler reads a block, computes its features and drops it before
        # it reads the next.
        self._blocks = client.compute(
            [
                delayed(_make_block, pure=False)(
                    X,
                    own,
                    None if weight is None else weight[part],
                    part.start,
                    feature_rows(features.size),
                    prior,
                    carried if keep else _identity,
                )
                for X, own, part in zip(rows.blocks_of_X, held, parts, strict=True)
            ]
        )
        self._steps: list[Future[Any]] = []
        self._leverages: list[Future[Any]] = []

    def __enter__(self) -> DaskPasses:
        return self

    def __exit__(self, *_: Any) -> None:
        # The cluster drops data without references.
        self._blocks = self._steps = self._leverages = []

    def moments(self) -> Moments:
        """Sums over the features of all rows."""
        moments: Moments
        (moments,) = self._total(self._map(_moments, self._blocks, features=self._features))
        return moments

    def start(self, init: str) -> tuple[Targets, Targets]:
        """Set the confidences; return the sums over certain and over ambiguous rows."""
        self._steps = self._map(_start, self._blocks, features=self._features, init=init)
        certain, moving = self._total(self._map(_sums, self._steps))
        return certain, moving

    def advance(self, W: np.ndarray, b: np.ndarray, lam: float) -> Targets:
        """Confidence step of all rows."""
        model = _carry(self._client, (W.astype(self._dtype), b.astype(self._dtype)))
        steps = self._map(_step, self._blocks, features=self._features, model=model, lam=lam)
        targets: Targets
        (targets,) = self._total(self._map(_change, self._blocks, self._steps, steps))
        self._steps = steps
        return targets

    def keep_leverage(self, model: GramRidge, equal: Equal | None = None) -> None:
        """Compute and keep the leverage of every row, without looking for equal rows."""
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
        targets: Targets
        (targets,) = self._total(self._map(_sums, self._steps))
        return targets

    @property
    def leverage(self) -> np.ndarray:
        """The leverages of all rows, gathered into local memory."""
        return np.concatenate([np.concatenate(h) for h in gather(self._client, self._leverages)])

    @property
    def confidence(self) -> np.ndarray:
        """The confidences of all candidates, gathered into local memory."""
        return np.concatenate(gather(self._client, self._map(_entries, self._blocks, self._steps)))

    def _map(
        self, function: Callable[..., Any], *futures: Sequence[Any], **arguments: Any
    ) -> list[Future[Any]]:
        return self._client.map(function, *futures, pure=False, **arguments)

    def _total(self, sums: list[Future[Any]]) -> tuple[Any, ...]:
        """Add up in a tree whose shape depends only on the number of blocks, so the order of sums
        is always the same.
        """
        while len(sums) > 1:
            sums = self._map(
                _add, [sums[start : start + FAN_IN] for start in range(0, len(sums), FAN_IN)]
            )
        total: tuple[Any, ...] = gather(self._client, sums)[0]
        return total


def _carry(client: Client, value: Any) -> Future[Any]:
    """A value as the result of a task: unlike scattered data, the scheduler can restore it when its
    worker is lost.
    """
    # No warning of its size: it cannot be made smaller.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        return client.submit(_identity, value, pure=False)


def _identity(value: Any) -> Any:
    return value


def keeps_features(rows: DaskRows, n_components: int) -> bool:
    """Whether features are kept between passes: if a worker's share takes at most half of its
    memory.
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
