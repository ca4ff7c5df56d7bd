"""When are features used beside votes? Draws of few rows of real crowds, with their own features,
and with those of other rows, which say nothing.

A fifth of the votes is left out, five times. ``CrowdClassifier`` uses features if left-out votes
become likelier, by so many standard errors. Prints the share of labels found for several such
thresholds, on average, and the worst draw beside the votes alone.

    SURELABEL_DATA=... python benchmarks/useful_features.py
"""

from __future__ import annotations

import numpy as np
from real import votes_of

from surelabel.estimators._feature_models import KernelPeers
from surelabel.solvers.crowds import Tally, alternate_crowd, gain_by_features

CROWDS, ROWS, DRAWS = ("labelme", "cifar10n", "sentiment"), (50, 100, 200), 6
THRESHOLDS = {"never": np.inf, "always": -np.inf, "likelier": 0, "by one": 1, "by two": 2}
THRESHOLDS |= {"by three": 3, "by four": 4}


def measure(X, votes, truth, n_classes):
    """By how many standard errors features make left-out votes likelier, and the share of labels
    found without and with features.
    """
    tally, peers = Tally(votes, n_classes), KernelPeers(X, np.random.default_rng(0))
    fits = alternate_crowd(tally), alternate_crowd(tally, peers)
    gain = gain_by_features(tally, peers, fits[0])
    error = max(gain.std() / np.sqrt(len(gain)), np.finfo(float).tiny)
    return gain.mean() / error, *(np.mean(fit.posterior.argmax(axis=1) == truth) for fit in fits)


def main():
    found = {}
    for name in CROWDS:
        X, votes, truth, n_classes = votes_of(name)
        first = votes[np.arange(len(votes)), (votes >= 0).argmax(axis=1)][:, None]
        for n in ROWS:
            for seed in range(DRAWS):
                rows, others = (
                    np.random.default_rng([seed, n, k]).permutation(len(X))[:n] for k in (0, 7)
                )
                for kind, given in {"all votes": votes, "first votes": first}.items():
                    for features, which in {"own": rows, "other rows": others}.items():
                        result = measure(X[which], given[rows], truth[rows], n_classes)
                        found.setdefault((kind, features), []).append(result)
    for kind, results in found.items():
        z, alone, beside = np.array(results).T
        for name, threshold in THRESHOLDS.items():
            label = np.where(z > threshold, beside, alone)
            worst = np.min(label - alone)
            print(f"{', '.join(kind):26} {name:9} {label.mean():.3f} {worst:+.3f}")


if __name__ == "__main__":
    main()
