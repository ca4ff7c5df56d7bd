"""Counts or probabilities of every class in columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import surelabel
from surelabel import CandidateSets, CrowdClassifier
from surelabel.exceptions import CandidateError, ParameterError, TableError


@pytest.fixture(scope="module")
def votes_of_seven():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(1)
    counts = np.zeros((150, 3))
    for _ in range(7):
        voted = np.where(rng.random(150) < 0.5, y, rng.integers(0, 3, 150))
        counts[np.arange(150), voted] += 1
    frame = pd.DataFrame(X, columns=list("abcd"))
    return frame.assign(**{f"p_{k}": counts[:, k] + 0.1 for k in range(3)}), y, counts


def test_every_row_has_every_class(votes_of_seven):
    frame, y, counts = votes_of_seven
    found = surelabel.clean(frame, counts="p_*")
    right = np.array([f"p_{k}" for k in y])
    assert np.mean(found.frame["label"] == right) > np.mean(counts.argmax(axis=1) == y) + 0.02
    kept = found.frame["status"] == "probable"
    assert kept.mean() > 0.5
    assert np.mean(found.frame["label"][kept] != right[kept]) < 0.03
    fitted = surelabel.fit(frame, counts="p_*")
    assert np.mean(surelabel.predict(fitted, frame)["label"] == right) > 0.9
    shares = frame.copy()
    columns = ["p_0", "p_1", "p_2"]
    shares[columns] = shares[columns].div(shares[columns].sum(axis=1), axis=0)
    assert list(surelabel.clean(shares, counts=columns).frame["label"]) == list(
        found.frame["label"]
    )


def test_text_is_read_as_numbers_and_empty_cells_are_none(votes_of_seven, tmp_path):
    frame, _, _ = votes_of_seven
    frame = frame.astype({"p_0": object})
    frame.loc[3, ["p_0", "p_1", "p_2"]] = None
    file = tmp_path / "soft.csv"
    frame.to_csv(file, index=False)
    found = surelabel.clean(file, counts="p_*")
    assert found.labels.soft
    assert found.labels.candidates.sizes[3] == 3


@pytest.mark.parametrize("wrong", ["x", "-1", "inf"])
def test_what_is_no_count_is_refused(votes_of_seven, wrong):
    frame = votes_of_seven[0].astype({"p_1": object})
    frame["p_1"] = frame["p_1"].astype(str)
    frame.loc[4, "p_1"] = wrong
    with pytest.raises(
        TableError, match=r"row 5, column 'p_1': '.*' is not a count or probability"
    ):
        surelabel.clean(frame, counts="p_*")


def test_what_says_nothing_is_refused(votes_of_seven):
    frame = votes_of_seven[0].assign(p_0=1, p_1=1, p_2=1)
    with pytest.raises(TableError, match="all equally likely; there is nothing to learn from"):
        surelabel.clean(frame, counts="p_*")
    with pytest.raises(ParameterError, match="exactly one way"):
        surelabel.clean(frame, counts="p_*", labels="a")


def test_the_classifier_learns_from_them(votes_of_seven):
    frame, y, counts = votes_of_seven
    sets = CandidateSets.from_counts(counts)
    model = CrowdClassifier().fit(frame[list("abcd")].to_numpy(), sets)
    assert np.mean(model.transduction_ == y) > 0.95
    assert model.annotators_ == []
    with pytest.raises(CandidateError, match="soft labels"):
        CrowdClassifier().fit(None, sets)
