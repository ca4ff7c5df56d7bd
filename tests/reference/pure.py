"""PURE as its page prints it: a model fitted again without each row (and the rows that are equal to
it), and sums as loops.
"""

import numpy as np


def ridge(K, P, beta, weight):
    """Weighted kernel ridge with an intercept: minimises Σ w ‖KA + b - P‖² + β tr(AᵀKA)."""
    m = len(K)
    # Stationarity: W(KA + 1b - P) + βA = 0 and 1ᵀA = 0.
    left = np.zeros((m + 1, m + 1))
    left[:m, :m] = weight[:, None] * K + beta * np.eye(m)
    left[:m, m] = weight
    left[m, :m] = 1
    right = np.vstack([weight[:, None] * P, np.zeros((1, P.shape[1]))])
    solution = np.linalg.solve(left, right)
    return solution[:m], solution[m]


def refitted_without(K, P, beta, weight, numbers=None):
    """Row i: the outputs at row i of the model fitted to all rows with another number; by default
    to all other rows.
    """
    outputs = np.empty(P.shape)
    numbers = np.arange(len(K)) if numbers is None else numbers
    for i in range(len(K)):
        others = np.flatnonzero(numbers != numbers[i])
        A, b = ridge(K[np.ix_(others, others)], P[others], beta, weight[others])
        outputs[i] = K[i, others] @ A + b
    return outputs


def likelihoods(Q, Y, mean, weight):
    """Σ_i w_i log Σ_{j∈S_i} (θ_j/Θ_S) q_ij/π_j for g = 0, 0.1, …, 1; rows with 1 or all labels tell
    nothing.
    """
    totals = []
    for step in range(11):
        theta = mean ** (1 - step / 10)
        total = 0.0
        for i, row in enumerate(Y):
            inside = np.flatnonzero(row)
            if 1 < len(inside) < len(row):
                q = np.maximum(Q[i, inside], 1e-3)
                total += weight[i] * np.log(
                    np.sum(theta[inside] / theta[inside].sum() * q / mean[inside])
                )
        totals.append(total)
    return np.array(totals)


def literal_pure(K, Y, beta, n_iter, weight=None, votes=None, kappa=0.0, numbers=None):
    """P and g after so many iterations, and the outputs that left the row out for that P; rows with
    equal numbers are left out together.
    """
    weight = np.ones(len(Y)) if weight is None else np.asarray(weight, float)
    Y = Y.astype(float)
    P = Y / Y.sum(axis=1, keepdims=True)
    share = np.zeros(Y.shape)
    if votes is not None:
        counted = np.where(votes.sum(axis=1, keepdims=True) > 0, votes, Y)
        share = kappa * counted / counted.sum(axis=1, keepdims=True)
    following = 1.0
    for _ in range(n_iter):
        shift = following
        Q = refitted_without(K, P, beta, weight, numbers)
        mean = (weight @ P + 1) / (weight.sum() + Y.shape[1])
        totals = likelihoods(Q, Y, mean, weight)
        best = int(totals.argmax())
        following = best / 10 if totals[best] - totals[0] > 3 else 0.0
        for i, row in enumerate(Y):
            inside = np.flatnonzero(row)
            q = np.maximum(Q[i, inside], 1e-3) * np.exp(share[i, inside])
            value = q**2 / mean[inside] ** (shift / 2)
            P[i, inside] = value / value.sum()
    return P, shift, refitted_without(K, P, beta, weight, numbers)
