"""How much does an answer help? Accuracy of all labels against the number of answers, for rows that
the review page would ask about (help), rows with the smallest margin, and random rows.

Four tables with known truth: 200 digits with five candidates each, votes of five annotators on 200
digits (right in 30 to 55 % of the cases; a poor crowd: in 25 to 45 %), and 400 texts with three
candidates each. False candidates and wrong votes are similar-looking digits. The model is refitted
after every answer, as on the page, however rows are chosen. The
difficulty of the tables and the rule of *help* were chosen on seeds 100 to 102; the figures are for
seeds 0 to 4. ``python benchmarks/review.py RECORDS`` adds what is missing to the file of records,
and ``--plot FILE`` draws them.
"""

import argparse
import csv
import json
import runpy
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from surelabel import CandidateSets, make_partial
from surelabel.data.labelling import Labels
from surelabel.review.queues import Variety, next_help
from surelabel.tables.choosing import choose_labels
from surelabel.tables.reading import TableRead

ANSWERS, STEP, SEEDS = 60, 5, 5
ROWS = 200
#: The accuracy after this many answers to random rows, and how many the other rules need for it.
MARKS = (20, 40, 60)
WAYS = ("help", "smallest margin", "random")
EXAMPLES = Path(__file__).parents[1] / "examples"


