"""PURE beside ``SURECV()`` on the 84 controlled sets of the study "pure", paired by folds.

``python benchmarks/pure_surecv.py run`` fits ``SURECV()`` on the standardised features of every
fold (it goes on where it was stopped) and writes ``docs/pure/surecv.jsonl``, a line for each fold.
``python benchmarks/pure_surecv.py`` compares it with the records of PURE, and with ``SURECV()``
whose inner folds were shuffled otherwise (``run 1`` makes those): so many sets differ by chance.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold

from surelabel import SURECV
from surelabel.experiments import evaluate
from surelabel.experiments.records import read
from surelabel.experiments.study import paper_study
from surelabel.experiments.trials import trials_of

DOCS = Path(__file__).parent.parent / "docs"
DATASETS = ("deter", "ecoli", "glass")


def output(shuffle):
    return DOCS / "pure" / ("surecv.jsonl" if shuffle == 0 else f"surecv-{shuffle}.jsonl")


def known(path):
    """Accuracy by data set, configuration, level and fold."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {tuple(key): value for *key, value in map(json.loads, lines)}


def run(shuffle, n_folds):
    warnings.simplefilter("ignore")
    done = known(output(shuffle))
    trials = trials_of(paper_study("pure"), datasets=DATASETS, methods=["SURE"])
    for trial in sorted(trials, key=lambda trial: trial.fold):
        key = (trial.dataset, trial.configuration.name, trial.configuration.level, trial.fold)
        if key in done or trial.fold >= n_folds:
            continue
        data = evaluate._load(trial.dataset, None)
        candidates = evaluate._corrupt(data, trial)
        fold = evaluate._fold(trial, len(data.X))
        X = evaluate._scale(data.X, fold, "standard")
        cv = KFold(5, shuffle=True, random_state=shuffle) if shuffle else None
        model = SURECV(cv=cv).fit(X[fold.train], candidates[fold.train])
        accuracy = model.score(X[fold.test], data.y[fold.test])
        with output(shuffle).open("a") as file:
            file.write(json.dumps([*key, round(accuracy, 6)]) + "\n")


def compare(name, ours, theirs):
    """Mean difference by data set, and the sets that are behind by more than a standard error."""
    print(f"\n{name}")
    for dataset in (*DATASETS, "all"):
        sets = {}
        for key in ours.keys() & theirs.keys():
            if dataset in (key[0], "all"):
                sets.setdefault(key[:3], []).append(ours[key] - theirs[key])
        if not sets:
            continue
        every = np.concatenate(list(sets.values()))
        behind = [
            (" ".join(map(str, key)), round(float(np.mean(gain)), 4))
            for key, gain in sorted(sets.items())
            if len(gain) > 1 and np.mean(gain) < -np.std(gain, ddof=1) / np.sqrt(len(gain)) - 1e-9
        ]
        print(
            f"{dataset}: {len(sets)} sets, {len(every)} folds, mean difference {every.mean():+.4f} "
            f"(standard error {every.std() / np.sqrt(len(every)):.4f}), behind by more than the "
            f"standard error on {len(behind)}: {behind if dataset != 'all' else ''}"
        )


def show():
    pure = {}
    for record in read(DOCS / "reproduction" / "records" / "pure").records:
        if record["method"] == "PURE" and record["configuration"]["kind"] == "controlled":
            setting = record["configuration"]
            level = setting["eps"] if setting["name"] == "I" else setting["p"]
            key = (record["dataset"], setting["name"], level, record["fold"])
            pure[key] = record["scores"]["accuracy"]
    theirs = known(output(0))
    compare("PURE less SURECV()", pure, theirs)
    if output(1).exists():
        compare("SURECV() with other inner folds less SURECV(): chance", known(output(1)), theirs)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        shuffle, n_folds = [*map(int, sys.argv[2:]), *(0, 10)[len(sys.argv[2:]) :]]
        run(shuffle, n_folds)
    else:
        show()
