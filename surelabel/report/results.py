"""Records → results: means and tests of every setting, win/tie/loss, readings of Table 2, ranks.

A setting is a data set with a configuration: ``{"dataset": …, "configuration": …, "records": …}``,
the records are those of each method, in the order of folds.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..evaluation.significance import (
    corrected_paired_t,
    critical_difference,
    friedman,
    two_sample_t,
)
from ..experiments.records import Record

#: Significance level of every test, as in the paper.
ALPHA = 0.05
OUTCOMES = ("win", "tie", "loss")


# ---------------------------------------------------------------- settings


def unique(items: Iterable[Any]) -> list[Any]:
    """The distinct items in order of appearance."""
    return list(dict.fromkeys(items))


def ordered(found: Iterable[str], order: Iterable[str]) -> list[str]:
    """The names found: first those of the study, in its order, then the others as they appear."""
    present = unique(found)
    return unique([*(name for name in order if name in present), *present])


def configuration_label(configuration: Mapping[str, Any]) -> str:
    """The name of a configuration in print; empty for real candidate sets.

    >>> configuration_label({"kind": "controlled", "p": 0.1, "r": 1, "eps": 0.3, "name": "I"})
    '(I) p=0.1, r=1, ε=0.3'
    """
    text = ", ".join(
        f"{'ε' if key == 'eps' else key}={value}"
        for key, value in configuration.items()
        if key not in ("kind", "name") and value is not None
    )
    return f"({configuration['name']}) {text}" if configuration.get("name") else text


def family_of(configuration: Mapping[str, Any]) -> tuple[str, str | None]:
    """The configuration without its varying parameter, and that parameter: ε if given, otherwise
    p.
    """
    if configuration["kind"] == "real":
        return "real-world", None
    running = next((key for key in ("eps", "p") if configuration.get(key) is not None), None)
    fixed = {key: value for key, value in configuration.items() if key != running}
    return configuration_label(fixed), running


def group_by_setting(records: list[Record], datasets: list[str]) -> list[dict[str, Any]]:
    """The settings that have records, in the order of the page."""
    groups: dict[tuple[str, str], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in sorted(records, key=lambda record: record["fold"]):
        key = record["dataset"], json.dumps(record["configuration"], sort_keys=True)
        groups[key][record["method"]].append(record)
    settings = [
        {
            "dataset": dataset,
            "configuration": next(iter(by_method.values()))[0]["configuration"],
            "records": dict(by_method),
        }
        for (dataset, _), by_method in groups.items()
    ]

    def place(setting: dict[str, Any]) -> tuple[Any, ...]:
        family, running = family_of(setting["configuration"])
        level = setting["configuration"][running] if running else 0
        return family != "real-world", family, datasets.index(setting["dataset"]), level

    return sorted(settings, key=place)


# ---------------------------------------------------------------- one row per setting and metric


def result_rows(
    settings: list[dict[str, Any]],
    methods: list[str],
    published_only: list[str],
    published: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """One row per setting and metric: ours and the published number of each method."""
    rows = []
    for setting in settings:
        dataset, configuration = setting["dataset"], setting["configuration"]
        every = [record for records in setting["records"].values() for record in records]
        family, running = family_of(configuration)
        for metric in unique(metric for record in every for metric in record["scores"]):
            cells = {
                method: mean_and_std(setting["records"].get(method, []), metric)
                for method in methods + published_only
            }
            for method in methods[1:]:
                cells[method] |= compare_methods(setting["records"], metric, methods[0], method)
            if family == "real-world":
                for method, cell in cells.items():
                    cell |= _published(published, dataset, metric, method, cell["mean"])
            rows.append(
                {
                    "dataset": dataset,
                    "metric": metric,
                    "configuration": configuration_label(configuration),
                    "family": family,
                    "name": configuration.get("name", ""),
                    "running": running,
                    "level": configuration[running] if running else None,
                    "cells": cells,
                }
            )
    return rows


def _scores_by_fold(records: Sequence[Record], metric: str) -> dict[int, float]:
    """The score of every fold that has it."""
    return {
        record["fold"]: record["scores"][metric] for record in records if metric in record["scores"]
    }


def mean_and_std(records: Sequence[Record], metric: str) -> dict[str, Any]:
    """A cell with mean and standard deviation (n − 1) over the folds; the rest comes later."""
    scores = list(_scores_by_fold(records, metric).values())
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


def compare_methods(
    records: Mapping[str, Sequence[Record]], metric: str, reference: str, method: str
) -> dict[str, Any]:
    """Whether the reference is better (win), not distinguishable (tie) or worse (loss) than the
    method, by both tests.
    """
    ours = _scores_by_fold(records.get(reference, []), metric)
    theirs = _scores_by_fold(records.get(method, []), metric)
    shared = sorted(ours.keys() & theirs.keys())
    if len(shared) < 2:
        return {}
    a, b = (np.array([scores[fold] for fold in shared]) for scores in (ours, theirs))
    sizes = [record for record in records[reference] if record["fold"] in shared]
    n_train = float(np.mean([record["n_train"] for record in sizes]))
    n_test = float(np.mean([record["n_test"] for record in sizes]))
    p = corrected_paired_t(a, b, n_train, n_test)
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
    theirs = {"mean": number["mean"], "std": number.get("std")}
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
    within = sum(not cell["beyond"] for cell in compared)
    return {"within": within, "compared": len(compared)} if compared else None


def published_methods(
    published: Mapping[str, Any], datasets: list[str], methods: list[str]
) -> list[str]:
    """Methods with only a published number."""
    named = unique(method for dataset in datasets for method in published.get(dataset, {}))
    return [method for method in named if method not in methods]


# ---------------------------------------------------------------- win, tie, loss


def win_tie_loss(
    rows: list[dict[str, Any]], methods: list[str], published: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Counts of win, tie and loss of the reference against every other method, by family of
    configurations, and in total.
    """
    if len(methods) < 2:
        return []
    # The paper counts FG-NET, MAE3 and MAE5 as three results.
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
        # No total if some of the published counts are missing.
        complete = theirs.keys() <= {name for _, name in families}
        total = _published_total(theirs, methods) if complete else {}
        lines.append(_counts("Total", counted, methods, total))
    return lines


