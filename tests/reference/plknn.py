"""PLKNN as Hüllermeier & Beringer describe it, one query at a time."""

import numpy as np


def plknn_votes(X, Y, x, k, weights="distance"):
    """Votes for each label of the query ``x`` from 0/1 candidates ``Y``."""
    distances = np.array([np.sqrt(np.sum((x - row) ** 2)) for row in X])
    nearest = sorted(range(len(X)), key=lambda i: (distances[i], i))[:k]
    total = sum(distances[i] for i in nearest)
    votes = np.zeros(Y.shape[1])
    for i in nearest:
        plain = weights == "uniform" or total == 0 or k == 1
        votes += Y[i] * (1 if plain else 1 - distances[i] / total)
    return votes
