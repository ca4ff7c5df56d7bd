"""A study: which data, which methods, and how they are measured. It is one TOML file, checked
completely before anything runs.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from ..data import catalog
from ..evaluation.protocol import SELECTIONS
from ..exceptions import ParameterError, SurelabelError
from ..files import checked_path
from ..text import did_you_mean, toml
from .methods import known_methods

#: accuracy: choose parameters, fit, score. sensitivity: score every point of the grid. convergence:
#: record the iterations of the fit.
STUDY_KINDS = ("accuracy", "sensitivity", "convergence")
#: How features may be scaled, each with its description.
FEATURE_SCALINGS = {
    "none": "used as they are",
    "standard": "scaled to mean 0 and standard deviation 1",
    "minmax": "scaled to [0, 1]",
    "unit": "scaled to rows of length 1",
}
PAPERS = Path(__file__).parent / "papers"

_REQUIRED: Any = object()


class StudyError(SurelabelError):
    """A study file cannot be used, or does not match the records of its folder."""


@dataclass(frozen=True)
class Configuration:
    """Where the candidates come from."""

    #: "real", the data's own candidates, or "controlled", false ones by ``make_partial``.
    kind: str
    name: str = ""  # in the paper: "I", "II", …
    #: Settings of ``make_partial``.
    p: float | None = None
    r: int | None = None
    eps: float | None = None

    @property
    def corruption(self) -> dict[str, Any]:
        """The settings of ``make_partial``."""
        return {"p": self.p, "r": self.r, "eps": self.eps}

    @property
    def level(self) -> float | None:
        """The parameter that varies along a figure: ε in the paper's configuration (I), p in the
        others.
        """
        return self.p if self.eps is None else self.eps

    def __str__(self) -> str:
        settings = (f"{key}={value}" for key, value in self.corruption.items() if value is not None)
        return " ".join([self.name or self.kind, *settings])


@dataclass(frozen=True)
class Plan:
    """How a study uses a method."""

    name: str  # in tables
    estimator: str  # a name in ``known_methods()``
    parameters: dict[str, Any]  # fixed
    grid: dict[str, list[Any]]  # to choose from; by default the grid of the method's own paper
    scaling: str = ""  # of the features; if empty, the study's
    #: What predictions minimise, for labels with an order; empty for the most probable label.
    loss: str = ""


@dataclass(frozen=True)
class OwnData:
    """Your own data set."""

    file: str  # a ``.mat`` or a table
    truth: str = ""  # the column of the true labels, in a table
    candidates: str = ""  # the column of the candidates, if there is one
    digest: str = ""  # SHA-256 of the file: if the content changes, so do the trials

    @property
    def certain(self) -> bool:
        """Whether every label is certain, so that false candidates are added."""
        return not self.candidates and not self.file.lower().endswith(".mat")


@lru_cache(maxsize=1)
def load_own(data: OwnData) -> catalog.Dataset:
    """Load your own data set; it is kept for the next trial."""
    return catalog.load_file(Path(data.file), data.truth, data.candidates)


@dataclass(frozen=True)
class Study:
    """Everything that determines the numbers of a table or figure.

    Attributes
    ----------
    name, title : str
        The name is also the name of the results folder.
    datasets : tuple of str
        Names from :func:`surelabel.data.catalog.names`, or from ``data``.
    configurations : tuple of Configuration
    methods : tuple of Plan
    kind : {"accuracy", "sensitivity", "convergence"}
    folds, inner_folds : int
        Number of folds of the outer cross-validation, and of the inner one that chooses parameters.
    repetitions : int
        How often the outer cross-validation is repeated, each time with other folds of the same
        candidates. Parameters are chosen in the first repetition only: fold k of every other
        repetition uses those of fold k of the first.
    selection : {"covering_rate", "approximated_accuracy", "oracle"}
        The score of the inner cross-validation.
    scaling : {"none", "standard", "minmax", "unit"}
        Scaling of the features, learned on the training folds; "unit" scales every row to length 1.
    seed : int
    max_select : int
        Maximum number of training rows used to choose parameters; 0 for all.
    published : dict
        Numbers to compare with.
    data : dict of str to OwnData
        Your own data sets.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    configurations: tuple[Configuration, ...]
    methods: tuple[Plan, ...]
    kind: str = "accuracy"
    folds: int = 10
    repetitions: int = 1
    inner_folds: int = 5
    selection: str = "covering_rate"
    scaling: str = "none"
    seed: int = 0
    max_select: int = 0
    published: dict[str, Any] = field(default_factory=dict)
    data: dict[str, OwnData] = field(default_factory=dict)

    def configurations_of(self, dataset: str) -> list[Configuration]:
        """The configurations for a data set: "real" if it has its own candidates, the others if its
        labels are certain.
        """
        certain = (
            self.data[dataset].certain
            if dataset in self.data
            else catalog.describe(dataset).expected.average_candidates is None
        )
        return [c for c in self.configurations if (c.kind != "real") == certain]

    def scaling_in_words(self) -> str:
        """How the features are scaled, in a sentence."""
        own = {plan.name: plan.scaling for plan in self.methods if plan.scaling}
        exceptions = "".join(f"; for {name} {FEATURE_SCALINGS[how]}" for name, how in own.items())
        usual = f"{FEATURE_SCALINGS[self.scaling]} (scaling = {self.scaling!r})"
        return f"the features are {usual}{exceptions}"

    def to_toml(self) -> str:
        """The study as a file that :func:`read_study` reads back, with every default and grid
        written out.
        """
        tables = asdict(self)
        tables["configurations"] = [
            {k: v for k, v in c.items() if v is not None} for c in tables["configurations"]
        ]
        tables["methods"] = {
            plan.pop("name"): {k: v for k, v in plan.items() if v != ""}
            for plan in tables["methods"]
        }
        tables["data"] = {
            name: {key: value for key, value in own.items() if value and key != "digest"}
            for name, own in tables["data"].items()
        }
        if not tables["data"]:
            del tables["data"]
        return "".join(f"{key} = {toml(value)}\n" for key, value in tables.items())


