"""SURE compared with one supervised kernel ridge fit, with the literal algorithm and with a single
fit; and its memory.

Run it on 2 threads, on an idle machine: ``python benchmarks/sure.py``. All ratios are of times from
this run.
"""

import os
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")

import resource
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
from _shared import N_CLASSES, problem, seconds
from sklearn.datasets import load_digits
from sklearn.kernel_ridge import KernelRidge

from surelabel import SURECV, SUREClassifier, make_partial
from surelabel.solvers.kernels import kernel_matrix

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.reference.sure import literal_sure


def against_kernel_ridge():
    print("SURE fit over one sklearn KernelRidge.fit on the same data (aim 1.0, at most 1.2)")
    print(
        f"{'m':>6} {'p':>4} {'classes':>7} {'iterations':>10} {'SURE s':>8} {'ridge s':>8} "
        f"{'ratio':>6} {'right labels':>13}"
    )
    for m in (2000, 4000, 8000):
        for p in (0.7, 1.0):
            against_one_kernel_ridge(m, p)
    against_one_kernel_ridge(4000, 1.0, 50)


def against_one_kernel_ridge(m, p, n_classes=N_CLASSES):
    X, y, candidates = problem(m, p, n_classes)
    model = SUREClassifier().fit(X, candidates)
    ridge = KernelRidge(alpha=model.beta, kernel="rbf", gamma=model.gamma_)
    Y = np.eye(n_classes)[y]
    ours, theirs = seconds(
        lambda: model.fit(X, candidates), lambda: ridge.fit(X, Y), repeat=3 if m > 4000 else 5
    )
    right = np.mean(model.transduction_ == y)
    print(
        f"{m:6} {p:4} {n_classes:7} {model.n_iter_:10} {ours:8.2f} {theirs:8.2f} "
        f"{ours / theirs:6.2f} {right:13.1%}"
    )


def against_literal():
    X, _, candidates = problem(1000, 0.7)
    model = SUREClassifier().fit(X, candidates)
    (ours,) = seconds(lambda: model.fit(X, candidates))
    Y = candidates.to_indicator()

    def literal():
        K = kernel_matrix("rbf", X, gamma=model.gamma_)
        return literal_sure(K, Y, model.lam, model.beta, model.n_iter_)

    (theirs,) = seconds(literal, repeat=1)
    difference = np.abs(literal()[0] - model.confidence_.toarray()).max()
    print(
        f"\nSpeed-up over the literal algorithm at m = 1,000 and {model.n_iter_} iterations (at "
        "least 100)"
    )
    print(
        f"literal {theirs:.2f} s, SURE {ours:.3f} s: {theirs / ours:.0f} times; largest difference "
        f"of P {difference:.1e}"
    )


def search():
    X, y = load_digits(return_X_y=True)
    X, y = X[:1000] / 16, y[:1000]
    candidates = make_partial(y, p=0.7, r=3, random_state=0)
    print(
        "\nSURECV, 7 × 7 grid and five folds, over one SUREClassifier.fit on the same data (at "
        "most 40)"
    )
    for name, data, sets in (("digits", X, candidates), ("made-up", *problem(1000, 0.7)[::2])):
        one, all_of_them = seconds(
            partial(SUREClassifier().fit, data, sets), partial(SURECV(kernel="rbf").fit, data, sets)
        )
        print(
            f"{name:>8}: one fit {one:.3f} s, search {all_of_them:.2f} s: {all_of_them / one:.1f} "
            "times"
        )


def memory():
    print("\nPeak memory of a fit over 8 m² bytes (at most 2.5)")
    for m, p in ((8000, 0.7), (8000, 1.0)):
        grown = int(subprocess.check_output([sys.executable, __file__, "memory", str(m), str(p)]))
        print(f"m = {m}, p = {p}: {grown / (8 * m**2):.2f}")


def memory_of_one_fit(m, p):
    X, _, candidates = problem(m, p)
    SUREClassifier().fit(X[:500], candidates[:500])  # libraries and their buffers
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    SUREClassifier().fit(X, candidates)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["memory"]:
        memory_of_one_fit(int(sys.argv[2]), float(sys.argv[3]))
    else:
        search()
        against_literal()
        memory()
        print()
        against_kernel_ridge()
