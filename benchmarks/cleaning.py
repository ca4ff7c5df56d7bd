"""Is the estimate of ``clean`` right? Error of the labels kept at 2 %, 5 % and 10 %: allowed,
estimated and real.

It runs on controlled sets with five kinds of false candidates (or simulated annotators), and on
real sets if SURELABEL_DATA has them; without gold rows, and with a tenth of the rows gold. Gold
rows are not counted. "Brier" is the mean square of confidence minus 1 if the label is right, or
minus 0. "broken" is the share of runs in which the allowed error is exceeded by more
than chance explains (binomial, 5 %); "outside" counts the rows whose features speak for a label
that was not given, and how many of them do lack the true one.
"""

import argparse
import contextlib
import warnings

import numpy as np
from _shared import confusable, without_truth
from scipy.stats import binom
from sklearn.datasets import load_digits
from sklearn.preprocessing import scale
from votes import CROWDS, simulate

from surelabel import CandidateSets, make_partial
from surelabel.data import catalog
from surelabel.data.labelling import Labels
from surelabel.exceptions import DataMissingError
from surelabel.tables import choosing

LEVELS = (0.02, 0.05, 0.10)
KINDS = {
    "one false, any": lambda X, y, seed: make_partial(y, p=0.7, r=1, random_state=seed),
    "three false, any": lambda X, y, seed: make_partial(y, p=0.9, r=3, random_state=seed),
    "coupled classes": lambda X, y, seed: make_partial(y, p=0.9, r=1, eps=0.7, random_state=seed),
    "by instance": lambda X, y, seed: confusable(X, y, 0.25, seed),
    "5 % lack truth": lambda X, y, seed: without_truth(
        make_partial(y, p=0.7, r=2, random_state=seed), y, 0.05, seed + 1000
    ),
}


def controlled(names):
    for name in names:
        if name == "digits":
            X, y = load_digits(return_X_y=True)
        else:
            data = catalog.load(name)
            X, y = data.X, np.unique(data.y, return_inverse=True)[1]
        yield name, scale(X), y


def problems(names, real, crowds):
    """Title, instances, true labels, and the function of a seed that gives candidates and votes."""
    for name, X, y in controlled(names):
        for kind, make in {} if crowds else KINDS.items():
            yield (
                f"{name}, {kind}",
                X,
                y,
                lambda seed, X=X, y=y, make=make: (make(X, y, seed), None),
            )
        for kind, crowd in CROWDS.items() if crowds else ():
            yield (
                f"{name}, {kind}",
                X,
                y,
                lambda seed, X=X, y=y, crowd=crowd: ask(X, y, crowd, seed),
            )
    for name in () if crowds else real:
        with contextlib.suppress(DataMissingError):
            data = catalog.load(name)
            yield (
                name,
                scale(data.X),
                np.searchsorted(data.classes, data.y),
                lambda seed, data=data: (data.candidates, None),
            )


def ask(X, y, crowd, seed):
    votes = simulate(X, y, *crowd, np.random.default_rng(seed))
    return CandidateSets.from_ballots(votes, np.arange(y.max() + 1)), votes


def measure(X, y, sets, votes, gold_share, seed, method):
    m = len(y)
    gold = np.where(np.random.default_rng(seed).random(m) < gold_share, y, -1)
    labels = Labels(sets, gold, np.zeros(m, bool), None, None)
    result = choosing.choose_labels(X, labels, method=method, random_state=seed)
    doubtful = gold < 0
    wrong, confidence = (result.label != y)[doubtful], result.confidence[doubtful]
    lacking = (sets.to_indicator()[np.arange(m), y] == 0)[doubtful]
    row = [
        1 - wrong.mean(),
        confidence.mean(),
        np.mean((confidence - ~wrong) ** 2),
        np.sum(result.outside[doubtful] > 0),
        np.sum((result.outside[doubtful] > 0) & lacking),
    ]
    for level in LEVELS:
        kept = confidence >= 1 - level
        errors, n = wrong[kept].sum(), kept.sum()
        row += [
            kept.mean(),
            errors / max(n, 1),
            (1 - confidence[kept]).sum() / max(n, 1),
            binom.sf(errors - 1, n, level) < 0.05,
        ]
    return np.array(row)


def line(title, row):
    parts = "".join(
        f" | {100 * level:.0f} %: kept {100 * k:3.0f} real {100 * real:4.1f} estimated "
        f"{100 * guess:4.1f} broken {broken:.2f}"
        for level, (k, real, guess, broken) in zip(LEVELS, row[5:].reshape(-1, 4), strict=True)
    )
    return (
        f"{title:42} right {row[0]:.3f} confidence {row[1]:.3f} Brier {row[2]:.4f} "
        f"outside {row[3]:3.0f} ({row[4]:3.0f} true){parts}"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=["dermatology", "ecoli", "glass", "digits"])
    parser.add_argument("--real", nargs="*", default=["lost", "msrcv2"])
    parser.add_argument("--seeds", type=int, default=2, help="number of draws")
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument("--gold", type=float, nargs="*", default=[0.0, 0.1])
    parser.add_argument(
        "--crowds", action="store_true", help="simulated annotators in the place of sets"
    )
    parser.add_argument("--method", default="PURE")
    parser.add_argument(
        "--folds", action="store_true", help="PURE refitted for folds, not in closed form"
    )
    options = parser.parse_args()
    if options.folds:
        choosing.has_closed_form = lambda _: False
    for share in options.gold:
        print(f"gold rows: {100 * share:.0f} %")
        rows = []
        for title, X, y, make in problems(options.data, options.real, options.crowds):
            rows.append(
                np.mean(
                    [
                        measure(X, y, *make(seed), share, seed, options.method)
                        for seed in range(options.first, options.first + options.seeds)
                    ],
                    axis=0,
                )
            )
            print(line(title, rows[-1]), flush=True)
        print(line("mean", np.mean(rows, axis=0)), flush=True)
