import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from surelabel import CandidateSets
from surelabel.solvers import interior
from surelabel.solvers.interior import exact_margin
from surelabel.solvers.max_margin import MaxMargin, make_problem
from tests.reference.plsvm import convex_round
from tests.solvers.test_clpl import problem

sizes = st.tuples(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 6), st.integers(2, 5))
penalties = st.sampled_from([1e-3, 1e-1, 1.0, 10.0])


def convex_problem(size, lam, rounded=False):
    """A problem with random shares of the candidates, and the literal one."""
    X, Y, weight = problem(*size)
    X = np.round(X) if rounded else X  # many equal rows, and rows of zeros
    share = Y * np.random.default_rng(size[0]).random(Y.shape)
    share /= share.sum(axis=1, keepdims=True)
    sets = CandidateSets.from_indicator(Y)
    data = make_problem(X, sets.indptr, sets.indices, Y.shape[1], weight)
    order = np.argsort(data.places)
    # The order of the rows of the problem, by their weights, which are all different.
    rows = np.array([np.flatnonzero(weight == w).item() for w in data.weight])
    at = share[rows][:, order].ravel()[data.entries]
    return data, MaxMargin(data, data.penalty(lam), at), (X, Y, lam, weight, share)


@settings(max_examples=100)
@given(sizes, penalties, st.booleans())
def test_the_solution_is_that_of_a_quadratic_program(size, lam, rounded):
    data, convex, literal = convex_problem(size, lam, rounded)
    W, alpha, solved = exact_margin(convex, np.zeros((data.X.shape[1], size[3])), 0.3)
    assert solved
    expected = convex_round(*literal)
    # The quadratic program is solved for a slightly different objective.
    assert_allclose(data.given(W), expected, atol=2e-4 * max(1, np.abs(expected).max()), rtol=0)
    assert_allclose(alpha.sum(axis=0), 1)
    assert alpha.min() >= 0
    gap = convex.objective(W) - convex.dual(alpha[:-1])[0]
    assert gap == pytest.approx(0, abs=1e-9)


@settings(max_examples=100)
@given(sizes, penalties, st.sampled_from([1e-3, 1.0]), st.booleans())
def test_neither_start_nor_guess_changes_it(size, lam, centre, rounded):
    data, convex, _ = convex_problem(size, lam, rounded)
    rng = np.random.default_rng(size[0])
    shape = data.X.shape[1], size[3]
    W, alpha, _ = exact_margin(convex, np.zeros(shape), 0.3)
    wrong = rng.random(alpha.shape)
    wrong[:-1][convex.closed < 0] = 0
    wrong /= wrong.sum(axis=0)
    for start, guesses in (
        (rng.normal(size=shape), []),
        (np.zeros(shape), [wrong]),
        (rng.normal(size=shape), [wrong, alpha]),
    ):
        found, _, solved = exact_margin(convex, start, centre, guesses)
        assert solved
        assert_allclose(found, W, atol=1e-6 * np.abs(W).max() + 1e-12, rtol=0)


def test_steps_in_circles_are_followed_by_careful_ones():
    data, convex, literal = convex_problem((0, 2, 1, 3), 0.1, rounded=True)
    options = interior._Options(convex)
    point = options.start(np.zeros((1, 3)), 0.3)
    for _ in range(40):
        point = options.step(point, careful=False)
    assert options.gap(point) > 0.1
    W, _, solved = exact_margin(convex, np.zeros((1, 3)), 0.3)
    assert solved
    assert_allclose(data.given(W), convex_round(*literal), atol=1e-6)


def test_a_right_guess_takes_no_step(monkeypatch):
    convex = convex_problem((3, 30, 4, 4), 0.1)[1]
    W, alpha, _ = exact_margin(convex, np.zeros((4, 4)), 0.3)
    monkeypatch.setattr(interior, "STEPS", 0)
    found, _, solved = exact_margin(convex, np.zeros((4, 4)), 0.3, [alpha])
    assert solved
    assert_allclose(found, W, rtol=1e-9)
    assert not exact_margin(convex, np.zeros((4, 4)), 0.3)[2]


def test_without_an_active_set_the_steps_lead_to_the_same_weights(monkeypatch):
    convex = convex_problem((4, 30, 4, 4), 0.1)[1]
    W, _, _ = exact_margin(convex, np.zeros((4, 4)), 0.3)
    monkeypatch.setattr(interior._Options, "solution", lambda self, alpha: None)
    found, _, solved = exact_margin(convex, np.zeros((4, 4)), 0.3)
    assert solved
    assert_allclose(found, W, atol=1e-8)


@pytest.mark.parametrize("l", [2, 3, 6])
def test_matrices_in_the_basis_of_sums_of_zero(l):
    basis, in_basis = interior._sums_of_zero(l)
    assert_allclose(basis.sum(axis=0), 0, atol=1e-12)
    assert_allclose(basis.T @ basis, np.eye(l - 1), atol=1e-12)
    A = np.random.default_rng(0).normal(size=(l, l))
    A += A.T
    found = in_basis @ A[np.tril_indices(l)]
    assert_allclose(found, (basis.T @ A @ basis)[np.tril_indices(l - 1)], atol=1e-12)
