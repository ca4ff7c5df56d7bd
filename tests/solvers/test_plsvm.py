import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import softmax
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from surelabel import CandidateSets
from surelabel.solvers.plsvm import best_candidates, fit_plsvm, project
from surelabel.solvers.temperature import softmax_scale
from tests.reference.plsvm import (
    convex_round,
    exact_plsvm,
    plsvm_objective,
    project_row,
    round_objective,
    subgradient_plsvm,
)
from tests.solvers.test_clpl import problem
from tests.solvers.test_clpl import solve as solve_clpl


def solve(X, Y, lam, weight=None, tol=1e-6, max_iter=100):
    sets = CandidateSets.from_indicator(Y)
    weight = np.ones(len(Y)) if weight is None else weight
    return fit_plsvm(X, sets.indptr, sets.indices, Y.shape[1], weight, lam, tol, max_iter)


sizes = st.tuples(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 6), st.integers(2, 5))
penalties = st.sampled_from([1e-3, 1e-1, 1.0, 1e2])


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@settings(max_examples=40)
@given(sizes, penalties)
def test_single_labels_give_the_objective_of_crammer_and_singer(size, lam):
    X, Y, _ = problem(*size)
    labels = Y.argmax(axis=1)
    Y = np.eye(Y.shape[1], dtype=int)[labels]
    if len(set(labels)) < Y.shape[1]:
        return  # LIBLINEAR knows no class without rows
    found = solve(X, Y, lam, tol=1e-5)
    ones = np.ones(len(X))
    assert found.objective[-1] == pytest.approx(
        plsvm_objective(found.weights, X, Y, lam, ones), rel=1e-7
    )
    if Y.shape[1] > 2:  # of two classes LIBLINEAR makes a binary problem
        svm = LinearSVC(
            multi_class="crammer_singer",
            fit_intercept=False,
            C=1 / (lam * len(X)),
            tol=1e-8,
            max_iter=200_000,
            random_state=0,
        )
        with np.errstate(all="ignore"):
            expected = plsvm_objective(svm.fit(X, labels).coef_.T, X, Y, lam, ones)
        assert (
            expected * (1 - 1e-2) <= found.objective[-1] <= expected + 1e-5
        )  # LIBLINEAR may stop short of the minimum


@settings(max_examples=40)
@given(sizes, penalties, st.sampled_from([1e-2, 1e-5]))
def test_no_round_raises_the_objective(size, lam, tol):
    X, Y, weight = problem(*size)
    found = solve(X, Y, lam, weight, tol)
    assert found.converged
    assert np.all(np.diff(found.objective) <= 1e-9)
    assert found.objective[0] == pytest.approx(
        plsvm_objective(np.zeros_like(found.weights), X, Y, lam, weight)
    )
    assert found.objective[-1] == pytest.approx(
        plsvm_objective(found.weights, X, Y, lam, weight), rel=1e-7
    )


@settings(max_examples=60)
@given(sizes, penalties, st.sampled_from([1e-3, 1e-5]))
def test_quadratic_programs_gain_no_more_than_asked_for(size, lam, tol):
    """In the first round, no more than a ninth of what was gained; after the last, no more than
    ``tol`` of all.
    """
    X, Y, weight = problem(*size)
    if np.all(Y):
        return  # nothing to learn
    sets = CandidateSets.from_indicator(Y)
    scores = X @ solve_clpl(X, Y, weight / (weight.sum() * lam), tol=1e-4).weights
    scale = softmax_scale(scores, sets.indptr, sets.indices, weight)
    share = softmax(np.where(Y == 1, scale * scores, -np.inf), axis=1)
    one = solve(X, Y, lam, weight, tol, max_iter=1)
    zero = np.zeros_like(one.weights)
    start, found, least = (
        round_objective(W, X, Y, lam, weight, share)
        for W in (zero, one.weights, convex_round(X, Y, lam, weight, share))
    )
    assert found - least <= max(0.1, tol) * (start - found) + 1e-6

    last = solve(X, Y, lam, weight, tol)
    share = best_candidates((X @ last.weights).T, Y.T == 1).T
    further = convex_round(X, Y, lam, weight, share)
    gained = last.objective[0] - last.objective[-1]

    left = last.objective[-1] - round_objective(further, X, Y, lam, weight, share)
    assert left <= 2 * tol * gained + 1e-6


