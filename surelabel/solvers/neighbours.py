"""Nearest neighbours by Euclidean distance, the same on every machine: ties go to the lower row."""

from __future__ import annotations

import numpy as np

from .memory import block_rows


def nearest(
    instances: np.ndarray, k: int, queries: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Distances and rows (both q × k) of the ``k`` nearest instances of each query, nearest first;
    the default queries are the instances, none of which is its own neighbour.

    Distances by matrix product, ``‖x‖² - 2 x·y + ‖y‖²``, are fast but inexact. They only narrow the
    choice to the rows that may be among the ``k`` nearest; the distances of these are then computed
    exactly and sorted.
    """
    points = instances if queries is None else queries
    centre = instances.mean(axis=0)  # rounding errors are smaller near the origin
    centred = instances - centre
    squares = np.einsum("ij,ij->i", centred, centred)
    found = []
    step = block_rows(4 * len(instances))  # four arrays of this width are in memory at a time
    for start in range(0, len(points), step):
        block = points[start : start + step]
        shifted = block - centre
        rough = -2 * shifted @ centred.T
        rough += squares  # without ‖x‖², which is the same for all instances
        if queries is None:
            rough[np.arange(len(block)), np.arange(start, start + len(block))] = np.inf
        lengths = np.linalg.norm(shifted, axis=1) + np.sqrt(squares.max())
        noise = instances.shape[1] * np.finfo(float).eps * lengths**2
        if not np.isfinite(noise).all():
            raise OverflowError("the squares of distances are larger than any number")
        limit = _bound_of_kth_smallest(rough, k) + 2 * noise
        query, row = np.nonzero(rough <= limit[:, None])
        found.append(_nearest_of_pairs(block, query, instances, row, k))
    distances, rows = zip(*found, strict=True)
    return np.concatenate(distances), np.concatenate(rows)


def _nearest_of_pairs(
    points: np.ndarray, query: np.ndarray, instances: np.ndarray, row: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Distances and rows of the ``k`` nearest instances of each point, among the listed pairs
    ``(query, row)``. Pairs are in ascending order, with at least ``k`` for each point.
    """
    squared = _squared_distances(points, query, instances, row)
    order = np.lexsort((squared, query))  # stable: ties go to the lower row
    first = np.searchsorted(query, np.arange(len(points)))
    chosen = order[first[:, None] + np.arange(k)]
    return np.sqrt(squared[chosen]), row[chosen]


def _bound_of_kth_smallest(values: np.ndarray, k: int) -> np.ndarray:
    """A close upper bound of the ``k``-th smallest value of each row: the ``k``-th smallest of the
    minima of ``16 k`` groups of columns.
    """
    groups = 16 * k
    width = values.shape[1] // groups
    if width > 1:
        values = values[:, : width * groups].reshape(len(values), width, groups).min(axis=1)
    return np.partition(values, k - 1, axis=1)[:, k - 1]


def _squared_distances(X: np.ndarray, i: np.ndarray, Y: np.ndarray, j: np.ndarray) -> np.ndarray:
    """``‖X_i - Y_j‖²`` of the listed pairs."""
    squared = np.empty(len(i))
    step = block_rows(4 * X.shape[1])
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        difference = X[i[part]] - Y[j[part]]
        squared[part] = np.einsum("ij,ij->i", difference, difference)
    return squared
