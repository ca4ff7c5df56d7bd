"""Votes of annotators, as the equations are printed: sums as loops."""

import itertools
import math

import numpy as np


def literal_dawid_skene(votes, n_classes, n_iter):
    """Posterior and confusion matrices after so many iterations from the shares of the votes."""
    m, annotators = votes.shape
    P = literal_shares(votes, n_classes)
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


def literal_shares(votes, n_classes):
    """Each label's share of the votes."""
    P = np.full((len(votes), n_classes), 1 / n_classes)
    for i, row in enumerate(votes.tolist()):
        given = [vote for vote in row if vote >= 0]
        if given:
            P[i] = [given.count(z) / len(given) for z in range(n_classes)]
    return P


def literal_evidence(votes, C):
    """The sum of log C_a[z, y_ia] over the votes of each row."""
    found = np.zeros((len(votes), C.shape[1]))
    for i, row in enumerate(votes.tolist()):
        for a, vote in enumerate(row):
            if vote >= 0:
                found[i] += [math.log(C[a, z, vote]) for z in range(C.shape[1])]
    return found


def literal_counts(votes, P, shape):
    """Votes by truth."""
    return _counted(votes, shape, lambda i, a: P[i])


def literal_counts_by_others(votes, prior, C, known):
    """As literal_counts, with the posterior of the row without the vote that is counted."""

    def without(i, a):
        if known[i] >= 0:
            return np.eye(C.shape[1])[known[i]]
        p = np.array(prior[i], float)
        for b, vote in enumerate(votes[i].tolist()):
            if b != a and vote >= 0:
                p *= C[b, :, vote]
        return p / p.sum()

    return _counted(votes, C.shape, without)


def _counted(votes, shape, posterior):
    counts = np.zeros(shape)
    for i, row in enumerate(votes.tolist()):
        for a, vote in enumerate(row):
            if vote >= 0:
                counts[a, :, vote] += posterior(i, a)
    return counts


def literal_guess(counts, a, pooling, places=None):
    """How the annotator votes who does not know: by habit, or near the truth."""
    l = counts.shape[1]
    guess = np.empty((l, l))
    for z in range(l):
        if places is None:
            said = [counts[:, :, v].sum() for v in range(l)]
            wrong = [sum(counts[a, k, v] for k in range(l) if k != v) for v in range(l)]
            usual = [(n + 1) / (sum(said) + l) for n in said]
            row = [n + pooling * u for n, u in zip(wrong, usual, strict=True)]
        else:
            ends = itertools.pairwise(sorted(places))
            step = np.median([after - before for before, after in ends])
            row = [math.exp(-abs(places[z] - v) / step) for v in places]
        guess[z] = [value / sum(row) for value in row]
    return guess


def literal_simple(counts, guesses, pooling):
    """α_a I + (1 - α_a) G_a of all annotators: α_a is what is right beyond chance."""
    annotators, l, _ = counts.shape
    known, rest = [], []
    for a in range(annotators):
        chance = sum(counts[a, z].sum() * guesses[a][z, z] for z in range(l))
        known.append(sum(counts[a, z, z] for z in range(l)) - chance)
        rest.append(counts[a].sum() - chance)
    crowd = min(max(sum(known) / max(sum(rest), 1), 0), 0.95)
    simple = []
    for a in range(annotators):
        alpha = max((known[a] + pooling * crowd) / (rest[a] + pooling), 0)
        simple.append(alpha * np.eye(l) + (1 - alpha) * guesses[a])
    return simple