def _published_total(lines: Mapping[str, Any], methods: list[str]) -> dict[str, list[int]]:
    """The sum of the published counts for each method that is in all lines."""
    return {
        method: np.sum([line[method] for line in lines.values()], axis=0).tolist()
        for method in methods[1:]
        if lines and all(method in line for line in lines.values())
    }


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
            test: [sum(cell[test] == outcome for cell in mine) for outcome in OUTCOMES]
            for test in ("verdict", "corrected_verdict")
        }
        cells[method]["published"] = published.get(method)
    # Settings that no pair of methods has finished are not counted.
    compared = max((sum(cell["verdict"]) for cell in cells.values()), default=0)
    return {"family": label, "n": compared, "cells": cells}


def distance(ours: Sequence[int] | np.ndarray, theirs: Sequence[int] | np.ndarray) -> float:
    """Half the sum of the absolute differences between the shares of wins, ties and losses: the
    share of cases that would have to change.

    >>> distance([5, 5, 0], [1, 1, 0])
    0.0
    >>> distance([10, 0, 0], [0, 5, 5])
    1.0
    """
    shares = [np.asarray(counts, float) / max(1, np.sum(counts)) for counts in (ours, theirs)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


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
    theirs = _published_total(published, methods)
    n_folds = max(record["n_folds"] for record in records)
    found = []
    for n_scores in sorted({n_folds, n_folds * study.get("repetitions", 1)}):
        scored = [record for record in records if record["fold"] < n_scores]
        settings = group_by_setting(scored, datasets)
        for group in ([name for name in datasets if name != "usps"], ["usps"]):
            mine = [setting for setting in settings if setting["dataset"] in group]
            counts = {
                method: _complete_counts(mine, methods[0], method, n_scores) for method in theirs
            }
            if any(sum(count) for count in counts.values()):
                found.append(
                    {
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
    settings: list[dict[str, Any]], reference: str, method: str, n_scores: int
) -> list[int]:
    verdicts = [
        compare_methods(setting["records"], "accuracy", reference, method)["verdict"]
        for setting in settings
        if all(len(setting["records"].get(name, [])) == n_scores for name in (reference, method))
    ]
    return [verdicts.count(outcome) for outcome in OUTCOMES]


# ---------------------------------------------------------------- ranks


def average_ranks(rows: list[dict[str, Any]], methods: list[str]) -> dict[str, Any] | None:
    """Average ranks with Friedman's test and Nemenyi's critical difference, over the results that
    every method has.
    """
    means = [
        [row["cells"][method]["mean"] for method in methods]
        for row in rows
        if row["metric"] == "accuracy"
    ]
    complete = [row for row in means if None not in row]
    if len(methods) < 3 or len(complete) < 2:
        return None
    statistic, p, average = friedman(np.array(complete))
    return {
        "n": len(complete),
        "statistic": statistic,
        "p": p,
        "critical_difference": critical_difference(len(methods), len(complete), ALPHA),
        "average": dict(zip(methods, average.tolist(), strict=True)),
    }
