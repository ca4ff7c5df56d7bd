"""Sets that lack the true label: how many of them ``clean`` finds, and how many others it flags.

Candidates are drawn at random on six data sets (two false ones in 70 % of the rows, at least one in
a row that will lack the truth); then 0, 1, 3 or 10 % of the rows lose their true label. The figures
over three draws of each are: rows flagged, the share of these that do lack it, the number of all
lacking rows that were flagged, how often ``best`` is the truth there, and how many of them were
nevertheless kept.

    python benchmarks/outside.py            # prints the table of docs/evidence/tables.md
"""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
from crowds import load

from surelabel import CandidateSets, make_partial
from surelabel.data.labelling import Labels
from surelabel.tables.choosing import choose_labels
from surelabel.tables.status import LOOK

SETS = ("digits", "dermatology", "wine", "iris", "ecoli", "glass")
SHARES = (0.0, 0.01, 0.03, 0.1)
SEEDS = (0, 1, 2)


def lacking(y, share, seed):
    """Candidates, and the rows that lack the truth."""
    rng = np.random.default_rng(seed)
    inside = make_partial(y, p=0.7, r=min(2, y.max() - 1), random_state=seed).to_indicator() > 0
    rows = rng.permutation(len(y))[: round(share * len(y))]
    inside[rows, y[rows]] = False
    for row in rows:
        if not inside[row].any():
            inside[row, rng.choice(np.setdiff1d(np.arange(y.max() + 1), y[row]))] = True
    return CandidateSets.from_indicator(inside, classes=np.arange(y.max() + 1)), np.sort(rows)


def labels_of(candidates):
    m = len(candidates)
    return Labels(
        candidates=candidates,
        gold=np.full(m, -1),
        unlabelled=np.zeros(m, bool),
        ids=None,
        table=pa.table({"row": np.arange(m)}),
    )


def main():
    warnings.simplefilter("ignore")
    print(
        "| data set | truth outside | flagged | of these lacking | found | best is right | kept |"
    )
    print("|---|---|---|---|---|---|---|")
    sums = {share: np.zeros(6, int) for share in SHARES}
    for name in SETS:
        X, y = load(name)
        for share in SHARES:
            total = np.zeros(6, int)
            for seed in SEEDS:
                candidates, rows = lacking(y, share, seed)
                found = choose_labels(X, labels_of(candidates), random_state=seed)
                flagged = np.flatnonzero(found.outside)
                hits = np.intersect1d(flagged, rows)
                right = np.sum(found.best[hits] == y[hits])
                kept = np.sum(found.status[rows] != LOOK)
                total += [len(rows), len(flagged), len(hits), right, kept, len(y)]
            sums[share] += total
            print(line(name, share, total), flush=True)
    for share in SHARES:
        print(line("**all**", share, sums[share]))


def line(name, share, total):
    n, flagged, hits, right, kept, _ = total
    of = f"{hits / flagged:.2f}" if flagged else "–"
    found = f"{hits} of {n}" if n else "–"
    best = f"{right} of {hits}" if hits else "–"
    return f"| {name} | {share:.0%} | {flagged} | {of} | {found} | {best} | {kept if n else '–'} |"


if __name__ == "__main__":
    main()
