"""Algorithm 1 as the paper prints it: eq. 4 or 6 with a general inverse, eq. 10 by a QP solver per
row.
"""

import numpy as np
import quadprog


def qp_confidence(q, allowed, j, lam, prior=0.0):
    """OPI(j) of eq. 9 by quadprog, with ``-priorᵀp`` added (``prior`` is κ π): returns p and the
    minimum.
    """
    inside = np.flatnonzero(allowed)
    if (
        len(inside) < len(q)
        # p_k = 0 outside the set; quadprog stumbles over 0 ≤ p_k ≤ 0, so these variables are left
        # out
    ):
        q_in, prior_in = q[inside], np.broadcast_to(prior, q.shape)[inside]
        p = np.zeros(len(q))
        p[inside] = qp_confidence(
            q_in, np.ones(len(inside)), int(np.searchsorted(inside, j)), lam, prior_in
        )[0]
        return p, float(np.sum((p - q) ** 2) - lam * p[j] - np.sum(prior * p))
    l = len(q)
    others = [k for k in range(l) if k != j]
    # quadprog: min ½ pᵀGp - aᵀp  s.t.  Cᵀp ≥ d, the first row an equality.
    G = 2 * np.eye(l)
    a = 2 * q + lam * np.eye(l)[j] + prior
    constraints = [np.ones(l)]
    bounds = [1.0]
    for k in range(l):
        constraints.append(
            np.eye(l)[k]
        )  # p_k ≥ 0; with the sum of 1 also p_k ≤ 1, which as a constraint makes quadprog stumble
        bounds.append(0.0)
    for k in others:
        constraints.append(np.eye(l)[j] - np.eye(l)[k])  # p_k ≤ p_j
        bounds.append(0.0)
    p = quadprog.solve_qp(G, a, np.array(constraints).T, np.array(bounds), meq=1)[0]
    return p, float(np.sum((p - q) ** 2) - lam * p[j] - np.sum(prior * p))


def literal_sure(
    K, Y, lam, beta, n_iter, *, linear_X=None, init="candidates", weight=None, votes=None, kappa=0.0
):
    """Algorithm 1 for a fixed number of iterations.

    ``weight`` is given to the reference as it can have it: whole numbers, by repeating rows.
    ``votes`` (m × l counts) add ``-kappa Σ_i π_iᵀp_i`` to the objective, with ``π`` the shares of a
    row's votes. Returns P, A (or W), b, and the objective (2) after every iteration.
    """
    if weight is not None:
        rows = np.repeat(np.arange(len(Y)), weight)
        K = None if K is None else K[np.ix_(rows, rows)]
        linear_X = None if linear_X is None else linear_X[rows]
        votes = None if votes is None else votes[rows]
        P, A, b, path = literal_sure(
            K, Y[rows], lam, beta, n_iter, linear_X=linear_X, init=init, votes=votes, kappa=kappa
        )
        first = np.searchsorted(rows, np.arange(len(Y)))
        return P[first], A if K is None else A[first] * np.asarray(weight)[:, None], b, path
    Y = Y.astype(float)
    m = len(Y)
    ones = np.ones((m, 1))
    prior = np.zeros(Y.shape)
    if votes is not None:
        shares = np.where(votes.sum(axis=1, keepdims=True) > 0, votes, Y)
        prior = kappa * shares / shares.sum(axis=1, keepdims=True)
    P = Y.copy() if init == "candidates" else Y / Y.sum(axis=1, keepdims=True)
    path = []
    for _ in range(n_iter):
        if linear_X is not None:  # eq. 4
            X = linear_X
            n = X.shape[1]
            left = X.T @ X + beta * np.eye(n) - X.T @ ones @ ones.T @ X / m
            A = np.linalg.inv(left) @ (X.T @ P - X.T @ ones @ ones.T @ P / m)
            b = (P.T @ ones - A.T @ X.T @ ones).ravel() / m
            Q = X @ A + ones @ b[None]
            penalty = np.sum(A**2)
        else:  # eq. 6
            A = np.linalg.inv(K + beta * np.eye(m) - ones @ ones.T @ K / m) @ (
                P - ones @ ones.T @ P / m
            )
            b = (P.T @ ones - A.T @ K.T @ ones).ravel() / m
            Q = K @ A + ones @ b[None]
            penalty = np.trace(A.T @ K @ A)
        for i in range(m):
            candidates = np.flatnonzero(Y[i])
            shifted = Q[i] + prior[i] / 2
            best = shifted[candidates].max()
            j = next(
                k for k in candidates if shifted[k] >= best - 1e-9
            )  # ties go to the lowest index
            P[i] = qp_confidence(Q[i], Y[i], j, lam, prior[i])[0]
        path.append(
            np.sum((Q - P) ** 2) - lam * P.max(axis=1).sum() + beta * penalty - np.sum(prior * P)
        )
    return P, A, b, np.array(path)
