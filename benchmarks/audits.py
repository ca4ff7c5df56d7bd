"""Does the guarantee of an audit hold? Rows kept by ``clean`` are audited 200 times in random
orders.

Each audit continues until a level (10, 5, 2 %) is certified, or all rows are checked; the guarantee
is broken if more of the rows are still wrong at that moment. All answers are right. "certified" is
the share of audits that certify the level before half of the rows are checked, "answers" their
median number of checks.
"""

import argparse
import warnings
from functools import cache

import numpy as np
from cleaning import KINDS, ask, controlled
from votes import CROWDS

from surelabel.data.labelling import Labels
from surelabel.evaluation.audits import share_still_wrong
from surelabel.tables.auditing import LEVELS
from surelabel.tables.choosing import choose_labels
from surelabel.tables.status import PROBABLE

STEP = 5  # answers after which the bound is looked at
PROBLEMS = (
    *((kind, None) for kind in ("three false, any", "by instance", "5 % lack truth")),
    *((None, crowd) for crowd in ("3 fair", "5 alike")),
)


def kept_and_wrong(X, y, kind, crowd, max_error):
    """Whether each of the labels that ``clean`` would keep is wrong."""
    sets = KINDS[kind](X, y, 0) if kind else ask(X, y, CROWDS[crowd], 0)[0]
    m = len(y)
    labels = Labels(sets, np.full(m, -1), np.zeros(m, bool), None, None)
    found = choose_labels(X, labels, max_error=max_error)
    return (found.label != y)[found.status == PROBABLE]


def audit(wrong, rng, bound):
    """For each level: after how many answers it is certified, and whether it is broken then."""
    found = np.concatenate([[0], np.cumsum(wrong[rng.permutation(len(wrong))])])
    result = {}
    for n in [*range(STEP, len(wrong), STEP), len(wrong)]:
        still = bound(len(wrong), n, int(found[n]))
        for level in LEVELS:
            if level not in result and still <= level:
                result[level] = n, (found[-1] - found[n]) / len(wrong) > level
        if len(result) == len(LEVELS):
            break
    return result


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=["dermatology", "ecoli", "glass"])
    parser.add_argument("--audits", type=int, default=200)
    parser.add_argument("--max-error", type=float, default=0.1)
    options = parser.parse_args()
    bound = cache(share_still_wrong)
    print("| problem | kept | wrong | " + " | ".join(f"{level:.0%}" for level in LEVELS) + " |")
    print("|---|---|---|" + "---|" * len(LEVELS))
    worst = dict.fromkeys(LEVELS, 0.0)
    for name, X, y in controlled(options.data):
        for kind, crowd in PROBLEMS:
            wrong = kept_and_wrong(X, y, kind, crowd, options.max_error)
            rng = np.random.default_rng(0)
            audits = [audit(wrong, rng, bound) for _ in range(options.audits)]
            cells = []
            for level in LEVELS:
                answers = [one[level][0] for one in audits]
                broken = np.mean([one[level][1] for one in audits])
                worst[level] = max(worst[level], broken)
                early = [n for n in answers if n <= len(wrong) / 2]
                cells.append(
                    f"{len(early) / len(audits):.0%} certified, {np.median(answers):.0f} answers, "
                    f"{broken:.1%} broken"
                )
            title = f"{name}, {kind or 'crowd: ' + crowd}"
            row = [title, f"{len(wrong)} of {len(y)}", f"{wrong.mean():.1%}", *cells]
            print(f"| {' | '.join(row)} |", flush=True)
    print("worst share broken: " + ", ".join(f"{k:.0%}: {v:.3f}" for k, v in worst.items()))
