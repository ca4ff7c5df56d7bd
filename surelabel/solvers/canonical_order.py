"""An order of rows and classes that depends only on the data: methods that amplify rounding errors
must always sum in the same order.
"""

from typing import Any

import numpy as np
from scipy import sparse

from .equal_rows import equal_rows
from .memory import row_blocks


def canonical_order(
    X: Any, candidates: sparse.csr_array, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Order rows and classes by their content, not by their position.

    Rows are sorted by a number that is almost certainly different for different instances, then by
    candidates (entries of 1), then by weight. Classes are sorted by candidate mass ``Σ_i
    weight_i/|S_i|``, largest first; equal masses (up to rounding) by the sum of their mean
    instance.
    """
    shares = candidates.multiply((weight / candidates.sum(axis=1))[:, None]).tocsr()
    mass = shares.sum(axis=0)
    total = shares.T @ np.asarray(X.sum(axis=1)).ravel()
    mean_sum = np.divide(total, mass, out=np.zeros_like(mass), where=mass > 0)
    classes = np.lexsort((mean_sum, -np.round(mass / mass.sum(), 9)))
    rng = np.random.default_rng(0)
    direction, label_direction = rng.standard_normal(X.shape[1]), rng.standard_normal(len(classes))
    # Use the features as they are and also rescaled to equal size, because small ones vanish beside
    # large ones. A sparse product sums each row separately, so its last digit does not depend on
    # the row's position.
    blocks = [sparse.csr_array(block) for _, block in row_blocks(X, 2)]
    size = np.max([abs(block).max(axis=0).toarray().ravel() for block in blocks], axis=0)
    rescaled = direction / np.maximum(size, np.finfo(float).tiny)
    directions = np.column_stack([rescaled, direction])
    instance = np.concatenate([block @ directions for block in blocks])
    labels = candidates @ label_direction[np.argsort(classes)]
    return np.lexsort((weight, np.round(labels, 9), *instance.T)), classes


def distinct_rows(
    X: Any, candidates: sparse.csr_array, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The different rows in :func:`canonical_order`. Rows with equal instances and candidates are
    one row, with the sum of their weights.
    """
    same = equal_rows([X]) * len(weight) + equal_rows([candidates])
    _, first, group = np.unique(same, return_index=True, return_inverse=True)
    total = np.bincount(group, weight)
    order, _ = canonical_order(X[first], candidates[first], total)
    return first[order], total[order]