def confusable(seed):
    """Digits, and what a linear model that has not seen them takes them for, the truth aside."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[:ROWS]
    X, y = X[rows], y[rows]
    model = LogisticRegression(C=0.01, max_iter=300)
    others = cross_val_predict(model, X / 16, y, cv=5, method="predict_proba")
    others[np.arange(ROWS), y] = 0
    return X, y, others, rng


def digits(seed):
    X, y, others, rng = confusable(seed)
    weight = others**1.5
    weight /= weight.sum(axis=1, keepdims=True)
    sets = [
        sorted([int(truth), *rng.choice(10, 4, False, p).tolist()])
        for truth, p in zip(y, weight, strict=True)
    ]
    where = np.arange(0, 5 * ROWS + 1, 5)
    return X, y, labels_of(CandidateSets(where, np.concatenate(sets), np.arange(10)))


def crowd(seed, right=(0.55, 0.5, 0.45, 0.4, 0.3)):
    X, y, others, rng = confusable(seed)
    weight = others**0.7
    weight /= weight.sum(axis=1, keepdims=True)
    mistaken = np.array([rng.choice(10, 5, p=p) for p in weight])
    votes = np.where(rng.random((ROWS, 5)) < np.array(right), y[:, None], mistaken)
    silent = rng.random((ROWS, 5)) < 0.4
    silent[np.arange(ROWS), rng.integers(5, size=ROWS)] = False
    votes[silent] = -1
    at, who = np.nonzero(votes >= 0)
    names = tuple(f"annotator {k}" for k in range(5))
    sets = CandidateSets(
        np.concatenate([[0], np.cumsum(np.bincount(at))]),
        votes[at, who],
        np.arange(10),
        np.ones(len(at), int),
        votes=votes,
        annotators=names,
    )
    return X, y, labels_of(sets, votes, names)


def poor_crowd(seed):
    return crowd(seed, (0.45, 0.4, 0.35, 0.3, 0.25))


def texts(seed):
    with tempfile.TemporaryDirectory() as folder:
        made = runpy.run_path(str(EXAMPLES / "make_stories.py"))["make"]("llm-votes", Path(folder))
        lines = (Path(made) / "messages.jsonl").read_text(encoding="utf-8").splitlines()
        with open(Path(made) / "truth.csv", encoding="utf-8") as file:
            truth = {row[0]: row[1] for row in csv.reader(file)}
    rows = [json.loads(line) for line in lines]
    rows = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))[:400]]
    y = np.array([truth[row["message"]] for row in rows])
    sets = make_partial(y, p=1.0, r=2, random_state=seed)
    table = pa.table({"text": [row["text"] for row in rows], "labels": sets.to_lists()})
    read = TableRead(table, {"labels": "labels"}, warn=False)
    return read.encoded()[1], np.searchsorted(read.labels.candidates.classes, y), read.labels


TABLES = {"digits, five candidates": digits, "a crowd of five": crowd,
          "a poor crowd": poor_crowd, "texts": texts}  # fmt: skip


def labels_of(sets, votes=None, names=()):
    m = len(sets)
    rows = pa.table({"row": np.arange(m)})
    if votes is not None:
        sets = CandidateSets.from_ballots(votes, sets.classes, annotators=names)
    return Labels(sets, np.full(m, -1), np.zeros(m, bool), None, rows)


def answer_rows(X, y, given, base, way, seed):
    """Share of right labels after 0, 5, 10, … answers."""
    rng, gold, found = np.random.default_rng(seed), given.gold.copy(), base
    variety, asked, right = Variety(X), [], []
    for number in range(ANSWERS + 1):
        if number % STEP == 0:
            right.append(float(np.mean(found.label == y)))
        if way == "random":
            row = int(rng.choice(np.flatnonzero(gold < 0)))
        elif way == "smallest margin":
            two = np.sort(found.shares, axis=1)[:, -2:]
            row = int(np.where(gold < 0, two[:, 1] - two[:, 0], np.inf).argmin())
        else:
            row = next_help(found, variety(asked), asked, look_only=False)
            row = int(np.flatnonzero(gold < 0)[0]) if row is None else row
        asked.append(row)
        gold[row] = y[row]
        found = choose_labels(X, replace(given, gold=gold.copy()), like=base)
    return right


def read(path):
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {(r["table"], r["seed"], r["way"]): r["right"] for r in map(json.loads, lines)}


def run(path):
    done = read(path)
    for name, make in TABLES.items():
        for seed in range(SEEDS):
            missing = [way for way in WAYS if (name, seed, way) not in done]
            if not missing:
                continue
            X, y, labels = make(seed)
            base = choose_labels(X, labels)
            for way in missing:
                right = answer_rows(X, y, labels, base, way, seed)
                record = {"table": name, "seed": seed, "way": way, "right": right}
                with open(path, "a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")
                print(f"{name}, seed {seed}, {way}: {right[0]:.3f} → {right[-1]:.3f}", flush=True)


def means(records, name):
    return {
        way: np.mean([right for (t, _, w), right in records.items() if (t, w) == (name, way)], 0)
        for way in WAYS
    }


def answers_to(curve, level):
    """Answers after which a curve reaches a level, by straight lines between its points."""
    numbers = np.arange(len(curve)) * STEP
    best = np.maximum.accumulate(curve)
    if best[-1] < level:
        return float("inf")
    place = int(np.argmax(best >= level))
    if place == 0:
        return 0.0
    part = (level - best[place - 1]) / (best[place] - best[place - 1])
    return float(numbers[place - 1] + STEP * part)


def summarise(records):
    titles = ("table", "no answers", "random rows", "reach", "help", "smallest margin")
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    for name in TABLES:
        curves = means(records, name)
        for mark in MARKS:
            # What was reached up to there: a curve can fall a little.
            level = curves["random"][: mark // STEP + 1].max()
            needs = (f"{answers_to(curves[way], level):.0f} answers" for way in WAYS[:2])
            cells = (name, f"{curves['help'][0]:.3f}", f"{mark} answers", f"{level:.3f}", *needs)
            print("| " + " | ".join(cells) + " |")


def plot(records, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(TABLES), figsize=(11, 3.6), constrained_layout=True)
    for axis, name in zip(axes, TABLES, strict=True):
        curves = means(records, name)
        numbers = np.arange(len(curves["help"])) * STEP
        axis.axhline(100 * curves["help"][0], color="#999999", lw=1.2, label="nothing")
        for way, colour in zip(WAYS, ("#d55e00", "#56b4e9", "#0072b2"), strict=True):
            axis.plot(numbers, 100 * curves[way], color=colour, lw=2, label=way)
        axis.set_title(name, fontsize=11)
        axis.set_xlabel("answers")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("right labels, %")
    figure.legend(*axes[0].get_legend_handles_labels(), frameon=False, fontsize=9, ncols=4,
                  loc="outside lower center")  # fmt: skip
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path, help="JSON lines; what is there is not done again")
    parser.add_argument("--plot", type=Path, help="where to draw the curves")
    given = parser.parse_args()
    run(given.records)
    summarise(read(given.records))
    if given.plot:
        plot(read(given.records), given.plot)


if __name__ == "__main__":
    main()
