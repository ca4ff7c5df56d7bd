"""Counts or probabilities of every class in columns."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import surelabel
from surelabel import CandidateSets, CrowdClassifier
from surelabel.exceptions import ParameterError, TableError
from surelabel.tables.soft_labels import likely_sets


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
    assert "among the candidates" not in str(fitted)
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
    alone = CrowdClassifier().fit(None, sets).transduction_
    assert np.mean(alone == counts.argmax(axis=1)) > 0.9


def soft_frame(shares):
    X, _ = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    return frame.assign(**{f"p_{k}": shares[:, k] for k in range(3)})


@pytest.mark.parametrize("model", [LogisticRegression(C=0.01), GaussianNB()])
def test_known_labels_correct_a_models_probabilities(model):
    """They come from the features, which then cannot confirm them."""
    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(0).permutation(150)[:30]
    shares = model.fit(X[rows], y[rows]).predict_proba(X)
    frame = soft_frame(shares)
    found = surelabel.clean(frame, counts="p_*")
    assert np.mean(found.label == y) >= np.mean(shares.argmax(axis=1) == y) - 0.02
    assert found.confidence.max() <= 0.99
    assert "no true label is known here" in " ".join(str(found).split())
    # Only known labels show that features and soft labels are wrong together.
    truth = [f"p_{k}" if i % 3 == 0 else None for i, k in enumerate(y)]
    told = surelabel.clean(frame.assign(truth=truth), counts="p_*", gold="truth")
    hidden = told.labels.gold < 0
    gap = told.confidence[hidden].mean() - np.mean(told.label[hidden] == y[hidden])
    assert gap < 0.08


def test_the_error_of_votes_is_estimated(votes_of_seven):
    frame, y, _ = votes_of_seven
    found = surelabel.clean(frame, counts="p_*")
    assert found.expected_error < 0.1
    known = frame.assign(truth=[f"p_{k}" if i % 3 else None for i, k in enumerate(y)])
    told = surelabel.clean(known, counts="p_*", gold="truth")
    hidden = told.labels.gold < 0
    for each in (found, told):
        gap = each.confidence[hidden].mean() - np.mean(each.label[hidden] == y[hidden])
        assert abs(gap) < 0.06


def test_inspect_and_compare_say_what_they_see(votes_of_seven):
    _, _, counts = votes_of_seven
    frame = soft_frame(counts)
    seen = surelabel.inspect(frame, counts="p_*")
    assert seen.summary.average_size == likely_sets(CandidateSets.from_counts(counts)).sizes.mean()
    assert not [problem for problem in seen.problems if problem.kind.startswith("never")]
    compared = surelabel.compare(frame, counts="p_*", methods="Crowd,PLKNN", folds=3)
    assert {result.method for result in compared} == {"Crowd", "PLKNN"}
    assert all(result.covering_rate > 0.9 for result in compared)
    assert "90 % of its share" in str(compared)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
@settings(max_examples=30)
def test_likely_labels_are_the_fewest_with_nine_tenths(seed, n_classes):
    counts = np.random.default_rng(seed).integers(0, 6, (8, n_classes)).astype(float)
    counts[:, 0] += 1
    sets = likely_sets(CandidateSets.from_counts(counts))
    for i, labels in enumerate(sets.to_lists()):
        share = counts[i] / counts[i].sum()
        assert share[labels].sum() >= 0.9 - 1e-9
        assert np.sort(share)[::-1][: len(labels) - 1].sum() < 0.9


def test_labels_given_several_times_are_votes():
    """``a|a|a|b``: three of four say a."""
    rng = np.random.default_rng(0)
    names, y = np.array(list("abc")), rng.integers(3, size=150)
    other = (y + rng.integers(1, 3, size=150)) % 3
    frame = pd.DataFrame({"x": rng.normal(size=150) + y, "w": rng.normal(size=150) - y})
    several = frame.assign(
        c=["|".join([names[t]] * 3 + [names[o]]) for t, o in zip(y, other, strict=True)]
    )
    found = surelabel.clean(several, labels="c").frame
    assert np.mean(found["label"] == names[y]) > 0.85
    counts = {f"n_{name}": [cell.count(name) for cell in several["c"]] for name in names}
    soft = surelabel.clean(frame.assign(**counts), counts=list(counts)).frame
    np.testing.assert_array_equal(found["label"], soft["label"].str[2:])
    np.testing.assert_allclose(found["confidence"], soft["confidence"])


def test_useless_features_do_no_harm_to_soft_labels():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 6)), rng.integers(4, size=300)
    counts = np.zeros((300, 4))
    for _ in range(5):
        counts[np.arange(300), np.where(rng.random(300) < 0.6, y, rng.integers(4, size=300))] += 1
    found = CrowdClassifier().fit(X, CandidateSets.from_counts(counts)).transduction_
    assert np.mean(found == y) > np.mean(counts.argmax(axis=1) == y) - 0.02
