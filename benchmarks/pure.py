"""What PURE costs, as ratios: one kernel to one supervised kernel ridge fit, the choice of kernels
to SURECV, low rank to SURE (in memory, from a file, on a cluster), and its memory.

Run on a machine that does nothing else: ``python benchmarks/pure.py``. One thread; times are of the
processor, the functions run in turns, and all ratios are of times from this run.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from _shared import N_CLASSES, problem
from _shared import seconds as best_seconds
from sklearn.kernel_ridge import KernelRidge

from surelabel import SURECV, PUREClassifier, SUREClassifier


def seconds(*functions, repeat=3):
    """Best processor time of each function."""
    return best_seconds(*functions, repeat=repeat, clock=time.process_time)


def one_kernel():
    print("One kernel and β over one KernelRidge.fit on the same data (aim 1.3, at most 1.8)")
    for m in (1000, 2000, 4000):
        for p in (0.7, 1.0):
            X, y, candidates = problem(m, p)
            model = PUREClassifier(kernel="rbf").fit(X, candidates)
            ridge = KernelRidge(alpha=model.beta, kernel="rbf", gamma=model.gamma_)
            Y = np.eye(N_CLASSES)[y]
            ours, theirs = seconds(
                lambda model=model, X=X, c=candidates: model.fit(X, c),
                lambda ridge=ridge, X=X, Y=Y: ridge.fit(X, Y),
            )
            print(
                f"m = {m}, p = {p}: {ours:.2f} s over {theirs:.2f} s: {ours / theirs:.2f} "
                f"({model.n_iter_} iterations)"
            )


def choice():
    print("\nPUREClassifier() over SURECV() on the same data (aim a third, at most 1)")
    for m in (1000, 2000, 5000):
        X, _, candidates = problem(m)
        (ours,) = seconds(lambda X=X, c=candidates: PUREClassifier().fit(X, c), repeat=1)
        (theirs,) = seconds(lambda X=X, c=candidates: SURECV().fit(X, c), repeat=1)
        print(f"m = {m}: {ours:.1f} s over {theirs:.1f} s: {ours / theirs:.2f}")


OPTIONS = {"kernel": "rbf", "solver": "nystroem"}


def compare(what, pure, sure, X, candidates, repeat=2):
    """The ratio of two fits, by time of the processor."""
    ours, theirs = seconds(
        lambda: pure.fit(X, candidates), lambda: sure.fit(X, candidates), repeat=repeat
    )
    print(
        f"{what}: {ours:.1f} s ({pure.n_iter_} iterations) over {theirs:.1f} s ({sure.n_iter_}): "
        f"{ours / theirs:.2f}"
    )


def low_rank(sizes=((100_000, 500), (1_000_000, 500))):
    print("\nLow rank over SURE with as many landmarks (at most 1.3)")
    for m, n_components in sizes:
        X, _, candidates = problem(m, dtype=np.float32)
        options = OPTIONS | {"n_components": n_components}
        compare(
            f"m = {m}, D = {n_components}, in memory",
            PUREClassifier(**options),
            SUREClassifier(**options),
            X,
            candidates,
            repeat=2 if m < 500_000 else 1,
        )


def out_of_core(m=300_000, n_components=500):
    print("\nThe same from a file that is read in blocks (at most 1.3)")
    X, _, candidates = problem(m, dtype=np.float32)
    options = OPTIONS | {"n_components": n_components}
    with tempfile.NamedTemporaryFile(suffix=".f32") as file:
        X.tofile(file)
        file.flush()
        rows = np.memmap(file.name, np.float32, "r", shape=X.shape)
        compare(
            f"m = {m}, D = {n_components}, out of core",
            PUREClassifier(**options),
            SUREClassifier(**options),
            rows,
            candidates,
        )


def cluster(m=200_000, n_components=500, n_blocks=20):
    """Times of the clock here, as the workers are other processes."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster

    from surelabel import distributed

    print(
        "\nOn a Dask cluster over SURE there (at most 1.3), and the same answer by 1 and 2 workers"
    )
    X, _, candidates = problem(m, dtype=np.float32)
    options = OPTIONS | {"n_components": n_components}
    coefficients = []
    for n_workers in (1, 2):
        quiet = {"dashboard_address": None, "silence_logs": 40, "threads_per_worker": 1}
        with LocalCluster(n_workers=n_workers, **quiet) as workers, Client(workers) as client:
            blocks = da.from_array(X, chunks=(m // n_blocks, X.shape[1])).persist()
            client.run(__import__, "surelabel.distributed")
            sure = distributed.SUREClassifier(**options)
            pure = distributed.PUREClassifier(**options)
            theirs, ours = best_seconds(
                partial(sure.fit, blocks, candidates), partial(pure.fit, blocks, candidates)
            )
        coefficients.append(pure.dual_coef_)
        print(
            f"m = {m}, {n_workers} workers: {ours:.1f} s over {theirs:.1f} s: {ours / theirs:.2f}"
        )
    print("the same bits:", np.array_equal(*coefficients))


def memory(m=4000):
    print("\nPeak memory of a fit with one kernel over 8 m² bytes (at most 2.5)")
    for p in ("0.7", "1.0"):
        grown = int(subprocess.check_output([sys.executable, __file__, "memory", str(m), p]))
        print(f"m = {m}, p = {p}: {grown / (8 * m**2):.2f}")


def memory_of_one_fit(m, p):
    X, _, candidates = problem(m, p)
    PUREClassifier(kernel="rbf").fit(X[:500], candidates[:500])  # libraries and their buffers
    before = peak()
    PUREClassifier(kernel="rbf").fit(X, candidates)
    print(peak() - before)


def peak():
    """Peak memory of this process in bytes (``ru_maxrss`` would begin with that of the parent)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["memory"]:
        memory_of_one_fit(int(sys.argv[2]), float(sys.argv[3]))
    else:
        parts = {
            "one": one_kernel,
            "peak": memory,
            "choice": choice,
            "lowrank": low_rank,
            "file": out_of_core,
            "cluster": cluster,
        }
        for name in sys.argv[1:] or parts:
            parts[name]()
