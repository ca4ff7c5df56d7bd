"""Labels from annotators of many kinds: ``CrowdClassifier`` compared with majority vote, Dawid and
Skene, MACE, GLAD (crowd-kit) and CROWDLAB (cleanlab, with a random forest).

Crowds are simulated on seven data sets whose truth is known; the figure is the share of rows whose
label is found. Nothing in ``CrowdClassifier`` is chosen by these crowds: real ones decide
(``benchmarks/real.py``), simulated ones may only refute.

    pip install --no-deps crowd-kit cleanlab && pip install nltk tqdm termcolor attrs
    python benchmarks/crowds.py            # runs what is not there yet
    python benchmarks/crowds.py --page     # writes docs/evidence/votes.md

Every result is a line of ``docs/crowds/records.jsonl``; a run that was stopped continues from
there.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import sklearn.datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import scale

from surelabel import CandidateSets, CrowdClassifier
from surelabel.data import catalog
from surelabel.solvers import dawid_skene as baselines

RECORDS = Path(__file__).parents[1] / "docs" / "crowds" / "records.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "votes.md"
BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"
ROWS = 500
SETS = ("digits", "wine", "breast_cancer", "ecoli", "iris", "dermatology", "glass")
SEEDS = (0, 1, 2)


def load(name):
    """Features and labels 0, 1, …; at most 500 rows."""
    if name in ("dermatology", "ecoli", "glass"):
        data = catalog.load(name)
        X, y = data.X, data.y
    else:
        X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    y = np.unique(y, return_inverse=True)[1]
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:ROWS])
    return X[rows], np.unique(y[rows], return_inverse=True)[1]


# -------------------------------------------------------------------- crowds


def spread(accuracy, n_classes):
    """A confusion matrix with this accuracy, and any other class otherwise."""
    matrix = np.full((n_classes, n_classes), (1 - accuracy) / (n_classes - 1))
    np.fill_diagonal(matrix, accuracy)
    return matrix


def favourite(accuracy, n_classes, rng):
    """A confusion matrix with one wrong class for every class: most of its mistakes."""
    matrix = spread(1 - (1 - accuracy) * 0.2, n_classes)
    wrong = (np.arange(n_classes) + rng.integers(1, n_classes, n_classes)) % n_classes
    matrix[np.arange(n_classes), wrong] += (1 - accuracy) * 0.8
    matrix[np.arange(n_classes), np.arange(n_classes)] -= (1 - accuracy) * 0.8
    return matrix


def draw(matrix, y, rng):
    """One vote for each row, by the row of the matrix that its class has."""
    return (
        (rng.random(len(y))[:, None] > matrix.cumsum(axis=1)[y])
        .sum(axis=1)
        .clip(max=len(matrix) - 1)
    )


def independent(accuracies, y, rng):
    n_classes = y.max() + 1
    return np.stack([draw(spread(a, n_classes), y, rng) for a in accuracies], axis=1)


def thinned(votes, shown, rng):
    """Show this share of the rows to each annotator, and every row to somebody."""
    hidden = rng.random(votes.shape) >= shown
    hidden[np.arange(len(votes)), rng.integers(0, votes.shape[1], len(votes))] = False
    return np.where(hidden, -1, votes)


def good(X, y, rng):
    return independent(rng.uniform(0.75, 0.9, 5), y, rng)


def heterogeneous(X, y, rng):
    return independent((0.9, 0.75, 0.6, 0.5, 0.4, 0.35), y, rng)


def missing(X, y, rng):
    return thinned(independent(rng.uniform(0.55, 0.9, 6), y, rng), 0.4, rng)


def sparse(X, y, rng):
    return thinned(independent(rng.uniform(0.5, 0.95, 20), y, rng), 0.05, rng)


def own_confusion(X, y, rng):
    n_classes = y.max() + 1
    return np.stack(
        [draw(favourite(a, n_classes, rng), y, rng) for a in rng.uniform(0.55, 0.75, 5)], axis=1
    )


def shared_confusion(X, y, rng):
    matrix = favourite(0.65, y.max() + 1, rng)
    return np.stack([draw(matrix, y, rng) for _ in range(5)], axis=1)


def nearest_classes(X, y):
    """How hard each row is by its distances to the centres of the classes (0 the easiest, 1 the
    hardest), and the nearest other class.
    """
    Z = scale(X)
    centres = np.array([Z[y == label].mean(axis=0) for label in range(y.max() + 1)])
    away = pairwise_distances(Z, centres)
    own = away[np.arange(len(y)), y].copy()
    away[np.arange(len(y)), y] = np.inf
    hard = (own / away.min(axis=1)).argsort().argsort() / len(y)
    return hard, away.argmin(axis=1)


def hard_rows(X, y, rng):
    """Mistakes on rows that lie close to another class, for which everybody mistakes them."""
    hard, nearest = nearest_classes(X, y)
    wrong = rng.random((len(y), 5)) < np.clip(0.6 * hard**2 + 0.05, 0, 1)[:, None] * 1.2
    return np.where(wrong, nearest[:, None], y[:, None])


def spammers(X, y, rng):
    """Three of 70 to 80 %, one who always gives the same label, one who answers at random."""
    n_classes = y.max() + 1
    votes = independent((0.7, 0.75, 0.8, 1 / n_classes), y, rng)
    return np.column_stack([votes, np.full(len(y), rng.integers(n_classes))])


def adversaries(X, y, rng):
    """Three of 70 to 80 %, two who are wrong on purpose: one by a permutation, one at random."""
    n_classes = y.max() + 1
    swapped = np.roll(np.eye(n_classes), 1, axis=1) * 0.8 + 0.2 / n_classes
    liars = [draw(swapped, y, rng), draw(spread(0.1 / n_classes, n_classes), y, rng)]
    return np.column_stack([independent((0.7, 0.75, 0.8), y, rng), *liars])


def copies(X, y, rng):
    """Three of 70 %, and one of 60 % with two who copy 95 % of that one's votes."""
    votes = independent((0.7, 0.7, 0.7, 0.6), y, rng)
    own = independent((0.6, 0.6), y, rng)
    copied = rng.random(own.shape) < 0.95
    return np.column_stack([votes, np.where(copied, votes[:, 3:], own)])


