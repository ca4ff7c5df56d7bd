"""Outputs that leave the row out, against models fitted again without it."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from surelabel.solvers.confidence import SortedSets
from surelabel.solvers.equal_rows import equal_rows
from surelabel.solvers.features import Landmarks
from surelabel.solvers.kernels import kernel_matrix
from surelabel.solvers.leave_one_out import LeftOut, alternate_peers, without_row
from surelabel.solvers.ridge import GramRidge, KernelRidge, LinearRidge, Targets, moments_of
from surelabel.solvers.sparse_rows import row_normalise
from tests.reference.pure import literal_pure, refitted_without


def outputs(model, p):
    (A,), (b,) = model.coefficients(p[None])
    return model.outputs(p, A, b)


def make_problem(seed, m, l, n, clean, r, weighted, kind):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    Y = np.eye(l, dtype=int)[rng.integers(0, l, m)]
    for row in np.flatnonzero(rng.random(m) >= clean):
        Y[row, rng.permutation(l)[:r]] = 1
    weight = rng.integers(1, 4, m) * rng.choice([1.0, 0.5]) if weighted else None
    if kind == "duplicates":
        X[: m // 2] = X[0]
    elif kind == "far":  # one row stands alone: nearly all of its output is its own
        X[0] *= 1e3
    elif kind == "one class":
        Y[:] = 0
        Y[:, 0] = 1
    elif kind == "every label":
        Y[::2] = 1
    elif kind == "heavy":
        weight = np.ones(m)
        weight[-1] = 100
    return X, Y, weight


@st.composite
def problems(draw):
    l = draw(st.integers(2, 6))
    problem = make_problem(
        draw(st.integers(0, 2**32 - 1)),
        draw(st.integers(4, 18)),
        l,
        draw(st.integers(1, 5)),
        draw(st.sampled_from([0.0, 0.3, 1.0])),
        draw(st.integers(0, l - 1)),
        draw(st.booleans()),
        draw(
            st.sampled_from(
                ["plain", "plain", "duplicates", "far", "one class", "every label", "heavy"]
            )
        ),
    )
    return *problem, draw(st.sampled_from([1e-3, 0.01, 0.1, 1.0]))


def sort_candidates(Y, weight, dtype=np.float64, votes=None, kappa=0.0):
    rows, indices = np.nonzero(Y)
    indptr = np.concatenate([[0], np.cumsum(Y.sum(axis=1))])
    prior = None
    if votes is not None:
        prior = kappa * row_normalise(votes[rows, indices].astype(float), indptr)
    weight = None if weight is None else weight.astype(dtype)
    return SortedSets(indptr, indices, Y.shape[1], weight, dtype, prior), (rows, indices)


def left_out(model_type, matrix, Y, weight, beta, P, dtype=np.float64):
    """The fast outputs of all rows and classes that left the row out, in the order of the rows."""
    sets, _ = sort_candidates(Y, weight, dtype)
    order = sets.row_order
    dual = model_type is KernelRidge
    ordered = matrix[np.ix_(order, order)].astype(dtype) if dual else matrix.astype(dtype)
    model = model_type(ordered.copy(), beta, sets)
    p = sets.ambiguous_entries(P[np.nonzero(Y)]).astype(dtype)
    Q, leverage = np.empty(P.shape), np.empty(len(P))
    leverage[order] = model.leverage()
    Q[order] = without_row(sets.dense(p), outputs(model, p), leverage[order][:, None].astype(dtype))
    return Q, leverage


def assert_near(fast, theirs, atol):
    """Equal, but for the digits that a leverage near 1 takes: the matrix is ill conditioned by
    1/(1-h), and what is left of the row's own residual is 1-h of it. How many units in the last
    place these are, depends on the BLAS: 2e-15 was seen where one row has 100 times the weight.
    """
    ours, leverage = fast
    lost = 1e-14 / (1 - leverage) ** 2
    allowed = (atol + lost) * max(1, np.abs(theirs).max())
    assert np.all(np.abs(ours - theirs) <= allowed[:, None])


@given(problems())
@settings(max_examples=150)
def test_kernel_model(problem):
    X, Y, weight, beta = problem
    w = np.ones(len(X)) if weight is None else weight
    K = kernel_matrix("rbf", X, gamma=0.5)
    P = Y / Y.sum(axis=1, keepdims=True)
    assert_near(left_out(KernelRidge, K, Y, weight, beta, P), refitted_without(K, P, beta, w), 1e-8)


@given(problems())
@settings(max_examples=150)
def test_linear_model(problem):
    X, Y, weight, beta = problem
    w = np.ones(len(X)) if weight is None else weight
    X[0] = np.clip(X[0], -50, 50)
    P = Y / Y.sum(axis=1, keepdims=True)
    reference = refitted_without(X @ X.T, P, beta, w)
    assert_near(left_out(LinearRidge, X, Y, weight, beta, P), reference, 1e-8)
    assert_near(left_out(LinearRidge, sparse.csr_array(X), Y, weight, beta, P), reference, 1e-8)


@given(problems(), st.booleans())
@settings(max_examples=100)
def test_features(problem, zeros):
    """Landmarks; some weights exactly 0."""
    X, Y, weight, beta = problem
    w = np.ones(len(X)) if weight is None else weight.astype(float)
    if zeros:
        w[1::3] = 0
    points = X[np.random.default_rng(0).permutation(len(X))[:3]]
    features = Landmarks(points, partial(kernel_matrix, "rbf", gamma=0.5))
    Z, P = features(X), Y / Y.sum(axis=1, keepdims=True)
    model = GramRidge(moments_of(Z, w), beta)
    W, b, _ = model.solve(Targets((P * w[:, None]).T @ Z, w @ P, float(w @ (P**2).sum(axis=1))))
    leverage = model.leverage(Z, w)
    outputs = without_row(P, Z @ W + b, leverage[:, None])
    assert_near((outputs, leverage), refitted_without(Z @ Z.T, P, beta, w), 1e-8)


@given(problems())
@settings(max_examples=30)
def test_single_precision(problem):
    X, Y, weight, beta = problem
    beta = max(beta, 0.1)
    w = np.ones(len(X)) if weight is None else np.minimum(weight, 3)
    weight = None if weight is None else w
    K = kernel_matrix("rbf", X, gamma=0.5)
    P = Y / Y.sum(axis=1, keepdims=True)
    reference = refitted_without(K, P, beta, w)
    assert_near(left_out(KernelRidge, K, Y, weight, beta, P, np.float32), reference, 1e-3)


def test_weight_zero_is_the_row_left_out():
    """A row whose weight goes to 0 has no leverage: its output is that of the model without it."""
    X, Y, _ = make_problem(0, 12, 3, 2, 0.3, 1, False, "plain")
    K, P = kernel_matrix("rbf", X, gamma=0.5), Y / Y.sum(axis=1, keepdims=True)
    weight = np.ones(12)
    weight[3] = 1e-12
    fast = left_out(KernelRidge, K, Y, weight, 0.1, P)
    assert fast[1][3] < 1e-9
    np.testing.assert_allclose(fast[0][3], refitted_without(K, P, 0.1, np.ones(12))[3], atol=1e-8)


def run(model_type, matrix, Y, weight, beta, votes, kappa, n_iter, numbers=None):
    sets, entries = sort_candidates(Y, weight, votes=votes, kappa=kappa)
    order = sets.row_order
    ordered = matrix if model_type is LinearRidge else matrix[np.ix_(order, order)].copy()
    model = model_type(ordered, beta, sets)
    left_out = LeftOut(model.leverage(), None if numbers is None else numbers[order])
    path = alternate_peers(model, sets, left_out, max_iter=n_iter, tol=-1)
    P, judged = np.zeros(Y.shape), np.empty(Y.shape)
    P[entries] = sets.all_entries(path.p)
    judged[order] = left_out.outputs(sets.dense(path.p), outputs(model, path.p))
    return P, path, judged


@given(problems(), st.sampled_from([0.0, 1.0]))
@settings(max_examples=60)
def test_iterations(problem, kappa):
    X, Y, weight, beta = problem
    X[0] = np.clip(X[0], -5, 5)
    K = kernel_matrix("rbf", X, gamma=0.5)
    votes = np.random.default_rng(0).integers(0, 4, Y.shape) * Y if kappa else None
    literal, shift, _ = literal_pure(K, Y, beta, 4, weight, votes, kappa)
    P, path, _ = run(KernelRidge, K, Y, weight, beta, votes, kappa, 4)
    assert path.shift == shift
    np.testing.assert_allclose(P, literal, atol=1e-5)
    linear, shift, _ = literal_pure(X @ X.T, Y, beta, 3, weight, votes, kappa)
    P, path, _ = run(LinearRidge, X, Y, weight, beta, votes, kappa, 3)
    assert path.shift == shift
    np.testing.assert_allclose(P, linear, atol=1e-6)


@st.composite
def copied(draw):
    """Problems in which rows occur several times, with the same candidates or with others."""
    X, Y, weight, beta = draw(problems())
    m = len(X)
    source = draw(st.lists(st.integers(0, m - 3), min_size=m // 2, max_size=m // 2))
    rows = np.random.default_rng(m).permutation(m)[: m // 2]
    X[0], X[-2], X[-1] = np.clip(X[0], -5, 5), -9 - X[1], 7 + X[2]
    rows = rows[rows < m - 2]
    X[rows] = X[source[: len(rows)]]
    if draw(st.booleans()):
        Y[rows] = Y[source[: len(rows)]]
    return X, Y, weight, beta


@given(copied(), st.sampled_from([0.0, 1.0]))
@settings(max_examples=80)
def test_equal_rows_are_left_out_together(problem, kappa):
    """Against models fitted again without all of them, in every iteration."""
    X, Y, weight, beta = problem
    numbers = equal_rows([X])
    votes = np.random.default_rng(0).integers(0, 4, Y.shape) * Y if kappa else None
    for model_type, K, n_iter in (
        (KernelRidge, kernel_matrix("rbf", X, gamma=0.5), 4),
        (LinearRidge, X @ X.T, 3),
    ):
        literal = literal_pure(K, Y, beta, n_iter, weight, votes, kappa, numbers)
        matrix = K if model_type is KernelRidge else X
        P, path, judged = run(model_type, matrix, Y, weight, beta, votes, kappa, n_iter, numbers)
        assert path.shift == literal[1]
        np.testing.assert_allclose(P, literal[0], atol=1e-5)
        np.testing.assert_allclose(judged, literal[2], atol=1e-4)


@given(copied())
@settings(max_examples=40)
def test_outputs_of_some_rows(problem):
    X, Y, weight, beta = problem
    sets, _ = sort_candidates(Y, weight)
    model = LinearRidge(X, beta, sets)
    left_out = LeftOut(model.leverage(), equal_rows([X])[sets.row_order])
    p = sets.initial("uniform", 1)[0]
    P, Q = sets.dense(p), outputs(model, p)
    every, rows = left_out.outputs(P, Q), np.array([3, 0, 2])
    for form in (P, sparse.csr_array(P)):
        np.testing.assert_allclose(left_out.outputs(form, Q[rows], rows), every[rows], atol=1e-12)


def test_rows_without_equals_keep_every_bit():
    """A row that differs from all others is judged as if none were equal."""
    X, Y, _ = make_problem(3, 30, 4, 3, 0.3, 2, False, "plain")
    sets, _ = sort_candidates(Y, None)
    model = LinearRidge(X, 0.1, sets)
    leverage, p = model.leverage(), sets.initial("uniform", 1)[0]
    P, Q = sets.dense(p), outputs(model, p)
    numbers = np.r_[np.arange(28), 0, 5]
    alone = np.setdiff1d(np.arange(30), [0, 5, 28, 29])
    plain, together = LeftOut(leverage).outputs(P, Q), LeftOut(leverage, numbers).outputs(P, Q)
    np.testing.assert_array_equal(together[alone], plain[alone])
    assert not np.array_equal(together[[0, 5]], plain[[0, 5]])


def test_frequent_labels_do_not_take_over():
    """Images of three rows with the labels of all three: frequency says nothing (g = 1)."""
    rng = np.random.default_rng(0)
    y = rng.choice(5, 600, p=[0.5, 0.2, 0.1, 0.1, 0.1])
    X = np.eye(5)[y] * 2 + rng.standard_normal((600, 5))
    Y = np.zeros((600, 5), int)
    for rows in np.arange(600).reshape(-1, 3):
        Y[np.ix_(rows, y[rows])] = 1
    _, images, _ = run(LinearRidge, X, Y, None, 0.1, None, 0.0, 10)
    drawn = np.eye(5, dtype=int)[y]
    drawn[np.arange(600), (y + rng.integers(1, 5, 600)) % 5] = 1
    _, random, _ = run(LinearRidge, X, drawn, None, 0.1, None, 0.0, 10)
    assert images.shift >= 0.8
    assert random.shift <= 0.2


@pytest.mark.parametrize("ambiguous", [0.0, 0.5, 1.0])
def test_leverage_serves_the_products(ambiguous):
    """After the leverages were asked for, products use what was inverted for them."""
    X, Y, _ = make_problem(1, 60, 4, 3, 1 - ambiguous, 2, False, "plain")
    sets, _ = sort_candidates(Y, None)
    K = kernel_matrix("rbf", X[sets.row_order], gamma=0.5)
    plain, asked = KernelRidge(K.copy(), 0.1, sets), KernelRidge(K.copy(), 0.1, sets)
    asked.leverage()
    p = sets.initial("uniform", 1)
    for _ in range(40):
        q, other = asked.step(p)[0], plain.step(p)[0]
    np.testing.assert_allclose(q, other, atol=1e-10)