def paper_study(name: str) -> Study:
    """A study of the package, by the name of its file."""
    return read_study(PAPERS / f"{name}.toml")


def read_study(path: str | Path) -> Study:
    """Read and check a study file.

    Parameters
    ----------
    path : path-like
        A TOML file.

    Returns
    -------
    Study
    """
    table = _Table(load_toml(path), str(path))
    name = table.text("name")
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
        raise table.error(
            "name",
            f"names a folder, so it may have only letters, digits, '-', '_' and '.', not {name!r}",
        )
    kind = table.choice("kind", STUDY_KINDS, "accuracy")
    data = _own_data(table)
    study = Study(
        name=name,
        title=table.text("title", name),
        datasets=tuple(table.names("datasets", [*data, *catalog.names()])),
        configurations=_configurations(table),
        methods=_plans(table, kind),
        kind=kind,
        folds=table.whole("folds", 10, low=2),
        repetitions=table.whole("repetitions", 1, low=1),
        inner_folds=table.whole("inner_folds", 5, low=2),
        selection=table.choice("selection", SELECTIONS, "covering_rate"),
        scaling=table.choice("scaling", FEATURE_SCALINGS, "none"),
        seed=table.whole("seed", 0, low=0),
        max_select=table.whole("max_select", 0, low=0),
        published=table.mapping("published"),
        data=data,
    )
    table.finish()
    check_published(study.published, table.source)
    for dataset in study.datasets:
        own = study.data.get(dataset)
        rows = len(load_own(own).X) if own else catalog.describe(dataset).expected.examples
        if study.folds > rows:
            raise table.error("folds", f"is {study.folds}, but {dataset} has {rows} rows")
        if not study.configurations_of(dataset):
            raise table.error(
                "configurations",
                f"has none for {dataset}: data with candidates of its own needs kind 'real', other "
                "data kind 'controlled'",
            )
    return study


def _own_data(table: _Table) -> dict[str, OwnData]:
    """The user's own data sets, ``[data.NAME]``; paths are relative to the study file."""
    found = {}
    for name, entry in table.mapping("data").items():
        if name in catalog.names():
            raise table.error(f"data.{name}", "is the name of a published data set; choose another")
        if not isinstance(entry, dict):
            raise table.error(f"data.{name}", 'must be a table such as { file = "pets.csv", … }')
        part = _Table(entry, table.source, f"data.{name}.")
        path = Path(table.source).parent / Path(part.text("file")).expanduser()
        path = path.resolve()
        columns = {}
        if path.suffix.lower() != ".mat":
            columns = {"truth": part.text("truth"), "candidates": part.text("candidates", "")}
        part.finish()
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise part.error("file", f"cannot be read: {path} ({error.strerror})") from None
        found[name] = OwnData(str(path), **columns, digest=digest)
    return found


