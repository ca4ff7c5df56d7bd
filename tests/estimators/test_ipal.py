import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from surelabel import CandidateSets
from surelabel.estimators.ipal import METHOD, IPALClassifier, SharedSearch
from surelabel.evaluation.protocol import grid_search
from surelabel.exceptions import NumericalError, ParameterError
from tests.reference.ipal import ipal_confidence, ipal_errors


@parametrize_with_checks([IPALClassifier(n_neighbors=3, alpha=0.5)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def problem(seed, m, n, n_classes, kind="plain"):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, m)
    X = rng.normal(size=(n_classes, n))[truth] * 2 + rng.normal(size=(m, n))
    if kind == "duplicates":
        X[m // 2 : 2 * (m // 2)] = X[: m // 2]
    if kind == "zeros":
        X[rng.random(m) < 0.3] = 0
    Y = (rng.random((m, n_classes)) < 0.3).astype(int)
    Y[np.arange(m), truth] = 1
    Y[0] = np.eye(n_classes, dtype=int)[truth[0]]
    return X, Y, truth


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(3, 40),
    st.integers(1, 12),
    st.integers(2, 6),
    st.sampled_from([0.0, 0.3, 0.95, 1.0]),
    st.sampled_from(["plain", "duplicates", "zeros"]),
)
def test_equals_the_literal_version(seed, m, n, n_classes, alpha, kind):
    X, Y, _ = problem(seed, m, n, n_classes, kind)
    k = int(np.random.default_rng(seed).integers(1, m))
    model = IPALClassifier(k, alpha=alpha, max_iter=20, tol=0).fit(X, Y)
    expected = ipal_confidence(X, Y, k, alpha, rounds=20)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.confidence_.toarray(), expected, atol=1e-9)

    queries = np.vstack([X[:4], problem(seed + 1, 10, n, n_classes)[0]])
    scores, predicted = model.predict_proba(queries), model.predict(queries)
    for x, score, label in zip(queries, scores, predicted, strict=True):
        errors = ipal_errors(X, model.labels_, n_classes, x, k)
        if np.isfinite(errors).any():
            assert errors[label] <= errors.min() + 1e-9
            assert score.argmax() == label


def test_singletons_keep_their_labels():
    X, _, truth = problem(0, 60, 5, 4)
    model = IPALClassifier(5).fit(X, CandidateSets.from_labels(truth))
    assert model.transduction_.tolist() == truth.tolist()
    np.testing.assert_array_equal(model.confidence_.data, 1)


def test_alpha_zero_leaves_candidates_equal_and_ties_go_to_the_first():
    X, Y, _ = problem(1, 200, 5, 7)
    model = IPALClassifier(5, alpha=0).fit(X, Y)
    np.testing.assert_array_equal(model.transduction_, Y.argmax(axis=1))


def test_instances_without_a_weighted_neighbour_get_their_neighbours_label():
    X = np.array([[1.0, 0], [1.1, 0], [0, 1.0], [0, 1.2], [0, 1.3]])
    model = IPALClassifier(3).fit(X, CandidateSets.from_strings(["b", "b", "a", "a|b", "a"]))
    assert model.predict([[0.0, 0.0], [-1.0, -3.0], [-3.0, -1.0]]).tolist() == ["b", "b", "a"]
    np.testing.assert_allclose(model.predict_proba([[0.0, 0.0]]), [[1 / 3, 2 / 3]])


def test_labels_without_a_neighbour_never_win():
    # The neighbours of "b" and "c" pull in almost opposite directions: either alone leaves more
    # error than nothing at all.
    X = np.array([[1.0, 0.1], [-0.9, 0.1], [0.0, -50], [0.1, -51]])
    model = IPALClassifier(2).fit(X, ["b", "c", "a", "a"])
    assert np.all(model.decision_function([[0.0, 0.11]]) <= 0)
    assert model.predict([[0.0, 0.11]]).tolist() != ["a"]


def test_propagation_stops_when_nothing_moves():
    X, Y, _ = problem(2, 80, 5, 4)
    model = IPALClassifier(5, alpha=0.5).fit(X, Y)
    assert model.converged_
    assert model.n_iter_ < 100
    longer = IPALClassifier(5, alpha=0.5, tol=0, max_iter=1000).fit(X, Y)
    np.testing.assert_allclose(model.confidence_.toarray(), longer.confidence_.toarray(), atol=1e-5)
    short = IPALClassifier(5, max_iter=1).fit(X, Y)
    assert (short.n_iter_, short.converged_) == (1, False)


def test_bad_parameters_are_refused():
    X, Y, _ = problem(0, 8, 3, 3)
    with pytest.raises(ParameterError, match="n_neighbors is 9 but there are 8 training rows"):
        IPALClassifier(9).fit(X, Y)
    with pytest.raises(ParameterError, match="alpha"):
        IPALClassifier(3, alpha=1.1).fit(X, Y)
    IPALClassifier(8).fit(X, Y).predict(X)


def test_digits_are_disambiguated():
    X, truth = load_digits(return_X_y=True)
    X = X[:600] / 16
    rng = np.random.default_rng(0)
    Y = np.eye(10, dtype=int)[truth[:600]]
    for i in np.flatnonzero(rng.random(600) < 0.7):
        Y[i, rng.choice(np.flatnonzero(Y[i] == 0), 3, replace=False)] = 1
    model = IPALClassifier().fit(X, Y)
    assert np.mean(model.transduction_ == truth[:600]) > 0.98


@pytest.mark.parametrize("selection", ["covering_rate", "approximated_accuracy"])
@pytest.mark.parametrize(("n", "kind"), [(2, "plain"), (8, "plain"), (8, "zeros")])
def test_the_shared_search_equals_one_fit_after_the_other(n, kind, selection):
    X, Y, _ = problem(n, 60, n, 4, kind)
    grid = {"n_neighbors": [3, 5, 6, 40], "alpha": [0.0, 0.5, 0.95, 1.0]}  # 40: all rows of a fold
    candidates, cv = CandidateSets.from_indicator(Y), KFold(3)
    shared = METHOD.make_search(selection, grid=grid).set_params(cv=cv).fit(X, candidates)
    single = grid_search(IPALClassifier(), grid, selection).set_params(cv=cv).fit(X, candidates)
    assert isinstance(shared, SharedSearch)
    assert shared.cv_results_["params"] == single.cv_results_["params"]
    np.testing.assert_allclose(
        shared.cv_results_["mean_test_score"], single.cv_results_["mean_test_score"], atol=1e-9
    )


def test_a_reconstruction_that_fails(monkeypatch):
    def nnls(A, b):
        raise RuntimeError(
            "Maximum number of iterations reached."
        )  # what scipy does when rounding makes it go in circles

    monkeypatch.setattr("surelabel.solvers.nnls.nnls", nnls)
    X, Y, _ = problem(0, 60, 5, 4)
    with pytest.raises(NumericalError, match="scale the features"):
        IPALClassifier(5).fit(X, Y)
