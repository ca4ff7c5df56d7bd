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


def literal_against(counts, n_iter):
    """α and the simple matrix of one annotator's votes against labels, by truth and vote."""
    n_classes = len(counts)
    votes = [sum(counts[z][v] for z in range(n_classes)) for v in range(n_classes)]
    total = sum(votes)
    usual = [(votes[v] + 1) / (total + n_classes) for v in range(n_classes)]
    habit = [(votes[v] + usual[v]) / (total + 1) for v in range(n_classes)]
    rest = [max(1 - habit[z], 1e-3) for z in range(n_classes)]
    alpha = 0.7
    for _ in range(n_iter):
        known = 0.0
        for z in range(n_classes):
            for v in range(n_classes):
                if v != z:
                    by_knowing, by_habit = alpha * habit[v] / rest[z], (1 - alpha) * habit[v]
                    known += counts[z][v] * by_knowing / (by_knowing + by_habit)
        pooled = min(max(alpha, 0.3), 0.95) if total else 0.3
        alpha = (known + 4 * pooled) / (total + 4)
    matrix = np.empty((n_classes, n_classes))
    for z in range(n_classes):
        others = sum(habit[v] for v in range(n_classes) if v != z)
        for v in range(n_classes):
            matrix[z, v] = alpha * (v != z) * habit[v] / others + (1 - alpha) * habit[v]
    return matrix, alpha


def literal_net(rows, n_classes):
    """Candidates and counts of rows of (class, whether against) votes."""
    found = []
    for votes in rows:
        net = [0] * n_classes
        for k, against in votes:
            net[k] += -1 if against else 1
        if not votes:
            found.append(None)
        elif max(net) > 0:
            found.append({k: net[k] for k in range(n_classes) if net[k] > 0})
        else:
            found.append({k: 0 for k in range(n_classes) if net[k] == max(net)})
    return found
