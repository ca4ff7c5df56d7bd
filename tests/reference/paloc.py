"""PALOC as the paper tells it: a loop over pairs, a loop over labels, a fitted classifier
for each.
"""

from itertools import combinations

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC


def with_gamma_of(estimator, X):
    """Resolve ``gamma="scale"`` by all rows, not by those of one pair; None is a width that fits
    the spread of the rows.
    """
    if estimator is None:
        return SVC(gamma=1 / sum(np.var(column) for column in X.T))
    if getattr(estimator, "gamma", None) == "scale":
        return clone(estimator).set_params(gamma=1 / (X.shape[1] * X.var()))
    return estimator


def paloc(X, Y, estimator, mu):
    """Return the function of new rows that gives all scores, and the candidates after the vote of
    the pairs.
    """
    m, labels = Y.shape
    pairs = list(combinations(range(labels), 2))
    machines = []
    inner = with_gamma_of(estimator, X)
    for j, k in pairs:
        rows = [i for i in range(m) if Y[i, j] != Y[i, k]]
        target = [1 if Y[i, j] else -1 for i in rows]
        machines.append(clone(inner).fit(X[rows], target) if len(set(target)) == 2 else None)

    def outputs_of(new):
        return np.column_stack(
            [h.decision_function(new) if h is not None else np.zeros(len(new)) for h in machines]
        )

    def votes_of(outputs):
        votes = np.zeros((len(outputs), labels))
        for i in range(len(outputs)):
            for (j, k), output in zip(pairs, outputs[i], strict=True):
                if output != 0:
                    votes[i, j if output > 0 else k] += 1
        return votes

    outputs = outputs_of(X)
    votes = votes_of(outputs)
    remaining = Y.copy()
    for i in range(m):
        most = [j for j in range(labels) if Y[i, j] and votes[i, j] == votes[i].max()]
        if most:
            remaining[i] = [j in most for j in range(labels)]
    stacked = []
    inner = with_gamma_of(estimator, np.hstack([X, outputs]))
    for j in range(labels):
        two_sides = 0 < remaining[:, j].sum() < m
        stacked.append(
            clone(inner).fit(np.hstack([X, outputs]), remaining[:, j]) if two_sides else None
        )

    def scores(new):
        outputs = outputs_of(new)
        result = votes_of(outputs)
        for j, h in enumerate(stacked):
            if h is not None:
                result[:, j] += mu * (h.decision_function(np.hstack([new, outputs])) > 0)
        result[:, ~Y.any(axis=0)] = -1  # nobody's candidate is never predicted
        return result

    return scores, remaining
