"""Folds that are the same for every method, and parameters chosen on the rows that may choose."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surelabel import SUREClassifier, make_partial
from surelabel.data import catalog
from surelabel.evaluation.protocol import (
    SELECTIONS,
    fold_scores,
    grid_search,
    make_folds,
    select_parameters,
)
from surelabel.exceptions import ParameterError


@settings(max_examples=60)
@given(
    st.integers(20, 60),
    st.integers(2, 10),
    st.integers(2, 5),
    st.integers(0, 40),
    st.integers(0, 2**31),
)
def test_folds_are_partitions(n, n_folds, inner_folds, cap, seed):
    cap = 0 if cap < inner_folds else cap
    folds = make_folds(n, n_folds=n_folds, inner_folds=inner_folds, max_select=cap, seed=seed)
    assert len(folds) == n_folds
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(n))
    for fold in folds:
        assert sorted(np.concatenate([fold.train, fold.test])) == list(range(n))
        assert len(fold.select) == (min(cap, len(fold.train)) if cap else len(fold.train))
        assert np.isin(fold.select, fold.train).all()
        assert len(np.unique(fold.select)) == len(fold.select)
        assert sorted(np.concatenate([test for _, test in fold.inner])) == list(
            range(len(fold.select))
        )
        for train, test in fold.inner:
            assert sorted(np.concatenate([train, test])) == list(range(len(fold.select)))


def test_folds_depend_on_the_seed_and_on_nothing_else():
    one, same, other, capped = (
        make_folds(200, seed=seed, max_select=cap)
        for seed, cap in ((1, 0), (1, 0), (2, 0), (1, 50))
    )
    for a, b in zip(one, same, strict=True):
        np.testing.assert_array_equal(a.test, b.test)
        for (_, left), (_, right) in zip(a.inner, b.inner, strict=True):
            np.testing.assert_array_equal(left, right)
    assert not all(np.array_equal(a.test, b.test) for a, b in zip(one, other, strict=True))
    # A cap on the selection leaves the outer folds as they are.
    assert all(np.array_equal(a.test, b.test) for a, b in zip(one, capped, strict=True))
    assert not np.array_equal(one[0].inner[0][1], one[1].inner[0][1])


@pytest.mark.parametrize(
    "sizes",
    [
        {"n_rows": 5, "n_folds": 10},
        {"n_rows": 50, "n_folds": 1},
        {"n_rows": 50, "n_folds": 0},
        {"n_rows": 50, "inner_folds": 1},
        {"n_rows": 50, "max_select": 4},
        {"n_rows": 50, "max_select": -1},
        {"n_rows": 6, "n_folds": 3, "inner_folds": 5},
    ],
)
def test_folds_that_cannot_be_are_refused(sizes):
    with pytest.raises(ParameterError, match="rows cannot be split into"):
        make_folds(**sizes)


@pytest.fixture(scope="module")
def glass():
    data = catalog.load("glass")
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    return X, make_partial(data.y, 0.7, 1, random_state=0), data.y


GRID = {"lam": [0.05, 0.3], "beta": [0.01, 0.3]}


def test_the_oracle_is_scored_by_the_true_labels(glass):
    X, candidates, y = glass
    fold = make_folds(len(y))[0]
    search = grid_search(SUREClassifier(gamma=0.1), GRID, "oracle")
    chosen = select_parameters(search, X, candidates, y, fold, selection="oracle")
    rows, scores = fold.select, []
    for train, test in fold.inner:
        fitted = SUREClassifier(gamma=0.1, **chosen).fit(X[rows][train], candidates[rows][train])
        scores.append(np.mean(fitted.predict(X[rows][test]) == y[rows][test]))
    assert search.best_score_ == pytest.approx(np.mean(scores))


class Spy:
    """A search that writes down what it is shown."""

    def set_params(self, **parameters):
        self.parameters = parameters

    def fit(self, X, y, **metadata):
        self.X, self.candidates, self.metadata = X, y, metadata
        self.best_params_, self.best_score_ = {"k": np.int64(3), "name": "a"}, np.float64(0.5)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_search_sees_the_rows_that_choose_and_true_labels_only_as_an_oracle(glass, selection):
    X, candidates, y = glass
    fold = make_folds(len(y), max_select=60)[1]
    spy = Spy()
    chosen = select_parameters(spy, X, candidates, y, fold, selection=selection)
    np.testing.assert_array_equal(spy.X, X[fold.select])
    assert spy.candidates == candidates[fold.select]
    assert spy.parameters == {"cv": fold.inner}
    assert list(spy.metadata) == (["y_true"] if selection == "oracle" else [])
    if selection == "oracle":
        np.testing.assert_array_equal(spy.metadata["y_true"], y[fold.select])
    assert chosen == {"k": 3, "name": "a"}
    assert type(chosen["k"]) is int


def test_an_unknown_criterion_is_refused(glass):
    X, candidates, y = glass
    with pytest.raises(
        ParameterError, match="covering_rate, approximated_accuracy, oracle; got 'accuracy'"
    ):
        grid_search(SUREClassifier(), GRID, "accuracy")
    with pytest.raises(ParameterError, match="got 'none'"):
        select_parameters(Spy(), X, candidates, y, make_folds(len(y))[0], selection="none")


def test_scores_of_a_fold():
    y = np.array([20, 30, 40, 50])
    candidates = make_partial(y, 0.0, 0, classes=np.arange(20, 60)).with_classes(np.arange(20, 60))
    fold = make_folds(4, n_folds=2, inner_folds=2)[0]
    predicted = y[fold.test] + [0, 4]
    found = y[fold.train] + [0, 1]
    assert fold_scores(candidates, y, fold, predicted, found) == {
        "accuracy": 0.5,
        "transductive_accuracy": 0.5,
        "covering_rate": 0.5,
    }
    ordered = fold_scores(candidates, y, fold, predicted, found, ordered=True)
    assert (ordered["accuracy_within_3"], ordered["accuracy_within_5"]) == (0.5, 1.0)
