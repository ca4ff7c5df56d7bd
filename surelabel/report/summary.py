"""Records of finished trials → one summary of plain data, computed once; the renderers only print
it.

A summary is ``{"sections": [...], "claims": [...], "readings": [...], "versions": [...],
"machines": [...], "finished": "..."}``. A section is one study under one selection criterion:
``results`` (one row per data set, configuration and metric, with a cell per method),
``win_tie_loss``, ``ranks`` (Friedman), ``curves``, ``sensitivity``, ``convergence``, ``times``,
``parameters``, ``capped``, ``unconverged``, ``outdated`` and ``gaps`` (what is missing). Claims are
the paper's sentences with what was found; readings are Table 2 under different protocols.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from ..evaluation.significance import (
    corrected_paired_t,
    critical_difference,
    friedman,
    two_sample_t,
)
from ..experiments.records import Record, Run
from . import run_details
from .claims import check_claims, distance

Runs = Sequence[Run]

ALPHA = 0.05
"""Significance level of every test, as in the paper."""

PAPER_ORDER = (
    "table4",
    "table2",
    "figure1",
    "figure5-sensitivity",
    "figure5-convergence",
    "beyond",
)
"""The studies of the package as the page has them: results first, then figures, then what goes
beyond the paper."""

CRITERIA = {
    "covering_rate": "covering rate (candidates only)",
    "approximated_accuracy": "approximated accuracy (candidates only)",
    "oracle": "ORACLE (true labels of the training set)",
    "none": "none (parameters fixed)",
}
"""What each selection criterion is called in print."""


def summarize(runs: Runs) -> dict[str, Any]:
    """Summarise the records of one or more runs.

    Parameters
    ----------
    runs : sequence of Run
        As :func:`surelabel.experiments.records.read_all` gives them.

    Returns
    -------
    dict
        See the module docstring.
    """
    sections: list[dict[str, Any]] = []
    readings = []
    for study, found, outdated in sorted(runs, key=_place_in_paper):
        # not in the order in which they happened to finish
        records = sorted(found, key=lambda record: record["cell"])
        chosen = sorted({record["selection"] for record in records} - {"none"}) or ["none"]
        for selection in chosen:
            # a method without parameters is the same under every criterion
            mine: list[Record] = [
                record for record in records if record["selection"] in (selection, "none")
            ]
            name = study["name"] if len(chosen) == 1 else f"{study['name']}-{selection}"
            sections.append(_section(study, mine, selection))
            readings += _readings(study, mine, selection)
            sections[-1]["outdated"] = run_details.outdated(outdated)
            sections[-1]["name"] = _new_name(
                file_name(name), [section["name"] for section in sections[:-1]]
            )
    _tell_titles_apart(sections)
    everything = [record for run in runs for record in run.records]
    return {
        "sections": sections,
        "claims": check_claims(sections),
        "readings": readings,
        "versions": _distinct(record["versions"] for record in everything),
        "machines": _distinct(record["machine"] for record in everything),
        "finished": max(record["finished"] for record in everything),
    }


def _place_in_paper(run: Run) -> tuple[int, bool]:
    """Studies in the order of the paper, variants of one behind it, those of others in the end."""
    name = run.study["name"]
    for place, known in enumerate(PAPER_ORDER):
        if name == known or name.startswith(f"{known}-"):
            return place, name != known
    return len(PAPER_ORDER), False


def _tell_titles_apart(sections: Sequence[dict[str, Any]]) -> None:
    """Add the criterion to titles that several sections share, then the name."""
    for more in ("criterion", "name"):
        titles = [section["title"] for section in sections]
        for section in sections:
            if titles.count(section["title"]) > 1:
                section["title"] += f" · {section[more]}"


def file_name(*parts: str) -> str:
    """Words joined to a file name; what is lost of an unusual word is made up for by a hash of it.

    >>> file_name("table4", "fg-net")
    'table4-fg-net'
    >>> file_name("a/b") == file_name("a?b")
    False
    """
    safe = []
    for part in parts:
        word = re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-.")
        safe.append(
            word
            if word and word == part
            else f"{word}-{hashlib.sha256(part.encode()).hexdigest()[:6]}".strip("-")
        )
    return "-".join(safe)


def _new_name(name: str, taken: Sequence[str]) -> str:
    """The name, numbered if two runs share it."""
    numbered = (name if i == 1 else f"{name}-{i}" for i in count(1))
    return next(candidate for candidate in numbered if candidate not in taken)


def chosen_by(section: Mapping[str, Any]) -> str:
    """The sentence under every table and figure."""
    return f"Selection criterion: {section['criterion']}."


def _section(study: Mapping[str, Any], records: list[Record], selection: str) -> dict[str, Any]:
    """One study under one selection criterion."""
    methods = _ordered((record["method"] for record in records), study.get("methods", ()))
    datasets = _ordered((record["dataset"] for record in records), study.get("datasets", ()))
    cases = _cases(records, datasets)
    kind = study.get("kind", "accuracy")
    section: dict[str, Any] = {
        "study": study["name"],
        "title": study.get("title", study["name"]),
        "kind": kind,
        "selection": selection,
        "criterion": CRITERIA.get(selection, selection),
        "oracle": selection == "oracle",
        "scaling": sorted({record["scaling"] for record in records}),
        "folds": max(record["n_folds"] for record in records),
        "n_records": len(records),
        "methods": methods,
        "reference": methods[0],
        "datasets": datasets,
        "alpha": ALPHA,
        "published_methods": [],
        "results": [],
        "agreement": None,
        "win_tie_loss": [],
        "ranks": None,
        "curves": [],
        "sensitivity": _sensitivity(cases) if kind == "sensitivity" else [],
        "convergence": _convergence(cases) if kind == "convergence" else [],
        "times": run_details.times(records, datasets, methods),
        "parameters": run_details.parameters(records, datasets, methods),
        "capped": run_details.capped(records, datasets),
        "unconverged": run_details.unconverged(records, datasets, methods)
        if kind != "convergence"
        else [],
        "gaps": run_details.gaps(study, records, methods, datasets),
    }
    if kind == "accuracy":
        published = study.get("published", {})
        section["published_methods"] = _published_only(published, datasets, methods)
        section["results"] = _results(cases, methods, section["published_methods"], published)
        section["agreement"] = _agreement(section["results"])
        section["win_tie_loss"] = _win_tie_loss(section["results"], methods, published)
        section["ranks"] = _ranks(section["results"], methods)
        section["curves"] = _curves(section["results"], methods)
    return section


# ---------------------------------------------------------------- grouping


def _unique(items: Iterable[Any]) -> list[Any]:
    """The distinct items in order of appearance."""
    return list(dict.fromkeys(items))


def _distinct(mappings: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The distinct mappings."""
    return [
        json.loads(text)
        for text in sorted({json.dumps(mapping, sort_keys=True) for mapping in mappings})
    ]


