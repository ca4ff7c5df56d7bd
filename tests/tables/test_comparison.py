import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

import surelabel
from surelabel import CandidateSets, PLKNNClassifier, covering_rate
from surelabel.data.ballots import informative_rows
from surelabel.exceptions import CandidateError, InputError, ParameterError
from surelabel.tables import comparison
from surelabel.tables.comparison import compare_methods
from surelabel.tables.methods import by_content, find_method, sample_rows

FEW = ["PLKNN", "SURE"]


@pytest.fixture(scope="module")
def compared(iris, make_labels):
    X, _, sets = iris
    return compare_methods(X, make_labels(sets), methods=FEW, folds=4, random_state=3)


def test_scores_are_those_of_the_parameters_on_the_folds(iris, make_labels, compared):
    X, _, sets = iris
    order = by_content(X, make_labels(sets))
    X, sets = X[order], sets[order]
    (knn,) = [result for result in compared if result.method == "PLKNN"]
    scores = []
    for train, test in KFold(4, shuffle=True, random_state=3).split(X):
        model = PLKNNClassifier(**knn.parameters).fit(X[train], sets[train])
        scores.append(covering_rate(sets[test], model.predict(X[test])))
    assert knn.covering_rate == pytest.approx(np.mean(scores))
    assert knn.covering_sd == pytest.approx(np.std(scores))
    assert 0.5 < knn.approximated_accuracy <= knn.covering_rate
    assert compared.n_rows == 150
    assert knn.seconds > 0


def test_best_first(compared):
    assert {result.method for result in compared} == set(FEW)
    assert compared[0].covering_rate >= compared[1].covering_rate
    assert all(result.error is None and result.parameters for result in compared)


def test_a_sample_of_the_rows_that_say_something(iris, make_labels):
    X, _, sets = iris
    lists = [[] if i < 50 else row for i, row in enumerate(sets.to_lists())]
    sets = CandidateSets.from_lists(lists, classes=sets.classes, unlabelled="all")
    rows = sample_rows(informative_rows(sets), 60, 0)
    assert len(rows) == 60
    assert rows.min() >= 50
    assert np.all(np.diff(rows) > 0)
    assert compare_methods(X, make_labels(sets), methods=["PLKNN"], max_rows=60).n_rows == 60


@pytest.mark.parametrize(("n_rows", "most"), [(12, 8), (6, 3)])
def test_small_tables_have_fewer_neighbours(iris, make_labels, n_rows, most):
    X, _, sets = iris
    rows = np.linspace(0, 149, n_rows).astype(int)
    for result in compare_methods(
        X[rows], make_labels(sets[rows]), methods=["PLKNN", "IPAL"], folds=4
    ):
        assert result.error is None
        assert result.parameters["n_neighbors"] <= most


def test_a_method_that_fails_is_said_to_and_comes_last(iris, make_labels, monkeypatch):
    X, _, sets = iris

    def fail(self, X, y):
        raise InputError("not with these features")

    monkeypatch.setattr(PLKNNClassifier, "fit", fail)
    best, failed = compare_methods(X, make_labels(sets), methods=FEW)
    assert best.method == "SURE"
    assert failed.error == "not with these features"
    assert np.isnan(failed.covering_rate)


def test_all_methods_by_default(iris, make_labels, monkeypatch):
    asked = []

    def ask(name, *_):
        asked.append(name)
        return comparison.MethodResult(name, {}, 0, 0, 0, 0, 0)

    monkeypatch.setattr(comparison, "_try", ask)
    compare_methods(iris[0], make_labels(iris[2]))
    assert {"SURE", "PLKNN", "CLPL", "IPAL"} <= set(asked)


@pytest.mark.parametrize(
    ("name", "near"), [("sure", "SURE"), ("pl-knn", "PLKNN"), ("PLSWM", "PLSVM")]
)
def test_the_nearest_method_is_suggested(name, near):
    with pytest.raises(ParameterError, match=f"there is no method '{name}'; did you mean '{near}'"):
        find_method(name)


def test_errors(iris, make_labels):
    X, _, sets = iris
    with pytest.raises(ParameterError, match="10 rows with labels cannot be split into 11 folds"):
        compare_methods(X, make_labels(sets), max_rows=10, folds=11)
    with pytest.raises(CandidateError, match="nothing to learn"):
        compare_methods(X, make_labels(CandidateSets.from_lists([["a", "b"]] * 150)))


def test_known_labels_judge_and_are_not_learned_from(iris):
    """Where the candidates contradict the truth, a method that learns from them is wrong."""
    X, y, _ = iris
    names = np.array(["a", "b", "c"])
    frame = pd.DataFrame(X).add_prefix("x").assign(given=names[(y + 1) % 3], truth=names[y])
    (blind,) = surelabel.compare(frame, labels="given", gold="truth", methods="PLKNN").results
    assert blind.covering_rate < 0.1
    assert blind.approximated_accuracy < 0.1
    frame.loc[::2, "truth"] = None
    found = surelabel.compare(frame, labels="given", gold="truth", methods="PLKNN")
    assert 0.4 < found.best.covering_rate < 0.55
    assert "the true label of 75 rows is known" in str(found)
    assert found.to_dict()["known_rows"] == 75
    some = surelabel.compare(frame, labels="given", gold="truth", methods="PLKNN", max_rows=60)
    assert 20 < some.n_known < 40
    # A true label without candidates is all that is known of a row.
    frame["given"] = np.where(frame["truth"].isna(), names[y], None)
    found = surelabel.compare(frame, labels="given", gold="truth", methods="PLKNN")
    assert found.best.covering_rate > 0.9
    assert found.n_rows == 150


def test_rows_that_take_no_part_are_told_of():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    labels = np.where(np.arange(120) % 4 == 0, None, np.array(["a", "b", "c"])[y])
    frame = pd.DataFrame({"x": y + rng.normal(0, 0.1, 120), "labels": labels})
    for max_rows in (50, 2000):
        found = surelabel.compare(frame, labels="labels", methods="PLKNN", max_rows=max_rows)
        assert f"{min(max_rows, 90)} rows of 120" in str(found)
        assert "rows for which every label is possible take no part" in str(found)
    votes = frame.rename(columns={"labels": "ann"}).assign(bob=labels)
    found = surelabel.compare(votes, votes="ann,bob", methods="majority", max_rows=2000)
    assert "on 90 rows of 120" in str(found)


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
