"""CLPL as the paper reduces it: one binary problem with a row per instance and a row per label that
is no candidate.
"""

import numpy as np


def binary_problem(X, Y):
    """Features Φ (rows of length n·l, label by label) and targets ±1 of the binary problem."""
    n, n_classes = X.shape[1], Y.shape[1]
    features, targets = [], []
    for x, candidates in zip(X, Y, strict=True):
        mean = np.zeros((n_classes, n))
        mean[candidates == 1] = x / candidates.sum()
        features.append(mean.ravel())
        targets.append(1)
        for j in np.flatnonzero(candidates == 0):
            one = np.zeros((n_classes, n))
            one[j] = x
            features.append(one.ravel())
            targets.append(-1)
    return np.array(features), np.array(targets)


def clpl_objective(W, X, Y, C, weight):
    """½‖W‖² + C Σ_i w_i [ψ(mean of f over S) + Σ_{j∉S} ψ(-f_j)], row by row; W is (n, l)."""
    total = 0.5 * np.sum(W**2)
    for x, candidates, w in zip(X, Y, weight, strict=True):
        f = x @ W
        total += C * w * max(0, 1 - f[candidates == 1].mean()) ** 2
        total += C * w * sum(max(0, 1 + f_j) ** 2 for f_j in f[candidates == 0])
    return total