def load_toml(path: str | Path) -> dict[str, Any]:
    """The tables of a study file, unchecked."""
    try:
        return tomllib.loads(checked_path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(f"{path}: the study cannot be read ({error.strerror})") from None
    except ParameterError:
        raise
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested too deeply
        raise StudyError(f"{path}: this is not a TOML file ({error})") from None


def is_number(value: Any) -> bool:
    """Whether a value of a file is a finite number, small enough to be summed, and not a bool."""
    return type(value) in (int, float) and abs(value) < 1e300


def check_published(published: Any, source: str) -> None:
    """Refuse published numbers that are not in the form that the report reads."""

    def check(fits: bool, place: str, form: str) -> None:
        if not fits:
            raise StudyError(f"{source}: published{place} must be {form}")

    def check_numbers(entry: Any, place: str) -> None:
        check(isinstance(entry, dict), place, "a table such as { mean = 0.5, std = 0.1 }")
        for key, value in entry.items():
            if key in ("mean", "std"):
                check(is_number(value), f"{place}.{key}", "a number")
            elif key != "source":
                check_numbers(value, f"{place}.{key}")

    check(isinstance(published, dict), "", "a table")
    for name, methods in published.items():
        check(isinstance(methods, dict), f".{name}", "a table")
        for key, entry in methods.items():
            place = f".{name}.{key}"
            if name != "win_tie_loss":
                check_numbers(entry, place)
                continue
            check(isinstance(entry, dict), place, "a table")
            for method, counts in entry.items():
                check(
                    isinstance(counts, list) and len(counts) == 3 and all(map(is_number, counts)),
                    f"{place}.{method}",
                    "a list of three counts: win, tie and loss",
                )


def _configurations(table: _Table) -> tuple[Configuration, ...]:
    """One configuration per combination of the values of its settings."""
    found: list[Configuration] = []
    entries = table.take("configurations", [{"kind": "real"}])
    if (
        not isinstance(entries, list)
        or not entries
        or not all(isinstance(entry, dict) for entry in entries)
    ):
        raise table.error("configurations", "must be tables, each headed [[configurations]]")
    for i, entry in enumerate(entries):
        part = _Table(entry, table.source, f"configurations[{i}].")
        kind = part.choice("kind", ("real", "controlled"))
        name = part.text("name", "")
        if kind == "real":
            found.append(Configuration(kind, name))
        else:
            ranges = (
                part.numbers("p", 0, 1),
                part.numbers("r", 0, whole=True),
                part.numbers("eps", 0, 1, default=[None]),
            )
            found += [Configuration(kind, name, *values) for values in product(*ranges)]
        part.finish()
    settings = Counter(replace(configuration, name="") for configuration in found)
    for configuration in found:
        if settings[replace(configuration, name="")] > 1:
            raise table.error(
                "configurations", f"have the same setting more than once: {configuration}"
            )
    return tuple(found)


def _plans(table: _Table, kind: str) -> tuple[Plan, ...]:
    """The methods: a list of names, or a table ``[methods.NAME]`` for each, with the settings that
    differ from the method's defaults.
    """
    known = known_methods()
    entries = table.take("methods")
    if isinstance(entries, list):
        entries = {
            name: {} for name in _Table({"methods": entries}, table.source).names("methods", known)
        }
    if (
        not isinstance(entries, dict)
        or not entries
        or not all(isinstance(entry, dict) for entry in entries.values())
    ):
        raise table.error(
            "methods",
            'must be a list such as ["SURE", "PLKNN"], or a table [methods.NAME] for each',
        )
    plans = []
    for name, entry in entries.items():
        part = _Table(entry, table.source, f"methods.{name}.")
        method = known[part.choice("estimator", known, name)]
        allowed = method.estimator().get_params(deep=False)
        parameters = part.mapping("parameters", allowed)
        default = {} if kind == "convergence" else method.grid
        grid = part.mapping(
            "grid",
            allowed,
            {key: list(value) for key, value in default.items() if key not in parameters},
        )
        for key, value in grid.items():
            if not isinstance(value, list) or not value:
                raise part.error(f"grid.{key}", f"must be a list of values to try, not {value!r}")
            if key in parameters:
                raise part.error(f"grid.{key}", "is also a fixed parameter: keep one of the two")
        if kind == "convergence" and not method.path:
            able = " or ".join(other.name for other in known.values() if other.path)
            raise part.error(
                "estimator", f"must be {able}: {method.name} does not record its convergence"
            )
        own_scaling = part.choice("scaling", FEATURE_SCALINGS, "") if "scaling" in entry else ""
        loss = part.choice("loss", ("zero_one", "absolute"), "") if "loss" in entry else ""
        part.finish()
        # With one value there is nothing to choose.
        parameters = parameters | {
            key: values[0] for key, values in grid.items() if len(values) == 1
        }
        grid = {key: values for key, values in grid.items() if len(values) > 1}
        plans.append(Plan(name, method.name, parameters, grid, own_scaling, loss))
    return tuple(plans)


class _Table:
    """A TOML table whose keys are taken and checked one by one; errors name the file and the
    key.
    """

    def __init__(self, values: Mapping[str, Any], source: str, place: str = "") -> None:
        self._left = dict(values)
        self._seen: list[str] = []
        self.source = source
        self._place = place

    def error(self, key: str, problem: str) -> StudyError:
        return StudyError(f"{self.source}: {self._place}{key} {problem}")

    def take(self, key: str, default: Any = _REQUIRED) -> Any:
        self._seen.append(key)
        value = self._left.pop(key, default)
        if value is _REQUIRED:
            raise self.error(key, "is missing")
        return value

    def text(self, key: str, default: Any = _REQUIRED) -> str:
        value = self.take(key, default)
        if not isinstance(value, str):
            raise self.error(key, f"must be a text in quotes, not {value!r}")
        return value

    def choice(self, key: str, options: Any, default: Any = _REQUIRED) -> str:
        value = self.take(key, default)
        if value not in list(options):
            raise self.error(
                key, f"must be one of {', '.join(options)}, not {value!r}{_meant(value, options)}"
            )
        chosen: str = value
        return chosen

    def names(self, key: str, options: Any) -> list[str]:
        values = self.take(key)
        if not isinstance(values, list) or not values:
            raise self.error(key, f"must be a list of names, not {values!r}")
        for value in values:
            if value not in list(options):
                raise self.error(
                    key,
                    f"has {value!r}, which is not one of "
                    f"{', '.join(options)}{_meant(value, options)}",
                )
            if values.count(value) > 1:
                raise self.error(key, f"has {value!r} more than once")
        return values

    def whole(self, key: str, default: int, low: int) -> int:
        value = self.take(key, default)
        if type(value) is not int or value < low:
            raise self.error(key, f"must be a whole number, at least {low}, not {value!r}")
        return value

    def numbers(
        self,
        key: str,
        low: float,
        high: float = float("inf"),
        *,
        whole: bool = False,
        default: Any = _REQUIRED,
    ) -> list[Any]:
        """One number or a list of them."""
        value: Any = self.take(key, default)
        if value is default:
            values: list[Any] = value
            return values
        values = value if isinstance(value, list) else [value]
        kinds = (int,) if whole else (int, float)
        if not values or not all(type(v) in kinds and low <= v <= high for v in values):
            what = "whole numbers" if whole else "numbers"
            bounds = f"of {low} or more" if high == float("inf") else f"from {low} to {high}"
            raise self.error(key, f"must be {what} {bounds}, not {value!r}")
        return values if whole else [float(v) for v in values]

    def mapping(
        self, key: str, allowed: Any = None, default: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        value = self.take(key, default or {})
        if not isinstance(value, dict):
            raise self.error(key, f"must be a table, not {value!r}")
        for name in value:
            if allowed is not None and name not in allowed:
                raise self.error(
                    f"{key}.{name}", f"is not a parameter of this method{_meant(name, allowed)}"
                )
        if not _is_plain(value):
            raise self.error(
                key, "may contain only texts, numbers, true and false, not dates or times"
            )
        return value

    def finish(self) -> None:
        for key in self._left:
            raise self.error(key, f"is not a key of a study{_meant(key, self._seen)}")


def _is_plain(value: Any) -> bool:
    """Whether a value stays the same in JSON, the format of records."""
    if isinstance(value, dict | list):
        return all(map(_is_plain, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str | int | float)


def _meant(value: Any, options: Any) -> str:
    question = did_you_mean(value, options).strip()
    return f" ({question})" if question else ""
