"""One trial: the record it gives, and that it does what it says."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from surelabel.data import catalog
from surelabel.data.corruption import (
    drop_truth,
    make_partial,
    make_partial_flipping,
    make_partial_instance,
)
from surelabel.estimators import SUREClassifier, all_methods
from surelabel.evaluation.metrics import SCORERS
from surelabel.evaluation.protocol import make_folds
from surelabel.experiments import evaluate as module
from surelabel.experiments.evaluate import _corrupt, evaluate
from surelabel.experiments.study import read_study
from surelabel.experiments.trials import trials_of
from surelabel.report.results import configuration_label

KEYS = (
    "cell study dataset configuration method fold n_folds selection parameters defaults scaling "
    "scores seconds "
    "n_train n_test n_select converged curves versions machine finished"
)


def first(study, method="SURE"):
    return next(trials_of(study, methods=[method]))


def test_the_record(study_file):
    trial = first(read_study(study_file()))
    record = evaluate(trial)
    assert list(record) == KEYS.split()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["cell"] == trial.id
    assert record["configuration"] == {
        "kind": "controlled",
        "name": "II",
        "p": 0.1,
        "r": 1,
        "eps": None,
    }
    assert (record["n_train"], record["n_test"], record["n_select"]) == (171, 43, 171)
    assert set(record["parameters"]) == {"lam", "beta"}
    assert list(record["scores"]) == ["accuracy", "transductive_accuracy", "covering_rate"]
    assert all(seconds > 0 for seconds in record["seconds"].values())
    assert record["machine"]["cores"] == os.cpu_count()
    assert record["converged"] is True
    assert record["curves"] == {}


CONTROLLED = 'kind = "controlled"\nname = "II"\np = [0.1, 0.4, 0.7]\nr = 1'


@pytest.mark.parametrize(
    ("settings", "make"),
    [
        (
            'kind = "flipping"\nq = [0.1, 0.3]',
            lambda X, y, seed: make_partial_flipping(y, 0.1, random_state=seed),
        ),
        (
            'kind = "instance"\nrate = 0.2',
            lambda X, y, seed: make_partial_instance(X, y, 0.2, random_state=seed),
        ),
        (
            'kind = "controlled"\np = 0.5\nr = 1\nmissing = 0.1',
            lambda X, y, seed: make_partial(y, 0.5, 1, random_state=seed),
        ),
    ],
)
def test_other_ways_to_false_candidates(study_file, settings, make):
    study = read_study(study_file((CONTROLLED, settings)))
    path = study_file((CONTROLLED, settings))
    path.write_text(study.to_toml())
    assert read_study(path) == study, "a study is written as it is read"
    trial, data = first(study), catalog.load("glass")
    candidates = _corrupt(data, trial)
    expected = make(data.X, data.y, trial.seed("candidates"))
    if trial.configuration.missing:
        expected = drop_truth(expected, data.y, 0.1, random_state=trial.seed("missing"))
    assert candidates.to_lists() == expected.to_lists()
    record = evaluate(trial)
    assert json.loads(json.dumps(record, allow_nan=False))["scores"]["accuracy"] > 0.3
    assert configuration_label(record["configuration"])


@pytest.mark.parametrize("selection", ["covering_rate", "approximated_accuracy"])
def test_the_numbers_are_those_of_the_steps_done_by_hand(study_file, selection):
    study = replace(
        read_study(
            study_file(
                ("lam = [0.05, 0.3], beta = [0.05]", "lam = [0.01, 1.0], beta = [0.05, 1.0]")
            )
        ),
        selection=selection,
    )
    trial = list(trials_of(study, methods=["SURE"]))[-1]
    record = evaluate(trial)

    data = catalog.load("glass")
    candidates = make_partial(data.y, 0.7, 1, random_state=trial.seed("candidates"))
    fold = make_folds(len(data.y), n_folds=5, inner_folds=2, seed=trial.seed("folds"))[4]
    X = StandardScaler().fit(data.X[fold.train]).transform(data.X)
    # SURE's own search evaluates the bandwidth once on all training rows; at this number both
    # searches agree.
    gamma = SUREClassifier().fit(X[fold.train], candidates[fold.train]).gamma_
    search = GridSearchCV(
        SUREClassifier(gamma=gamma), trial.method.grid, scoring=SCORERS[selection], cv=fold.inner
    )
    search.fit(X[fold.train], candidates[fold.train])
    assert record["parameters"] == search.best_params_
    assert record["scores"]["accuracy"] == np.mean(
        search.predict(X[fold.test]) == data.y[fold.test]
    )


def test_all_methods_see_the_same_rows_and_candidates(study_file, monkeypatch):
    seen = []
    for method in ("SURE", "PLKNN"):
        estimator = all_methods()[method].estimator
        monkeypatch.setattr(
            estimator,
            "fit",
            lambda self, X, y, fit=estimator.fit: seen.append((X, y)) or fit(self, X, y),
        )
        evaluate(
            replace(
                first(read_study(study_file()), method),
                method=replace(first(read_study(study_file()), method).method, grid={}),
            )
        )
    (X, candidates), (X_other, candidates_other) = seen
    assert np.array_equal(X, X_other)
    assert candidates == candidates_other


@pytest.mark.parametrize(("scaling", "low", "high"), [("none", 0, 75), ("minmax", 0, 1)])
def test_scaling_is_learned_on_the_training_rows(study_file, monkeypatch, scaling, low, high):
    seen = []
    fit = all_methods()["PLKNN"].estimator.fit
    monkeypatch.setattr(
        all_methods()["PLKNN"].estimator,
        "fit",
        lambda self, X, y: seen.append(X) or fit(self, X, y),
    )
    evaluate(first(replace(read_study(study_file()), scaling=scaling), "PLKNN"))
    assert seen[0].min() == low
    assert round(seen[0].max()) == high


def test_a_cap_on_the_rows_that_choose_is_recorded(study_file):
    record = evaluate(first(replace(read_study(study_file()), max_select=60)))
    assert (record["n_train"], record["n_select"]) == (171, 60)


@pytest.mark.parametrize("method", ["SURE", "PLKNN"])
def test_the_oracle_chooses_by_true_labels_and_is_named(study_file, method):
    study = read_study(
        study_file(("parameters = { n_neighbors = 5 }", "grid = { n_neighbors = [5, 6] }"))
    )
    record = evaluate(first(replace(study, selection="oracle"), method))
    assert record["selection"] == "oracle"


def test_without_a_grid_nothing_is_chosen(study_file):
    record = evaluate(first(read_study(study_file()), "PLKNN"))
    assert record["selection"] == "none"
    assert record["parameters"] == {"n_neighbors": 5}
    assert record["seconds"]["select"] == record["n_select"] == 0
    assert record["converged"] is None


def test_kernels_are_chosen_by_sures_own_search(study_file, monkeypatch):
    monkeypatch.setattr(
        "surelabel.estimators.sure.grid_search", lambda *_: pytest.fail("the slow search was used")
    )
    study = read_study(
        study_file(
            (
                "lam = [0.05, 0.3]",
                'lam = [0.3], kernel = ["rbf", "laplacian"], bandwidth = [0.5, 2.0]',
            )
        )
    )
    record = evaluate(first(study))
    assert set(record["parameters"]) == {"lam", "beta", "kernel", "bandwidth"}


def test_other_parameters_of_sure_are_chosen_by_the_general_search(study_file):
    record = evaluate(
        first(read_study(study_file(("lam = [0.05, 0.3]", 'init = ["candidates", "uniform"]'))))
    )
    assert record["parameters"]["init"] in ("candidates", "uniform")


def test_convergence_keeps_the_path(study_file):
    study = read_study(
        study_file(
            ("folds = 5", 'kind = "convergence"\nfolds = 5'),
            (
                "grid = { lam = [0.05, 0.3], beta = [0.05] }",
                "parameters = { max_iter = 7, tol = 0.0 }",
            ),
            ("[methods.PLKNN]\nparameters = { n_neighbors = 5 }", ""),
        )
    )
    record = evaluate(first(study))
    delta, objective = record["curves"]["delta"], record["curves"]["objective"]
    assert len(delta) == len(objective) == 7
    assert delta[0] > delta[-1]
    assert np.all(np.diff(objective) <= 1e-9)
    # The first step is from P = Y to the simplex: at least 1 / sqrt(2) for each of the 17 ambiguous
    # training rows or so.
    assert delta[0] > np.sqrt(10 / 2)


def test_one_thread(study_file, monkeypatch):
    threads = []
    load = catalog.load
    module._load.cache_clear()
    monkeypatch.setattr(
        catalog,
        "load",
        lambda *a: threads.extend(pool["num_threads"] for pool in threadpool_info()) or load(*a),
    )
    evaluate(first(read_study(study_file())))
    assert set(threads) == {1}


@pytest.mark.skipif(
    "SURELABEL_DATA" not in os.environ,
    reason="SURELABEL_DATA does not name the folder of the real-world data",
)
def test_ages_are_also_scored_within_some_years(study_file):
    study = read_study(
        study_file(
            ('["glass"]', '["fg-net"]'),
            ('kind = "controlled"\nname = "II"\np = [0.1, 0.4, 0.7]\nr = 1', 'kind = "real"'),
        )
    )
    scores = evaluate(first(study, "PLKNN"))["scores"]
    assert scores["accuracy"] <= scores["accuracy_within_3"] <= scores["accuracy_within_5"]
    assert scores["accuracy_within_5"] > 0.3
