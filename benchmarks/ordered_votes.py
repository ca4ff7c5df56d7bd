"""Annotators who confuse neighbouring labels: what the order of the labels is worth beside votes.

Crowds: *weather* of $SURELABEL_DATA (its three classes with an order, and its truth), and the
sentiment of texts from -4 to 4 in the source archive of the package vaderSentiment (15 to 99 votes
per text; truth is the median of the votes that the model does not get). In *movies*, one person can
be followed through 30 texts: deviations from the mean correlate by place in the list (.35), within
batches of 30. In the others they do not. There, and in *movies, anonymous*, the model gets votes as
columns. *weather* and *tweets* took part in the choice of the bands, *movies* in that of
``crowds.POOLING``; nobody looked at the others before.

    python benchmarks/ordered_votes.py vaderSentiment-3.3.2.tar.gz   # from PyPI; runs all
    python benchmarks/ordered_votes.py                               # prints the table

Every result is a line of ``docs/ordered/votes.jsonl``.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import tarfile
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from surelabel import CandidateSets, CrowdClassifier
from surelabel.solvers import crowds

RECORDS = Path(__file__).parents[1] / "docs" / "ordered" / "votes.jsonl"
CROWDS = ("weather", "tweets", "movies", "movies, anonymous", "amazon", "editorials", "words")
FILES = {"tweets": "tweets", "movies": "movieReviewSnippets", "amazon": "amazonReviewSnippets"}
FILES |= {"editorials": "nytEditorialSnippets", "movies, anonymous": "movieReviewSnippets"}
#: Rows of one draw; a batch of texts of *movies* that the same people rated has 30.
ROWS, BATCH = 600, 30
METHODS = ("votes", "votes in order", "mean of votes")


# -------------------------------------------------------------------- the crowds


def open_vader(path):
    """The texts of the files in the archive of the package, by name."""
    with tarfile.open(path) as outer:
        inner = next(m for m in outer.getmembers() if m.name.endswith("hutto_ICWSM_2014.tar.gz"))
        packed = outer.extractfile(inner).read()
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        return {
            Path(m.name).name: files.extractfile(m).read().decode("utf-8-sig", "replace")
            for m in files.getmembers()
            if m.name.endswith(".txt")
        }


def load(name, vader):
    """A list of votes for every row, a list of who gave them (None if nobody knows), the truth (or
    None), texts (or None), the number of labels, and for each row its batch.
    """
    if name == "weather":
        data = np.load(Path(os.environ["SURELABEL_DATA"]) / "crowds" / "weather.npz")
        rows = np.flatnonzero(data["truth"] < 3)
        kept = [(data["row"] == i) & (data["label"] < 3) for i in rows]
        votes, who = ([data[key][k] for k in kept] for key in ("label", "annotator"))
        return votes, who, data["truth"][rows], None, 3, np.zeros(len(rows), int)
    if name == "words":
        lines = vader["vader_sentiment_lexicon.txt"].splitlines()
        cells = [line.split("\t") for line in lines if line.strip()]
        votes = [np.array(ast.literal_eval(cell[-1])) + 4 for cell in cells]
        return votes, None, None, None, 9, np.arange(len(votes)) // BATCH
    lines = vader[f"{FILES[name]}_anonDataRatings.txt"].splitlines()
    cells = [line.split("\t") for line in lines if line.strip()]
    votes = [np.array(ast.literal_eval(cell[3])) + 4 for cell in cells]
    lines = vader[f"{FILES[name]}_GroundTruth.txt"].splitlines()
    told = {line.split("\t")[0]: line.split("\t", 2)[2] for line in lines if line.strip()}
    texts = [told[cell[0]] for cell in cells]
    batch = np.arange(len(votes)) // BATCH
    who = [100 * b + np.arange(len(v)) for b, v in zip(batch, votes, strict=True)]
    return votes, who if name == "movies" else None, None, texts, 9, batch


def draw(crowd, k, seed):
    """Votes of some rows (rows × annotators), the truth, votes held out, and the texts."""
    votes, who, truth, texts, _, batch = crowd
    rng = np.random.default_rng(seed)
    rows = np.arange(len(votes))
    if truth is None:
        chosen = rng.permutation(batch.max())[: ROWS // BATCH]
        rows = np.flatnonzero(np.isin(batch, chosen))
    names = {} if who is not None else {j: j for j in range(k)}
    given, rest, right = [], [], []
    for i in rows:
        order = rng.permutation(len(votes[i]))
        for j, p in enumerate(order):
            person = j if who is None else int(who[i][p])
            if j < k:
                given.append((len(right), names.setdefault(person, len(names)), votes[i][p]))
            elif who is not None:
                rest.append((len(right), person, votes[i][p]))
            else:  # anonymous: as if by any of the columns
                rest.append((len(right), int(rng.integers(k)), votes[i][p]))
        right.append(np.median(votes[i][order[k:]]) if truth is None else truth[i])
    table = np.full((len(rows), len(names)), -1)
    row, person, vote = np.array(given).T
    table[row, person] = vote
    rest = np.array([(i, names[p], v) for i, p, v in rest if p in names])
    return table, np.array(right), rest, None if texts is None else [texts[i] for i in rows]


# -------------------------------------------------------------------- measures


def measured(posterior, truth, confusion=None, rest=None):
    """Share wrong and mean distance of the most probable label and of the median; with matrices,
    the mean log-likelihood of the votes held out.
    """
    top = posterior.argmax(axis=1)
    middle = np.sum(np.cumsum(posterior, axis=1) < 0.5, axis=1)
    found = {}
    for key, labels in (("top", top), ("median", middle)):
        away = np.abs(labels - truth)
        found |= {f"wrong_{key}": np.mean(away > 0.5), f"distance_{key}": away.mean()}
    if confusion is not None:
        i, a, v = rest.T
        found["held_out"] = np.mean(np.log(np.sum(posterior[i] * confusion[a, :, v], axis=1)))
    return found


def fit(method, table, l, X):
    """Posterior and matrices by a method; the mean of the votes, rounded, is a sure posterior."""
    if method == "mean of votes":
        mean = np.sum(np.where(table < 0, 0, table), axis=1) / np.sum(table >= 0, axis=1)
        return np.eye(l)[np.rint(mean).astype(int)], None
    ordered = method == "votes in order"
    if X is None:
        tally = crowds.Tally(table, l, np.arange(l) if ordered else None)
        found = crowds.alternate_crowd(tally)
        return found.posterior, found.confusion
    sets = CandidateSets.from_votes(np.where(table < 0, None, table), classes=np.arange(l))
    return CrowdClassifier(ordered=ordered).fit(X, sets).confidence_.toarray(), None


def run(archive, features, draws):
    """The mean of the measures over draws, and the standard error of differences to *votes*."""
    vader = open_vader(archive)
    for name in CROWDS:
        crowd = load(name, vader)
        if features and crowd[3] is None:
            continue
        for k in (2, 3) if features else (2, 3, 5):
            found = {method: [] for method in METHODS}
            for seed in range(draws):
                table, truth, rest, texts = draw(crowd, k, seed)
                X = None
                if features:
                    words = TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform(texts)
                    X = TruncatedSVD(50, random_state=0).fit_transform(words)
                for method in METHODS:
                    posterior, confusion = fit(method, table, crowd[4], X)
                    found[method].append(measured(posterior, truth, confusion, rest))
            for method, each in found.items():
                record = {"crowd": name, "features": features, "votes": k, "method": method}
                record |= {"rows": len(truth), "draws": draws}
                for key in each[0]:
                    values = np.array([one[key] for one in each])
                    gain = values - [one[key] for one in found["votes"]]
                    record[key] = round(float(values.mean()), 4)
                    record[f"{key}_error"] = round(float(gain.std(ddof=1) / np.sqrt(draws)), 4)
                with RECORDS.open("a") as file:
                    file.write(json.dumps(record) + "\n")


def table_of_records():
    """The mean distance of the median label to the truth, for each number of votes; the change by
    the order, with its standard error; and the log-likelihood of a held-out vote.
    """
    lines = [
        "| crowd | votes | mean of votes | no order | order | change | held-out vote |",
        "| :--- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    groups = {}
    for line in RECORDS.read_text().splitlines():
        record = json.loads(line)
        name = record["crowd"] + ", features" * record["features"]
        groups.setdefault(name, {}).setdefault(record["method"], []).append(record)
    for name, found in groups.items():
        now, band, mean = (found[method] for method in METHODS)
        cells = [", ".join(str(r["votes"]) for r in now)]
        cells += [
            ", ".join(f"{r['distance_median']:.3f}" for r in group) for group in (mean, now, band)
        ]
        pairs = list(zip(now, band, strict=True))
        gains = [(b["distance_median"] - a["distance_median"], b) for a, b in pairs]
        cells.append(", ".join(f"{g:+.3f} ± {b['distance_median_error']:.3f}" for g, b in gains))
        told = [f"{b['held_out'] - a['held_out']:+.3f}" for a, b in pairs if "held_out" in b]
        lines.append(f"| {name} | {' | '.join([*cells, ', '.join(told)])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive", nargs="?")
    options = parser.parse_args()
    if options.archive:
        RECORDS.unlink(missing_ok=True)
        run(options.archive, features=False, draws=40)
        run(options.archive, features=True, draws=3)
    print(table_of_records())
