"""What would not fit into memory is refused in one sentence, with an estimate, before it
is tried.
"""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from surelabel import (
    CLPLClassifier,
    IPALClassifier,
    LSBCMMClassifier,
    PALOCClassifier,
    PLKNNClassifier,
    PLSVMClassifier,
    SUREClassifier,
    make_partial,
)
from surelabel.exceptions import MemoryNeedError

LINEAR = "with 20 labels on 4000 rows needs about .* SUREClassifier"
PAIRS = "PALOC with 190 pairs of labels on 4000 rows needs about"
IPAL = r"IPAL with 10 neighbours of \d+ candidates needs about .* lower n_neighbors"
MIXTURE = "LSB-CMM with 44 components on 4000 rows needs about .* lower n_components"
METHODS = [
    (CLPLClassifier(max_iter=3), f"CLPLClassifier {LINEAR}"),
    (PLSVMClassifier(max_iter=1), f"PLSVMClassifier {LINEAR}"),
    (IPALClassifier(max_iter=2), IPAL),
    (LSBCMMClassifier(max_iter=2), MIXTURE),
    (PALOCClassifier(), f"{PAIRS} .* fewer rows"),
    (PALOCClassifier(LinearSVC(max_iter=1)), PAIRS),
]


def problem(m=4000, l=20, r=3):
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(l), rng.integers(0, l, m - l)])
    return rng.normal(size=(m, 5)), make_partial(y, p=1, r=r, random_state=0)


@pytest.mark.parametrize(("estimator", "message"), METHODS, ids=lambda value: type(value).__name__)
def test_too_little_memory(estimator, message, monkeypatch):
    X, candidates = problem()
    monkeypatch.setattr("surelabel.estimators._base.available_memory", lambda: 10**5)
    with pytest.raises(MemoryNeedError, match=message):
        estimator.fit(X, candidates)


def test_methods_that_fit_any_memory_are_not_refused(monkeypatch):
    X, candidates = problem(500)
    monkeypatch.setattr("surelabel.estimators._base.available_memory", lambda: 10**5)
    monkeypatch.setattr("surelabel.estimators.limits.available_memory", lambda: 10**5)
    PLKNNClassifier().fit(X, candidates)
    assert SUREClassifier().fit(X, candidates).solver_ == "nystroem"
    monkeypatch.setattr("surelabel.estimators._base.available_memory", lambda: None)
    CLPLClassifier().fit(X, candidates)  # a system that does not say


@pytest.mark.parametrize(("estimator", "_"), METHODS[:4], ids=lambda value: type(value).__name__)
def test_estimates_are_near_what_is_taken(estimator, _, monkeypatch):
    X, candidates = problem(4000, 40, 20)
    said = []
    module = (
        "_linear"
        if isinstance(estimator, CLPLClassifier | PLSVMClassifier)
        else type(estimator).__module__.split(".")[-1]
    )
    monkeypatch.setattr(
        f"surelabel.estimators.{module}.require_memory",
        lambda what, need, advice: said.append(need),
    )
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X, candidates)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.6 < peak / said[0] < 1.5
