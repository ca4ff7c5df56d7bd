"""Instances written as nonnegative combinations of their neighbours."""

import numpy as np
from scipy.optimize import nnls
from sklearn.utils import gen_batches

_CELLS = 2**22  # numbers of neighbour features gathered at a time


def reconstruction_weights(
    targets: np.ndarray, instances: np.ndarray, neighbours: np.ndarray
) -> np.ndarray:
    """Weights ``w ≥ 0`` of each target's neighbours with ``‖x - Σ_j w_j x_j‖`` least.

    Each target is one call of Lawson and Hanson's algorithm in scipy: compiled, it takes some ten
    microseconds, which solving all targets abreast on their Gram matrices does not beat, and it
    does not square the condition number. Where the solution is not unique (duplicates, more
    neighbours than features) it is the one of that algorithm.

    Parameters
    ----------
    targets : ndarray of shape (q, n)
        The instances to reconstruct.
    instances : ndarray of shape (m, n)
        The rows that ``neighbours`` names.
    neighbours : ndarray of shape (q, k)
        The neighbours of each target.

    Returns
    -------
    ndarray of shape (q, k)
    """
    weights = np.empty(neighbours.shape)
    for i, rows in enumerate(neighbours):
        weights[i] = nnls(instances[rows].T, targets[i])[0]
    return weights


def explained_shares(
    targets: np.ndarray,
    instances: np.ndarray,
    neighbours: np.ndarray,
    weights: np.ndarray,
    labels: np.ndarray,
) -> np.ndarray:
    """Share of a target that the neighbours of one label alone explain, split over these
    neighbours.

    The neighbours ``j`` with label ``c`` leave the error ``‖x - Σ_j w_j x_j‖²``, that is ``(1 -
    e_c) ‖x‖²`` with ``e_c ‖x‖² = Σ_j w_j x_j·(2x - Σ_i w_i x_i)``, both sums over the neighbours
    with label ``c``. Returned is each ``j``'s part of ``e_c``.

    Parameters
    ----------
    targets, instances, neighbours
        As for :func:`reconstruction_weights`.
    weights : ndarray of shape (q, k)
        The weights of the neighbours.
    labels : ndarray of shape (q, k)
        The labels of the neighbours.

    Returns
    -------
    ndarray of shape (q, k)
    """
    shares = np.zeros(neighbours.shape)
    for part in gen_batches(
        len(targets), max(1, _CELLS // (neighbours.shape[1] * instances.shape[1]))
    ):
        scaled = weights[part, :, None] * instances[neighbours[part]]
        same = labels[part, :, None] == labels[part, None, :]
        within = ((scaled @ scaled.transpose(0, 2, 1)) * same).sum(axis=2)
        shares[part] = 2 * np.einsum("ikn,in->ik", scaled, targets[part]) - within
    length = np.einsum("in,in->i", targets, targets)[:, None]
    return np.divide(shares, length, out=shares, where=length > 0)
