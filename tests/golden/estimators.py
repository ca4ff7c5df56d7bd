"""Coefficients, probabilities and transduction of every method on three problems."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import surelabel
from surelabel.data import catalog
from tests.golden.make import codes, summary

COEFFICIENTS = ("coef_", "dual_coef_", "intercept_", "confidence_", "objective_path_", "scale_")


@cache
def problem(name: str) -> tuple[np.ndarray, surelabel.CandidateSets, np.ndarray, np.ndarray]:
    """Rows to learn from, their candidates, rows to predict, and the truth of the first."""
    if name == "iris":
        X, y = load_iris(return_X_y=True)
    elif name == "ecoli":
        data = catalog.load("ecoli")
        X, y = data.X, np.asarray(data.y)
    else:  # more features than rows
        rng = np.random.default_rng(1)
        y = rng.integers(4, size=110)
        X = rng.standard_normal((110, 90)) + 1.5 * rng.standard_normal((4, 90))[y] / np.sqrt(8)
    rows = np.random.default_rng(0).permutation(len(X))[:180]
    X, y = X[rows], y[rows]
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    n = len(X) - 30
    candidates = surelabel.make_partial(y[:n], p=0.7, r=1, random_state=0)
    return X[:n], candidates, X[n:], y[:n]


def votes(truth: np.ndarray) -> surelabel.CandidateSets:
    """Three annotators, the last of whom is often wrong, and who leave out some rows."""
    rng = np.random.default_rng(0)
    names = np.unique(truth)
    given = np.stack(
        [
            np.where(rng.random(len(truth)) < right, truth, rng.choice(names, len(truth)))
            for right in (0.9, 0.7, 0.4)
        ],
        axis=1,
    ).astype(object)
    given[:, 1:][rng.random((len(truth), 2)) < 0.2] = None
    return surelabel.CandidateSets.from_votes(given)


def outcome(model: Any, X: np.ndarray) -> dict[str, Any]:
    """What is compared of a fitted model."""
    found: dict[str, Any] = {"predicted": codes(model.predict(X))}
    if hasattr(model, "transduction_"):
        found["transduction"] = codes(model.transduction_)
    for name in ("predict_proba", "decision_function"):
        if hasattr(model, name):
            found[name] = summary(getattr(model, name)(X))
    for name in COEFFICIENTS:
        if getattr(model, name, None) is not None:
            found[name] = summary(getattr(model, name))
    if isinstance(model, surelabel.LSBCMMClassifier):
        # Intercepts are not determined, nor are sticks with no rows on one of their sides: there
        # NumPy 2.4 and 2.5 end 2e-5 apart.
        del found["intercept_"]
        rows = model.posterior_.sum(axis=1) - model.concentration * model.posterior_.shape[1]
        found["coef_"] = summary(model.coef_[np.flatnonzero(rows > 0.5)[:-1]])
    for name in ("solver_", "best_params_"):
        if hasattr(model, name):
            found[name] = getattr(model, name)
    return found


def fitted(_: Path, make: Callable[[], Any], voted: bool = False, **more: Any) -> dict[str, Any]:
    """One model on the three problems."""
    found = {}
    for name in ("iris", "ecoli", "wide"):
        X, candidates, new, truth = problem(name)
        found[name] = outcome(make().fit(X, votes(truth) if voted else candidates, **more), new)
    return found


def pure(**options: Any) -> Callable[[], Any]:
    return partial(surelabel.PUREClassifier, **options)


def sure(**options: Any) -> Callable[[], Any]:
    return partial(surelabel.SUREClassifier, **options)


GRID = {"lams": (0.05, 0.3), "betas": (0.05, 0.5)}
LOW_RANK = {"solver": "nystroem", "n_components": 40}
VARIANTS: dict[str, Callable[[], Any]] = {
    "SURE, linear kernel": sure(kernel="linear"),
    "SURE, laplacian kernel": sure(kernel="laplacian", bandwidth=2.0, init="uniform"),
    "SURE, nystroem": sure(**LOW_RANK),
    "SURECV": partial(surelabel.SURECV, **GRID),
    "SURECV, linear kernel": partial(
        surelabel.SURECV, **GRID, kernel="linear", scoring="approximated_accuracy"
    ),
    "SURECV, kernels": partial(
        surelabel.SURECV, **GRID, kernel=["rbf", "laplacian"], bandwidth=[1.0, 2.0]
    ),
    "SURERetrainer": surelabel.SURERetrainer,
    "SURERetrainer of a classifier": partial(
        surelabel.SURERetrainer, LogisticRegression(), lam=0.1, cross_fit=2
    ),
    "PURE, rbf kernel": pure(kernel="rbf"),
    "PURE, linear kernel": pure(kernel="linear"),
    "PURE, no prior shift": pure(kernel="rbf", prior_shift=0.0),
    "PURE, groups by set": pure(kernel="rbf", same_set_groups=True, prior=0.5),
    "PURE, nystroem": pure(kernel="rbf", **LOW_RANK),
    "PURE, nystroem, kernels": pure(**LOW_RANK),
    "Weighted candidates of trees": partial(
        surelabel.WeightedCandidatesClassifier, DecisionTreeClassifier(max_depth=3, random_state=0)
    ),
}
VOTED: dict[str, Callable[[], Any]] = {
    "CrowdClassifier": surelabel.CrowdClassifier,
    "CrowdClassifier of a classifier": partial(surelabel.CrowdClassifier, LogisticRegression()),
    "SURE, votes": sure(),
    "PURE, votes": pure(),
}


def crowd_alone(_: Path) -> dict[str, Any]:
    """Votes without features, some of them known."""
    truth = problem("ecoli")[3]
    known = [label if i % 7 == 0 else None for i, label in enumerate(truth)]
    model = surelabel.CrowdClassifier().fit(None, votes(truth), known=known)
    return {
        "transduction": codes(model.transduction_),
        "confidence": summary(model.confidence_),
        "annotators": [person.name for person in model.annotators_],
    }


RESULTS: dict[str, Callable[[Path], Any]] = {
    **{
        name: partial(fitted, make=method.estimator)
        for name, method in surelabel.all_methods().items()
    },
    **{name: partial(fitted, make=make) for name, make in VARIANTS.items()},
    **{name: partial(fitted, make=make, voted=True) for name, make in VOTED.items()},
    "CrowdClassifier, votes alone": crowd_alone,
}
