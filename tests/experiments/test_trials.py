"""Trials: which there are, who they are, and what their seeds depend on."""

import gzip
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

from surelabel import SUREClassifier
from surelabel.estimators import all_methods
from surelabel.experiments.study import paper_study, read_study
from surelabel.experiments.trials import _all_defaults, trials_of

RECORDS = Path(__file__).parents[2] / "docs" / "reproduction" / "records"


@pytest.fixture
def study(study_file):
    return read_study(study_file())


def test_folds_come_before_methods(study):
    trials = list(trials_of(study))
    assert len(trials) == 3 * 5 * 2
    assert [(trial.fold, trial.method.name) for trial in trials[:3]] == [
        (0, "SURE"),
        (0, "PLKNN"),
        (1, "SURE"),
    ]


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
        {"folds": 6},
        {"inner_folds": 3},
        {"selection": "oracle"},
        {"scaling": "minmax"},
        {"seed": 1},
        {"max_select": 50},
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
    monkeypatch.setattr("surelabel.experiments.trials.known_methods", lambda: changed)
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
            "surelabel.experiments.trials.known_methods", lambda new=changed: {"PLKNN": new}
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
