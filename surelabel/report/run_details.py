"""How the trials of a section were run: times, parameters chosen, limits, fits that did not
converge, missing trials.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..experiments.records import Record


def fits(records: list[Record], datasets: list[str], methods: list[str]) -> list[dict[str, Any]]:
    """Of every data set and method: mean seconds per trial of each step, how often each parameter
    value was chosen, and how many fits stopped before they converged.
    """
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        groups[record["dataset"], record["method"]].append(record)
    return [
        {
            "dataset": dataset,
            "method": method,
            "n": len(group),
            **{
                step: float(np.mean([record["seconds"][step] for record in group]))
                for step in ("select", "fit", "predict")
            },
            "chosen": {
                name: Counter(str(record["parameters"].get(name)) for record in group).most_common()
                for name in dict.fromkeys(name for record in group for name in record["parameters"])
            },
            "stopped": sum(record.get("converged") is False for record in group),
        }
        for dataset, method in product(datasets, methods)
        if (group := groups.get((dataset, method)))
    ]


def capped(records: list[Record], datasets: list[str]) -> list[dict[str, Any]]:
    """Data sets whose parameters were chosen on fewer rows than there were to train on."""
    capped = []
    for dataset in datasets:
        mine = [
            record
            for record in records
            if record["dataset"] == dataset and record["selection"] != "none"
        ]
        rows = {
            size: max((record[size] for record in mine), default=0)
            for size in ("n_select", "n_train")
        }
        if rows["n_select"] < rows["n_train"]:
            capped.append({"dataset": dataset, **rows})
    return capped


def outdated(records: Iterable[Record]) -> list[str]:
    """The records left out because the defaults of their method have changed, in words."""
    counts = Counter((record["method"], record["dataset"]) for record in records)
    return [f"{method} on {dataset}: {n}" for (method, dataset), n in sorted(counts.items())]


def gaps(
    study: Mapping[str, Any], records: list[Record], methods: list[str], datasets: list[str]
) -> list[str]:
    """Trials of the study without records, in words; none if the study is complete."""
    gaps = [
        f"{dataset}: no records" for dataset in study.get("datasets", ()) if dataset not in datasets
    ]
    gaps += [
        f"{method}: no records" for method in study.get("methods", ()) if method not in methods
    ]

    every_point = study.get("kind") == "sensitivity"  # a trial for each point of the grid

    def written(value: Any) -> str:
        return json.dumps(value, sort_keys=True)

    for dataset in datasets:
        here = [record for record in records if record["dataset"] == dataset]
        found = {written(record["configuration"]) for record in here}
        real = here[0]["configuration"]["kind"] == "real"
        configurations = study.get("configurations", ())
        asked = (
            max(len(found), sum((entry["kind"] == "real") == real for entry in configurations))
            * max(record["n_folds"] for record in here)
            * study.get("repetitions", 1)
        )
        for method in methods:
            finished = {
                (
                    written(record["configuration"]),
                    record["fold"],
                    written(record["parameters"]) if every_point else "",
                )
                for record in here
                if record["method"] == method
            }
            points = _n_points(study, method) if every_point else 1
            if len(finished) < asked * points:
                gaps.append(f"{method} on {dataset}: {len(finished)} of {asked * points} trials")
    return gaps


def _n_points(study: Mapping[str, Any], method: str) -> int:
    """The number of points of a method's grid."""
    methods = study.get("methods", {})
    plan = methods.get(method, {}) if isinstance(methods, Mapping) else {}
    return prod(len(values) for values in plan.get("grid", {}).values())
