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
from surelabel.solvers import newton
from surelabel.solvers.max_margin import NEVER, make_problem, project
from surelabel.solvers.plsvm import equal_ties, first_weights, fit_path, fit_plsvm
from surelabel.solvers.temperature import softmax_scale
from tests.reference.plsvm import exact_plsvm, plsvm_objective, project_row, subgradient_plsvm
from tests.solvers.test_clpl import problem
from tests.solvers.test_clpl import solve as solve_clpl


def margin_problem(X, Y, weight=None):
    sets = CandidateSets.from_indicator(Y)
    weight = np.ones(len(Y)) if weight is None else weight
    return make_problem(X, sets.indptr, sets.indices, Y.shape[1], weight)


def solve(X, Y, lam, weight=None, tol=1e-6, max_iter=100):
    return fit_plsvm(margin_problem(X, Y, weight), lam, tol, max_iter)


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


@settings(max_examples=100)
@given(sizes, penalties)
def test_all_rounds_are_those_of_quadratic_programs(size, lam):
    """From the start at CLPL's probabilities to the last round: another solver changes nothing."""
    X, Y, weight = problem(*size)
    if np.all(Y):
        return  # nothing to learn
    scores = X @ solve_clpl(X, Y, weight / (weight.sum() * lam)).weights
    sets = CandidateSets.from_indicator(Y)
    scale = softmax_scale(scores, sets.indptr, sets.indices, weight)
    share = softmax(np.where(Y == 1, scale * scores, -np.inf), axis=1)
    expected, objective = exact_plsvm(X, Y, lam, weight, share, tol=1e-3)
    found = solve(X, Y, lam, weight, tol=1e-3)
    if objective[1] > objective[0] - 1e-6:
        return  # W = 0 is the first solution; the other library continues with rounding errors
    assert_allclose(found.objective, objective, atol=1e-6)
    assert_allclose(found.weights, expected, atol=2e-4 * max(1, np.abs(expected).max()), rtol=0)


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


def test_labels_that_always_come_together_stay_equal():
    X, Y, _ = problem(3, 60, 3, 3)
    twins = np.hstack([Y, Y[:, [0]]])
    W = solve(X, twins, 0.01).weights
    np.testing.assert_allclose(W[:, 0], W[:, 3], atol=1e-6)


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


def test_too_few_rounds_are_told():
    X, Y, _ = problem(4, 60, 3, 4)
    assert not solve(X, Y, 0.01, max_iter=1).converged


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.integers(1, 8), st.sampled_from([0.1, 1.0, 1e3]))
def test_projection_equals_bisection(seed, width, size):
    rng = np.random.default_rng(seed)
    points = size * rng.normal(size=(6, width))
    points[rng.random(points.shape) < 0.2] = NEVER
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


@pytest.mark.parametrize("few", [newton.FEW, 0])
def test_badly_scaled_features_are_solved_exactly(monkeypatch, few):
    """From the start, or as soon as L-BFGS fails; where that is off, the objective is the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6)) * 10.0 ** np.arange(-3, 3) + 70
    Y = np.maximum(*(np.eye(4)[rng.integers(4, size=120)] for _ in range(2)))
    monkeypatch.setattr(newton, "FEW", few)
    exactly = solve(X, Y, 0.001)
    monkeypatch.setattr(newton, "FEW", 0)
    monkeypatch.setattr(newton, "MOST", 0)
    by_lbfgs = solve(X, Y, 0.001)
    assert exactly.converged
    assert not np.array_equal(exactly.weights, by_lbfgs.weights)
    # L-BFGS ends the first round when a tenth of what it gained is left at most.
    gained = exactly.objective[0] - exactly.objective[1]
    assert exactly.objective[1] == pytest.approx(by_lbfgs.objective[1], abs=0.1 * gained)
    assert exactly.objective[-1] == pytest.approx(by_lbfgs.objective[-1], rel=1e-3)


@settings(max_examples=60)
@given(sizes, penalties, st.sampled_from([0.01, 10.0, 1e4]))
def test_a_start_near_another_penalty_ends_at_the_same_weights(size, lam, factor):
    X, Y, weight = problem(*size)
    data = margin_problem(X, Y, weight)
    expected = first_weights(data, lam)
    near = first_weights(data, factor * lam)
    assert_allclose(
        first_weights(data, lam, near), expected, atol=1e-6 * np.abs(expected).max(), rtol=0
    )


@settings(max_examples=40)
@given(sizes, st.sampled_from([3.0, 1e3]))
def test_penalties_beyond_the_margin_have_one_solution(size, t):
    """What is gained since W = 0 is then a t-th; with single labels, nobody gains more."""
    X, Y, weight = problem(*size)
    Y = np.eye(Y.shape[1], dtype=int)[Y.argmax(axis=1)]
    found = solve(X, Y, 1e3, weight, tol=1e-8)
    gained = found.objective[0] - found.objective[-1]
    scaled = plsvm_objective(found.weights / t, X, Y, t * 1e3, weight)
    assert found.objective[0] - scaled == pytest.approx(gained / t, rel=1e-6, abs=1e-12)
    other = solve(X, Y, t * 1e3, weight, tol=1e-8)
    assert scaled == pytest.approx(other.objective[-1], abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_rows_on_the_margin_are_solved(seed):
    """With more features than rows, every row reaches the margin, up to rather large penalties."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(9, 28)), np.eye(4, dtype=int)[rng.integers(4, size=9)]
    lams = [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0]
    data = margin_problem(X, Y)
    for lam, W in zip(lams, fit_path(data, lams, 1e-3, 100), strict=True):
        single = fit_plsvm(data, lam, 1e-3, 100).objective
        found = plsvm_objective(W, X, Y, lam, np.ones(9))
        assert found == pytest.approx(single[-1], abs=5e-3 * (single[0] - single[-1]))


