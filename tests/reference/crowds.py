"""Votes of annotators, as the equations are printed: sums as loops."""

import numpy as np


def literal_dawid_skene(votes, n_classes, n_iter):
    """Posterior and confusion matrices after so many iterations from the shares of the votes."""
    m, annotators = votes.shape
    P = np.full((m, n_classes), 1 / n_classes)
    for i in range(m):
        given = votes[i][votes[i] >= 0]
        if len(given):
            P[i] = [np.mean(given == z) for z in range(n_classes)]
    C = np.empty((annotators, n_classes, n_classes))
    for _ in range(n_iter):
        prior = P.mean(axis=0)
        for a in range(annotators):
            for z in range(n_classes):
                counts = [P[votes[:, a] == v, z].sum() for v in range(n_classes)]
                C[a, z] = np.divide(counts, sum(counts)) if sum(counts) > 0 else 1 / n_classes
        for i in range(m):
            for z in range(n_classes):
                P[i, z] = prior[z]
                for a in range(annotators):
                    if votes[i, a] >= 0:
                        P[i, z] *= C[a, z, votes[i, a]]
            P[i] /= P[i].sum()
    return P, C


def literal_dependence(votes, P, C, mirrors):
    """(o - e - 2 s) / (1 - e) of every pair with ten common rows, within 0 and 1; of a pair in
    ``mirrors``, agreement is that of the second with the labels assigned to those of the first.
    """
    annotators = votes.shape[1]
    found = np.zeros((annotators, annotators))
    for a in range(annotators):
        for b in range(annotators):
            common = [i for i in range(len(votes)) if votes[i, a] >= 0 and votes[i, b] >= 0]
            if a == b or len(common) < 10:
                continue
            n = len(common)
            labels = mirrors.get((min(a, b), max(a, b)), np.arange(C.shape[1]))
            one, two = (a, b) if a < b else (b, a)
            same = sum(labels[votes[i, one]] == votes[i, two] for i in common)
            expected = np.mean([P[i] @ (C[one] * C[two][:, labels]).sum(axis=1) for i in common])
            likely = (same + 1) / (n + 2)
            error = np.sqrt(likely * (1 - likely) / n)
            beyond = (same / n - expected - 2 * error) / max(1 - expected, 1e-6)
            found[a, b] = min(max(beyond, 0), 1)
    return found


def literal_likelihood(outputs, evidence, sharpness):
    """Log-likelihood of the votes if softmax(t q) is the chance of the classes."""
    total = 0.0
    for q, e in zip(outputs, evidence, strict=True):
        f = np.exp(sharpness * (q - q.max()))
        total += np.log(np.sum(f / f.sum() * np.exp(e)))
    return total
