"""Trials: which there are, who they are, what their seeds depend on, and the record of each."""

import gzip
import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from surelabel.data import catalog
from surelabel.data.corruption import make_partial
from surelabel.estimators import SUREClassifier, all_methods
from surelabel.evaluation.metrics import SCORERS
from surelabel.evaluation.protocol import make_folds
from surelabel.experiments import trials as module
from surelabel.experiments.methods import _all_defaults
from surelabel.experiments.records import RECORD
from surelabel.experiments.study import paper_study, read_study
from surelabel.experiments.trials import evaluate, trials_of

RECORDS = Path(__file__).parents[2] / "docs" / "reproduction" / "records"


@pytest.fixture
def study(study_file):
    return read_study(study_file())


def test_folds_come_before_methods(study):
    trials = list(trials_of(study))
    assert len(trials) == 3 * 5 * 2
    first = [(trial.fold, trial.method.name) for trial in trials[:3]]
    assert first == [(0, "SURE"), (0, "PLKNN"), (1, "SURE")]


def test_a_part_of_the_cells_are_the_same_cells(study):
    part = list(
        trials_of(study, methods=["PLKNN"], folds=2, configurations=["II"], datasets=["glass"])
    )
    assert len(part) == 3 * 2
    assert {trial.id for trial in part} < {trial.id for trial in trials_of(study)}
    assert not list(trials_of(study, configurations=["III"]))
    assert not list(trials_of(study, datasets=["ecoli"]))
    assert len(list(trials_of(study, folds=99))) == 30


def test_the_identity_does_not_change_by_accident(study):
    # Records in people's folders are found by these: a change of identity makes them worthless.
    sure, plknn = list(trials_of(study))[:2]
    assert (sure.id, plknn.id) == ("b8929ed484ef8f71", "3c130437c8cf0366")
    assert (sure.seed("candidates"), sure.seed("folds")) == (4195990761, 2821340348)


@pytest.mark.parametrize(
    "change",
    [
        *({"folds": 6}, {"inner_folds": 3}, {"selection": "oracle"}, {"scaling": "minmax"}),
        *({"seed": 1}, {"max_select": 50}),
    ],
    ids=str,
)
def test_what_changes_the_result_changes_the_identity(study, change):
    before, after = (next(trials_of(s)) for s in (study, replace(study, **change)))
    assert before.id != after.id


@pytest.mark.parametrize(
    "change", [{"name": "other"}, {"title": "other"}, {"published": {"glass": {}}}], ids=str
)
def test_what_is_only_a_name_does_not(study, change):
    before, after = (
        [trial.id for trial in trials_of(s)] for s in (study, replace(study, **change))
    )
    assert before == after


def test_a_changed_default_makes_another_cell(study, monkeypatch):
    defaults = next(trials_of(study)).defaults
    assert defaults["kernel"] == "rbf"
    assert not {"lam", "beta", "n_jobs", "random_state"} & set(defaults)
    before = {trial.method.name: trial.id for trial in trials_of(study, folds=1)}

    class Changed(SUREClassifier):
        def __init__(self, lam=0.3, beta=0.05, *, kernel="laplacian", random_state=None):
            super().__init__(lam, beta, kernel=kernel, random_state=random_state)

    methods = all_methods()
    changed = methods | {"SURE": replace(methods["SURE"], estimator=Changed)}
    monkeypatch.setattr("surelabel.experiments.methods.known_methods", lambda: changed)
    _all_defaults.cache_clear()
    after = {trial.method.name: trial.id for trial in trials_of(study, folds=1)}
    _all_defaults.cache_clear()
    assert before["SURE"] != after["SURE"]
    assert before["PLKNN"] == after["PLKNN"]


def test_a_changed_default_of_an_estimator_inside_another_makes_another_cell(study, monkeypatch):
    def inner(default):
        class Inner(BaseEstimator):
            def __init__(self, C=default):
                self.C = C

        return Inner

    class Outer(BaseEstimator):
        def __init__(self, n_neighbors=10, estimator=None):
            self.n_neighbors, self.estimator = n_neighbors, estimator

    ids = []
    for default in (1.0, 1.0, 10.0):
        method = all_methods()["PLKNN"]
        changed = replace(method, estimator=partial(Outer, estimator=inner(default)()))
        monkeypatch.setattr(
            "surelabel.experiments.methods.known_methods", lambda new=changed: {"PLKNN": new}
        )
        _all_defaults.cache_clear()
        ids.append(next(trials_of(study, methods=["PLKNN"])).id)
    _all_defaults.cache_clear()
    assert ids[0] == ids[1] != ids[2]


def test_repetitions_follow_each_other(study):
    repeated = list(trials_of(replace(study, repetitions=3)))
    assert len(repeated) == 3 * 30
    assert [trial.id for trial in repeated[:30]] == [trial.id for trial in trials_of(study)]
    assert {trial.fold for trial in repeated[60:]} == set(range(10, 15))
    assert len(list(trials_of(replace(study, repetitions=3), folds=7))) == 3 * 7 * 2


def test_without_a_grid_the_way_of_choosing_does_not_matter(study):
    other = replace(study, selection="oracle", inner_folds=3, max_select=9)
    before, after = (next(trials_of(s, methods=["PLKNN"])) for s in (study, other))
    assert before.id == after.id
    assert before.selection == "none"