@pytest.mark.parametrize("lam", [1e4, 1e8, 1e17])
def test_the_largest_penalties_have_the_same_solution(lam):
    X, Y, weight = problem(3, 60, 4, 4)
    expected, found = solve(X, Y, 1e4, weight), solve(X, Y, lam, weight)
    assert found.converged
    assert_allclose(found.weights * lam, expected.weights * 1e4)
    gained = expected.objective[0] - expected.objective[-1]
    assert found.objective[0] - found.objective[-1] == pytest.approx(gained * 1e4 / lam, abs=1e-15)
    path = fit_path(margin_problem(X, Y, weight), [lam], 1e-6, 100)[0]
    assert_allclose(path, found.weights)


@pytest.mark.parametrize("scale", [100.0, 1000.0])
def test_a_solution_that_is_exact_from_the_start_is_recognised(scale):
    X, Y = np.full((37, 1), scale), np.eye(2, dtype=int)[np.arange(37) // 19]
    found = solve(X, Y, 1e-3, tol=1e-3)
    assert found.converged
    assert found.objective[-1] == pytest.approx(36 / 37, abs=1e-3)


@settings(max_examples=60)
@given(sizes)
def test_a_path_has_the_solutions_of_single_fits(size):
    X, Y, weight = problem(*size)
    data = margin_problem(X, Y, weight)
    lams = [1.0, 1e-3, 1e5, 0.1, 10.0, 1e4]
    path = fit_path(data, lams, 1e-3, 100)
    for lam, weights in zip(lams, path, strict=True):
        single = fit_plsvm(data, lam, 1e-3, 100)
        assert_allclose(weights, single.weights, atol=1e-6 * np.abs(single.weights).max(), rtol=0)


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


def test_hard_problems_are_solved():
    solved = []
    for seed in range(200):
        found = solve(*hard_problem(seed), tol=1e-3)
        assert np.isfinite(found.weights).all()
        assert np.all(np.diff(found.objective) <= 0)
        solved.append(found.converged)
    assert sum(solved) >= 198  # rounding errors are larger than what is left to gain


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


def test_scores_that_differ_by_rounding_are_ties():
    scores = np.array([[-np.inf, 1.0, 1 + 1e-12, 0.5], [2e-9, 1e-9, -1.0, 0.0], [0, 0, 0, -np.inf]])
    assert equal_ties(scores).argmax(axis=1).tolist() == [1, 0, 0]
    assert equal_ties(scores)[0].tolist() == [-np.inf, 1 + 1e-12, 1 + 1e-12, 0.5]


def test_a_copy_of_a_row_between_two_labels_gets_the_first():
    """The rounding errors of either order of the classes would decide."""
    X, Y = np.array([[1.0], [-1.0], [1.0]]), np.array([[1, 0, 0], [0, 1, 1], [1, 0, 0]])
    for columns in ([0, 1, 2], [0, 2, 1], [2, 1, 0]):
        W = solve(X, Y[:, columns], 0.1).weights
        assert equal_ties(X @ W).argmax(axis=1)[1] == min(columns.index(1), columns.index(2))
