"""One label in each row, some of them wrong."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

import surelabel
from surelabel.exceptions import ParameterError, TableError


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    wrong = rng.random(len(y)) < 0.2
    given = np.where(wrong, (y + rng.integers(1, 3, len(y))) % 3, y)
    names = np.array(["barbera", "barolo", "grignolino"])
    frame = pd.DataFrame(X).rename(columns=str).assign(kind=names[given])
    return frame, names[y], wrong


def test_wrong_labels_are_found_and_corrected(wine):
    frame, truth, wrong = wine
    found = surelabel.clean(frame, labels="kind", noisy=True)
    label, flagged = found.frame["label"].to_numpy(), found.frame["outside"].notna().to_numpy()
    assert np.mean(label == truth) > 0.95 > np.mean(frame["kind"] == truth)
    np.testing.assert_array_equal(flagged, label != frame["kind"])
    assert np.mean(wrong[flagged]) > 0.9
    assert np.mean(flagged[wrong]) > 0.9
    ranks = found.frame["outside"][flagged].sort_values()
    assert ranks.tolist() == list(range(1, flagged.sum() + 1))
    assert f"the labels of {flagged.sum()} rows" in str(found)


def test_it_is_offered(wine):
    frame, *_ = wine
    assert "--noisy" in str(surelabel.inspect(frame, labels="kind"))
    assert "--noisy" not in str(surelabel.inspect(frame, labels="kind", noisy=True))
    assert "--noisy" in str(surelabel.clean(frame, labels="kind", method="PLKNN"))


def test_rows_without_label_are_judged(wine):
    frame, truth, _ = wine
    frame = frame.assign(kind=frame["kind"].where(np.arange(len(frame)) % 10 > 0))
    found = surelabel.clean(frame, labels="kind", noisy=True)
    assert np.mean(found.frame["label"].to_numpy()[::10] == truth[::10]) > 0.8


def test_what_it_is_not_for(wine):
    frame, *_ = wine
    several = frame.assign(kind=["barolo|barbera", *frame["kind"][1:]])
    with pytest.raises(TableError, match="row 1, column 'kind': several labels"):
        surelabel.clean(several, labels="kind", noisy=True)
    with pytest.raises(ParameterError, match="noisy needs one column"):
        surelabel.clean(frame, votes="kind", noisy=True)
