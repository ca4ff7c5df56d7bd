"""IPAL as Zhang & Yu (2015) write it: dense matrices, one instance at a time."""

import numpy as np
from scipy.optimize import nnls


def nearest_rows(X, x, k, leave_out=None):
    order = sorted(range(len(X)), key=lambda i: (np.sum((X[i] - x) ** 2), i))
    return [i for i in order if i != leave_out][:k]


def ipal_confidence(X, Y, k, alpha, rounds):
    """Confidences after class mass correction (rows not normalised) from 0/1 candidates ``Y``."""
    m = len(X)
    H = np.zeros((m, m))
    for i in range(m):
        rows = nearest_rows(X, X[i], k, leave_out=i)
        H[i, rows] = nnls(X[rows].T, X[i])[0]
        if H[i].sum() > 0:
            H[i] /= H[i].sum()
    P = Y / Y.sum(axis=1, keepdims=True)
    F = P.copy()
    for _ in range(rounds):
        F = (alpha * H @ F + (1 - alpha) * P) * Y
        lost = F.sum(axis=1) == 0  # alpha = 1, and no neighbour shares a candidate
        F[lost] = P[lost]
        F /= F.sum(axis=1, keepdims=True)
    mass = F.sum(axis=0)
    return F * np.divide(P.sum(axis=0), mass, out=np.ones_like(mass), where=mass > 0)


def ipal_errors(X, labels, n_classes, x, k):
    """Error that each label's neighbours alone leave of ``x``; infinite for labels without a
    weighted neighbour.
    """
    rows = nearest_rows(X, x, k)
    weights = nnls(X[rows].T, x)[0]
    errors = np.full(n_classes, np.inf)
    for c in range(n_classes):
        mine = [(w, i) for w, i in zip(weights, rows, strict=True) if labels[i] == c and w > 0]
        if mine:
            errors[c] = np.linalg.norm(x - sum(w * X[i] for w, i in mine))
    return errors
