"""Shared by the benchmarks of SURE and PURE: made-up problems, and times of functions that run in
turns.
"""

import time

import numpy as np
from sklearn.datasets import make_classification

from surelabel import make_partial

N_FEATURES, N_CLASSES, R = 50, 10, 2


def problem(m, p=0.7, n_classes=N_CLASSES, dtype=np.float64):
    """Instances, labels, and candidates of which R are false in a share ``p`` of the rows."""
    X, y = make_classification(
        m, N_FEATURES, n_informative=30, n_classes=n_classes, class_sep=2.0, random_state=0
    )
    return X.astype(dtype), y, make_partial(y, p=p, r=R, random_state=0)


def seconds(*functions, repeat=5, clock=time.perf_counter):
    """Best time of each function; the functions take turns, so that a slow moment of the machine
    meets them all.
    """
    times = np.full((repeat, len(functions)), np.inf)
    for row in times:
        for i, function in enumerate(functions):
            started = clock()
            function()
            row[i] = clock() - started
    return times.min(axis=0)
