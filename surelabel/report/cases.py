"""Records grouped by data set, configuration and method."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from ..experiments.records import Record


def unique(items: Iterable[Any]) -> list[Any]:
    """The distinct items in order of appearance."""
    return list(dict.fromkeys(items))


def ordered(found: Iterable[str], order: Iterable[str]) -> list[str]:
    """The names found: first those of the study, in its order, then the others as they appear."""
    present = unique(found)
    return [name for name in order if name in present] + [
        name for name in present if name not in order
    ]


def configuration_label(configuration: Mapping[str, Any]) -> str:
    """The name of a configuration in print; empty for real candidate sets.

    >>> configuration_label({"kind": "controlled", "p": 0.1, "r": 1, "eps": 0.3, "name": "I"})
    '(I) p=0.1, r=1, ε=0.3'
    """
    values = {
        ("ε" if key == "eps" else key): value
        for key, value in configuration.items()
        if key not in ("kind", "name", "matrix")
    }
    text = ", ".join(f"{key}={value}" for key, value in values.items() if value is not None)
    return f"({configuration['name']}) {text}" if configuration.get("name") else text


def family_of(configuration: Mapping[str, Any]) -> tuple[str, str | None]:
    """The configuration without its varying parameter, and that parameter: ε if given, otherwise p,
    q or the rate.
    """
    if configuration["kind"] == "real":
        return "real-world", None
    running = next(
        (key for key in ("eps", "p", "q", "rate") if configuration.get(key) is not None), None
    )
    return configuration_label(
        {key: value for key, value in configuration.items() if key != running}
    ), running


def group_cases(records: list[Record], datasets: list[str]) -> list[dict[str, Any]]:
    """Group records by data set and configuration, and within these by method, in the order of
    folds.
    """
    groups: dict[tuple[str, str], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in sorted(records, key=lambda record: record["fold"]):
        key = record["dataset"], json.dumps(record["configuration"], sort_keys=True)
        groups[key][record["method"]].append(record)
    cases = [
        {
            "dataset": dataset,
            "configuration": next(iter(by_method.values()))[0]["configuration"],
            "records": dict(by_method),
        }
        for (dataset, _), by_method in groups.items()
    ]

    def place(case: dict[str, Any]) -> tuple[Any, ...]:
        family, running = family_of(case["configuration"])
        level = case["configuration"][running] if running else 0
        return family != "real-world", family, datasets.index(case["dataset"]), level

    return sorted(cases, key=place)
