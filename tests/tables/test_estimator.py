"""Any classifier may judge the features beside votes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import surelabel
from surelabel.exceptions import ParameterError


@pytest.fixture(scope="module")
def frame():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=list("abcd"))
    for name in ("ann", "bob", "eve"):
        frame[name] = np.array(["x", "y", "z"])[
            np.where(rng.random(150) < 0.75, y, rng.integers(0, 3, 150))
        ]
    return frame


def test_a_classifier_by_name_or_as_it_is(frame):
    how = {"votes": "ann,bob,eve"}
    named = surelabel.clean(frame, estimator="sklearn.tree:DecisionTreeClassifier", **how)
    given = surelabel.clean(frame, estimator=DecisionTreeClassifier(random_state=0), **how)
    assert named.frame.equals(given.frame)
    truth = np.array(["x", "y", "z"])[load_iris().target]
    assert np.mean(named.frame["label"] == truth) > 0.9
    assert "DecisionTreeClassifier" in str(named)
    fitted = surelabel.fit(frame, estimator=DecisionTreeClassifier, **how)
    assert np.mean(surelabel.predict(fitted, frame)["label"] == truth) > 0.9


def test_a_single_column_of_wrong_labels(frame):
    found = surelabel.clean(
        frame.drop(columns=["bob", "eve"]),
        labels="ann",
        noisy=True,
        estimator=DecisionTreeClassifier(max_depth=3),
    )
    assert found.outside.any()


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        ("forest", "module:name"),
        ("sklearn.tree:Forest", "cannot be found"),
        ("sklearn.svm:LinearSVC", "not a scikit-learn classifier"),
        ("sklearn.multiclass:OneVsRestClassifier", "cannot be created"),
    ],
)
def test_what_is_no_classifier_is_refused(frame, estimator, message):
    with pytest.raises(ParameterError, match=message):
        surelabel.clean(frame, votes="ann,bob,eve", estimator=estimator)


def test_sets_have_methods(frame):
    with pytest.raises(ParameterError, match="beside votes"):
        surelabel.clean(
            frame.drop(columns=["bob", "eve"]), labels="ann", estimator=DecisionTreeClassifier()
        )
