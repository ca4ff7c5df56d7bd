"""Shared by the benchmarks: made-up problems and candidates, and times of functions that run in
turns.
"""

import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from surelabel import CandidateSets, make_partial

N_FEATURES, N_CLASSES, R = 50, 10, 2


def problem(m, p=0.7, n_classes=N_CLASSES, dtype=np.float64):
    """Instances, labels, and candidates of which R are false in a share ``p`` of the rows."""
    X, y = make_classification(
        m, N_FEATURES, n_informative=30, n_classes=n_classes, class_sep=2.0, random_state=0
    )
    return X.astype(dtype), y, make_partial(y, p=p, r=R, random_state=0)


def confusable(X, y, rate, seed):
    """Candidates that a weak model considers likely (Xu, Qiao, Geng and Zhang. Instance-dependent
    partial label learning. NeurIPS 2021); a false label joins with probability ``rate`` on average.
    """
    truth = CandidateSets.from_labels(y)
    m, l = truth.shape
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01)).fit(X, truth.indices)
    weight = model.predict_proba(X)
    weight[np.arange(m), truth.indices] = 0
    share = weight / weight.sum(axis=1, keepdims=True)
    inside = np.random.RandomState(seed).random_sample((m, l)) < rate * (l - 1) * share
    inside[np.arange(m), truth.indices] = True
    return CandidateSets.from_indicator(inside, classes=truth.classes)


def without_truth(candidates, y, rate, seed):
    """The candidates; in a share ``rate`` of the rows, a label outside the set replaces the true
    one, as if all annotators were wrong.
    """
    truth = CandidateSets.from_labels(y, classes=candidates.classes).indices
    m, l = candidates.shape
    rng = np.random.RandomState(seed)
    noisy = np.sort(rng.permutation(m)[: round(rate * m)])
    inside = candidates.to_indicator().astype(bool)
    outside = np.where(inside[noisy], -1, rng.random_sample((len(noisy), l))).argmax(axis=1)
    inside[noisy, outside] |= candidates.sizes[noisy] < l
    inside[noisy, truth[noisy]] = False
    return CandidateSets.from_indicator(inside, classes=candidates.classes)


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
