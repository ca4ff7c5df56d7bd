import numpy as np
import pandas as pd
import pytest

import surelabel
from surelabel.exceptions import ParameterError
from surelabel.tables.annotators import krippendorff_alpha


@pytest.fixture(scope="module")
def crowd():
    """Two groups far apart; three good annotators, one who always says "a"."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    frame = pd.DataFrame(rng.normal(size=(120, 2)) + 4 * np.eye(3)[y][:, :2] + y[:, None])
    names = np.array(list("abc"))
    for annotator in ("ann", "bob", "eve"):
        frame[annotator] = names[np.where(rng.random(120) < 0.75, y, rng.integers(0, 3, 120))]
    return frame.rename(columns=str).assign(same="a")


def test_votes_are_compared_by_votes_left_out(crowd):
    found = surelabel.compare(
        crowd, votes="ann,bob,eve,same", methods="Crowd,majority,Dawid-Skene,PLKNN"
    )
    by_name = {result.method: result for result in found}
    assert set(by_name) == {"Crowd", "majority", "Dawid-Skene", "PLKNN"}
    assert found.best.method in ("Crowd", "PLKNN")
    assert by_name["Crowd"].covering_rate > by_name["majority"].covering_rate
    assert not found.errors
    # 1 of 4 votes is always "a"; of the others 5 of 6 are right
    assert 0.6 < by_name["Crowd"].covering_rate < 0.8
    assert by_name["PLKNN"].parameters
    assert "left-out votes" in str(found)
    assert "accuracy" not in str(found)
    assert found.by_votes
    assert np.isnan(by_name["Crowd"].approximated_accuracy)


def test_same_seed_same_answer(crowd):
    how = {"votes": "ann,bob,eve", "methods": "Crowd,Dawid-Skene", "max_rows": 80}
    first, second = (surelabel.compare(crowd, **how) for _ in range(2))
    assert [r.covering_rate for r in first] == [r.covering_rate for r in second]
    assert first.n_rows == 80


def test_votes_without_features():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 60)
    votes = {
        name: np.array(["no", "yes"])[np.where(rng.random(60) < 0.9, y, 1 - y)] for name in "abc"
    }
    frame = pd.DataFrame(votes)
    found = surelabel.compare(frame, votes="a,b,c")
    assert {result.method for result in found} == {"Crowd", "majority", "Dawid-Skene"}
    assert min(result.covering_rate for result in found) > 0.7
    assert "alpha" in str(surelabel.inspect(frame, votes="a,b,c"))
    with pytest.raises(ParameterError, match="SURE learns from features"):
        surelabel.compare(frame, votes="a,b,c", methods="SURE")


def test_unknown_names_are_told_all_there_are(crowd):
    with pytest.raises(ParameterError, match=r"did you mean 'majority'.*Dawid-Skene"):
        surelabel.compare(crowd, votes="ann,bob,eve", methods="majorty")
    with pytest.raises(ParameterError, match="no method 'majority'"):
        surelabel.compare(crowd, labels="ann", exclude="bob,eve,same", methods="majority")


def test_alpha_of_the_textbook():
    a = [None, None, None, None, None, 3, 4, 1, 2, 1, 1, 3, 3, None, 3]
    b = [1, None, 2, 1, 3, 3, 4, 3, None, None, None, None, None, None, None]
    c = [None, None, 2, 1, 3, 4, 4, None, 2, 1, 1, 3, 3, None, 4]
    votes = np.array([[-1 if v is None else v - 1 for v in coder] for coder in (a, b, c)]).T
    assert krippendorff_alpha(votes, 4) == pytest.approx(0.691, abs=5e-4)


def test_alpha_at_its_ends():
    votes = np.array([[0, 0], [1, 1], [2, 2]])
    assert krippendorff_alpha(votes, 3) == 1
    assert krippendorff_alpha(np.array([[0, 0], [0, 0]]), 3) is None
    assert krippendorff_alpha(np.array([[0, -1], [-1, 1]]), 2) is None
    assert krippendorff_alpha(np.array([[0, 1], [1, 0]]), 2) < 0


def test_known_labels_take_the_place_of_left_out_votes(iris):
    X, y, _ = iris
    rng, names = np.random.default_rng(0), np.array(["a", "b", "c"])
    votes = {f"v{i}": names[np.where(rng.random(150) < 0.9, y, (y + 1) % 3)] for i in range(3)}
    frame = pd.DataFrame(X).add_prefix("x").assign(**votes)
    how = {"votes": "v*", "methods": "Crowd,majority,PLKNN"}

    def shares(**gold):
        found = surelabel.compare(frame.assign(**gold), gold=[*gold, None][0], **how)
        return {result.method: result.covering_rate for result in found}, found

    plain, _ = shares()
    right, found = shares(truth=names[y])
    wrong, _ = shares(truth=names[(y + 2) % 3])
    for method, share in plain.items():
        assert right[method] > share  # annotators make mistakes
        assert wrong[method] < 0.1  # nothing was learned from it
    assert "in place of left-out votes" in str(found)
