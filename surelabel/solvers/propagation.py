"""Label propagation over a neighbour graph, restricted to the candidates."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from .sparse_rows import entry_rows, row_normalise


def candidate_graph(
    neighbours: np.ndarray, weights: np.ndarray, indptr: np.ndarray, indices: np.ndarray
) -> sparse.csr_array:
    """Neighbour graph between candidate entries: (i, c) receives from (j, c) with the weight of j
    among i's neighbours (both m × k).

    Labels of row ``j`` that are not candidates of ``i`` are dropped, so the cost of a round is
    proportional to the number of candidates, not to instances × labels. The weights of a row's
    neighbours are scaled to sum to 1 (unless all are zero).
    """
    total = weights.sum(axis=1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    rows = entry_rows(indptr)
    stride = int(indices.max()) + 1
    keys = rows * stride + indices  # ascending
    wanted = neighbours[rows] * stride + indices[:, None]
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    heard = (keys[at] == wanted) & (weights[rows] > 0)
    starts = np.concatenate([[0], np.cumsum(heard.sum(axis=1))])
    return sparse.csr_array((weights[rows][heard], at[heard], starts), shape=(len(keys), len(keys)))


def propagate(
    graph: sparse.csr_array,
    indptr: np.ndarray,
    alphas: Sequence[float],
    max_iter: int,
    tol: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each α, repeat ``f ← α graph f + (1 - α) f₀``, with each row projected back to the
    simplex, starting at ``f₀`` uniform over the candidates, until no entry changes by more than
    ``tol``.

    Returns the confidences (entries × alphas), the numbers of rounds, and which alphas converged.
    """
    alpha, sizes = np.asarray(alphas, float), np.diff(indptr)
    start = np.repeat(1 / sizes, sizes)[:, None]
    confidence = np.repeat(start, len(alpha), axis=1)
    n_iter = np.zeros(len(alpha), int)
    converged = np.zeros(len(alpha), bool)
    moving, now = np.arange(len(alpha)), confidence
    for _ in range(max_iter):
        heard = (graph @ now) * alpha[moving] + start * (1 - alpha[moving])
        heard = row_normalise(heard, indptr)
        change = np.abs(heard - now).max(axis=0)
        confidence[:, moving] = now = heard
        n_iter[moving] += 1
        if np.any(change <= tol):
            converged[moving] = change <= tol
            moving, now = moving[change > tol], now[:, change > tol]
            if not len(moving):
                break
    return confidence, n_iter, converged


def restore_class_mass(
    confidence: np.ndarray, indptr: np.ndarray, indices: np.ndarray
) -> np.ndarray:
    """Scale each class back to its mass with all candidates equally likely; then normalise the
    rows.
    """
    sizes = np.diff(indptr)
    prior = np.bincount(indices, np.repeat(1 / sizes, sizes))
    mass = np.bincount(indices, confidence)
    scale = np.divide(prior, mass, out=np.ones_like(prior), where=mass > 0)
    # Rounded, because candidates that differ only by rounding errors must tie.
    return row_normalise(np.round(confidence * scale[indices], 12), indptr)
