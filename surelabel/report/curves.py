"""Curves for the figures: accuracy along a varying parameter, sensitivity, convergence."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from ..experiments.records import Record
from .results import mean_and_std, unique


def accuracy_curves(rows: list[dict[str, Any]], methods: list[str]) -> list[dict[str, Any]]:
    """Accuracy along the varying parameter, a panel per family and data set (Figures 1 to 4)."""
    panels = []
    varying = [row for row in rows if row["metric"] == "accuracy" and row["running"]]
    for family, dataset in unique((row["family"], row["dataset"]) for row in varying):
        panel = [row for row in varying if (row["family"], row["dataset"]) == (family, dataset)]
        series = {}
        for method in methods:
            points = [
                (row["level"], row["cells"][method])
                for row in panel
                if row["cells"][method]["mean"] is not None
            ]
            if len(points) > 1:  # one point makes no curve
                series[method] = _series(points)
        if series:
            panels.append(
                {
                    "family": family,
                    "dataset": dataset,
                    "running": panel[0]["running"],
                    "series": series,
                }
            )
    return panels


def _series(points: list[tuple[Any, dict[str, Any]]]) -> dict[str, list[Any]]:
    """A curve of means, and the standard deviations that make the band around it."""
    return {
        "x": [x for x, _ in points],
        "mean": [cell["mean"] for _, cell in points],
        "std": [cell["std"] or 0.0 for _, cell in points],
    }


def sensitivity_panels(settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Accuracy along each parameter, with the others at the best setting (Figure 5 a, b)."""
    panels = []
    for setting in settings:
        for method, records in setting["records"].items():
            points: dict[str, list[Record]] = defaultdict(list)
            for record in records:
                points[json.dumps(record["parameters"], sort_keys=True)].append(record)
            cells = [
                (json.loads(key), mean_and_std(group, "accuracy")) for key, group in points.items()
            ]
            best, _ = max(cells, key=lambda point: point[1]["mean"])
            panels += [
                {"dataset": setting["dataset"], "method": method, **panel}
                for panel in _slices(cells, best)
            ]
    return panels


def _slices(
    cells: list[tuple[dict[str, Any], dict[str, Any]]], centre: dict[str, Any]
) -> list[dict[str, Any]]:
    """For every parameter, the points that differ from the centre in this parameter alone."""
    panels = []
    for parameter in centre:
        fixed = {name: value for name, value in centre.items() if name != parameter}
        line = [
            (point[parameter], cell)
            for point, cell in cells
            if {**point, parameter: None} == {**centre, parameter: None}
        ]
        if len(line) > 1:
            # Texts come after numbers.
            line.sort(key=lambda point: (isinstance(point[0], str), point[0]))
            panels.append({"parameter": parameter, "fixed": fixed, **_series(line)})
    return panels


def convergence_paths(settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """‖P⁽ᵗ⁺¹⁾ − P⁽ᵗ⁾‖ of every fold (Figure 5 c, d)."""
    return [
        {
            "dataset": setting["dataset"],
            "method": method,
            "folds": [record["curves"]["delta"] for record in records],
        }
        for setting in settings
        for method, records in setting["records"].items()
        if all(record["curves"].get("delta") for record in records)
    ]
