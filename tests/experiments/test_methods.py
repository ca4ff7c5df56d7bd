"""What a study sets beside the methods, and the study of candidate sets made by people."""

import os

import numpy as np
import pytest
from sklearn.base import clone

from surelabel.data import catalog
from surelabel.data.candidates import CandidateSets
from surelabel.estimators import all_methods
from surelabel.experiments import trials as module
from surelabel.experiments.methods import known_methods, labels_for
from surelabel.experiments.study import paper_study
from surelabel.experiments.trials import evaluate, trials_of

VOTES = CandidateSets.from_votes([["a", "a", "b"], ["b", "c", None], ["c", "c", "c"]])
TRUTH = np.array(["a", "a", "c"])


def test_methods_learn_from_unions_and_references_from_votes_or_the_truth():
    for name in all_methods():
        sets = labels_for(name, VOTES, TRUTH)
        assert sets.to_lists() == [["a", "b"], ["b", "c"], ["c"]]
        assert sets.votes is sets.counts is None
    assert labels_for("CrowdClassifier", VOTES, TRUTH) is VOTES
    truth = labels_for("SVM with true labels", VOTES, TRUTH)
    assert truth.to_lists() == [["a"], ["a"], ["c"]]
    assert truth.classes.tolist() == ["a", "b", "c"]


def test_counts_without_votes_stay():
    counted = CandidateSets.from_lists([["a", "a", "b"], ["b"]])
    assert labels_for("SURE", counted, np.array(["a", "b"])).counts.tolist() == [2, 1, 1]


def test_people_has_every_method_and_chooses_without_true_labels():
    study = paper_study("people")
    assert {plan.estimator for plan in study.methods} == known_methods().keys()
    assert study.selection == "covering_rate"
    assert study.datasets == ("labelme", "cifar10n")


@pytest.fixture
def crowd(monkeypatch):
    """Votes of five people for three classes in place of the data, so that trials are quick."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = np.eye(3)[y] * 3 + rng.normal(size=(90, 3))
    votes = np.where(rng.random((90, 5)) < 0.7, y[:, None], rng.integers(3, size=(90, 5)))
    votes[::10] = (y[::10, None] + 1) % 3  # the truth is in no set of these
    sets = CandidateSets.from_ballots(votes, np.arange(3))
    made_up = catalog.Dataset("labelme", X, sets, y, sets.classes, False)
    monkeypatch.setattr(module, "_load", lambda *_: made_up)
    return made_up


@pytest.mark.parametrize("method", ["PLKNN", "CrowdClassifier", "SVM with true labels"])
def test_a_trial(crowd, method):
    record = evaluate(next(trials_of(paper_study("people"), methods=[method])))
    assert (record["dataset"], record["method"]) == ("labelme", method)
    assert record["configuration"] == {"kind": "real"}
    assert record["scores"]["accuracy"] > 0.8
    assert (record["scores"]["transductive_accuracy"] == 1) == (method == "SVM with true labels")
    assert record["selection"] == ("none" if method == "CrowdClassifier" else "covering_rate")


def test_the_svm_has_the_c_that_was_chosen(crowd):
    model = known_methods()["SVM with true labels"].estimator().set_params(C=10.0)
    assert clone(model).fit(crowd.X, crowd.y).estimator_.C == 10


@pytest.mark.skipif(
    not os.path.isfile(os.path.join(os.environ.get("SURELABEL_DATA", ""), "crowds", "labelme.npz")),
    reason="labelme.npz is not in the folder crowds of SURELABEL_DATA",
)
def test_a_trial_on_votes_of_people():
    record = evaluate(next(trials_of(paper_study("people"), methods=["PALOC"])))
    assert (record["n_train"], record["n_test"]) == (800, 200)
    assert record["scores"]["accuracy"] > 0.7
