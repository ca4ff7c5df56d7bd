"""How often PLSVM loses to SURE in Table 2 if it is optimised as its paper says.

PLSVM by the subgradient steps of Pegasos, with every λ of its grid fixed, on the folds of a study;
SURE's scores are those of the study's records. The last line takes, for each setting, the λ that is
best on its test rows, which favours PLSVM. ``python benchmarks/table2_pegasos.py [STUDY]``, by
default table2-raw.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
import warnings
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np
from table4_tried import Pegasos

from surelabel.estimators import all_methods
from surelabel.evaluation.significance import two_sample_t
from surelabel.experiments import trials
from surelabel.experiments.records import read_all
from surelabel.experiments.study import paper_study
from surelabel.experiments.trials import trials_of
from surelabel.report.results import ALPHA

RECORDS = Path(__file__).parents[1] / "docs/reproduction/records"
LAMBDAS = all_methods()["PLSVM"].grid["lam"]


def setting(dataset, configuration):
    """What the trials of a case have in common."""
    return dataset, str(sorted((key, str(value)) for key, value in configuration.items()))


def accuracies(trial):
    """For every λ, on the test rows of a trial."""
    data = trials._load(trial.dataset, os.environ.get("SURELABEL_DATA"))
    candidates, fold = trials._corrupt(data, trial), trials._fold(trial, len(data.X))
    X = trials._scale(data.X, fold, trial.scaling)
    return [
        np.mean(
            Pegasos(lam).fit(X[fold.train], candidates[fold.train]).predict(X[fold.test])
            == data.y[fold.test]
        )
        for lam in LAMBDAS
    ]


def main() -> None:
    warnings.simplefilter("ignore")  # 1,000 steps are often not enough
    name = sys.argv[1] if len(sys.argv) > 1 else "table2-raw"
    sure: dict[tuple[str, str], dict[int, float]] = {}
    for record in read_all(RECORDS / name)[0].records:
        if record["method"] == "SURE" and record["fold"] < 10:
            case = sure.setdefault(setting(record["dataset"], record["configuration"]), {})
            case[record["fold"]] = record["scores"]["accuracy"]
    found: dict[tuple[str, str], list[list[float]]] = {}
    for trial in trials_of(paper_study(name), methods=["PLSVM"]):
        if trial.dataset != "usps" and trial.fold < 10:
            case = setting(trial.dataset, asdict(trial.configuration))
            found.setdefault(case, []).append(accuracies(trial))
    ours = {case: np.array([scores[fold] for fold in range(10)]) for case, scores in sure.items()}
    theirs = {case: np.array(scores) for case, scores in found.items()}
    columns = dict(zip(map("{:g}".format, LAMBDAS), range(len(LAMBDAS)), strict=True))
    print("| λ | wins/ties/losses of SURE | accuracy | SURE |\n| :--- | ---: | ---: | ---: |")
    for title, column in (*columns.items(), ("best for each setting", None)):
        of_case = {
            case: scores[:, scores.mean(axis=0).argmax() if column is None else column]
            for case, scores in theirs.items()
        }
        counts = Counter(two_sample_t(ours[case], of_case[case], ALPHA) for case in of_case)
        wins = "/".join(str(counts[outcome]) for outcome in ("win", "tie", "loss"))
        mean, of_sure = (
            np.mean([scores[case].mean() for case in of_case]) for scores in (of_case, ours)
        )
        print(f"| {title} | {wins} | {mean:.3f} | {of_sure:.3f} |", flush=True)


if __name__ == "__main__":
    main()
