"""Is it worth counting the votes? Accuracy of SURE with and without them, compared with majority
vote and a supervised classifier.

Annotators are simulated on data whose truth is known: each row is shown to some of them, each of
whom is right with a probability of their own, and otherwise names a class that is near in feature
space (so that errors of different annotators coincide) or any class. The first number is the share
of training rows whose label is found, the second the accuracy on rows left out. λ and β come from
candidates only. ``clean`` also weighs votes by annotator.
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import KFold
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from surelabel import SURECV, CandidateSets
from surelabel.data import catalog
from surelabel.data.labelling import Labels
from surelabel.tables.choosing import choose_labels

PRIORS = (0.25, 0.5, 1.0, 2.0, 4.0)
# accuracy of each annotator, share of rows each is shown, share of errors that go to the nearest
# class
CROWDS = {
    "3 good": ((0.85, 0.8, 0.75), 1.0, 0.5),
    "3 fair": ((0.7, 0.6, 0.5), 1.0, 0.5),
    "5 mixed": ((0.9, 0.7, 0.5, 0.4, 0.3), 1.0, 0.5),
    "5 poor": ((0.45,) * 5, 1.0, 0.3),
    "10 sparse": ((0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.6, 0.5, 0.5, 0.3), 0.4, 0.5),
    "5 alike": ((0.6,) * 5, 1.0, 1.0),
}


def simulate(X, y, accuracy, shown, near, rng):
    """Votes of annotators, -1 where one was not shown the row."""
    centres = np.array([X[y == label].mean(axis=0) for label in range(y.max() + 1)])
    order = pairwise_distances(X, centres).argsort(axis=1)
    nearest = np.where(
        order[:, 0] == y, order[:, 1], order[:, 0]
    )  # the class one would mistake it for
    votes = np.empty((len(y), len(accuracy)), int)
    for a, right in enumerate(accuracy):
        anything = (y + rng.integers(1, y.max() + 1, len(y))) % (y.max() + 1)
        wrong = np.where(rng.random(len(y)) < near, nearest, anything)
        votes[:, a] = np.where(rng.random(len(y)) < right, y, wrong)
    votes[rng.random(votes.shape) >= shown] = -1
    votes[(votes < 0).all(axis=1), 0] = y[(votes < 0).all(axis=1)]  # everybody is shown to somebody
    return votes


def problems():
    for name in ("ecoli", "deter", "glass"):
        data = catalog.load(name)
        yield name, scale(data.X), np.unique(data.y, return_inverse=True)[1]
    X, y = load_digits(return_X_y=True)
    yield "digits", scale(X[:800]), y[:800]


def majority(counts, rng):
    """The label with most votes, ties broken by chance."""
    return (counts + rng.random(counts.shape) / 2).argmax(axis=1)


def measure(X, y, crowd, n_folds, rng):
    votes = simulate(X, y, *CROWDS[crowd], rng)
    n_classes = y.max() + 1
    counts = np.stack([(votes == label).sum(axis=1) for label in range(n_classes)], axis=1)
    sets = CandidateSets.from_counts(counts)
    results = {name: [] for name in ("majority + SVM", "no votes", *PRIORS, "clean")}
    for train, test in KFold(n_folds, shuffle=True, random_state=0).split(X):
        label = majority(counts[train], rng)
        svm = SVC(C=10).fit(X[train], label)
        results["majority + SVM"].append(
            (np.mean(label == y[train]), np.mean(svm.predict(X[test]) == y[test]))
        )
        for name in ("no votes", *PRIORS):
            model = SURECV(kernel="rbf", prior=0 if name == "no votes" else name).fit(
                X[train], sets[train]
            )
            found = model.transduction_ == y[train]
            results[name].append((np.mean(found), np.mean(model.predict(X[test]) == y[test])))
        unknown = np.full(len(train), -1)
        voted = CandidateSets.from_ballots(votes[train], sets.classes)
        cleaned = choose_labels(X[train], Labels(voted, unknown, unknown >= 0, None, None))
        results["clean"].append(
            (
                np.mean(cleaned.label == y[train]),
                np.mean(cleaned.classifier.predict(X[test]) == y[test]),
            )
        )
    return {name: np.mean(values, axis=0) for name, values in results.items()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=5)
    folds = parser.parse_args().folds
    total = {}
    for name, X, y in problems():
        for crowd in CROWDS:
            print(f"{name}, {crowd}", end="", flush=True)
            for way, (found, new) in measure(X, y, crowd, folds, np.random.default_rng(0)).items():
                print(f"  | {way}: {found:.3f} {new:.3f}", end="")
                total.setdefault(way, []).append((found, new))
            print()
    print(
        "mean"
        + "".join(
            "  | {}: {:.3f} {:.3f}".format(way, *np.mean(values, axis=0))
            for way, values in total.items()
        )
    )