def literal_confusions(counts, strengths, pooling, places=None):
    """The mean of the Dirichlet posterior of each annotator, over all strengths and guesses, in
    proportion to how likely they make the annotator's counts.
    """
    annotators, found = range(len(counts)), np.zeros(counts.shape)
    priors = []
    for strength in strengths:
        for order in [None] if places is None else [None, places]:
            guesses = [literal_guess(counts, a, pooling, order) for a in annotators]
            priors.append((strength, literal_simple(counts, guesses, pooling)))
    for a in annotators:
        means, evidence = [], []
        for strength, simple in priors:
            mean, total = np.empty(counts[a].shape), 0.0
            for z in range(counts.shape[1]):
                n = counts[a, z].sum()
                total += math.lgamma(strength) - math.lgamma(strength + n)
                for v in range(counts.shape[1]):
                    prior = strength * simple[a][z, v]
                    total += math.lgamma(prior + counts[a, z, v]) - math.lgamma(prior)
                    mean[z, v] = (counts[a, z, v] + prior) / (n + strength)
            means.append(mean)
            evidence.append(total)
        weights = [math.exp(value - max(evidence)) for value in evidence]
        for weight, mean in zip(weights, means, strict=True):
            found[a] += weight / sum(weights) * mean
    return found


def literal_features(outputs, sharpness, failure, prior):
    """(1 - ε) softmax(t Q) + ε π."""
    found = []
    for q in outputs:
        e = [math.exp(sharpness * (v - max(q))) for v in q]
        found.append(
            [(1 - failure) * v / sum(e) + failure * p for v, p in zip(e, prior, strict=True)]
        )
    return np.array(found)


def literal_likelihood(f, evidence):
    """Log-likelihood of all votes."""
    return sum(
        math.log(sum(p * math.exp(e) for p, e in zip(row, said, strict=True)))
        for row, said in zip(f.tolist(), evidence.tolist(), strict=True)
    )


def literal_prediction(votes, P, C):
    """Log-likelihood of votes, each by itself, given the probabilities of the rows."""
    return sum(
        math.log(sum(P[i, z] * C[a, z, votes[i, a]] for z in range(C.shape[1])))
        for i, a in zip(*np.nonzero(votes >= 0), strict=True)
    )


def literal_alternation(votes, n_classes, confusions, n_iter, known, features=None):
    """Posterior and matrices after so many rounds from the shares of the votes.

    ``confusions`` turns counts into matrices, ``features`` posterior and evidence into
    probabilities. With features, half of the first counts are made without the own vote.
    """
    shape = (votes.shape[1], n_classes, n_classes)
    P = _certain(literal_shares(votes, n_classes), known)
    C = confusions(literal_counts(votes, P, shape))
    for number in range(n_iter):
        f = np.tile((P.sum(axis=0) + 1) / (len(P) + n_classes), (len(P), 1))
        if features is not None:
            f = features(P, literal_evidence(votes, C))
        P = literal_posterior(f, votes, C, known)
        counts = literal_counts(votes, P, shape)
        if features is not None and number == 0:
            counts = (counts + literal_counts_by_others(votes, f, C, known)) / 2
        C = confusions(counts)
        P = literal_posterior(f, votes, C, known)
    return P, C


def literal_posterior(f, votes, C, known):
    """Probabilities of the classes by features and votes."""
    P = f * np.exp(literal_evidence(votes, C))
    return _certain(P / P.sum(axis=1, keepdims=True), known)


def _certain(P, known):
    P = P.copy()
    for i, z in enumerate(known):
        if z >= 0:
            P[i] = np.eye(P.shape[1])[z]
    return P


def literal_copies(votes, n_classes, copied, n_rows):
    """The pairs of annotators who share the votes that differ from what the others say."""
    pairs = set()
    for a in range(votes.shape[1]):
        for b in range(a + 1, votes.shape[1]):
            common = [i for i in range(len(votes)) if votes[i, a] >= 0 and votes[i, b] >= 0]
            same = sum(votes[i, a] == votes[i, b] for i in common)
            if len(common) < n_rows or same < copied * len(common) - math.sqrt(len(common)):
                continue
            differ = {a: [], b: []}
            for i in common:
                others = [v for c, v in enumerate(votes[i].tolist()) if c not in (a, b) and v >= 0]
                number = [others.count(k) for k in range(n_classes)]
                if number.count(max(number)) == 1:  # most of the others say the same
                    for who in (a, b):
                        if votes[i, who] != number.index(max(number)):
                            differ[who].append(votes[i, a] == votes[i, b])
            if all(len(d) >= n_rows and np.mean(d) >= copied for d in differ.values()):
                pairs.add((a, b))
    return pairs


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