KINDS = {
    kind.__name__.replace("_", " "): kind
    for kind in (
        good,
        heterogeneous,
        missing,
        sparse,
        own_confusion,
        shared_confusion,
        hard_rows,
        spammers,
        adversaries,
        copies,
    )
}


def crowd(kind, name, seed):
    """The votes of a problem, with its features and truth; all classes are known."""
    X, y = load(name)
    rng = np.random.default_rng([seed, list(KINDS).index(kind), SETS.index(name)])
    return X, y, KINDS[kind](X, y, rng)


# -------------------------------------------------------------------- methods


def of_crowdkit(aggregator, **parameters):
    def label(X, votes, n_classes):
        import crowdkit.aggregation
        import pandas as pd

        rows, who = np.nonzero(votes >= 0)
        frame = pd.DataFrame({"task": rows, "worker": who, "label": votes[rows, who]})
        found = getattr(crowdkit.aggregation, aggregator)(**parameters).fit_predict(frame)
        return found.reindex(range(len(votes))).to_numpy()

    return label


def crowdlab(X, votes, n_classes, model=None):
    """Two rounds: a model (by default a forest) learns from majority labels, then from the labels
    of round one.
    """
    from cleanlab.multiannotator import get_label_quality_multiannotator, get_majority_vote_label
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    ballots = np.where(votes < 0, np.nan, votes.astype(float))
    label = np.asarray(get_majority_vote_label(ballots, verbose=False)).astype(int)
    for _ in range(2):
        known, codes = np.unique(label, return_inverse=True)
        proba = np.full((len(votes), n_classes), 1e-6)
        proba[:, known] = cross_val_predict(
            RandomForestClassifier(random_state=0) if model is None else model,
            X,
            codes,
            cv=StratifiedKFold(5, shuffle=True, random_state=0),
            method="predict_proba",
        ).clip(1e-6)
        proba /= proba.sum(axis=1, keepdims=True)
        quality = get_label_quality_multiannotator(ballots, proba, verbose=False)
        label = quality["label_quality"]["consensus_label"].to_numpy().astype(int)
    return label


