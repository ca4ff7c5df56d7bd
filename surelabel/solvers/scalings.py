"""Scalings of features; what each learns from training rows is one array."""

from __future__ import annotations

import numpy as np

#: The scalings by name.
SCALINGS = ("standard", "none", "root", "rank")

RANKED = 1000  # number of rows that represent all others in ranks


def learn_scaling(name: str, X: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """What :func:`rescale` needs to know about the training rows.

    Parameters
    ----------
    name : {"standard", "none", "root", "rank"}
        Mean 0 and variance 1; unchanged; ``sign(x)√|x|``; the share of training rows with smaller
        values.
    X : ndarray of shape (m, n)
    weight : ndarray of shape (m,) or None

    Returns
    -------
    ndarray of shape (rows, n)
    """
    if name == "standard":
        mean = np.average(X, axis=0, weights=weight)
        deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
        # The deviation of a constant column is a rounding error.
        constant = deviation <= 10 * np.finfo(X.dtype).eps * np.abs(mean)
        return np.stack([mean, np.where(constant, 1, deviation)]).astype(X.dtype)
    if name == "rank":
        if weight is not None and np.any(weight != 1):
            return _copies(X, weight)
        return np.sort(X[:: -(-len(X) // RANKED)], axis=0)
    return np.empty((0, X.shape[1]), X.dtype)


def rescale(name: str, learned: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The rows, scaled.

    Parameters
    ----------
    name : {"standard", "none", "root", "rank"}
    learned : ndarray
        The result of :func:`learn_scaling`.
    X : ndarray of shape (m, n)

    Returns
    -------
    ndarray of shape (m, n)
        ``X`` itself for "none".
    """
    if name == "standard":
        return (X - learned[0]) / learned[1]
    if name == "root":
        return np.sign(X) * np.sqrt(np.abs(X))
    if name == "rank":
        ranks = np.empty_like(X)
        for values, column, target in zip(learned.T, X.T, ranks.T, strict=True):
            # Equal values get the middle of their ranks.
            below = np.searchsorted(values, column, "left") + np.searchsorted(
                values, column, "right"
            )
            target[:] = below / (2 * len(values))
        return ranks
    return X


def _copies(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Sorted columns in which each value occurs as often as its weight says: exactly for whole
    numbers, and otherwise in that proportion.
    """
    count = min(max(round(float(weight.sum())), len(X)), RANKED)
    middle = (np.arange(count) + 0.5) / count * weight.sum(dtype=np.float64)
    found = np.empty((count, X.shape[1]), X.dtype)
    for values, column in zip(found.T, X.T, strict=True):
        order = np.argsort(column, kind="stable")
        place = np.searchsorted(np.cumsum(weight[order], dtype=np.float64), middle)
        values[:] = column[order[np.minimum(place, len(X) - 1)]]
    return found
