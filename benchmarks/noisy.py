"""One label for each row, some of them wrong: ``clean --noisy`` compared with cleanlab's
``find_label_issues`` with a random forest.

Labels are made wrong on six data sets whose truth is known: any other label (uniform), one wrong
label for each class (pairwise), or the label of the nearest other class, for the rows that are
closest to it (hard rows). The figures are the share of right labels after correction, and F1 of the
wrong rows found.

    pip install --no-deps cleanlab && pip install tqdm termcolor
    python benchmarks/noisy.py            # runs what is not there yet
    python benchmarks/noisy.py --page     # writes the table of docs/evidence/votes.md

Every result is a line of ``docs/crowds/noisy.jsonl``; a run that was stopped continues from there.
"""

from __future__ import annotations

import argparse
import json
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
from crowds import PAGE, load, nearest_classes
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from surelabel.data.labelling import Labelling, read_labels
from surelabel.tables.choosing import choose_labels

RECORDS = Path(__file__).parents[1] / "docs" / "crowds" / "noisy.jsonl"
BEGIN, END = "<!-- noisy -->", "<!-- end of noisy -->"
SETS = ("digits", "wine", "breast_cancer", "ecoli", "dermatology", "glass")
RATES = (0.1, 0.2, 0.3)
SEEDS = (0, 1, 2)


# -------------------------------------------------------------------- wrong labels


def uniform(X, y, rate, rng):
    wrong = rng.random(len(y)) < rate
    return np.where(wrong, (y + rng.integers(1, y.max() + 1, len(y))) % (y.max() + 1), y)


def pairwise(X, y, rate, rng):
    taken_for = (np.arange(y.max() + 1) + rng.integers(1, y.max() + 1)) % (y.max() + 1)
    return np.where(rng.random(len(y)) < rate, taken_for[y], y)


def hard_rows(X, y, rate, rng):
    """The rows that lie close to another class are wrong most often, by its label."""
    hard, nearest = nearest_classes(X, y)
    weight = hard**2
    return np.where(rng.random(len(y)) < np.minimum(rate * weight / weight.mean(), 1), nearest, y)


KINDS = {kind.__name__.replace("_", " "): kind for kind in (uniform, pairwise, hard_rows)}


# -------------------------------------------------------------------- methods


def ours(X, given, seed):
    table = pa.table({"label": given})
    labels = read_labels(table, Labelling(labels="label", noisy=True))
    found = choose_labels(X, labels, random_state=seed)
    return found.classes[found.label]


def cleanlab(X, given, seed):
    from cleanlab.filter import find_label_issues

    classes, codes, sizes = np.unique(given, return_inverse=True, return_counts=True)
    folds = StratifiedKFold(min(5, max(sizes.min(), 2)), shuffle=True, random_state=seed)
    forest = RandomForestClassifier(random_state=seed)
    proba = cross_val_predict(forest, X, codes, cv=folds, method="predict_proba")
    wrong = find_label_issues(codes, proba)
    return classes[np.where(wrong, proba.argmax(axis=1), codes)]


METHODS = {"surelabel": ours, "cleanlab": cleanlab}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--page", action="store_true", help="write the table of docs/evidence/votes.md"
    )
    records = [json.loads(line) for line in RECORDS.open()] if RECORDS.exists() else []
    if parser.parse_args().page:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{table_of(records)}\n\n{END}{rest.split(END)[1]}")
        return
    there = {
        tuple(record[key] for key in ("method", "kind", "set", "rate", "seed"))
        for record in records
    }
    warnings.simplefilter("ignore")
    for cell in product(METHODS, KINDS, SETS, RATES, SEEDS):
        if cell in there:
            continue
        method, kind, name, rate, seed = cell
        X, y = load(name)
        rng = np.random.default_rng(
            [seed, list(KINDS).index(kind), SETS.index(name), int(rate * 100)]
        )
        given = KINDS[kind](X, y, rate, rng)
        label = METHODS[method](X, given, seed)
        record = {
            "method": method,
            "kind": kind,
            "set": name,
            "rate": rate,
            "seed": seed,
            "given": round(float(np.mean(given == y)), 4),
            "accuracy": round(float(np.mean(label == y)), 4),
            "f1": round(float(f1_score(given != y, label != given, zero_division=1.0)), 4),
        }
        with RECORDS.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(*record.values(), flush=True)


def table_of(records):
    def mean(figure, method, **where):
        chosen = [
            record[figure]
            for record in records
            if record["method"] == method
            and all(record[key] == value for key, value in where.items())
        ]
        return f"{np.mean(chosen):.3f}" if chosen else "–"

    lines = [
        "| wrong labels | right as given | right after surelabel | after cleanlab "
        "| F1 of surelabel | of cleanlab |",
        "|---|---|---|---|---|---|",
    ]
    groups = [
        (f"{kind}, {rate:.0%}", {"kind": kind, "rate": rate})
        for kind, rate in product(KINDS, RATES)
    ]
    groups += [(f"**{kind}**", {"kind": kind}) for kind in KINDS] + [("**all**", {})]
    for title, where in groups:
        figures = [mean("given", "surelabel", **where)]
        figures += [
            mean(figure, method, **where) for figure in ("accuracy", "f1") for method in METHODS
        ]
        lines.append(" | ".join([f"| {title}", *figures]) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
