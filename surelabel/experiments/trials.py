"""The trials of a study: one for each data set, configuration, method and fold, with an identity
and seeds derived from it.
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

from .references import known_methods
from .study import Configuration, Plan, Study

#: Parameters that do not affect results, and the seed, which a trial sets itself.
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
        The method; without a grid if there is nothing to choose.
    fold : int
        Counted from 0; the folds of a second repetition follow those of the first.
    """

    study: Study
    dataset: str
    configuration: Configuration
    method: Plan
    fold: int

    @property
    def repetition(self) -> int:
        """From 0."""
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
        """Hash of everything that determines the result, and nothing else; with a changed default,
        it is another trial.
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
        count. A data set of one's own is identified by its content, too.
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
    """Enumerate the trials of a study, or those that are asked for.

    Repetitions vary slowest, and folds more slowly than methods, so that an interrupted run has
    compared the methods on the same folds.

    Parameters
    ----------
    study : Study
    datasets, configurations, methods : collection of str, default=None
        Names of those to include; None for all.
    levels : collection of float, default=None
        Only the controlled configurations at these levels of p (of ε in configuration I).
    folds : int, default=None
        Only the first ``folds`` folds.

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
    """The plan, or, for a study of sensitivity, one plan with fixed parameters for each point of
    the grid.
    """
    if kind != "sensitivity":
        return [plan]
    return [
        replace(plan, parameters=plan.parameters | point, grid={})
        for point in ParameterGrid(plan.grid)
    ]


def defaults_of(estimator: str, given: Collection[str] = ()) -> dict[str, Any]:
    """The defaults of a method's parameters, without those given and those that do not affect
    results.

    >>> defaults_of("PLKNN", given=["n_neighbors"])
    {'search': 'exact', 'weights': 'distance'}
    """
    return {
        name: value
        for name, value in _all_defaults(estimator).items()
        if name not in given and name not in WITHOUT_EFFECT
    }


@cache
def is_method(name: str) -> bool:
    """Whether there is a method of this name; scanning the package for every record takes long."""
    return name in known_methods()


@cache
def _all_defaults(estimator: str) -> dict[str, Any]:
    found = known_methods()[estimator].estimator().get_params(deep=False)
    return dict(json.loads(json.dumps(found, default=_written)))  # as a record has them


def _written(value: Any) -> Any:
    """A value that JSON cannot write, as text; for an estimator, all parameters, because its repr
    omits defaults.
    """
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {type(value).__name__: value.get_params(deep=False)}
    return repr(value)


def _digest(identity: Any) -> Any:
    return sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode())
