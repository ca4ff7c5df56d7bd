"""Comparisons over many results: win, tie and loss, readings of Table 2, average ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..evaluation.significance import critical_difference, friedman
from ..experiments.records import Record
from .cases import group_cases, ordered, unique
from .claims import distance
from .results import ALPHA, compare


def win_tie_loss(
    rows: list[dict[str, Any]], methods: list[str], published: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Counts of win, tie and loss of the reference against every other method, by family of
    configurations, and in total.
    """
    # the paper counts FG-NET, MAE3 and MAE5 as three results
    counted = [row for row in rows if row["metric"].startswith("accuracy")]
    families = unique((row["family"], row["name"]) for row in counted)
    theirs = published.get("win_tie_loss", {})
    lines = [
        _counts(
            family,
            [row for row in counted if row["family"] == family],
            methods,
            theirs.get(name, {}),
        )
        for family, name in families
    ]
    if len(families) > 1:
        names = {name for _, name in families}
        whole = (
            theirs.values() if theirs.keys() <= names else []
        )  # no total if some of the published counts are missing
        total = {
            method: np.sum([line[method] for line in whole], axis=0).tolist()
            for method in methods[1:]
            if whole and all(method in line for line in whole)
        }
        lines.append(_counts("Total", counted, methods, total))
    return lines if len(methods) > 1 else []


def _counts(
    label: str,
    rows: list[dict[str, Any]],
    methods: list[str],
    published: Mapping[str, Sequence[int]],
) -> dict[str, Any]:
    """One line of win, tie and loss, by both tests."""
    cells: dict[str, dict[str, Any]] = {}
    for method in methods[1:]:
        mine = [row["cells"][method] for row in rows]
        cells[method] = {
            test: [
                sum(cell[test] == outcome for cell in mine) for outcome in ("win", "tie", "loss")
            ]
            for test in ("verdict", "corrected_verdict")
        }
        cells[method]["published"] = published.get(method)
    # Settings that no pair of methods has finished are not counted.
    compared = max((sum(cell["verdict"]) for cell in cells.values()), default=0)
    return {"family": label, "n": compared, "cells": cells}


def readings_of(
    study: Mapping[str, Any], records: list[Record], selection: str
) -> list[dict[str, Any]]:
    """Win, tie and loss against the published counts, by the first round of folds and by all
    rounds, over the settings that are complete for both methods.
    """
    published = study.get("published", {}).get("win_tie_loss")
    if not published or study.get("kind", "accuracy") != "accuracy":
        return []
    methods = ordered((record["method"] for record in records), study.get("methods", ()))
    datasets = ordered((record["dataset"] for record in records), study.get("datasets", ()))
    theirs = {
        method: np.sum([line[method] for line in published.values()], axis=0).tolist()
        for method in methods[1:]
        if all(method in line for line in published.values())
    }
    n_folds = max(record["n_folds"] for record in records)
    found = []
    for n_scores in sorted({n_folds, n_folds * study.get("repetitions", 1)}):
        cases = group_cases([record for record in records if record["fold"] < n_scores], datasets)
        for group in ([name for name in datasets if name != "usps"], ["usps"]):
            counts = {
                method: _complete_counts(cases, group, methods[0], method, n_scores)
                for method in theirs
            }
            if any(sum(count) for count in counts.values()):
                found.append(
                    {
                        "study": study["name"],
                        "datasets": [name for name in group if name in datasets],
                        "scaling": study.get("scaling", ""),
                        "selection": selection,
                        "n_scores": n_scores,
                        "counts": counts,
                        "published": theirs,
                        "distance": {
                            method: distance(count, theirs[method]) if sum(count) else None
                            for method, count in counts.items()
                        },
                    }
                )
    return found


def _complete_counts(
    cases: list[dict[str, Any]], datasets: list[str], reference: str, method: str, n_scores: int
) -> list[int]:
    verdicts = [
        compare(case["records"], "accuracy", reference, method)["verdict"]
        for case in cases
        if case["dataset"] in datasets
        and all(len(case["records"].get(name, [])) == n_scores for name in (reference, method))
    ]
    return [verdicts.count(outcome) for outcome in ("win", "tie", "loss")]


def average_ranks(rows: list[dict[str, Any]], methods: list[str]) -> dict[str, Any] | None:
    """Average ranks with Friedman's test and Nemenyi's critical difference, over the results that
    every method has.
    """
    complete = [
        [row["cells"][method]["mean"] for method in methods]
        for row in rows
        if row["metric"] == "accuracy"
        and all(row["cells"][method]["mean"] is not None for method in methods)
    ]
    if len(methods) < 3 or len(complete) < 2:
        return None
    statistic, p, average = friedman(np.array(complete))
    return {
        "n": len(complete),
        "statistic": float(statistic),
        "p": float(p),
        "critical_difference": float(critical_difference(len(methods), len(complete), ALPHA)),
        "average": {method: float(rank) for method, rank in zip(methods, average, strict=True)},
    }