def _ordered(found: Iterable[str], order: Iterable[str]) -> list[str]:
    """Names that were found, first in the order of the study, then as they appear."""
    present = _unique(found)
    return [name for name in order if name in present] + [
        name for name in present if name not in order
    ]


def configuration_label(configuration: Mapping[str, Any]) -> str:
    """Name a configuration in print; empty for real candidate sets.

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


def _family(configuration: Mapping[str, Any]) -> tuple[str, str | None]:
    """The configuration without its running parameter, and that parameter: ε where it is given,
    else p, q or the rate.
    """
    if configuration["kind"] == "real":
        return "real-world", None
    running = next(
        (key for key in ("eps", "p", "q", "rate") if configuration.get(key) is not None), None
    )
    return configuration_label(
        {key: value for key, value in configuration.items() if key != running}
    ), running


def _cases(records: list[Record], datasets: list[str]) -> list[dict[str, Any]]:
    """Group records by (data set, configuration); inside, by method in order of folds."""
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
        family, running = _family(case["configuration"])
        level = case["configuration"][running] if running else 0
        return family != "real-world", family, datasets.index(case["dataset"]), level

    return sorted(cases, key=place)


# ---------------------------------------------------------------- results


def _results(
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
        metrics = _unique(
            metric
            for records in case["records"].values()
            for record in records
            for metric in record["scores"]
        )
        for metric in metrics:
            cells = {
                method: _cell(case["records"].get(method, []), metric)
                for method in methods + published_only
            }
            for method in methods[1:]:
                cells[method].update(_compare(case["records"], metric, methods[0], method))
            family, running = _family(case["configuration"])
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


def _cell(records: Sequence[Record], metric: str) -> dict[str, Any]:
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


def _compare(
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


def _agreement(rows: list[dict[str, Any]]) -> dict[str, int] | None:
    """How many of our means lie within one published standard deviation of the published mean."""
    compared = [
        cell
        for row in rows
        for cell in row["cells"].values()
        if cell["difference"] is not None and cell["published"]["std"]
    ]
    return (
        {"within": sum(not cell["beyond"] for cell in compared), "compared": len(compared)}
        if compared
        else None
    )


def _published_only(
    published: Mapping[str, Any], datasets: list[str], methods: list[str]
) -> list[str]:
    """Methods of which only a published number is at hand."""
    named = _unique(method for dataset in datasets for method in published.get(dataset, {}))
    return [method for method in named if method not in methods]


# ---------------------------------------------------------------- comparisons over results


def _win_tie_loss(
    rows: list[dict[str, Any]], methods: list[str], published: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Counts of win, tie and loss of the reference against every other method, by family of
    configurations, and in total.
    """
    # the paper counts FG-NET, MAE3 and MAE5 as three results
    counted = [row for row in rows if row["metric"].startswith("accuracy")]
    families = _unique((row["family"], row["name"]) for row in counted)
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
        )  # a part of the published total is no total
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
    return {"family": label, "n": len(rows), "cells": cells}


