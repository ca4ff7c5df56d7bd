"""PURE compared with ``SURECV()`` on the 84 controlled sets of the study "pure" and on usps, paired
by folds.

``python benchmarks/pure_surecv.py run`` fits ``SURECV()`` on the standardised features of every
fold (it continues where it was stopped) and writes ``docs/pure/surecv.jsonl``, a line for each
fold. ``python benchmarks/pure_surecv.py usps 1`` fits both on the first fold of the 28 settings of
usps, and writes ``docs/pure/usps.jsonl`` and ``usps-surecv.jsonl``; on 8,368 rows PURE with three
kernels takes a minute or two, ``SURECV()`` three to six. ``python benchmarks/pure_surecv.py``
compares.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

from surelabel import SURECV, PUREClassifier
from surelabel.experiments import trials
from surelabel.experiments.records import read
from surelabel.experiments.study import paper_study
from surelabel.experiments.trials import trials_of

DOCS = Path(__file__).parent.parent / "docs"
SURECV_SCORES = DOCS / "pure" / "surecv.jsonl"
USPS_SCORES = DOCS / "pure" / "usps.jsonl"
USPS_SURECV_SCORES = DOCS / "pure" / "usps-surecv.jsonl"
DATASETS = ("deter", "ecoli", "glass")


def known(path):
    """Accuracy by data set, configuration, level and fold."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {tuple(key): value for *key, value in map(json.loads, lines)}


def recorded(study, method):
    """The same, of the records of a study."""
    scores = {}
    for record in read(DOCS / "reproduction" / "records" / study).records:
        setting = record["configuration"]
        if record["method"] == method and setting["kind"] == "controlled":
            level = setting["eps"] if setting["name"] == "I" else setting["p"]
            key = (record["dataset"], setting["name"], level, record["fold"])
            scores[key] = record["scores"]["accuracy"]
    return scores


def run(path, trials, make, scaling):
    warnings.simplefilter("ignore")
    done = known(path)
    for trial in sorted(trials, key=lambda trial: trial.fold):
        key = (trial.dataset, trial.configuration.name, trial.configuration.level, trial.fold)
        if key in done:
            continue
        data = trials._load(trial.dataset, None)
        candidates = trials._corrupt(data, trial)
        fold = trials._fold(trial, len(data.X))
        X = trials._scale(data.X, fold, scaling)
        model = make().fit(X[fold.train], candidates[fold.train])
        accuracy = model.score(X[fold.test], data.y[fold.test])
        with path.open("a") as file:
            file.write(json.dumps([*key, round(accuracy, 6)]) + "\n")


def gains(ours, theirs, chosen):
    """Differences of the folds, by data set, configuration and level."""
    sets = {}
    for key in sorted(ours.keys() & theirs.keys()):
        if chosen(key):
            sets.setdefault(key[:3], []).append(ours[key] - theirs[key])
    return {key: np.array(values) for key, values in sets.items()}


def error(values):
    return values.std(ddof=1) / np.sqrt(len(values))


def is_behind(values):
    return values.mean() < -error(values) - 1e-9


def compare(ours, theirs):
    """Mean differences, and the sets that are behind by more than their standard error."""
    for dataset in DATASETS:
        for name in ("I", "II", "III", "IV"):
            every = np.concatenate(
                list(gains(ours, theirs, lambda key: key[:2] == (dataset, name)).values())  # noqa: B023
            )
            print(
                f"{dataset} ({name}): {len(every)} folds, {every.mean():+.4f} "
                f"(standard error {error(every):.4f})"
            )
    for dataset in (*DATASETS, "all"):
        sets = gains(ours, theirs, lambda key: dataset in (key[0], "all"))  # noqa: B023
        every = np.concatenate(list(sets.values()))
        behind = {key: values.mean() for key, values in sets.items() if is_behind(values)}
        ahead = sum(is_behind(-values) for values in sets.values())
        print(
            f"{dataset}: {len(sets)} sets, {len(every)} folds, {every.mean():+.4f} (standard error "
            f"{error(every):.4f}); more than the standard error of the set behind on "
            f"{len(behind)}, by at most {-min(behind.values()):.3f}, ahead on {ahead}"
        )
    # Equal methods: the sign of the differences of a set is chance
    rng = np.random.default_rng(0)
    chance = [
        sum(is_behind(values * rng.choice([-1, 1])) for values in sets.values())
        for _ in range(1000)
    ]
    low, high = np.quantile(chance, [0.025, 0.975])
    print(f"behind by chance: {np.mean(chance):.1f} of {len(sets)} ({low:.0f} to {high:.0f})")


def compare_usps():
    ours = known(USPS_SCORES)
    for name, theirs in (
        ("SURECV()", known(USPS_SURECV_SCORES)),
        ("the study's SURE", recorded("table2", "SURE")),
    ):
        sets = gains(ours, theirs, lambda key: True)
        if not sets:
            continue
        print(f"usps, PURE less {name}:")
        for key, values in sets.items():
            print(*key, f"{len(values)} folds, {values.mean():+.4f}")
        every = np.concatenate(list(sets.values()))
        print(
            f"usps: {len(sets)} settings, {len(every)} folds, {every.mean():+.4f} "
            f"(standard error {error(every):.4f}); ahead on {np.sum(every > 0)} folds, "
            f"behind on {np.sum(every < 0)}"
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["run"]:
        trials = trials_of(paper_study("pure"), datasets=DATASETS, methods=["SURE"])
        run(SURECV_SCORES, trials, SURECV, "standard")
    elif sys.argv[1:2] == ["usps"]:
        folds = int(sys.argv[2])
        study = paper_study("table2")
        trials = list(trials_of(study, datasets=["usps"], methods=["SURE"], folds=folds))
        run(USPS_SCORES, trials, PUREClassifier, "none")
        run(USPS_SURECV_SCORES, trials, SURECV, "standard")
    else:
        compare(recorded("pure", "PURE"), known(SURECV_SCORES))
        compare_usps()
