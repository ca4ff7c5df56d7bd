"""PLSVM's objective, row by row, and the slow and simple ways to minimise it."""

import numpy as np
import quadprog


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


def convex_round(X, Y, lam, weight, share, soft=1e-9):
    """The weights that minimise λ/2 ‖W‖² + Σ_i c_i ξ_i with ξ_i ≥ 0 and ξ_i ≥ 1 - (Σ_j share_ij f_j
    - f_k) for k ∉ S_i, as a quadratic program; a little of ξ² makes it strictly convex.
    """
    (m, n), l = X.shape, Y.shape[1]
    cost = weight / weight.sum()
    constraints, bounds = [], []
    for i in range(m):
        slack = np.zeros(m)
        slack[i] = 1
        constraints.append(np.concatenate([np.zeros(n * l), slack]))
        bounds.append(0.0)
        for k in np.flatnonzero(Y[i] == 0):
            lead = share[i] - np.eye(l)[k]
            constraints.append(np.concatenate([np.outer(X[i], lead).ravel(), slack]))
            bounds.append(1.0)
    quadratic = np.diag(np.concatenate([np.full(n * l, lam), np.full(m, soft)]))
    linear = np.concatenate([np.zeros(n * l), -cost])
    found = quadprog.solve_qp(quadratic, linear, np.array(constraints).T, np.array(bounds))[0]
    return found[: n * l].reshape(n, l)


def round_objective(W, X, Y, lam, weight, share):
    """λ/2 ‖W‖² + (1/Σw) Σ_i w_i max(0, 1 - (Σ_j share_ij f_j - max_{k∉S} f_k))."""
    total = 0.0
    for x, candidates, part, w in zip(X, Y, share, weight, strict=True):
        f = x @ W
        if np.any(candidates == 0):
            total += w * max(0, 1 - (part @ f - f[candidates == 0].max()))
    return lam / 2 * np.sum(W**2) + total / np.sum(weight)


def exact_plsvm(X, Y, lam, weight, share, tol):
    """Rounds that fix the best candidate of each row (or the mean of all that are equally good),
    the first with given shares, until a round gains at most a fraction ``tol`` of all that was
    gained.
    """
    objective = [plsvm_objective(np.zeros((X.shape[1], Y.shape[1])), X, Y, lam, weight)]
    while True:
        W = convex_round(X, Y, lam, weight, share)
        objective.append(plsvm_objective(W, X, Y, lam, weight))
        if objective[-2] - objective[-1] <= tol * (objective[0] - objective[-1]):
            return W, objective
        scores = np.where(Y == 1, X @ W, -np.inf)
        tie = 1e-5 * np.abs(X @ W).max()
        share = 1.0 * (scores >= scores.max(axis=1, keepdims=True) - tie)
        share /= share.sum(axis=1, keepdims=True)
