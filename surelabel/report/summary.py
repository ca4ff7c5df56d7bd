"""Records of finished trials → one summary of plain data, computed once; the renderers only format
it.

A summary is ``{"sections": [...], "claims": [...], "readings": [...], "versions": [...],
"machines": [...], "finished": "..."}``. A section is one study under one selection criterion:
``results`` (one row per data set, configuration and metric, with a cell per method),
``win_tie_loss``, ``ranks`` (Friedman), ``curves``, ``sensitivity``, ``convergence``, ``fits``
(times and parameters), ``capped`` (data sets whose parameters were chosen on a part of the training
rows), ``outdated`` (records left out) and ``gaps`` (trials without records). Claims are the
paper's claims with what was found; readings are Table 2 under different protocols.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from ..experiments.records import Record, Run
from . import run_details
from .claims import check_claims
from .curves import accuracy_curves, convergence_paths, sensitivity_panels
from .results import (
    ALPHA,
    agreement,
    average_ranks,
    group_by_setting,
    ordered,
    published_methods,
    readings_of,
    result_rows,
    win_tie_loss,
)

Runs = Sequence[Run]

PAPER_ORDER = (
    "table4",
    "table2",
    "figure1",
    "figure5-sensitivity",
    "figure5-convergence",
    "beyond",
)
"""The studies of the package in the order of the page: real-world data, controlled data, figures,
and then what goes beyond the paper.
"""

CRITERIA = {
    "covering_rate": "covering rate (candidates only)",
    "approximated_accuracy": "approximated accuracy (candidates only)",
    "oracle": "ORACLE (true labels of the training set)",
    "none": "none (parameters fixed)",
}
"""The name of each selection criterion in print."""


def summarize(runs: Runs) -> dict[str, Any]:
    """Summarise the records of one or more runs; the module docstring says what is in a summary."""
    sections: list[dict[str, Any]] = []
    readings = []
    for study, found, outdated in sorted(runs, key=_place_in_paper):
        # so that the summary does not depend on the order in which trials finished
        records = sorted(found, key=lambda record: record["cell"])
        criteria = {record["selection"] for record in records} - {"none"}
        selection = min(criteria, default="none")
        records += _of_twins(study, records, runs)
        section = _summarize_study(study, records, selection)
        section["outdated"] = run_details.outdated(outdated)
        section["name"] = _new_name(file_name(study["name"]), sections)
        sections.append(section)
        readings += readings_of(study, records, selection)
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


def _of_twins(study: Mapping[str, Any], records: Sequence[Record], runs: Runs) -> list[Record]:
    """Records of methods that have no parameters to choose, from studies that differ from this one
    only in the selection criterion: they are valid here, too.
    """
    present = {record["method"] for record in records}
    return [
        record
        for run in runs
        if _protocol(run.study) == _protocol(study)
        for record in run.records
        if record["selection"] == "none" and record["method"] not in present
    ]


def _protocol(study: Mapping[str, Any]) -> dict[str, Any]:
    """A study without its names and its criterion."""
    return {key: study[key] for key in study if key not in ("name", "title", "selection")}


def _place_in_paper(run: Run) -> tuple[int, bool]:
    """Sort key: studies in the order of the paper, each followed by its variants; others last."""
    name = run.study["name"]
    for place, known in enumerate(PAPER_ORDER):
        if name == known or name.startswith(f"{known}-"):
            return place, name != known
    return len(PAPER_ORDER), False


def _tell_titles_apart(sections: Sequence[dict[str, Any]]) -> None:
    """Add the criterion to titles that several sections share; if that is not enough, the name."""
    for more in ("criterion", "name"):
        titles = [section["title"] for section in sections]
        for section in sections:
            if titles.count(section["title"]) > 1:
                section["title"] += f" · {section[more]}"


def file_name(*parts: str) -> str:
    """Join words to a file name; codes replace unusual characters.

    >>> file_name("table4", "fg-net"), file_name("a/b")
    ('table4-fg-net', 'a_2fb')
    """
    return re.sub(r"[^A-Za-z0-9_.-]", lambda found: f"_{ord(found[0]):x}", "-".join(parts))


def _new_name(name: str, sections: Sequence[Mapping[str, Any]]) -> str:
    """The name, with a number if a section has it already."""
    taken = {section["name"] for section in sections}
    numbered = (name if i == 1 else f"{name}-{i}" for i in count(1))
    return next(candidate for candidate in numbered if candidate not in taken)


def chosen_by(section: Mapping[str, Any]) -> str:
    """The sentence under every table and figure: how parameters were chosen."""
    return f"Selection criterion: {section['criterion']}."


def _summarize_study(
    study: Mapping[str, Any], records: list[Record], selection: str
) -> dict[str, Any]:
    """One study under one selection criterion."""
    methods = ordered((record["method"] for record in records), study.get("methods", ()))
    datasets = ordered((record["dataset"] for record in records), study.get("datasets", ()))
    settings = group_by_setting(records, datasets)
    kind = study.get("kind", "accuracy")
    scored, published = (settings, study.get("published", {})) if kind == "accuracy" else ([], {})
    only_published = published_methods(published, datasets, methods)
    results = result_rows(scored, methods, only_published, published)
    return {
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
        "alpha": ALPHA,
        "published_methods": only_published,
        "results": results,
        "agreement": agreement(results),
        "win_tie_loss": win_tie_loss(results, methods, published),
        "ranks": average_ranks(results, methods),
        "curves": accuracy_curves(results, methods),
        "sensitivity": sensitivity_panels(settings) if kind == "sensitivity" else [],
        "convergence": convergence_paths(settings) if kind == "convergence" else [],
        "fits": run_details.fits(records, datasets, methods),
        "capped": run_details.capped(records, datasets),
        "gaps": run_details.gaps(study, records, methods, datasets),
    }


def _distinct(mappings: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The distinct mappings."""
    return [
        json.loads(text)
        for text in sorted({json.dumps(mapping, sort_keys=True) for mapping in mappings})
    ]
