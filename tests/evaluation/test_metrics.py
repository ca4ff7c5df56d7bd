"""Metrics against literal versions, and as scorers in scikit-learn's searches."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer
from sklearn.metrics import mean_absolute_error as sklearn_error
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate

from surelabel import CandidateSets, SUREClassifier, as_candidates, make_partial
from surelabel.evaluation.metrics import (
    SCORERS,
    accuracy_within,
    approximated_accuracy,
    best_candidate,
    covering_rate,
    expected_calibration_error,
    mean_absolute_error,
    rank_correlation,
    transductive_accuracy,
)
from surelabel.exceptions import CandidateError, InputError, ParameterError
from tests.hostile import VALUES, call


@st.composite
def outputs(draw, max_classes=5):
    """Candidates, probabilities of a model (with zeros and ties) and weights."""
    l = draw(st.integers(2, max_classes))
    m = draw(st.integers(1, 12))
    sets = draw(st.lists(st.sets(st.integers(0, l - 1), min_size=1), min_size=m, max_size=m))
    counts = np.array(
        draw(st.lists(st.lists(st.integers(0, 4), min_size=l, max_size=l), min_size=m, max_size=m)),
        float,
    )
    counts[counts.sum(axis=1) == 0] = 1
    weight = np.array(draw(st.lists(st.integers(1, 3), min_size=m, max_size=m)), float)
    return sets, counts / counts.sum(axis=1, keepdims=True), weight, np.arange(l)


@settings(max_examples=60)
@given(outputs())
def test_metrics_of_candidates_are_their_definitions(problem):
    sets, proba, weight, classes = problem
    candidates = CandidateSets.from_lists(sets, classes=classes)
    predicted = proba.argmax(axis=1)
    covered, expected, best = [], [], []
    for candidate_set, row, label in zip(sets, proba, predicted, strict=True):
        mass = sum(row[j] for j in candidate_set)
        covered.append(label in candidate_set)
        expected.append(row[label] / mass if label in candidate_set else 0)
        best.append(max(sorted(candidate_set), key=lambda j, row=row: row[j]))
    assert covering_rate(candidates, predicted, sample_weight=weight) == pytest.approx(
        np.average(covered, weights=weight)
    )
    assert approximated_accuracy(candidates, proba, sample_weight=weight) == pytest.approx(
        np.average(expected, weights=weight)
    )
    assert best_candidate(candidates, proba).tolist() == best


@settings(max_examples=60)
@given(outputs(), st.integers(1, 20))
def test_calibration_error_is_its_definition(problem, n_bins):
    sets, proba, weight, classes = problem
    candidates = CandidateSets.from_lists(sets, classes=classes)
    confidence, predicted = proba.max(axis=1), proba.argmax(axis=1)
    right = np.array(
        [label in candidate_set for label, candidate_set in zip(predicted, sets, strict=True)]
    )
    edges = np.linspace(0, 1, n_bins + 1)
    error = 0.0
    for low, high in pairwise(edges):
        inside = (confidence > low) & (confidence <= high)
        if inside.any():
            mine = weight[inside]
            error += mine.sum() * abs(
                np.average(right[inside], weights=mine)
                - np.average(confidence[inside], weights=mine)
            )
    found = expected_calibration_error(candidates, proba, n_bins=n_bins, sample_weight=weight)
    assert found == pytest.approx(error / weight.sum(), abs=1e-12)


def test_calibration_error_of_a_calibrated_and_of_an_overconfident_model():
    y = np.array([0, 0, 0, 1])
    assert expected_calibration_error(y, np.tile([0.75, 0.25], (4, 1))) == pytest.approx(0)
    assert expected_calibration_error(y, np.tile([1.0, 0.0], (4, 1))) == pytest.approx(0.25)
    with pytest.raises(ParameterError, match="n_bins must be a whole number from 1"):
        expected_calibration_error(y, np.tile([1.0, 0.0], (4, 1)), n_bins=0)


def test_columns_of_probabilities_are_matched_by_class_not_by_place():
    proba = np.array([[0.9, 0.1], [0.2, 0.8]])
    error = expected_calibration_error(["b", "a"], proba, classes=["b", "a"], n_bins=1)
    assert error == pytest.approx(1 - 0.85)
    assert best_candidate([["a", "b"], ["b"]], proba, classes=["b", "a"]).tolist() == ["b", "b"]


def test_accuracy_within_of_unsigned_labels_does_not_wrap_around():
    assert accuracy_within(np.array([0, 70], np.uint8), np.array([2, 68], np.uint8), 2) == 1


def test_accuracy_within_takes_the_nearest_candidate():
    candidates = CandidateSets.from_lists([[10, 40], [10, 40], [20]], classes=np.arange(80))
    assert accuracy_within(candidates, [43, 25, 22], 3) == pytest.approx(2 / 3)
    found = accuracy_within(candidates, [43, 25, 22], 3, sample_weight=[1, 2, 1])
    assert found == pytest.approx(1 / 2)


def test_accuracy_within_needs_numbers_and_equal_lengths():
    with pytest.raises(CandidateError, match="y_pred must be numbers"):
        accuracy_within(["a", "b"], ["a", "b"], 3)
    with pytest.raises(CandidateError, match="y must be numbers"):
        accuracy_within(["a", "b"], [1, 2], 3)
    with pytest.raises(CandidateError, match="there are 2 rows of candidates"):
        accuracy_within([1, 2], [1, 2, 3], 3)


@given(st.integers(0, 500))
def test_distances_are_those_of_numpy_and_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    truth, found = rng.integers(0, 9, (2, 12))
    weight = rng.random(12) + 0.1
    assert mean_absolute_error(truth, found, sample_weight=weight) == pytest.approx(
        sklearn_error(truth, found, sample_weight=weight)
    )
    sets = [sorted({int(label), *rng.integers(0, 9, 2).tolist()}) for label in truth]
    nearest = [min(abs(k - guess) for k in one) for one, guess in zip(sets, found, strict=True)]
    assert mean_absolute_error(as_candidates(sets), found) == pytest.approx(np.mean(nearest))
    assert accuracy_within(as_candidates(sets), found, 2) == np.mean(np.array(nearest) <= 2)


@pytest.mark.parametrize("ordered", [["low", "middle", "high"], True])
def test_scorers_use_the_order_of_the_model(ordered):
    X = np.repeat(np.arange(3.0), 5)[:, None]
    names = ordered if ordered is not True else ["2", "9", "10"]
    y = np.repeat(names, 5)
    model = SUREClassifier(ordered=ordered).fit(X, CandidateSets.from_labels(y))
    wrong = np.repeat([names[0], names[0], names[2]], 5)
    step = 1 if ordered is not True else 7
    assert SCORERS["neg_distance_to_set"](model, X, wrong) == pytest.approx(-step / 3)
    assert SCORERS["accuracy_within_5"](model, X, wrong) == (1 if step == 1 else 2 / 3)
    assert SCORERS["rank_correlation"](model, X, None, y) == pytest.approx(1)


def test_named_labels_have_distances_by_their_places():
    order = ["low", "middle", "high"]
    truth, found = ["low", "high", "middle"], ["high", "high", "low"]
    assert mean_absolute_error(truth, found, ordered=order) == 1
    assert accuracy_within(truth, found, 1, ordered=order) == pytest.approx(2 / 3)
    assert rank_correlation(truth, truth, ordered=order) == pytest.approx(1)
    with pytest.raises(CandidateError, match="numbers"):
        mean_absolute_error(truth, found)
    with pytest.raises(ParameterError, match="every class once; missing: high"):
        mean_absolute_error(truth, found, ordered=["low", "middle"])
    with pytest.raises(CandidateError, match="3 true and 2"):
        rank_correlation([1, 2, 3], [1, 2])


def test_transductive_accuracy():
    assert transductive_accuracy(["a", "b", "c"], ["a", "c", "c"]) == pytest.approx(2 / 3)
    weighted = transductive_accuracy(list("abc"), list("acc"), sample_weight=[1, 2, 1])
    assert weighted == pytest.approx(1 / 2)


# ---------------------------------------------------------------- scorers


@pytest.fixture(scope="module", params=[2, 4], ids=["two classes", "four classes"])
def problem(request):
    rng = np.random.default_rng(0)
    y = rng.integers(request.param, size=80)
    X = np.eye(request.param)[y] + rng.normal(scale=0.5, size=(80, request.param))
    p, classes = 0.8 if request.param > 2 else 0.4, np.arange(request.param)
    return X, make_partial(y, p, 1, classes=classes, random_state=0), y


GRID = {"beta": [0.01, 1.0], "lam": [0.1, 0.5]}
CV = KFold(3, shuffle=True, random_state=0)


def direct(name, fitted, X, candidates, y):
    """What a scorer should give, written out."""
    return {
        "covering_rate": lambda: covering_rate(candidates, fitted.predict(X)),
        "approximated_accuracy": lambda: approximated_accuracy(candidates, fitted.predict_proba(X)),
        "neg_expected_calibration_error": lambda: (
            -expected_calibration_error(candidates, fitted.predict_proba(X))
        ),
        "accuracy_within_3": lambda: accuracy_within(candidates, fitted.predict(X), 3),
        "neg_distance_to_set": lambda: -mean_absolute_error(candidates, fitted.predict(X)),
        "neg_mean_absolute_error": lambda: -np.abs(fitted.predict(X) - y).mean(),
        "rank_correlation": lambda: kendalltau(fitted.predict(X), y).statistic,
        "accuracy_within_5": lambda: accuracy_within(candidates, fitted.predict(X), 5),
        "oracle": lambda: np.mean(fitted.predict(X) == y),
        "transductive_accuracy": lambda: np.mean(
            best_candidate(candidates, fitted.predict_proba(X)) == y
        ),
    }[name]()


@pytest.mark.parametrize("name", SCORERS)
def test_a_search_with_candidate_sets_scores_left_out_rows(problem, name):
    X, candidates, y = problem
    scorer = pickle.loads(pickle.dumps(SCORERS[name]))
    search = GridSearchCV(SUREClassifier(), GRID, scoring=scorer, cv=CV, error_score="raise")
    with config_context(enable_metadata_routing=scorer.oracle):
        search.fit(X, candidates, **({"y_true": y} if scorer.oracle else {}))
    for fold, (train, test) in enumerate(CV.split(X)):
        fitted = SUREClassifier(**search.cv_results_["params"][1]).fit(X[train], candidates[train])
        expected = direct(name, fitted, X[test], candidates[test], y[test])
        assert search.cv_results_[f"split{fold}_test_score"][1] == pytest.approx(expected)


def test_several_scorers_at_once_and_candidates_as_lists(problem):
    X, candidates, _ = problem
    scoring = {
        name: SCORERS[name]
        for name in ("covering_rate", "approximated_accuracy", "neg_expected_calibration_error")
    }
    one, other = (
        cross_validate(SUREClassifier(), X, labels, scoring=scoring, cv=CV)
        for labels in (candidates, candidates.to_lists())
    )
    for name in scoring:
        np.testing.assert_allclose(one[f"test_{name}"], other[f"test_{name}"])


@pytest.mark.parametrize("name", ["oracle", "transductive_accuracy"])
def test_an_oracle_without_true_labels_says_how_to_pass_them(problem, name):
    X, candidates, _ = problem
    search = GridSearchCV(SUREClassifier(), GRID, scoring=SCORERS[name], cv=CV, error_score="raise")
    message = r"needs the true labels: fit\(X, candidates, y_true=...\) under"
    with pytest.raises(ParameterError, match=message):
        search.fit(X, candidates)


# ---------------------------------------------------------------- what is no number to score by

LABELS, PROBA = [0, 1, 0], np.array([[0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
BY_LABELS = (
    covering_rate,
    transductive_accuracy,
    lambda y, y_pred, **options: accuracy_within(y, y_pred, 3, **options),
)
BY_PROBA = (approximated_accuracy, expected_calibration_error, best_candidate)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, np.nan, 1], "not negative; it is not in row 1"),
        ([1, -1, 1], "not negative; it is not in row 1"),
        ([1, np.inf, 1], "finite"),
        ([0, 0, 0], "adds up to 0"),
        ([1e308] * 3, "adds up to inf"),
        ([1, 1], "one weight per row"),
        (2.0, "one weight per row"),
        (["a"] * 3, "must be numbers"),
    ],
)
def test_weights_that_weigh_nothing(weight, message):
    by_proba = [(score, PROBA) for score in BY_PROBA[:2]]
    for score, predicted in [*((score, LABELS) for score in BY_LABELS), *by_proba]:
        with pytest.raises(InputError, match=message):
            score(LABELS, predicted, sample_weight=weight)


@pytest.mark.parametrize("wrong", [np.nan, -0.1, 1.1, np.inf])
def test_probabilities_that_are_none(wrong):
    proba = PROBA.copy()
    proba[1, 0] = wrong
    for score in BY_PROBA:
        with pytest.raises(InputError, match="from 0 to 1; see row 1"):
            score(LABELS, proba)


def test_no_rows_and_no_predictions():
    for score in (*BY_LABELS[::2], *BY_PROBA):
        with pytest.raises(CandidateError, match="there are no rows to score"):
            score(CandidateSets.from_labels(LABELS)[:0], [])
    for score in BY_LABELS:
        with pytest.raises(CandidateError, match="there is no label in row 2"):
            score(LABELS, [0, 1, np.nan])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_hostile_values_end_in_one_sentence(value):
    calls = [
        *((score, pair, {}) for score in BY_LABELS for pair in ((value, LABELS), (LABELS, value))),
        *((score, pair, {}) for score in BY_PROBA for pair in ((value, PROBA), (LABELS, value))),
        *((score, (LABELS, LABELS), {"sample_weight": value}) for score in BY_LABELS),
        *((score, (LABELS, PROBA), {"classes": value}) for score in BY_PROBA),
        *((score, (LABELS, PROBA), {"sample_weight": value}) for score in BY_PROBA[:2]),
        (accuracy_within, (LABELS, LABELS), {"k": value}),
        (expected_calibration_error, (LABELS, PROBA), {"n_bins": value}),
    ]
    for score, arguments, options in calls:
        call(score, arguments, options)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_what_the_guide_says_of_scikit_learns_search():
    X, y = load_iris(return_X_y=True)
    votes = pd.DataFrame({"a": y.astype(str), "b": np.where(y > 0, y.astype(str), None)})
    search = GridSearchCV(SUREClassifier(), {"lam": [0.1]}, cv=KFold(3, shuffle=True))
    assert search.fit(X, CandidateSets.from_votes(votes)).best_score_ > 0.8
    assert search.fit(X, votes).best_score_ > 0.8
    with pytest.warns(UserWarning, match="Classification metrics can't handle"):
        search.set_params(scoring="accuracy").fit(X, CandidateSets.from_votes(votes))
    with pytest.raises(ValueError, match="Classification metrics can't handle"):
        search.set_params(error_score="raise").fit(X, CandidateSets.from_votes(votes))


@pytest.mark.parametrize("name", get_scorer_names())
def test_no_metric_of_scikit_learn_takes_candidates_for_the_truth(name):
    X, y = load_iris(return_X_y=True)
    candidates = make_partial(y, p=0.7, r=1, random_state=0)
    model = SUREClassifier().fit(X, candidates)
    with pytest.raises(ValueError):  # noqa: PT011 -- scikit-learn's words differ by metric
        get_scorer(name)(model, X, candidates)


def test_scorers_of_ones_own_may_take_the_matrix_of_candidates():
    X, y = load_iris(return_X_y=True)
    candidates = make_partial(y, p=0.7, r=1, random_state=0)

    def covered(sets, predicted):
        return np.mean(sets.to_indicator()[np.arange(len(predicted)), predicted])

    scores = cross_val_score(
        SUREClassifier(), X, candidates, cv=KFold(3, shuffle=True), scoring=make_scorer(covered)
    )
    assert scores.min() > 0.8
