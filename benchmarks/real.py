"""Real votes and real candidate sets: labels found, and how far their confidences can be trusted.

The data are not ours to ship. ``SURELABEL_DATA`` names their folder: ``crowds/NAME.npz`` (votes of
people, with the truth) and ``realworld/NAME.mat`` (candidate sets). No rule about votes or
confidence enters the package without this table.

    pip install --no-deps crowd-kit cleanlab && pip install nltk tqdm termcolor attrs
    SURELABEL_DATA=... python benchmarks/real.py  # runs what is not there yet
    python benchmarks/real.py --page             # writes the tables of docs/evidence/votes.md

Every result is a line of ``docs/crowds/real.jsonl``; a run that was stopped continues from there.
Confidences are those of a prior that was fitted to the other data sets of the same kind, so that no
set is judged by what it taught.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from crowds import PAGE, crowdlab, dawid_skene, majority, of_crowdkit
from scipy import sparse
from scipy.io import loadmat
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from surelabel.data.labelling import Labelling, read_labels
from surelabel.tables import calibration
from surelabel.tables.calibration import Prior, fit_calibration
from surelabel.tables.choosing import choose_labels
from surelabel.tables.reading import TableRead

RECORDS = Path(__file__).parents[1] / "docs" / "crowds" / "real.jsonl"
CROWDS = ("labelme", "cifar10n", "sentiment", "temp", "wsd", "weather", "popularity")
SINGLE = ("labelme, first vote", "cifar10n, first vote")
VOTED = (*CROWDS, *SINGLE)
SHARES = ("labelme, shares", "cifar10n, shares", "sentiment, shares")
UNIONS = ("labelme, union", "cifar10n, union", "sentiment, union")
SETS = ("lost", "MSRCv2", "italian")
GIVEN = (*UNIONS, *SETS)
#: A prior so wide that the data alone decide.
WIDE = Prior(0.0, 0.4, (1.5, 1.0))
LEVELS = (0.05, 0.1)
DRAWS = 50  # of 30 known labels


def folder():
    if "SURELABEL_DATA" not in os.environ:
        raise SystemExit("SURELABEL_DATA names no folder of data: there is nothing to measure")
    return Path(os.environ["SURELABEL_DATA"])


def votes_of(name):
    """Features (None without), votes, truth and number of classes of a crowd."""
    with np.load(folder() / "crowds" / f"{name}.npz") as data:
        votes = np.full((len(data["truth"]), data["annotator"].max() + 1), -1)
        votes[data["row"], data["annotator"]] = data["label"]
        X = data["X"].astype(float) if "X" in data else None
        truth, n_classes = data["truth"].astype(int), len(data["classes"])
    if name == "sentiment":
        lines = (folder() / "crowds" / "sentiment.txt").read_text().split("\n")[: len(truth)]
        given = ["x", *["y"] * (len(lines) - 1)]  # a table needs labels to be read
        read = TableRead(pa.table({"text": lines, "label": given}), {"labels": "label"})
        X = read.encoded()[1]
    return X, votes, truth, n_classes


def labels_of(sets, **how):
    """Labels as ``clean`` reads them, from one list of positions for each row."""
    table = pa.table({"label": ["|".join(map(str, row)) for row in sets]})
    return read_labels(table, Labelling(labels="label", **how))


def table_of(name):
    """Features, labels as ``clean`` reads them, and truth."""
    base, _, part = name.partition(", ")
    if base in SETS:
        data = loadmat(folder() / "realworld" / f"{base}.mat")
        X, given, truth = (
            np.asarray(data[key].todense() if sparse.issparse(data[key]) else data[key], float)
            for key in ("data", "partial_target", "target")
        )
        given, truth = given.T > 0, truth.T.argmax(axis=1)
        rows = np.sort(np.random.default_rng(0).permutation(len(X))[:2000])  # italian has 21,878
        sets = [np.flatnonzero(row) for row in given[rows]]
        return X[rows], labels_of(sets), truth[rows]
    X, votes, truth, l = votes_of(base)
    if part == "first vote":
        first = votes[np.arange(len(votes)), (votes >= 0).argmax(axis=1)]
        return X, labels_of(first[:, None], noisy=True), truth
    if part == "shares":
        shares = {f"{k}": (votes == k).sum(axis=1) / (votes >= 0).sum(axis=1) for k in range(l)}
        return X, read_labels(pa.table(shares), Labelling(counts=tuple(shares))), truth
    if part == "union":
        return X, labels_of([np.unique(row[row >= 0]) for row in votes]), truth
    columns = {
        f"v{a}": [None if vote < 0 else str(vote) for vote in votes[:, a]]
        for a in range(votes.shape[1])
    }
    labels = read_labels(pa.table(columns), Labelling(votes=tuple(columns)))
    return np.empty((len(votes), 0)) if X is None else X, labels, truth


# -------------------------------------------------------------------- what is measured


def logistic(X, votes, n_classes):
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return crowdlab(X, votes, n_classes, model)


def forest(X, votes, n_classes):
    return crowdlab(X, votes, n_classes, RandomForestClassifier(random_state=0))


PEERS = {
    "majority": majority,
    "Dawid–Skene": dawid_skene,
    "one-coin": of_crowdkit("OneCoinDawidSkene", n_iter=100),
    "GLAD": of_crowdkit("GLAD", n_iter=20),
    "MACE": of_crowdkit("MACE", n_restarts=2, random_state=0),
    "CROWDLAB, forest": forest,
    "CROWDLAB, logistic": logistic,
}
OURS, ALONE = "surelabel", "surelabel, no features"


def measure(method, name):
    """One record: the share of labels found; for ours also how many labels have which score (what
    confidences are made of), and how many of these are right.
    """
    start = time.perf_counter()
    if method in PEERS:
        X, votes, truth, l = votes_of(name)
        label = PEERS[method](X, votes, l)
        extra = {}
    else:
        X, labels, truth = table_of(name)
        found = choose_labels(X[:, :0] if method == ALONE else X, labels)
        label = labels.candidates.classes[found.label].astype(int)
        score, place = np.unique(np.round(found.score, 1), return_inverse=True)
        counts = np.bincount(place), np.bincount(place, label == truth).astype(int)
        extra = {"scores": np.column_stack([score, *counts]).tolist()}
    return {
        "method": method,
        "set": name,
        "accuracy": round(float(np.mean(label == truth)), 4),
        "seconds": round(time.perf_counter() - start, 1),
        **extra,
    }


def read():
    lines = RECORDS.read_text().splitlines() if RECORDS.exists() else []
    return {(r["method"], r["set"]): r for r in map(json.loads, lines)}


def run():
    known = read()
    wanted = [(OURS, name) for name in (*VOTED, *SHARES, *GIVEN)]
    wanted += [(ALONE, name) for name in CROWDS[:3]]
    for name in CROWDS:
        features = votes_of(name)[0] is not None
        wanted += [(peer, name) for peer in PEERS if features or "CROWDLAB" not in peer]
    for method, name in wanted:
        if (method, name) not in known:
            record = measure(method, name)
            with RECORDS.open("a") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
            print(method, name, record["accuracy"], record["seconds"], flush=True)


# -------------------------------------------------------------------- the page


def without(name, group, records):
    """The prior of the other sets of a group: the mean of what each of them says alone."""
    base = name.partition(",")[0]
    fits = [
        fit_calibration(*scores(records[OURS, other]), WIDE)
        for other in group
        if other.partition(",")[0] != base
    ]
    shipped = calibration.VOTES if group == VOTED else calibration.SETS
    return replace(
        shipped,
        shift=float(np.mean([fit.shift for fit in fits])),
        slope=float(np.exp(np.mean([np.log(fit.slope) for fit in fits]))),
    )


def scores(record):
    """The score of every label, and whether it is right."""
    score, n, right = np.array(record["scores"]).T
    right = np.stack([right, n - right], axis=1).astype(int)
    return np.repeat(score, n.astype(int)), np.repeat(np.tile([True, False], len(n)), right.ravel())


def accuracies(records):
    methods = [*PEERS, OURS, ALONE]
    lines = [f"| crowd | {' | '.join(methods)} |", "|---" * (len(methods) + 1) + "|"]
    for name in CROWDS:
        found = [records.get((method, name), {}).get("accuracy") for method in methods]
        best = max(value for value in found if value is not None)
        cells = ["–" if v is None else f"**{v:.3f}**" if v == best else f"{v:.3f}" for v in found]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    means = []
    for method in methods:  # beside ours, on the crowds that the method can be run on
        both = [name for name in CROWDS if (method, name) in records]
        own, theirs = (np.mean([records[m, n]["accuracy"] for n in both]) for m in (OURS, method))
        means.append(f"{theirs:.3f} ({own - theirs:+.3f})")
    lines.append(f"| mean (surelabel's lead) | {' | '.join(means)} |")
    return "\n".join(lines)


def confidences(records):
    lines = [
        "| data | right | confidence | kept / wrong at 5 % | at 10 % | 30 known labels: confidence "
        "off by | kept / wrong at 10 % |",
        "|---" * 7 + "|",
    ]
    for names, group in (((*VOTED, *SHARES), VOTED), (GIVEN, GIVEN)):
        for name in names:
            z, right = scores(records[OURS, name])
            prior = without(name, group, records)
            sure = prior(z)
            cells = [f"{right.mean():.3f}", f"{sure.mean():.3f}"]
            cells += [kept(sure, right, level) for level in LEVELS]
            off, shares = known_labels(z, right, prior)
            lines.append(f"| {name} | {' | '.join(cells)} | {off:.3f} | {shares} |")
    return "\n".join(lines)


def kept(sure, right, level):
    which = sure >= 1 - level
    wrong = f"{100 * (1 - right[which].mean()):.1f} %" if which.any() else "–"
    return f"{100 * which.mean():.0f} % / {wrong}"


def known_labels(z, right, prior):
    """With 30 known labels: by how much the mean confidence is off, and what is kept at 10 %."""
    rng = np.random.default_rng(0)
    off, some, wrong = [], [], []
    for _ in range(DRAWS):
        drawn = rng.permutation(len(z))[:30]
        sure = fit_calibration(z[drawn], right[drawn], prior)(z)
        off.append(abs(sure.mean() - right.mean()))
        which = sure >= 0.9
        some.append(which.mean())
        wrong.append(np.sum(which & ~right) / max(which.sum(), 1))
    return np.mean(off), f"{100 * np.mean(some):.0f} % / {100 * np.mean(wrong):.1f} %"


def page():
    records = read()
    for mark, table in {"real crowds": accuracies, "real confidences": confidences}.items():
        begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
        before, rest = PAGE.read_text().split(begin)
        PAGE.write_text(f"{before}{begin}\n\n{table(records)}\n\n{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--page", action="store_true", help="write the tables of the page only")
    if not parser.parse_args().page:
        run()
    page()
