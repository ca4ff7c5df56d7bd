"""The trials of a study: one for each data set, configuration, method and fold. A trial has an
identity, seeds derived from it, and, when it has run, a record.
"""

from __future__ import annotations

import json
import os
import platform
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from importlib.metadata import version
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from threadpoolctl import threadpool_limits

from ..data import catalog
from ..data.candidates import CandidateSets
from ..data.corruption import make_partial
from ..evaluation.protocol import Fold, fold_scores, make_folds, select_parameters
from ..solvers.memory import installed_memory
from ..text import plain
from .methods import defaults_of, known_methods, labels_for
from .study import Configuration, Plan, Study, load_own

SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler, "unit": Normalizer}


@dataclass(frozen=True)
class Trial:
    """One fit and its scores."""

    study: Study
    dataset: str
    configuration: Configuration
    method: Plan  # without a grid if there is nothing to choose
    fold: int  # counted from 0; the folds of the second repetition follow those of the first

    @property
    def repetition(self) -> int:
        """The number of the repetition, counted from 0."""
        return self.fold // self.study.folds

    @property
    def first(self) -> Trial:
        """The trial of the first repetition that chooses the parameters of this one."""
        return replace(self, fold=self.fold % self.study.folds)

    @property
    def selection(self) -> str:
        """The criterion for choosing parameters; "none" if the method has no grid."""
        return self.study.selection if self.method.grid else "none"

    @property
    def scaling(self) -> str:
        """How the features are scaled: as the method says, otherwise as the study says."""
        return self.method.scaling or self.study.scaling

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters of the estimator that the study does not set."""
        return defaults_of(self.method.estimator, [*self.method.parameters, *self.method.grid])

    @cached_property
    def id(self) -> str:
        """Hash of everything that determines the result, and nothing else. If a default changes, so
        does the id.
        """
        study, method = self.study, self.method
        identity: dict[str, Any] = {
            "data": self._data,
            "method": [
                method.name,
                method.estimator,
                method.parameters,
                method.grid,
                self.defaults,
                *([method.loss] if method.loss else []),
            ],
            "fold": [self.fold, study.folds],
            "scaling": self.scaling,
            "curves": study.kind == "convergence",
            "selection": [
                self.selection,
                study.inner_folds,
                study.max_select,
                *(["first repetition"] if self.repetition else []),
            ]
            if method.grid
            else None,
        }
        return str(_digest(identity).hexdigest()[:16])

    def seed(self, *purpose: Any) -> int:
        """A seed for this purpose, the same for all methods, so that they get the same candidates
        and folds.
        """
        return int.from_bytes(_digest([self._data, *purpose]).digest()[:4], "big")

    @property
    def _data(self) -> list[Any]:
        """What identifies the data set and its candidates; the name of a configuration does not
        count. The user's own data are also identified by their content.
        """
        data = self.study.data.get(self.dataset)
        own = [] if data is None else [data.digest, data.truth, data.candidates]
        return [
            self.study.seed,
            self.dataset,
            self.configuration.kind,
            self.configuration.corruption,
            *own,
        ]

    def __str__(self) -> str:
        parameters = "".join(f" {key}={value}" for key, value in self.method.parameters.items())
        method = f"{self.method.name}{parameters}"
        return f"{self.dataset} · {self.configuration} · {method} · fold {self.fold}"


def trials_of(
    study: Study,
    *,
    datasets: Collection[str] | None = None,
    configurations: Collection[str] | None = None,
    levels: Collection[float] | None = None,
    methods: Collection[str] | None = None,
    folds: int | None = None,
) -> Iterator[Trial]:
    """Enumerate the trials of a study: all, or those of some names, of the first ``folds`` folds,
    and of the controlled configurations at these levels of p (of ε in configuration I).

    Repetitions vary slowest, and folds more slowly than methods, so that an interrupted run has
    compared the methods on the same folds.
    """
    plans = [
        point
        for plan in study.methods
        if methods is None or plan.name in methods
        for point in _points(plan, study.kind)
    ]
    for repetition, dataset in product(range(study.repetitions), study.datasets):
        if datasets is not None and dataset not in datasets:
            continue
        for configuration in study.configurations_of(dataset):
            if configurations is not None and configuration.name not in configurations:
                continue
            if (
                levels is not None
                and configuration.level is not None
                and configuration.level not in levels
            ):
                continue
            first = repetition * study.folds
            for fold in range(first, min(first + study.folds, folds or first + study.folds)):
                for plan in plans:
                    yield Trial(study, dataset, configuration, plan, fold)


def _points(plan: Plan, kind: str) -> list[Plan]:
    """The plan, or, for a study of sensitivity, one plan with fixed parameters for each point of
    the grid.
    """
    if kind != "sensitivity":
        return [plan]
    return [
        replace(plan, parameters=plan.parameters | point, grid={})
        for point in ParameterGrid(plan.grid)
    ]


def _digest(identity: Any) -> Any:
    return sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode())


# ---------------------------------------------------------------- running one


def evaluate(trial: Trial, chosen: dict[str, Any] | None = None) -> dict[str, Any]:
    """Choose parameters, fit, predict and score one trial, and return its record (see
    :mod:`surelabel.experiments.records`). ``chosen`` are the parameters of the same fold of the
    first repetition; by default they are chosen here, on that fold.

    It uses one thread, because trials run side by side, and because sums over several threads
    differ in the last digits.
    """
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # The record says whether the fit converged.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return _evaluate(trial, chosen)


def _evaluate(trial: Trial, chosen: dict[str, Any] | None) -> dict[str, Any]:
    study, grid = trial.study, trial.method.grid
    own = study.data.get(trial.dataset)
    data = load_own(own) if own else _load(trial.dataset, os.environ.get("SURELABEL_DATA"))
    candidates = data.candidates if data.candidates is not None else _corrupt(data, trial)
    labels = labels_for(trial.method.estimator, candidates, data.y)
    fold = _fold(trial, len(data.X))
    X = _scale(data.X, fold, trial.scaling)
    seconds = {"select": 0.0}
    chosen = chosen or _choose(trial, data, labels, seconds)
    estimator = _estimator(trial).set_params(**chosen)
    with _timed(seconds, "fit"):
        estimator.fit(X[fold.train], labels[fold.train])
    with _timed(seconds, "predict"):
        how = {"loss": trial.method.loss} if trial.method.loss else {}
        predicted = estimator.predict(X[fold.test], **how)
    return {
        "cell": trial.id,
        "study": study.name,
        "dataset": trial.dataset,
        "configuration": asdict(trial.configuration)
        if data.candidates is None
        else {"kind": "real"},
        "method": trial.method.name,
        "fold": trial.fold,
        "n_folds": study.folds,
        "selection": trial.selection,
        "parameters": trial.method.parameters | chosen,
        "defaults": trial.defaults,
        "scaling": trial.scaling,
        "scores": fold_scores(
            candidates, data.y, fold, predicted, estimator.transduction_, ordered=data.ordered
        ),
        "seconds": {step: round(value, 6) for step, value in seconds.items()},
        "n_train": len(fold.train),
        "n_test": len(fold.test),
        "n_select": len(fold.select) if grid else 0,
        "converged": plain(getattr(estimator, "converged_", None)),
        "curves": _curves(estimator, len(fold.train)) if study.kind == "convergence" else {},
        "versions": _versions(),
        "machine": _machine(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _choose(
    trial: Trial, data: catalog.Dataset, labels: CandidateSets, seconds: dict[str, float]
) -> dict[str, Any]:
    """The parameters of the grid that the criterion prefers on the fold of the first repetition;
    none without a grid.
    """
    grid = trial.method.grid
    if not grid:
        return {}
    fold = _fold(trial.first, len(data.X))
    X = _scale(data.X, fold, trial.scaling)
    search = known_methods()[trial.method.estimator].make_search(
        trial.selection, estimator=_estimator(trial), grid=grid
    )
    with _timed(seconds, "select"):
        selected = select_parameters(search, X, labels, data.y, fold, selection=trial.selection)
    return {name: selected[name] for name in grid}


# ---------------------------------------------------------------- the problem


@lru_cache(maxsize=1)
def _load(name: str, home: str | None) -> catalog.Dataset:
    """The data set, kept for the next trial (unless the data home changes), because trials of one
    data set follow each other.
    """
    return catalog.load(name)


def _corrupt(data: catalog.Dataset, trial: Trial) -> CandidateSets:
    """Candidates for the whole data set, before it is split, so that they are the same in every
    fold.
    """
    settings = trial.configuration.corruption
    seed = trial.seed("candidates")
    return make_partial(data.y, **settings, classes=data.classes, random_state=seed)


def _fold(trial: Trial, n_rows: int) -> Fold:
    study = trial.study
    repetition, fold = divmod(trial.fold, study.folds)
    return make_folds(
        n_rows,
        n_folds=study.folds,
        inner_folds=study.inner_folds,
        max_select=study.max_select,
        seed=trial.seed("folds", *[repetition] if repetition else []),
    )[fold]


def _scale(X: np.ndarray, fold: Fold, scaling: str) -> np.ndarray:
    """All rows, with a scaling learned from the training rows."""
    return X if scaling == "none" else SCALERS[scaling]().fit(X[fold.train]).transform(X)


def _estimator(trial: Trial) -> Any:
    estimator = known_methods()[trial.method.estimator].estimator(**trial.method.parameters)
    if "random_state" in estimator.get_params() and "random_state" not in trial.method.parameters:
        estimator.set_params(random_state=trial.seed("method", trial.fold))
    return estimator


# ---------------------------------------------------------------- the record


def _curves(estimator: Any, n_train: int) -> dict[str, list[float]]:
    """ΔP = ‖P⁽ᵗ⁺¹⁾ - P⁽ᵗ⁾‖_F as the paper plots it (the estimator divides by √m), and the
    objective.
    """
    return {
        "delta": (estimator.delta_path_ * np.sqrt(n_train)).tolist(),
        "objective": estimator.objective_path_.tolist(),
    }


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    start = perf_counter()
    yield
    seconds[step] = perf_counter() - start


@cache
def _versions() -> dict[str, str]:
    packages = ("surelabel", "numpy", "scipy", "scikit-learn")
    return {package: version(package) for package in packages} | {
        "python": platform.python_version()
    }


@cache
def _machine() -> dict[str, Any]:
    memory = installed_memory()
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": None if memory is None else round(memory / 2**30, 1),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
