"""PLSVM's objective, row by row, and the slow and simple ways to minimise it."""

import numpy as np


def plsvm_objective(W, X, Y, lam, weight):
    """λ/2 ‖W‖² + (1/Σw) Σ_i w_i max(0, 1 - (max_{j∈S} f_j - max_{k∉S} f_k)); W is (n, l)."""
    total = 0.0
    for x, candidates, w in zip(X, Y, weight, strict=True):
        f = x @ W
        if np.any(candidates == 0):
            total += w * max(0, 1 - (f[candidates == 1].max() - f[candidates == 0].max()))
    return lam / 2 * np.sum(W**2) + total / np.sum(weight)


def project_row(point, rounds=200):
    """Nearest point in {α ≥ 0, Σ α ≤ 1}: the shift that makes the sum 1, by bisection."""
    if np.maximum(point, 0).sum() <= 1:
        return np.maximum(point, 0)
    low, high = 0.0, point.max()
    for _ in range(rounds):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(point - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(point - low, 0)


def subgradient_plsvm(X, Y, lam, rounds, rng):
    """Full-batch Pegasos: random start, steps 1/(λt), weights kept in the ball of radius 1/√λ;
    returns the last weights.
    """
    m, n_classes = Y.shape
    W = rng.random((X.shape[1], n_classes))
    W *= min(1, 1 / (np.sqrt(lam) * np.linalg.norm(W)))
    for t in range(1, rounds + 1):
        F = X @ W
        best = np.where(Y == 1, F, -np.inf).argmax(axis=1)
        rival = np.where(Y == 0, F, -np.inf).argmax(axis=1)
        rows = np.arange(m)
        violated = (F[rows, best] - F[rows, rival] < 1) & (Y.sum(axis=1) < n_classes)
        slope = np.zeros_like(F)
        slope[rows, best] -= violated
        slope[rows, rival] += violated
        W = (1 - 1 / t) * W - X.T @ slope / (lam * t * m)
        W *= min(1, 1 / (np.sqrt(lam) * max(np.linalg.norm(W), 1e-300)))
    return W
