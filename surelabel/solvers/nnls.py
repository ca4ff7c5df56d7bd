"""Write instances as nonnegative combinations of their neighbours."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.optimize import nnls
from sklearn.utils import gen_batches

from .memory import block_rows


def reconstruction_weights(
    targets: np.ndarray, instances: np.ndarray, neighbours: np.ndarray
) -> np.ndarray:
    """Weights ``w ≥ 0`` of each target's neighbours (q × k rows of ``instances``) that minimise
    ``‖x - Σ_j w_j x_j‖``.

    Each target is one call of scipy's compiled version of Lawson and Hanson's algorithm, which
    takes about ten microseconds. Solving all targets together on their Gram matrices is not faster,
    and squares the condition number. If the solution is not unique (duplicates, more neighbours
    than features), it is the one that the algorithm finds.
    """
    weights = np.empty(neighbours.shape)
    for i, rows in enumerate(neighbours):
        weights[i] = nnls(instances[rows].T, targets[i])[0]
    return weights


def prefix_weights(
    targets: np.ndarray, instances: np.ndarray, neighbours: np.ndarray, counts: Sequence[int]
) -> Iterator[np.ndarray]:
    """The weights of each target's first ``k`` neighbours, nearest first, for every ``k`` of the
    ascending ``counts``.

    If no further neighbour would reduce the error (``x_j·(x - Σ_i w_i x_i) < 0``), the weights stay
    the same and those of further neighbours are 0, by the conditions of Karush, Kuhn and Tucker;
    only the other targets are solved again.
    """
    weights = np.zeros((len(targets), 0))
    for k in counts:
        before, again = weights.shape[1], np.ones(len(targets), bool)
        if before:
            for part in _parts(len(targets), k, instances.shape[1]):
                near = instances[neighbours[part, :k]]
                error = targets[part] - np.einsum("ik,ikn->in", weights[part], near[:, :before])
                slope = np.einsum("ikn,in->ik", near[:, before:], error)
                lengths = np.linalg.norm(near[:, before:], axis=2)
                scale = lengths * np.linalg.norm(targets[part], axis=1)[:, None]
                again[part] = np.any(slope > -1e-9 * scale, axis=1)
        weights = np.pad(weights, ((0, 0), (0, k - before)))
        weights[again] = reconstruction_weights(targets[again], instances, neighbours[again, :k])
        yield weights


def reconstruction_products(
    targets: np.ndarray, instances: np.ndarray, neighbours: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Products of the weighted neighbours ``w_j x_j`` of each target with the target (q × k) and
    with each other (q × k × k), divided by ``‖x‖²``: what :func:`explained_shares` needs for any
    labels.
    """
    q, k = neighbours.shape
    with_target, with_each_other = np.empty((q, k)), np.empty((q, k, k))
    for part in _parts(q, k, instances.shape[1]):
        scaled = weights[part, :, None] * instances[neighbours[part]]
        with_target[part] = np.einsum("ikn,in->ik", scaled, targets[part])
        with_each_other[part] = scaled @ scaled.transpose(0, 2, 1)
    length = np.einsum("in,in->i", targets, targets)
    length[length == 0] = 1
    return with_target / length[:, None], with_each_other / length[:, None, None]


def explained_shares(
    with_target: np.ndarray, with_each_other: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Share of a target that the neighbours of one label explain alone, split among these
    neighbours (q × k, as their ``labels``).

    The neighbours ``j`` with label ``c`` leave the error ``‖x - Σ_j w_j x_j‖²``, that is ``(1 -
    e_c) ‖x‖²`` with ``e_c ‖x‖² = Σ_j w_j x_j·(2x - Σ_i w_i x_i)``, both sums over the neighbours
    with label ``c``. The result is each ``j``'s part of ``e_c``.
    """
    same = labels[:, :, None] == labels[:, None, :]
    return 2 * with_target - (with_each_other * same).sum(axis=2)


def _parts(n_targets: int, k: int, n_features: int) -> Iterator[slice]:
    """Slices of targets whose neighbours' features are gathered together."""
    return gen_batches(n_targets, block_rows(k * n_features))