def test_local_minima_are_on_average_as_low_as_those_of_subgradient_descent():
    ours, theirs = [], []
    for seed in range(10):
        X, Y, _ = problem(seed, 80, 4, 4)
        descended = subgradient_plsvm(X, Y, 0.05, 3000, np.random.default_rng(seed))
        theirs.append(plsvm_objective(descended, X, Y, 0.05, np.ones(80)))
        ours.append(solve(X, Y, 0.05).objective[-1])
    assert np.mean(ours) <= 1.01 * np.mean(theirs)


def test_large_candidate_sets_are_learned_from():
    X, Y, _ = problem(0, 300, 5, 10)  # the mean of the candidates would leave W = 0
    assert solve(X, Y, 0.01).objective[-1] < 0.7


@pytest.mark.parametrize("n", [4, 2500])
def test_sparse_instances_give_the_same_objective(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, n)) * (rng.random((30, n)) < 0.3)
    Y = problem(0, 30, 1, 3)[1]
    dense, thin = (solve(form, Y, 0.1).objective[-1] for form in (X, sparse.csr_array(X)))
    assert thin == pytest.approx(dense, abs=2e-6)  # twice tol, of a gain of at most 1


@pytest.mark.parametrize("l", [2, 3, 5, 8])
@pytest.mark.parametrize("lam", [1e-3, 1e-2, 0.1, 10.0])
@pytest.mark.parametrize("size", [1.0, 5.0, 1e3])
def test_nothing_to_gain_is_found_at_once(l, lam, size):
    """The same rows, with every label."""
    X, Y = np.full((4 * l, 2), size), np.tile(np.eye(l, dtype=int), (4, 1))
    found = solve(X, Y, lam)
    assert found.converged
    np.testing.assert_allclose(found.weights, 0, atol=1e-6)
    assert found.objective[-1] == pytest.approx(1)


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.integers(1, 8), st.sampled_from([0.1, 1.0, 1e3]))
def test_projection_equals_bisection(seed, width, size):
    rng = np.random.default_rng(seed)
    points = size * rng.normal(size=(6, width))
    points[rng.random(points.shape) < 0.2] = -np.inf
    np.testing.assert_allclose(
        project(points.T).T, [project_row(point) for point in points], atol=1e-9 * size
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_order_of_rows_and_classes_leaves_no_trace(form):
    X, Y, weight = problem(5, 300, 40, 8)
    X[200:220] = X[:20]  # the same features, other candidates
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(300), rng.permutation(8)
    one, moved = (
        solve(form(X), Y, 0.01, weight),
        solve(form(X[rows]), Y[rows][:, columns], 0.01, weight[rows]),
    )
    np.testing.assert_array_equal(moved.weights, one.weights[:, columns])
    assert moved.objective == one.objective


def test_number_of_threads_leaves_no_trace():
    X, Y, weight = problem(1, 900, 60, 12)
    weights = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            weights.append(solve(X, Y, 0.01, weight, tol=1e-3).weights)
    np.testing.assert_array_equal(*weights)


@pytest.mark.parametrize("scale", [100.0, 1000.0])
def test_a_solution_that_is_exact_from_the_start_is_recognised(scale):
    X, Y = np.full((37, 1), scale), np.eye(2, dtype=int)[np.arange(37) // 19]
    found = solve(X, Y, 1e-3, tol=1e-3)
    assert found.converged
    assert found.objective[-1] == pytest.approx(36 / 37, abs=1e-3)


@pytest.mark.parametrize("l", [3, 6, 8])
@pytest.mark.parametrize("lam", [1e-3, 0.01, 0.1])
@pytest.mark.parametrize("size", [1.0, 2.0, 5.0])
def test_two_equal_rows_that_contradict_each_other(l, lam, size):
    X, Y = np.full((2, 1), size), np.eye(l, dtype=int)[:2]
    found = solve(X, Y, lam)
    assert found.converged
    assert found.objective[-1] == pytest.approx(exact_plsvm(X, Y, lam, np.ones(2), Y, 1e-3)[1][-1])


@pytest.mark.parametrize("scale", [1e-3, 1, 10, 100])
def test_labels_that_always_come_together_stay_equal_at_any_scale(scale):
    X = scale * np.array([[1.0, 2, 4], [3, 3, 0]])
    Y = np.array([[1, 0, 0, 1, 0, 1, 0], [1] * 7])
    W = scale * solve(X, Y, 1e-3).weights
    assert_allclose(W[:, 3], W[:, 0], atol=1e-6)
    assert_allclose(W[:, 5], W[:, 0], atol=1e-6)


def test_rows_without_a_loss_change_nothing():
    rng = np.random.default_rng(0)
    X, Y = 1e-3 * rng.normal(size=(20, 3)), np.eye(3, dtype=int)[rng.integers(3, size=20)]
    expected = solve(X, Y, 1e4, np.ones(20)).weights
    longer = np.vstack([X, [1e3, 0, 0]])
    for label, weight in (([1, 1, 1], 1.0), ([1, 0, 0], 0.0)):
        found = solve(longer, np.vstack([Y, label]), 1e4, np.append(np.ones(20), weight)).weights
        lost = 20 / (20 + weight)  # of the cost of the other rows
        assert_allclose(found, lost * expected, rtol=1e-6)


def hard_problem(seed):
    """Features of very different sizes, far from 0, constant, or equal in many rows."""
    rng = np.random.default_rng(seed)
    m, n, l = rng.integers(3, 200), rng.integers(1, 12), rng.integers(2, 9)
    X = rng.normal(size=(m, n))
    kind = seed % 5
    if kind == 0:
        X *= 10.0 ** rng.uniform(-8, 6, n)
    elif kind == 1:
        X += 10.0 ** rng.uniform(0, 6, n)
    elif kind == 2:
        X[:, 0] = 10.0 ** rng.uniform(-3, 6)
    elif kind == 3:
        X = np.round(X)
    else:
        X *= 10.0 ** rng.uniform(-8, 6)
    Y = np.eye(l, dtype=int)[rng.integers(l, size=m)]
    Y |= rng.random((m, l)) < rng.choice([0, 0.2, 0.5])
    return X, Y, 10.0 ** rng.uniform(-9, 7), rng.choice([0.3, 1.0, 2.0], size=m)


def test_no_round_of_a_hard_problem_raises_the_objective():
    for seed in range(15):
        found = solve(*hard_problem(seed), tol=1e-3)
        assert np.isfinite(found.weights).all()
        assert np.all(np.diff(found.objective) <= 0)


@pytest.mark.parametrize("size", [1e-2, 1.0, 1e2])
def test_features_far_from_0_and_of_other_sizes_converge(size):
    """As ecoli, glass and dermatology are published, for the penalties of the paper."""
    rng = np.random.default_rng(0)
    Y = np.maximum(*(np.eye(4)[rng.integers(4, size=120)] for _ in range(2)))
    X = size * (rng.normal(size=(120, 6)) + Y @ rng.normal(size=(4, 6)) + [1, 70, 0, 0, 10, 0.1])
    X *= [1, 1, 0.1, 10, 1, 0.01]
    assert all(solve(X, Y, lam, tol=1e-3).converged for lam in (1e-3, 0.1, 10.0, 1e3))


@pytest.mark.parametrize("lam", [1e-10, 1e-3, 1.0])
@pytest.mark.parametrize("kind", ["timestamps", "constant", "scales"])
def test_any_scale_of_features_can_be_fitted(kind, lam):
    rng = np.random.default_rng(0)
    X = {
        "timestamps": np.column_stack(
            [rng.integers(18, 90, 80), rng.lognormal(10, 1, 80), 1.6e9 + rng.integers(0, 1e8, 80)]
        ),
        "constant": np.column_stack([rng.normal(size=80), np.full(80, 1e6)]),
        "scales": rng.normal(size=(80, 4)) * [1e-3, 1, 1e3, 1e6],
    }[kind]
    Y = np.maximum(*(np.eye(4)[rng.integers(4, size=80)] for _ in range(2)))
    found = solve(X, Y, lam, tol=1e-3)
    assert np.isfinite(found.weights).all()
    assert found.objective[-1] <= found.objective[0]
