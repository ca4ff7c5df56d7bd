"""Votes against labels ("not k"): ``CrowdClassifier`` with them, and with these votes ignored.

Half of the annotators of each crowd, or more, only say what a row is not; in the last two, they are
shown a label and say yes or no. The figure is the share of rows whose label is found. Of votes
against labels, nothing was chosen on the data sets of ``APART``; the others were looked at while it
was built, with other crowds and seeds. Answers of yes and no were looked at on ecoli, too.

    python benchmarks/against.py            # runs what is not there yet
    python benchmarks/against.py --page     # writes the table of docs/crowds.md

Every result is a line of ``docs/crowds/against.jsonl``; a run that was stopped goes on from there.
"""

from __future__ import annotations

import argparse
import json
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from crowds import PAGE, independent, load, nearest_classes, thinned

from surelabel import CandidateSets, CrowdClassifier
from surelabel.solvers.crowds import AGAINST
from surelabel.solvers.dawid_skene import majority

RECORDS = Path(__file__).parents[1] / "docs" / "crowds" / "against.jsonl"
BEGIN, END = "<!-- against -->", "<!-- end of against -->"
SETS = ("wine", "iris", "ecoli", "dermatology", "glass")
APART = ("ecoli", "dermatology", "glass")
SEEDS = (0, 1)


# -------------------------------------------------------------------- crowds


def ruling_out(accuracies, y, rng):
    """Votes against any label: not the true one, so often."""
    return AGAINST - ruled_out(accuracies, y, rng)


def ruled_out(accuracies, y, rng):
    shape = (len(y), len(accuracies))
    another = (y[:, None] + rng.integers(1, y.max() + 1, shape)) % (y.max() + 1)
    return np.where(rng.random(shape) < accuracies, another, y[:, None])


def good(X, y, rng):
    """Two of 60 and 70 %, two who never rule out the truth but for 3 %."""
    return np.hstack([independent((0.7, 0.6), y, rng), ruling_out((0.97, 0.97), y, rng)])


def at_random(X, y, rng):
    """Two of 60 and 70 %, two who rule out anything."""
    any_label = rng.integers(0, y.max() + 1, (len(y), 2))
    return np.hstack([independent((0.7, 0.6), y, rng), AGAINST - any_label])


def mixed(X, y, rng):
    """Two of 60 and 70 %, one who rules out well, one at random, one who always says the same."""
    any_label = rng.integers(0, y.max() + 1, len(y))
    same = np.full(len(y), rng.integers(y.max() + 1))
    return np.hstack([good(X, y, rng)[:, :3], AGAINST - np.stack([any_label, same], axis=1)])


def few(X, y, rng):
    """One of 60 % who sees a quarter of the rows, four who rule out, with half of the rows each."""
    seen = thinned(independent((0.6, 0.0), y, rng), 0.25, rng)[:, :1]
    against = ruling_out((0.97,) * 4, y, rng)
    return np.hstack([seen, np.where(rng.random(against.shape) < 0.5, -1, against)])


def hard_rows(X, y, rng):
    """As good, but who rules out the truth does so where another class is near, in 15 %."""
    hard, _ = nearest_classes(X, y)
    votes = good(X, y, rng)
    wrong = rng.random((len(y), 2)) < (0.45 * hard**2)[:, None]
    votes[:, 2:] = np.where(wrong, AGAINST - y[:, None], ruling_out((1.0, 1.0), y, rng))
    return votes


def only_against(X, y, rng):
    """Nobody says what a row is: six who rule out, 97 % right."""
    return ruling_out((0.97,) * 6, y, rng)


def yes_or_no(X, y, rng, right=(0.95, 0.85, 0.5)):
    """Three who are shown any label and say yes or no, 95, 85 and 50 % right."""
    shown = rng.integers(0, y.max() + 1, (len(y), len(right)))
    yes = (shown == y[:, None]) == (rng.random(shown.shape) < right)
    return np.where(yes, shown, AGAINST - shown)


def one_yes_or_no(X, y, rng):
    """One who is shown any label and says yes or no, always right."""
    return yes_or_no(X, y, rng, (1.0,))


KINDS = {
    kind.__name__.replace("_", " "): kind
    for kind in (
        *(good, at_random, mixed, few, hard_rows, only_against),
        *(yes_or_no, one_yes_or_no),
    )
}


# -------------------------------------------------------------------- methods


def sets_of(votes, n_classes):
    return CandidateSets.from_ballots(votes, np.arange(n_classes))


def by_majority(X, votes, n_classes):
    return majority(votes, n_classes).argmax(axis=1)


def ignored(X, votes, n_classes):
    """Votes for labels alone; without any there is nothing to learn from."""
    if np.all(votes < 0):
        return np.full(len(votes), -1)
    return CrowdClassifier().fit(X, sets_of(np.maximum(votes, -1), n_classes)).transduction_


METHODS = {
    "majority": by_majority,
    "CrowdClassifier, votes against ignored": ignored,
    "CrowdClassifier": lambda X, votes, l: (
        CrowdClassifier().fit(X, sets_of(votes, l)).transduction_
    ),
}


# -------------------------------------------------------------------- records


def read():
    lines = RECORDS.read_text().splitlines() if RECORDS.exists() else []
    records = map(json.loads, lines)
    return {(r["method"], r["kind"], r["set"], r["seed"]): r["accuracy"] for r in records}


def run():
    known = read()
    for method, kind, name, seed in product(METHODS, KINDS, SETS, SEEDS):
        if (method, kind, name, seed) in known:
            continue
        X, y = load(name)
        rng = np.random.default_rng([seed, list(KINDS).index(kind), SETS.index(name)])
        votes = KINDS[kind](X, y, rng)
        label = METHODS[method](X, votes, int(y.max()) + 1)
        record = {
            "method": method,
            "kind": kind,
            "set": name,
            "seed": seed,
            "accuracy": round(float(np.mean(label == y)), 4),
        }
        with RECORDS.open("a") as file:
            file.write(json.dumps(record) + "\n")


def page():
    """The table of docs/crowds.md, from the records."""
    records = read()

    def mean(method, kinds, sets):
        figures = [records[key] for key in product([method], kinds, sets, SEEDS)]
        return f"{np.mean(figures):.3f}" if any(figures) else "–"

    rows = [(kind, [kind], SETS) for kind in KINDS]
    others = [name for name in SETS if name not in APART]
    with_others = list(KINDS)[:5]
    rows += [
        ("**the first five**", with_others, SETS),
        ("on wine and iris, which were looked at", with_others, others),
        (f"on {', '.join(APART)}", with_others, APART),
    ]
    lines = [f"| crowd | {' | '.join(METHODS)} |", "|---" * (len(METHODS) + 1) + "|"]
    for name, kinds, sets in rows:
        cells = (mean(method, kinds, sets) for method in METHODS)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    text = PAGE.read_text()
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    PAGE.write_text(text[:start] + "\n\n" + "\n".join(lines) + "\n\n" + text[end:])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the table of the page only")
    if not parser.parse_args().page:
        run()
    page()
