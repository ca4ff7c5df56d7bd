"""How much faster a method's own search over its grid is than scikit-learn's, and whether it
chooses the same parameters.

Both searches run one after another on the same inner folds of trials of the paper's tables (IPAL:
66 points, SURE: 49; five folds each), in one thread. Times are CPU times, so that other
work on the machine matters little. ``python benchmarks/searches.py [METHOD …]``

``python benchmarks/searches.py --settings [METHOD …]`` compares them on the first fold of all 84
settings of Table 2 for dermatology, ecoli and glass: how often the choice is the same, and how much
scores differ at most.

``python benchmarks/searches.py --than FOLDER [METHOD …]`` compares with the searches of another
version, a checkout in FOLDER: the shortest of five runs each, in turn, on five folds of shuffled
rows.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import process_time

import numpy as np

from surelabel.estimators import all_methods
from surelabel.evaluation.protocol import grid_search, select_parameters
from surelabel.experiments import trials
from surelabel.experiments.study import paper_study
from surelabel.experiments.trials import trials_of

TRIALS = {"deter": "table2", "ecoli": "table2", "glass": "table2", "lost": "table4"}


# What a version does in a process of its own; 0.1 has no make_search.
CHILD = """
import json, sys, warnings
from time import process_time
import numpy as np
import surelabel
from sklearn.model_selection import KFold
from surelabel import as_candidates
from surelabel.estimators import all_methods
from surelabel.evaluation.protocol import grid_search

warnings.simplefilter("ignore")
data, method = np.load(sys.argv[1]), all_methods()[sys.argv[2]]
if hasattr(method, "make_search"):
    search = method.make_search(grid=method.grid)
else:
    search = grid_search(method.estimator(), method.grid, "covering_rate")
search.cv = KFold(5, shuffle=True, random_state=0)
start = process_time()
search.fit(data["X"], as_candidates(data["Y"]))
seconds = process_time() - start
scores = search.cv_results_["mean_test_score"]
print(json.dumps([surelabel.__file__, seconds, search.best_params_, list(scores)], default=float))
"""


def trial_of(dataset, method):
    """The first fold at the middle level of corruption."""
    trials = trials_of(paper_study(TRIALS[dataset]), datasets=[dataset], methods=[method])
    return next(trial for trial in trials if trial.configuration.level in (None, 0.4))


def problem_of(trial):
    """Its scaled features, candidates, true labels and fold."""
    data = trials._load(trial.dataset, os.environ.get("SURELABEL_DATA"))
    candidates = data.candidates
    if candidates is None:
        candidates = trials._corrupt(data, trial)
    fold = trials._fold(trial, len(data.X))
    return trials._scale(data.X, fold, trial.scaling), candidates, data.y, fold


def both_searches(method, trial):
    """CPU seconds, choices and scores of scikit-learn's search and of the method's own, and the
    number of rows.
    """
    X, candidates, y, fold = problem_of(trial)
    grid, found = trial.method.grid, []
    for search in (
        grid_search(method.estimator(), grid, "covering_rate"),
        method.make_search(grid=grid),
    ):
        start = process_time()
        chosen = select_parameters(search, X, candidates, y, fold, selection="covering_rate")
        seconds = process_time() - start
        found.append((seconds, chosen, search.cv_results_["mean_test_score"]))
    return *zip(*found, strict=True), len(fold.select)


def compare_searches(methods) -> None:
    """Each method's own search beside scikit-learn's."""
    print(
        "| method | data | rows | scikit-learn's | own | ratio | same choice | largest difference |"
    )
    print("| :--- | :--- | ---: | ---: | ---: | ---: | :--- | ---: |")
    for name in methods:
        for dataset in TRIALS:
            *found, rows = both_searches(all_methods()[name], trial_of(dataset, name))
            print_row(name, dataset, rows, *found)


def compare_settings(methods) -> None:
    """Both searches on the first fold of every setting of Table 2."""
    print("| method | data | settings | ratio | same choice | largest difference |")
    print("| :--- | :--- | ---: | ---: | ---: | ---: |")
    for name in methods:
        for dataset in ("deter", "ecoli", "glass"):
            trials = trials_of(paper_study("table2"), datasets=[dataset], methods=[name])
            trials = [trial for trial in trials if trial.fold == 0]
            seconds, same, largest = np.zeros(2), 0, 0.0
            for trial in trials:
                times, chosen, scores, _ = both_searches(all_methods()[name], trial)
                seconds += times
                same += chosen[0] == chosen[1]
                largest = max(largest, np.abs(np.subtract(*scores)).max())
            print(
                f"| {name} | {dataset} | {len(trials)} | {seconds[0] / seconds[1]:.1f} | {same} | "
                f"{largest:.1e} |",
                flush=True,
            )


def compare_versions(methods, folder) -> None:
    """The searches of this version beside those of another."""
    print("| method | data | rows | other | this | ratio | same choice | largest difference |")
    print("| :--- | :--- | ---: | ---: | ---: | ---: | :--- | ---: |")
    here = Path(__file__).parent.parent
    for name in methods:
        for dataset in TRIALS:
            X, candidates, _, fold = problem_of(trial_of(dataset, name))
            with tempfile.NamedTemporaryFile(suffix=".npz") as file:
                Y = candidates[fold.select].to_sparse().toarray()
                np.savez(file, X=X[fold.select], Y=Y != 0)
                file.flush()
                runs = [
                    [run_version(version, file.name, name) for version in (folder, here)]
                    for _ in range(5)
                ]
            best = [min(results, key=lambda run: run[0]) for results in zip(*runs, strict=True)]
            print_row(name, dataset, len(fold.select), *zip(*best, strict=True))


def run_version(folder, problem, method):
    """CPU seconds, choice and scores of the search of the version in a folder."""
    found = subprocess.run(
        [sys.executable, "-c", CHILD, problem, method],
        env=os.environ | {"PYTHONPATH": str(folder)},
        cwd=tempfile.gettempdir(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    imported, *results = json.loads(found.stdout)
    if not Path(imported).is_relative_to(folder):
        raise SystemExit(f"{folder} has no package surelabel: {imported} was imported")
    return results


def print_row(method, dataset, rows, seconds, found, scores) -> None:
    difference = np.abs(np.subtract(*scores)).max()
    print(
        f"| {method} | {dataset} | {rows} | {seconds[0]:.2f} s | {seconds[1]:.2f} s | "
        f"{seconds[0] / seconds[1]:.1f} | {'yes' if found[0] == found[1] else 'no'} | "
        f"{difference:.1e} |",
        flush=True,
    )


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("methods", nargs="*", default=["IPAL", "SURE"])
    parser.add_argument("--settings", action="store_true", help="all settings of Table 2")
    parser.add_argument("--than", type=Path, help="a checkout of another version")
    options = parser.parse_args()
    if options.than:
        compare_versions(options.methods, options.than.resolve())
    elif options.settings:
        compare_settings(options.methods)
    else:
        compare_searches(options.methods)


if __name__ == "__main__":
    main()
