"""The trials of a study: each (data set, configuration, method, fold), with an identity and the
seeds that follow from it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from itertools import product
from typing import Any

from sklearn.model_selection import ParameterGrid

from ..estimators import all_methods
from .study import Configuration, Plan, Study

#: Parameters that change no result, and the seed, which a trial makes itself.
WITHOUT_EFFECT = frozenset({"callback", "n_jobs", "random_state", "verbose"})


@dataclass(frozen=True)
class Trial:
    """One fit and its scores.

    Attributes
    ----------
    study : Study
    dataset : str
    configuration : Configuration
    method : Plan
        Without a grid where there is nothing to choose.
    fold : int
        From 0; those of a second repetition follow those of the first.
    """

    study: Study
    dataset: str
    configuration: Configuration
    method: Plan
    fold: int

    @property
    def selection(self) -> str:
        """The criterion that chooses the parameters, "none" where the method has no grid."""
        return self.study.selection if self.method.grid else "none"

    @property
    def scaling(self) -> str:
        """How the features are scaled: as the method asks, else as the study says."""
        return self.method.scaling or self.study.scaling

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters of the estimator that the study says nothing of."""
        return defaults_of(self.method.estimator, [*self.method.parameters, *self.method.grid])

    @cached_property
    def id(self) -> str:
        """Hash of everything that determines the result, and of nothing else; a changed default
        makes another trial.
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
            ],
            "fold": [self.fold, study.folds],
            "scaling": self.scaling,
            "curves": study.kind == "convergence",
            "selection": [self.selection, study.inner_folds, study.max_select]
            if method.grid
            else None,
        }
        return str(_digest(identity).hexdigest()[:16])

    def seed(self, *purpose: Any) -> int:
        """A seed for this purpose, the same for all methods: they see the same candidates and the
        same folds.
        """
        return int.from_bytes(_digest([self._data, *purpose]).digest()[:4], "big")

    @property
    def _data(self) -> list[Any]:
        """The data set as corrupted; the name of a configuration is only a name."""
        return [
            self.study.seed,
            self.dataset,
            self.configuration.kind,
            self.configuration.corruption,
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
    """Enumerate the trials of a study, or the part of them that is asked for.

    Repetitions come first, and folds before methods, so that a run broken off has compared the
    methods on the same folds.

    Parameters
    ----------
    study : Study
    datasets, configurations, methods : collection of str, default=None
        Names of those wanted; None for all.
    levels : collection of float, default=None
        Of the controlled configurations only those at these levels of p (in configuration I: of ε).
    folds : int, default=None
        Only the first folds, this many.

    Yields
    ------
    Trial
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
    """The plan; for a study of sensitivity, one plan with fixed parameters for each point of the
    grid.
    """
    if kind != "sensitivity":
        return [plan]
    return [
        replace(plan, parameters=plan.parameters | point, grid={})
        for point in ParameterGrid(plan.grid)
    ]


def defaults_of(estimator: str, given: Collection[str] = ()) -> dict[str, Any]:
    """The defaults of a method's parameters, without those given and those that change no result.

    >>> defaults_of("PLKNN", given=["n_neighbors"])
    {'search': 'exact', 'weights': 'distance'}
    """
    return {
        name: value
        for name, value in _all_defaults(estimator).items()
        if name not in given and name not in WITHOUT_EFFECT
    }


@cache
def _all_defaults(estimator: str) -> dict[str, Any]:
    found = all_methods()[estimator].estimator().get_params(deep=False)
    return dict(json.loads(json.dumps(found, default=_written)))  # as a record has them


def _written(value: Any) -> Any:
    """What JSON cannot write; of an estimator all parameters, since its repr leaves out those that
    have their default.
    """
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {type(value).__name__: value.get_params(deep=False)}
    return repr(value)


def _digest(identity: Any) -> Any:
    return sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode())
