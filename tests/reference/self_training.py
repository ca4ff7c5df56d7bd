"""Naive self-training, row by row: normal equations, then one decision after the other."""

import numpy as np


def self_training(X, Y, alpha, threshold, max_iter):
    """Return the function of new rows that gives all outputs, the confidences of the training rows
    and the trainings made.
    """
    m = len(X)
    P = Y / Y.sum(axis=1, keepdims=True)
    settled = Y.sum(axis=1) == 1
    trainings = 0
    while trainings < max_iter:
        trainings += 1
        centre, level = X.mean(axis=0), P.mean(axis=0)
        A = X - centre
        W = np.linalg.solve(A.T @ A + alpha * np.eye(X.shape[1]), A.T @ (P - level))
        confidence = np.zeros(Y.shape)
        moved = False
        Q = np.maximum(A @ W + level, 0) * Y
        for i in range(m):
            if settled[i]:
                confidence[i] = P[i]
                continue
            confidence[i] = Q[i] / Q[i].sum() if Q[i].sum() > 0 else Y[i] / Y[i].sum()
            best = confidence[i].argmax()
            if confidence[i, best] > threshold:
                P[i] = np.eye(Y.shape[1])[best]
                confidence[i] = P[i]
                settled[i] = moved = True
        if not moved:
            break
    return lambda new: (new - centre) @ W + level, confidence, trainings
