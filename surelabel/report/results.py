"""One row per data set, configuration and metric: means, tests against the reference, published
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..evaluation.significance import corrected_paired_t, two_sample_t
from ..experiments.records import Record
from .cases import configuration_label, family_of, unique

ALPHA = 0.05
"""Significance level of every test, as in the paper."""


def result_rows(
    cases: list[dict[str, Any]],
    methods: list[str],
    published_only: list[str],
    published: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """One row per data set, configuration and metric: ours and the published number of
    each method.
    """
    rows = []
    for case in cases:
        metrics = unique(
            metric
            for records in case["records"].values()
            for record in records
            for metric in record["scores"]
        )
        for metric in metrics:
            cells = {
                method: mean_and_std(case["records"].get(method, []), metric)
                for method in methods + published_only
            }
            for method in methods[1:]:
                cells[method].update(compare(case["records"], metric, methods[0], method))
            family, running = family_of(case["configuration"])
            if family == "real-world":
                for method, cell in cells.items():
                    cell.update(
                        _published(published, case["dataset"], metric, method, cell["mean"])
                    )
            rows.append(
                {
                    "dataset": case["dataset"],
                    "metric": metric,
                    "configuration": configuration_label(case["configuration"]),
                    "family": family,
                    "name": case["configuration"].get("name", ""),
                    "running": running,
                    "level": case["configuration"][running] if running else None,
                    "cells": cells,
                }
            )
    return rows


def _scores(records: Sequence[Record], metric: str) -> dict[int, float]:
    """The score of every fold that has it."""
    return {
        record["fold"]: record["scores"][metric] for record in records if metric in record["scores"]
    }


def mean_and_std(records: Sequence[Record], metric: str) -> dict[str, Any]:
    """Mean and standard deviation (of a sample, n − 1) over the folds."""
    scores = list(_scores(records, metric).values())
    return {
        "mean": float(np.mean(scores)) if scores else None,
        "std": float(np.std(scores, ddof=1)) if len(scores) > 1 else None,
        "n": len(scores),
        "n_folds": max((record["n_folds"] for record in records), default=0),
        "verdict": None,
        "corrected_p": None,
        "corrected_verdict": None,
        "published": None,
        "difference": None,
        "beyond": False,
    }


def compare(
    records: Mapping[str, Sequence[Record]], metric: str, reference: str, method: str
) -> dict[str, Any]:
    """Whether the reference is better (win), not distinguishable (tie) or worse (loss) than the
    method, by both tests.
    """
    ours, theirs = (
        _scores(records.get(reference, []), metric),
        _scores(records.get(method, []), metric),
    )
    shared = sorted(ours.keys() & theirs.keys())
    if len(shared) < 2:
        return {}
    a, b = np.array([ours[fold] for fold in shared]), np.array([theirs[fold] for fold in shared])
    sizes = [record for record in records[reference] if record["fold"] in shared]
    n_train, n_test = (
        float(np.mean([record[size] for record in sizes])) for size in ("n_train", "n_test")
    )
    p = float(corrected_paired_t(a, b, n_train, n_test))
    better = "win" if a.mean() > b.mean() else "loss"
    return {
        "verdict": two_sample_t(a, b, ALPHA),
        "corrected_p": p,
        "corrected_verdict": better if p < ALPHA else "tie",
    }


def _published(
    published: Mapping[str, Any], dataset: str, metric: str, method: str, mean: float | None
) -> dict[str, Any]:
    """The published number, and whether ours lies more than one published standard deviation away
    from it.
    """
    number = published.get(dataset, {}).get(method, {})
    if metric != "accuracy":
        number = number.get(metric, {})
    if "mean" not in number:
        return {}
    theirs = {"mean": number["mean"], "std": number.get("std"), "source": number.get("source")}
    if mean is None:
        return {"published": theirs}
    difference = mean - theirs["mean"]
    return {
        "published": theirs,
        "difference": difference,
        "beyond": theirs["std"] is not None and abs(difference) > theirs["std"],
    }


def agreement(rows: list[dict[str, Any]]) -> dict[str, int] | None:
    """How many of our means over all folds lie within one published standard deviation of the
    published mean.
    """
    compared = [
        cell
        for row in rows
        for cell in row["cells"].values()
        if cell["difference"] is not None
        and cell["published"]["std"]
        and cell["n"] >= cell["n_folds"]
    ]
    return (
        {"within": sum(not cell["beyond"] for cell in compared), "compared": len(compared)}
        if compared
        else None
    )


def published_methods(
    published: Mapping[str, Any], datasets: list[str], methods: list[str]
) -> list[str]:
    """Methods with only a published number."""
    named = unique(method for dataset in datasets for method in published.get(dataset, {}))
    return [method for method in named if method not in methods]
