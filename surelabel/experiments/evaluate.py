"""Run one trial, from the data set to its record."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from threadpoolctl import threadpool_limits

from ..data import catalog, corruption
from ..data.candidates import CandidateSets
from ..evaluation.protocol import Fold, fold_scores, make_folds, select_parameters
from ..solvers.memory import installed_memory
from ..text import plain
from .records import Record
from .references import known_methods, labels_for
from .study import Configuration, load_own
from .trials import Trial

SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler, "unit": Normalizer}


def evaluate(trial: Trial, chosen: dict[str, Any] | None = None) -> Record:
    """Choose parameters, fit, predict and score one trial.

    It uses one thread: trials run side by side, and sums by another number of threads would differ
    in the last digits.

    Parameters
    ----------
    trial : Trial
    chosen : dict, default=None
        The parameters, where they are known: those that the same fold of the first repetition
        chose. By default they are chosen, in the first repetition's fold.

    Returns
    -------
    Record
    """
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # the record says whether the fit converged
        return _evaluate(trial, chosen)


def _evaluate(trial: Trial, chosen: dict[str, Any] | None) -> Record:
    study, grid = trial.study, trial.method.grid
    own = study.data.get(trial.dataset)
    data = load_own(own) if own else _load(trial.dataset, os.environ.get("SURELABEL_DATA"))
    candidates = data.candidates if data.candidates is not None else _corrupt(data, trial)
    labels = labels_for(trial.method.estimator, candidates, data.y)
    fold = _fold(trial, len(data.X))
    X = _scale(data.X, fold, trial.scaling)
    estimator = _estimator(trial)
    seconds = {"select": 0.0}
    chosen = chosen or {}
    if grid and not chosen:
        choosing = _fold(trial.first, len(data.X))
        search = known_methods()[trial.method.estimator].make_search(
            trial.selection, estimator=estimator, grid=grid
        )
        selected = select_parameters(
            search,
            _scale(data.X, choosing, trial.scaling),
            labels,
            data.y,
            choosing,
            selection=trial.selection,
        )
        chosen = {name: selected.parameters[name] for name in grid}
        seconds["select"] = selected.seconds
    estimator.set_params(**chosen)
    with _timed(seconds, "fit"):
        estimator.fit(X[fold.train], labels[fold.train])
    with _timed(seconds, "predict"):
        predicted = estimator.predict(X[fold.test])
    return {
        "cell": trial.id,
        "study": study.name,
        "dataset": trial.dataset,
        "configuration": _written(trial.configuration)
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


# ---------------------------------------------------------------- the problem


@lru_cache(maxsize=1)
def _load(name: str, home: str | None) -> catalog.Dataset:
    """The data set, kept for the next trial, because trials of one data set follow each other."""
    return catalog.load(name, home)


def _written(configuration: Configuration) -> dict[str, Any]:
    return {"kind": configuration.kind, "name": configuration.name, **configuration.corruption}


def _corrupt(data: catalog.Dataset, trial: Trial) -> CandidateSets:
    """Candidates for the whole data set, before it is split, so that they are the same in every
    fold.
    """
    settings = dict(trial.configuration.corruption)
    missing = settings.pop("missing", 0)
    settings |= {"classes": data.classes, "random_state": trial.seed("candidates")}
    match trial.configuration.kind:
        case "controlled":
            candidates = corruption.make_partial(data.y, **settings)
        case "flipping":
            candidates = corruption.make_partial_flipping(data.y, **settings)
        case _:
            candidates = corruption.make_partial_instance(data.X, data.y, **settings)
    return (
        corruption.drop_truth(candidates, data.y, missing, random_state=trial.seed("missing"))
        if missing
        else candidates
    )


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
