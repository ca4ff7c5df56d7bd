"""One trial of every study of the package."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from surelabel.experiments import paper_study, run_study
from surelabel.experiments.records import read
from surelabel.experiments.trials import trials_of
from tests.golden.make import number, summary

#: Study → data set, configuration, method, and number of the trial among these.
TRIALS = {
    "beyond": ("glass", "III", "SURE (kernel chosen)", 0),
    "figure1": ("glass", "I", "CLPL", 11),
    "figure5-convergence": ("lost", "", "SURE", 0),
    "figure5-sensitivity": ("lost", "", "SURE", 10),
    "people": ("labelme", "", "CrowdClassifier", 0),
    "people-raw": ("labelme", "", "PLKNN", 1),
    "pure": ("glass", "IV", "PURE", 35),
    "pure-parts": ("lost", "", "PURE with groups", 0),
    "table2": ("glass", "II", "SURE", 42),
    "table2-minmax": ("ecoli", "I", "PALOC", 3),
    "table2-raw": ("glass", "III", "IPAL", 12),
    "table2-repeated": ("deter", "IV", "LSBCMM", 75),
    "table4": ("fg-net", "", "PLKNN", 4),
}
#: Data sets that are not part of the package.
ELSEWHERE = ("lost", "labelme", "fg-net")


def trial(folder: Path, study: str) -> dict[str, Any]:
    """The record of a trial, without what differs between runs."""
    dataset, configuration, method, place = TRIALS[study]
    plan = paper_study(study)
    trials = list(
        trials_of(plan, datasets=[dataset], configurations=[configuration], methods=[method])
    )
    outcome = run_study(plan, folder, trials=[trials[place]], workers=1, tell=lambda text: None)
    assert (outcome.skipped, outcome.failed) == (0, 0)
    (record,) = read(folder).records
    kept = {key: record[key] for key in ("cell", "configuration", "method", "fold", "selection")}
    kept |= {key: record[key] for key in ("parameters", "defaults", "scaling", "converged")}
    kept |= {key: record[key] for key in ("n_train", "n_test", "n_select")}
    return kept | {
        "needs": dataset if dataset in ELSEWHERE else None,
        "trials": len(trials),
        "scores": {name: number(score) for name, score in record["scores"].items()},
        "curves": {name: summary(curve) for name, curve in record["curves"].items()},
    }


RESULTS: dict[str, Callable[[Path], Any]] = {study: partial(trial, study=study) for study in TRIALS}
