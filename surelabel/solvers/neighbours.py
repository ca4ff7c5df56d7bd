"""Nearest neighbours by Euclidean distance, the same ones on every machine: equal distances go to the lower row."""

import numpy as np

_CELLS = 2**20  # numbers held at a time, in each array


def nearest(instances: np.ndarray, k: int, queries: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Distances and rows of the ``k`` nearest instances of each query, nearest first.

    Distances by matrix product, ``‖x‖² - 2 x·y + ‖y‖²``, are fast but noisy. They only narrow the choice, to the rows that
    may be among the ``k`` nearest whatever the noise; these are then measured exactly and sorted.

    Parameters
    ----------
    instances : ndarray of shape (m, n), float64
        The rows among which neighbours are looked for.
    k : int
        At most ``m``, or ``m - 1`` without ``queries``.
    queries : ndarray of shape (q, n), float64, default=None
        By default the instances themselves, none of them its own neighbour.

    Returns
    -------
    distances, rows : ndarray of shape (q, k)
    """
    points = instances if queries is None else queries
    centre = instances.mean(axis=0)  # nearer the origin, less noise
    centred = instances - centre
    squares = np.einsum("ij,ij->i", centred, centred)
    found = []
    step = max(1, _CELLS // len(instances))
    for start in range(0, len(points), step):
        block = points[start : start + step]
        shifted = block - centre
        rough = -2 * shifted @ centred.T
        rough += squares  # but for ‖x‖², which the instances have in common
        if queries is None:
            rough[np.arange(len(block)), np.arange(start, start + len(block))] = np.inf
        noise = instances.shape[1] * np.finfo(float).eps * (np.linalg.norm(shifted, axis=1) + np.sqrt(squares.max())) ** 2
        limit = _kth_smallest_or_more(rough, k) + 2 * noise
        query, row = np.nonzero(rough <= limit[:, None])
        squared = _squared_distances(block, query, instances, row)
        order = np.lexsort((squared, query))  # stable: among equals the lower row stays first
        first = np.searchsorted(query, np.arange(len(block)))
        chosen = order[first[:, None] + np.arange(k)]
        found.append((np.sqrt(squared[chosen]), row[chosen]))
    distances, rows = zip(*found, strict=True)
    return np.concatenate(distances), np.concatenate(rows)


def _kth_smallest_or_more(values: np.ndarray, k: int) -> np.ndarray:
    """Upper bound, and close, of the ``k``-th smallest value of each row: that of the minima of ``16 k`` groups of columns."""
    groups = 16 * k
    width = values.shape[1] // groups
    if width > 1:
        values = values[:, : width * groups].reshape(len(values), width, groups).min(axis=1)
    return np.partition(values, k - 1, axis=1)[:, k - 1]


def _squared_distances(X: np.ndarray, i: np.ndarray, Y: np.ndarray, j: np.ndarray) -> np.ndarray:
    """``‖X_i - Y_j‖²`` of the listed pairs."""
    squared = np.empty(len(i))
    step = max(1, _CELLS // X.shape[1])
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        difference = X[i[part]] - Y[j[part]]
        squared[part] = np.einsum("ij,ij->i", difference, difference)
    return squared
