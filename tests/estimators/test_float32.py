"""Single precision, in which embeddings usually are: every estimator, with each of its solvers."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from surelabel import (
    SURECV,
    CandidateSets,
    CrowdClassifier,
    PALOCClassifier,
    PLKNNClassifier,
    PUREClassifier,
    SUREClassifier,
    SURERetrainer,
    WeightedCandidatesClassifier,
    all_methods,
    make_partial,
)

SMALL = {"lams": (0.1, 0.3), "betas": (0.05, 0.5)}
FEW = {"n_components": 40}
FOREST = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)
#: Estimators with the numbers of rows and columns that take each of their solvers.
CASES = [
    *((method.estimator(), 150, 6) for method in all_methods().values()),
    *(
        (model(kernel=kernel, solver=solver, **more), 150, n)
        for model in (SUREClassifier, PUREClassifier)
        for kernel, solver, n, more in (
            ("rbf", "dual", 6, {}),
            ("laplacian", "dual", 6, {}),
            ("linear", "dual", 200, {}),
            ("linear", "primal", 6, {}),
            ("rbf", "nystroem", 6, FEW),
            ("laplacian", "nystroem", 6, FEW),
        )
    ),
    (PUREClassifier(solver="nystroem", **FEW), 900, 6),  # a sample decides the kernel
    *((SURECV(**SMALL, kernel=kernel), 150, n) for kernel, n in (("rbf", 6), ("linear", 200))),
    (SURECV(**SMALL, kernel="linear"), 150, 6),
    (SURECV(**SMALL, solver="nystroem", **FEW), 150, 6),
    (SURERetrainer(), 150, 6),
    (SURERetrainer(FOREST), 150, 6),
    (PALOCClassifier(SVC(C=1)), 150, 6),
    (PALOCClassifier(LogisticRegression()), 150, 6),
    (PLKNNClassifier(weights="distance"), 150, 6),
    (WeightedCandidatesClassifier(FOREST), 150, 6),
    (CrowdClassifier(), 150, 6),
    (CrowdClassifier(), 3050, 6),  # landmarks
    (CrowdClassifier(FOREST), 150, 6),
]


def problem(m, n):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, m)
    X = 3 * np.eye(3, n)[y] + rng.standard_normal((m, n)) * np.where(np.arange(n) < 6, 1, 0.1)
    return X.astype(np.float32), y, rng


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "m", "n"), CASES, ids=[f"{e!r} {m} x {n}" for e, m, n in CASES]
)
def test_single_precision_finds_the_same_labels(estimator, m, n):
    X, y, rng = problem(m, n)
    if isinstance(estimator, CrowdClassifier):
        said = np.where(rng.random((m, 4)) < 0.7, y[:, None], rng.integers(0, 3, (m, 4)))
        labels = CandidateSets.from_votes(said)
    else:
        labels = make_partial(y, p=0.6, r=1, random_state=0)
    single = clone(estimator).fit(X, labels)
    double = clone(estimator).fit(X.astype(np.float64), labels)
    assert np.mean(single.transduction_ == double.transduction_) > 0.97
    assert np.mean(single.predict(X) == double.predict(X.astype(np.float64))) > 0.97
    assert np.all(np.isfinite(single.confidence_.data))
    np.testing.assert_allclose(single.predict_proba(X).sum(axis=1), 1, atol=1e-5)
    if isinstance(estimator, SUREClassifier | PUREClassifier):
        assert single.confidence_.dtype == single.decision_function(X).dtype == np.float32
    assert np.mean(single.transduction_ == y) > 0.75