def _readings(
    study: Mapping[str, Any], records: list[Record], selection: str
) -> list[dict[str, Any]]:
    """Win, tie and loss against the published counts, by the first round of folds and by all
    rounds, over the settings that are complete for both methods.
    """
    published = study.get("published", {}).get("win_tie_loss")
    if not published or study.get("kind", "accuracy") != "accuracy":
        return []
    methods = _ordered((record["method"] for record in records), study.get("methods", ()))
    datasets = _ordered((record["dataset"] for record in records), study.get("datasets", ()))
    theirs = {
        method: np.sum([line[method] for line in published.values()], axis=0).tolist()
        for method in methods[1:]
        if all(method in line for line in published.values())
    }
    n_folds = max(record["n_folds"] for record in records)
    found = []
    for n_scores in sorted({n_folds, n_folds * study.get("repetitions", 1)}):
        cases = _cases([record for record in records if record["fold"] < n_scores], datasets)
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
        _compare(case["records"], "accuracy", reference, method)["verdict"]
        for case in cases
        if case["dataset"] in datasets
        and all(len(case["records"].get(name, [])) == n_scores for name in (reference, method))
    ]
    return [verdicts.count(outcome) for outcome in ("win", "tie", "loss")]


def _ranks(rows: list[dict[str, Any]], methods: list[str]) -> dict[str, Any] | None:
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


def _curves(rows: list[dict[str, Any]], methods: list[str]) -> list[dict[str, Any]]:
    """Accuracy along the running parameter, a panel per family and data set (Figures 1 to 4)."""
    panels = []
    lines = [row for row in rows if row["metric"] == "accuracy" and row["running"]]
    for family, dataset in _unique((row["family"], row["dataset"]) for row in lines):
        mine = [row for row in lines if (row["family"], row["dataset"]) == (family, dataset)]
        series = {}
        for method in methods:
            points = [
                (row["level"], row["cells"][method])
                for row in mine
                if row["cells"][method]["mean"] is not None
            ]
            if points:
                series[method] = _series(
                    [level for level, _ in points], [cell for _, cell in points]
                )
        panels.append(
            {"family": family, "dataset": dataset, "running": mine[0]["running"], "series": series}
        )
    return panels


def _series(x: list[Any], cells: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """A curve with its band."""
    return {
        "x": x,
        "mean": [cell["mean"] for cell in cells],
        "std": [cell["std"] or 0.0 for cell in cells],
    }


# ---------------------------------------------------------------- sensitivity and convergence


def _sensitivity(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Accuracy along each parameter, the others held at the best setting (Figure 5 a, b)."""
    panels = []
    for case in cases:
        for method, records in case["records"].items():
            points: dict[str, list[Record]] = defaultdict(list)
            for record in records:
                points[json.dumps(record["parameters"], sort_keys=True)].append(record)
            cells = [(json.loads(key), _cell(group, "accuracy")) for key, group in points.items()]
            best, _ = max(cells, key=lambda point: point[1]["mean"])
            panels += [
                {"dataset": case["dataset"], "method": method, **panel}
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
            if {**point, parameter: None} == {**fixed, parameter: None}
        ]
        if len(line) > 1:
            line.sort(
                key=lambda point: (isinstance(point[0], str), point[0])
            )  # words after numbers
            panels.append(
                {
                    "parameter": parameter,
                    "fixed": fixed,
                    **_series([x for x, _ in line], [cell for _, cell in line]),
                }
            )
    return panels


def _convergence(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """‖P⁽ᵗ⁺¹⁾ − P⁽ᵗ⁾‖ of every fold (Figure 5 c, d)."""
    return [
        {
            "dataset": case["dataset"],
            "method": method,
            "folds": [record["curves"]["delta"] for record in records],
        }
        for case in cases
        for method, records in case["records"].items()
        if all(record["curves"].get("delta") for record in records)
    ]
