"""Made-up results, random numbers in the form of real ones, to try the report on every kind."""

import json
from itertools import product

import numpy as np
import pytest

from surelabel.estimators import all_methods
from surelabel.experiments.records import Run
from surelabel.experiments.study import PAPERS, load_toml
from surelabel.experiments.trials import defaults_of
from surelabel.report.summary import summarize
from surelabel.text import toml

GRID = [0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 1.0]
SIZES = {
    **{"lost": 1122, "msrcv2": 1758, "fg-net": 1002},
    **{"deter": 358, "ecoli": 336, "glass": 214, "usps": 9298},
}


def configurations(study):
    """Every setting of a study: lists of p, r and eps multiplied out."""
    found = []
    for entry in study["configurations"]:
        if entry["kind"] == "real":
            found.append({"kind": "real"})
            continue
        values = [
            entry[key] if isinstance(entry.get(key), list) else [entry.get(key)]
            for key in ("p", "r", "eps")
        ]
        found += [
            {"kind": "controlled", "name": entry["name"], "p": p, "r": r, "eps": eps}
            for p, r, eps in product(*values)
        ]
    return found


def points(study):
    """The parameters that a trial of the study may have."""
    if study.get("kind") == "sensitivity":
        return [{"lam": lam, "beta": beta} for lam, beta in product(GRID, GRID)]
    return [None]


def make_record(rng, study, dataset, configuration, place, method, fold, parameters):
    """One record; the better methods come first, and every score is noisy."""
    difficulty = 0.25 * (configuration.get("eps") or configuration.get("p") or 0.5)
    centre = 0.85 - difficulty - 0.03 * place - 0.004 * len(dataset)
    if parameters:
        centre -= 0.02 * abs(np.log10(parameters["lam"]) + 1) + 0.03 * abs(
            np.log10(parameters["beta"]) + 1.5
        )
    accuracy = float(np.clip(centre + 0.025 * rng.standard_normal(), 0, 1))
    chosen = {"lam": float(rng.choice(GRID[2:5])), "beta": float(rng.choice(GRID[1:3]))}
    fixed = method in ("CLPL", "PALOC") or study.get("kind", "accuracy") != "accuracy"
    rows = SIZES.get(dataset, 500)
    n_train = rows - rows // 10
    scores = {
        "accuracy": accuracy,
        "transductive_accuracy": min(1.0, accuracy + 0.05),
        "covering_rate": min(1.0, accuracy + 0.1),
    }
    if dataset == "fg-net":
        scores |= {
            "accuracy_within_3": min(1.0, accuracy + 0.02),
            "accuracy_within_5": min(1.0, accuracy + 0.05),
        }
    return {
        "study": study["name"],
        "dataset": dataset,
        "configuration": configuration,
        "method": method,
        "fold": fold,
        "n_folds": study["folds"],
        "selection": "none" if fixed else study["selection"],
        "parameters": (given := parameters or ({} if fixed else chosen)),
        "defaults": defaults_of(method, given) if method in all_methods() else {},
        "scaling": study["scaling"],
        "scores": scores,
        "seconds": {
            "select": 0.0 if fixed else 2.0 * (1 + place) * rng.random(),
            "fit": 0.1 + rng.random(),
            "predict": 0.01,
        },
        "n_train": n_train,
        "n_test": rows // 10,
        "n_select": min(n_train, study.get("max_select") or n_train),
        "curves": {"delta": (8.0 * 0.6 ** np.arange(20 + fold)).tolist()}
        if study.get("kind") == "convergence"
        else {},
        "converged": None,
        "versions": {"surelabel": "0.1.0", "numpy": "2.1.0", "python": "3.12.1"},
        "machine": {"cpu": "made-up", "cores": 2, "memory_gib": 8},
        "finished": "2026-01-01T00:00:00+00:00",
    }


def make_records(study, seed=0, datasets=SIZES):
    """Records of every trial of the study, on the data sets named."""
    rng = np.random.default_rng(seed)
    found = []
    for dataset in (name for name in study["datasets"] if name in datasets):
        real = dataset in ("lost", "msrcv2", "fg-net")
        for configuration in configurations(study):
            if real != (configuration["kind"] == "real"):
                continue
            for fold, (place, method), parameters in product(
                range(study["folds"]), enumerate(study["methods"]), points(study)
            ):
                record = make_record(
                    rng, study, dataset, configuration, place, method, fold, parameters
                )
                found.append({"cell": f"{len(found):016x}"} | record)
    return found


def write_results(folder, study, records):
    """A results folder as a run leaves it."""
    folder.mkdir(parents=True)
    (folder / "records.jsonl").write_text(
        "".join(json.dumps(record) + "\n" for record in records), encoding="utf-8"
    )
    kept = {key: value for key, value in study.items() if isinstance(value, str | int)}
    kept |= {key: list(study[key]) for key in ("datasets", "methods")}
    kept |= {"published": study.get("published", {})}
    lines = [f"{key} = {toml(value)}\n" for key, value in kept.items()]
    (folder / "study.toml").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def study_of():
    """The tables of a study of the package by name, with every configuration, as a run writes
    them.
    """

    def make(name):
        study = {"selection": "none", **load_toml(PAPERS / f"{name}.toml")}
        return study | {"configurations": configurations(study)}

    return make


@pytest.fixture(scope="session")
def made_up(study_of):
    """(study, made-up records) of a study of the package by name."""

    def make(name, **changes):
        study = study_of(name) | changes
        return Run(study, make_records(study), [])

    return make


@pytest.fixture(scope="session")
def section_of(made_up):
    """The only section of the summary of a made-up run."""
    return lambda name, **changes: summarize([made_up(name, **changes)])["sections"][0]


@pytest.fixture
def results(tmp_path, made_up):
    """Write a made-up results folder."""

    def make(name, **changes):
        study, records, _ = made_up(name, **changes)
        return write_results(tmp_path / "results" / study["name"], study, records)

    return make
