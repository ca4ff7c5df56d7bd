"""Table 4 at the full size of Soccer Player and Yahoo! News, on made-up files of the same form.

The published files may not be shipped. ``make FOLDER`` writes files of their names, sizes and
average numbers of candidates; ``run FOLDER`` then runs one fold of each algorithm on each of them
by ``surelabel reproduce table4``, as a user with the published files would, and prints the time and
peak memory of each. The accuracies are meaningless.

    python benchmarks/full_size.py make data
    python benchmarks/full_size.py run data --datasets yahoo-news --methods SURE,PLKNN
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.io import savemat

from surelabel.data import catalog
from surelabel.experiments.study import paper_study

DATASETS = ("soccer-player", "yahoo-news")


def make(folder: Path, dataset: str) -> None:
    """Clusters of unequal size in noise, candidates at random: the form of the published files."""
    spec = catalog.describe(dataset)
    size = spec.expected
    rng = np.random.default_rng(0)
    share = rng.dirichlet(np.full(size.labels, 0.5))
    truth = rng.choice(size.labels, size.examples, p=share)
    data = rng.normal(size=(size.labels, size.features))[truth]
    data += rng.normal(scale=3.0, size=data.shape)
    candidates = sparse.random(
        size.labels,
        size.examples,
        (size.average_candidates - 1) / (size.labels - 1),
        format="lil",
        random_state=rng,
    )
    candidates[truth, np.arange(size.examples)] = 1
    candidates = candidates.tocsc()
    candidates.data[:] = 1
    target = sparse.csc_array(
        (np.ones(size.examples), truth, np.arange(size.examples + 1)),
        shape=(size.labels, size.examples),
    )
    path = folder / "realworld" / spec.file
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(
        path,
        {"data": data, "partial_target": candidates, "target": sparse.csc_matrix(target)},
        do_compression=True,
    )
    print(f"{path}: {data.shape}, {candidates.sum() / size.examples:.2f} candidates on average")


def run(folder: Path, dataset: str, method: str) -> str:
    """One line of the table."""
    command = [
        *(sys.executable, "-c", "from surelabel.cli import app; app()", "reproduce", "table4"),
        *("--datasets", dataset, "--methods", method, "--folds", "1", "--workers", "1"),
        *("--results", str(folder / "results" / f"{dataset}-{method}")),
    ]
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        env=os.environ | {"SURELABEL_DATA": str(folder)},
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    return (
        f"| {dataset} | {method} | {wall:.0f} s | {used.ru_utime + used.ru_stime:.0f} s | "
        f"{used.ru_maxrss / 2**20:.1f} GiB | {'done' if status == 0 else f'status {status}'} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=["make", "run"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument(
        "--methods", default=",".join(plan.name for plan in paper_study("table4").methods)
    )
    options = parser.parse_args()
    datasets = options.datasets.split(",")
    if options.verb == "make":
        for dataset in datasets:
            make(options.folder, dataset)
        return
    print("| data | method | wall clock | processor | peak memory | |")
    print("| :--- | :--- | ---: | ---: | ---: | :--- |")
    for dataset in datasets:
        for method in options.methods.split(","):
            print(run(options.folder, dataset, method), flush=True)


if __name__ == "__main__":
    main()