def majority(X, votes, n_classes):
    return baselines.majority(votes, n_classes).argmax(axis=1)


def dawid_skene(X, votes, n_classes):
    """Ours: crowd-kit's gives the same (a test compares them) and takes a hundred times as long."""
    return baselines.dawid_skene(votes, n_classes)[0].argmax(axis=1)


def ours(X, votes, n_classes):
    classes = np.arange(n_classes)
    ballots = np.where(votes < 0, None, votes)
    sets = CandidateSets.from_votes(ballots, classes=classes, unlabelled="all")
    return CrowdClassifier().fit(X, sets).transduction_


def ours_without_features(X, votes, n_classes):
    return ours(None, votes, n_classes)


def ours_with_features_of_other_rows(X, votes, n_classes):
    """Features that say nothing about the labels."""
    return ours(X[np.random.default_rng(0).permutation(len(X))], votes, n_classes)


METHODS = {
    "majority": majority,
    "Dawid–Skene": dawid_skene,
    "CROWDLAB": crowdlab,
    "GLAD": of_crowdkit("GLAD", n_iter=20),  # its 100 iterations take a quarter of a minute
    "MACE": of_crowdkit("MACE", n_restarts=2, random_state=0),  # 10 restarts: half a minute
    "CrowdClassifier": ours,
    "CrowdClassifier, votes only": ours_without_features,
    "CrowdClassifier, features of other rows": ours_with_features_of_other_rows,
}


# -------------------------------------------------------------------- records


def read():
    """The figure of every (method, kind, set, seed) that is there."""
    lines = RECORDS.read_text().splitlines() if RECORDS.exists() else []
    records = map(json.loads, lines)
    return {(r["method"], r["kind"], r["set"], r["seed"]): r["accuracy"] for r in records}


def run(methods, seeds, sets):
    known = read()
    RECORDS.parent.mkdir(exist_ok=True)
    for method in methods:
        for kind in KINDS:
            for name in sets:
                for seed in seeds:
                    if (method, kind, name, seed) in known:
                        continue
                    X, y, votes = crowd(kind, name, seed)
                    start = time.perf_counter()
                    label = METHODS[method](X, votes, int(y.max()) + 1)
                    record = {
                        "method": method,
                        "kind": kind,
                        "set": name,
                        "seed": seed,
                        "accuracy": round(float(np.mean(label == y)), 4),
                        "seconds": round(time.perf_counter() - start, 2),
                    }
                    with RECORDS.open("a") as file:
                        file.write(json.dumps(record, ensure_ascii=False) + "\n")


def page():
    """The tables of the page, from the records."""
    records = read()
    everywhere = {(key[0], key[2]) for key in records}
    methods = [m for m in METHODS if all((m, name) in everywhere for name in SETS)]

    def mean(method, kinds, sets):
        for seeds, mark in ((SEEDS, ""), (SEEDS[:1], " (one seed)")):
            keys = [(method, kind, name, seed) for kind in kinds for name in sets for seed in seeds]
            if all(key in records for key in keys):
                return f"{np.mean([records[key] for key in keys]):.3f}{mark}"
        return "–"

    def table(first, rows):
        lines = [f"| {first} | {' | '.join(methods)} |", "|---" * (len(methods) + 1) + "|"]
        for name, kinds, sets in rows:
            cells = " | ".join(mean(method, kinds, sets) for method in methods)
            lines.append(f"| {name} | {cells} |")
        return "\n".join(lines)

    by_kind = [(kind, [kind], SETS) for kind in KINDS] + [("**all**", list(KINDS), SETS)]
    by_set = [(name, list(KINDS), [name]) for name in SETS]
    text = PAGE.read_text()
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    tables = [table("crowd", by_kind), table("data set", by_set)]
    PAGE.write_text(text[:start] + "\n\n" + "\n\n".join(tables) + "\n\n" + text[end:])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--page", action="store_true", help="write the tables of the page only")
    arguments = parser.parse_args()
    if not arguments.page:
        run(arguments.methods, arguments.seeds, arguments.sets)
    page()
