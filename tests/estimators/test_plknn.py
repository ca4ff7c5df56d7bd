import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from surelabel import CandidateSets
from surelabel.estimators.plknn import PLKNNClassifier
from surelabel.exceptions import ParameterError
from tests.reference.plknn import plknn_votes


@parametrize_with_checks([PLKNNClassifier(n_neighbors=3, weights="uniform")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def problem(seed, m, n_classes, discrete):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (m, 3)).astype(float) if discrete else rng.normal(size=(m, 3))
    Y = (rng.random((m, n_classes)) < 0.4).astype(int)
    Y[np.arange(m), rng.integers(0, n_classes, m)] = 1
    Y[0] = np.eye(n_classes, dtype=int)[0]
    return X, Y


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(2, 40),
    st.integers(2, 6),
    st.booleans(),
    st.sampled_from(["distance", "uniform"]),
)
def test_equals_the_brute_force_version(seed, m, n_classes, discrete, weights):
    X, Y = problem(seed, m, n_classes, discrete)
    k = int(np.random.default_rng(seed).integers(1, m))
    queries = np.vstack([X[:5], problem(seed + 1, 8, n_classes, discrete)[0]])
    model = PLKNNClassifier(k, weights=weights).fit(X, Y)
    votes = np.array([plknn_votes(X, Y, x, k, weights) for x in queries])
    assert model.predict(queries).tolist() == votes.argmax(axis=1).tolist()
    np.testing.assert_allclose(
        model.predict_proba(queries), votes / votes.sum(axis=1, keepdims=True), atol=1e-12
    )
    for i in range(m):
        others = np.arange(m) != i
        mine = plknn_votes(X[others], Y[others], X[i], k, weights) * Y[i]
        mine = mine if mine.sum() else Y[i]
        np.testing.assert_allclose(
            model.confidence_[[i]].toarray()[0], mine / mine.sum(), atol=1e-12
        )


@pytest.mark.parametrize("k", [1, 2, 9])
def test_single_labels_give_scikit_learns_neighbours(k):
    X, _ = problem(0, 60, 4, discrete=False)
    y = np.random.default_rng(1).integers(0, 4, 60)
    share = {
        "weights": lambda d: 1 - d / d.sum(axis=1, keepdims=True) if k > 1 else np.ones_like(d)
    }
    for ours, theirs in [("uniform", {"weights": "uniform"}), ("distance", share)]:
        expected = KNeighborsClassifier(k, **theirs).fit(X, y)
        model = PLKNNClassifier(k, weights=ours).fit(X, CandidateSets.from_labels(y))
        queries = np.random.default_rng(2).normal(size=(50, 3))
        np.testing.assert_allclose(model.predict_proba(queries), expected.predict_proba(queries))
        assert model.predict(queries).tolist() == expected.predict(queries).tolist()
        assert model.transduction_.tolist() == y.tolist()


def test_too_many_neighbours_are_refused():
    X, Y = problem(0, 8, 3, discrete=False)
    with pytest.raises(ParameterError, match="n_neighbors is 9 but there are 8 training rows"):
        PLKNNClassifier(9).fit(X, Y)
    PLKNNClassifier(8).fit(X, Y).predict(X)  # all of them: a row has the 7 others as neighbours
    with pytest.raises(ParameterError, match="weights"):
        PLKNNClassifier(3, weights="far").fit(X, Y)


def test_rows_that_share_no_candidate_with_their_neighbours_stay_undecided():
    model = PLKNNClassifier(1).fit(
        [[0.0], [0.1], [5.0], [5.1]], CandidateSets.from_strings(["a|b", "c", "a", "a|c"])
    )
    np.testing.assert_allclose(
        model.confidence_.toarray(), [[0.5, 0.5, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0]]
    )


def test_votes_in_blocks_of_rows(monkeypatch):
    X, Y = problem(3, 50, 4, discrete=False)
    whole = PLKNNClassifier(5).fit(X, Y)
    monkeypatch.setattr("surelabel.solvers.memory.BLOCK", 28)  # seven rows at a time
    parts = PLKNNClassifier(5).fit(X, Y)
    assert np.array_equal(parts.confidence_.data, whole.confidence_.data)
    assert (
        parts.predict(X).tolist()
        == whole.predict(X).tolist()
        == whole.classes_[whole._outputs(X).argmax(axis=1)].tolist()
    )
