"""How much faster a method's own search over its grid is than scikit-learn's, and whether it
chooses the same parameters.

Both searches run one after another on the same inner folds of trials of the paper's tables (IPAL:
66 points, PLSVM: 7, SURE: 49; five folds each), in one thread. Times are CPU times, so that other
work on the machine matters little. ``python benchmarks/searches.py [METHOD …]``
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
import warnings
from time import process_time

import numpy as np

from surelabel.estimators import all_methods
from surelabel.evaluation.protocol import grid_search, select_parameters
from surelabel.experiments import evaluate
from surelabel.experiments.study import paper_study
from surelabel.experiments.trials import trials_of

TRIALS = {"deter": "table2", "ecoli": "table2", "glass": "table2", "lost": "table4"}


def trial_of(dataset, method):
    """The first fold at the middle level of corruption."""
    trials = trials_of(paper_study(TRIALS[dataset]), datasets=[dataset], methods=[method])
    return next(trial for trial in trials if trial.configuration.level in (None, 0.4))


def main() -> None:
    warnings.simplefilter("ignore")
    print(
        "| method | data | rows | scikit-learn's | own | ratio | same choice | largest difference |"
    )
    print("| :--- | :--- | ---: | ---: | ---: | ---: | :--- | ---: |")
    for name in sys.argv[1:] or ["IPAL", "PLSVM", "SURE"]:
        method = all_methods()[name]
        for dataset in TRIALS:
            trial = trial_of(dataset, name)
            data = evaluate._load(dataset, os.environ.get("SURELABEL_DATA"))
            candidates = data.candidates
            if candidates is None:
                candidates = evaluate._corrupt(data, trial)
            fold = evaluate._fold(trial, len(data.X))
            X = evaluate._scale(data.X, fold, trial.scaling)
            grid, seconds, found, scores = trial.method.grid, [], [], []
            for search in (
                grid_search(method.estimator(), grid, "covering_rate"),
                method.make_search(grid=grid),
            ):
                start = process_time()
                chosen = select_parameters(
                    search, X, candidates, data.y, fold, selection="covering_rate"
                )
                seconds.append(process_time() - start)
                found.append(chosen.parameters)
                scores.append(search.cv_results_["mean_test_score"])
            print(
                f"| {name} | {dataset} | {len(fold.select)} | {seconds[0]:.2f} s | "
                f"{seconds[1]:.2f} s | {seconds[0] / seconds[1]:.1f} | "
                f"{'yes' if found[0] == found[1] else 'no'} | "
                f"{np.abs(scores[0] - scores[1]).max():.1e} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