def test_all_methods_share_seeds_and_data_sets_do_not(study):
    by_data = {}
    for trial in trials_of(replace(study, datasets=("glass", "ecoli"))):
        by_data.setdefault((trial.dataset, trial.configuration), set()).add(
            (trial.seed("candidates"), trial.seed("folds"))
        )
    assert all(len(seeds) == 1 for seeds in by_data.values())
    assert len(set.union(*by_data.values())) == 2 * 3


def test_sensitivity_has_a_cell_for_each_point_of_the_grid(study_file):
    study = read_study(
        study_file(
            ("folds = 5", 'kind = "sensitivity"\nfolds = 5'),
            ("beta = [0.05]", "beta = [0.05, 0.1, 1.0]"),
        )
    )
    trials = list(trials_of(study, methods=["SURE"], folds=1))[:6]
    assert [trial.method.parameters for trial in trials] == [
        {"beta": beta, "lam": lam} for beta in (0.05, 0.1, 1.0) for lam in (0.05, 0.3)
    ]
    assert {trial.selection for trial in trials} == {"none"}
    assert len({trial.id for trial in trials}) == 6


def test_a_method_may_scale_its_features_in_its_own_way(study):
    plain, *others = study.methods
    trials = list(trials_of(replace(study, methods=(replace(plain, scaling="unit"), *others))))
    assert {trial.scaling for trial in trials if trial.method.name == plain.name} == {"unit"}
    assert {trial.scaling for trial in trials if trial.method.name != plain.name} <= {study.scaling}


@pytest.mark.parametrize(
    "folder", sorted(RECORDS.iterdir()) if RECORDS.exists() else [], ids=lambda folder: folder.name
)
def test_committed_records_are_of_the_studies(folder):
    """So that ``surelabel reproduce`` goes on from them."""
    study = paper_study(folder.name.removesuffix("-oracle"))
    if folder.name.endswith("-oracle"):  # of --selection oracle
        study = replace(study, name=folder.name, selection="oracle")
    trials = {trial.id for trial in trials_of(study)}
    with gzip.open(folder / "records.jsonl.gz", "rt") as lines:
        assert {json.loads(line)["cell"] for line in lines} <= trials


# ---------------------------------------------------------------- the record


def first(study, method="SURE"):
    return next(trials_of(study, methods=[method]))


def test_the_record(study_file):
    trial = first(read_study(study_file()))
    record = evaluate(trial)
    assert set(record) == set(RECORD)
    assert all(fits(record[key]) for key, fits in RECORD.items())
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["cell"] == trial.id
    expected = {"kind": "controlled", "name": "II", "p": 0.1, "r": 1, "eps": None}
    assert record["configuration"] == expected
    assert (record["n_train"], record["n_test"], record["n_select"]) == (171, 43, 171)
    assert set(record["parameters"]) == {"lam", "beta"}
    assert list(record["scores"]) == ["accuracy", "transductive_accuracy", "covering_rate"]
    assert all(seconds > 0 for seconds in record["seconds"].values())
    assert record["machine"]["cores"] == os.cpu_count()
    assert record["converged"] is True
    assert record["curves"] == {}


@pytest.mark.parametrize("selection", ["covering_rate", "approximated_accuracy"])
def test_the_numbers_are_those_of_the_steps_done_by_hand(study_file, selection):
    grid = "lam = [0.05, 0.3], beta = [0.05]", "lam = [0.01, 1.0], beta = [0.05, 1.0]"
    study = replace(read_study(study_file(grid)), selection=selection)
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
    right = search.predict(X[fold.test]) == data.y[fold.test]
    assert record["scores"]["accuracy"] == np.mean(right)


def spied(monkeypatch, method):
    """What a method is fitted to."""
    seen, estimator = [], all_methods()[method].estimator
    fit = estimator.fit
    monkeypatch.setattr(estimator, "fit", lambda self, X, y: seen.append((X, y)) or fit(self, X, y))
    return seen


def test_all_methods_see_the_same_rows_and_candidates(study, monkeypatch):
    seen = []
    for method in ("SURE", "PLKNN"):
        fitted = spied(monkeypatch, method)
        trial = first(study, method)
        evaluate(replace(trial, method=replace(trial.method, grid={})))
        seen += fitted
    (X, candidates), (X_other, candidates_other) = seen
    assert np.array_equal(X, X_other)
    assert candidates == candidates_other


@pytest.mark.parametrize(("scaling", "low", "high"), [("none", 0, 75), ("minmax", 0, 1)])
def test_scaling_is_learned_on_the_training_rows(study, monkeypatch, scaling, low, high):
    seen = spied(monkeypatch, "PLKNN")
    evaluate(first(replace(study, scaling=scaling), "PLKNN"))
    ((X, _),) = seen
    assert X.min() == low
    assert round(X.max()) == high


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
        "surelabel.estimators.sure_cv.grid_search",
        lambda *_: pytest.fail("the slow search was used"),
    )
    grid = 'lam = [0.3], kernel = ["rbf", "laplacian"], bandwidth = [0.5, 2.0]'
    record = evaluate(first(read_study(study_file(("lam = [0.05, 0.3]", grid)))))
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
