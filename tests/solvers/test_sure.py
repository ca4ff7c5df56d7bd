"""The fast solver against Algorithm 1 as printed, with quadprog for every row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surelabel.solvers.alternate import alternate
from surelabel.solvers.confidence import SortedSets
from surelabel.solvers.kernels import kernel_matrix
from surelabel.solvers.ridge import KernelRidge, LinearRidge, _PartialInverse
from surelabel.solvers.sparse_rows import row_normalise
from tests.reference.sure import literal_sure


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, l = draw(st.integers(6, 25)), draw(st.integers(2, 7))
    r = draw(st.integers(0, min(5, l - 1)))
    clean = draw(st.sampled_from([0.0, 0.3, 1.0]))
    X = rng.standard_normal((m, draw(st.integers(1, 5))))
    Y = np.eye(l, dtype=int)[rng.integers(0, l, m)]
    for row in np.flatnonzero(rng.random(m) >= clean):
        Y[row, rng.permutation(l)[:r]] = 1
    weight = rng.integers(1, 4, m) if draw(st.booleans()) else None
    lam, beta = (
        draw(st.sampled_from([0.0, 0.01, 0.3, 1.0])),
        draw(st.sampled_from([0.01, 0.1, 1.0])),
    )
    kappa = draw(st.sampled_from([0.0, 0.2, 1.0, 5.0]))
    votes = rng.integers(0, 4, Y.shape) * Y if kappa else None
    return X, Y, weight, lam, beta, draw(st.sampled_from(["candidates", "uniform"])), votes, kappa


def solve(model_type, matrix, Y, weight, lam, beta, init, votes, kappa, n_iter=6):
    rows, indices = np.nonzero(Y)
    indptr = np.concatenate([[0], np.cumsum(Y.sum(axis=1))])
    prior = (
        None if votes is None else kappa * row_normalise(votes[rows, indices].astype(float), indptr)
    )
    sets = SortedSets(
        indptr,
        indices,
        Y.shape[1],
        None if weight is None else weight.astype(float),
        np.float64,
        prior,
    )
    order = sets.row_order
    ordered = matrix if model_type is LinearRidge else matrix[np.ix_(order, order)].copy()
    model = model_type(ordered, beta, sets)
    path = alternate(model, sets, np.array([lam]), init=init, max_iter=n_iter, tol=-1)[0]
    (coefficients,), (intercept,) = model.coefficients(path.fitted_p[None])
    P = np.zeros(Y.shape)
    P[rows, indices] = sets.all_entries(path.p)
    if model_type is KernelRidge:
        unordered = np.empty_like(coefficients)
        unordered[order] = coefficients
        coefficients = unordered
    return P, coefficients, intercept, np.array(path.objective_path)


def assert_same(fast, literal, Y):
    for ours, theirs in zip(fast[:3], literal[:3], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8 * max(1, np.abs(theirs).max()))
    # A row with every label starts uniform, not at ones: the first value differs, the P that follow
    # do not.
    skip = int(np.any(Y.sum(axis=1) == Y.shape[1]))
    np.testing.assert_allclose(fast[3][skip:], literal[3][skip:], atol=1e-8)
    feasible = fast[3]
    assert np.all(np.diff(feasible) <= 1e-8), "the objective rose"


@given(problems())
@settings(max_examples=120)
@pytest.mark.parametrize("blocks", [False, True], ids=["solves", "blocks"])
def test_kernel_model(blocks, problem):
    X, Y, weight, lam, beta, init, votes, kappa = problem
    K = kernel_matrix("rbf", X, gamma=0.3)
    with pytest.MonkeyPatch.context() as patch:
        if blocks:
            patch.setattr(_PartialInverse, "_worth_building", lambda *_: True)
        fast = solve(KernelRidge, K, Y, weight, lam, beta, init, votes, kappa)
    assert_same(
        fast,
        literal_sure(K, Y, lam, beta, 6, init=init, weight=weight, votes=votes, kappa=kappa),
        Y,
    )


@given(problems())
@settings(max_examples=120)
def test_linear_model(problem):
    X, Y, weight, lam, beta, init, votes, kappa = problem
    fast = solve(LinearRidge, X, Y, weight, lam, beta, init, votes, kappa)
    literal = literal_sure(
        None, Y, lam, beta, 6, linear_X=X, init=init, weight=weight, votes=votes, kappa=kappa
    )
    assert_same(fast, literal, Y)


def test_all_lams_at_once_equal_one_at_a_time():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    Y = np.eye(4, dtype=int)[rng.integers(0, 4, 60)]
    Y[rng.random((60, 4)) < 0.3] = 1
    K = kernel_matrix("rbf", X, gamma=0.3)
    indices = np.nonzero(Y)[1]
    sets = SortedSets(np.concatenate([[0], np.cumsum(Y.sum(axis=1))]), indices, 4, None, np.float64)
    order = sets.row_order
    lams = np.array([0.0, 0.01, 0.1, 0.5, 1.0])
    options = {"init": "candidates", "max_iter": 100, "tol": 1e-4}
    together = alternate(
        KernelRidge(K[np.ix_(order, order)].copy(), 0.05, sets), sets, lams, **options
    )
    for lam, path in zip(lams, together, strict=True):
        model = KernelRidge(K[np.ix_(order, order)].copy(), 0.05, sets)
        alone = alternate(model, sets, np.array([lam]), **options)[0]
        assert len(path.delta_path) == len(alone.delta_path)
        np.testing.assert_allclose(path.p, alone.p, atol=1e-10)
        assert path.converged == alone.converged


def test_the_rule_buys_blocks_when_solves_have_cost_as_much():
    """Many classes, few candidates: solving is dear, so after a few products the blocks are built
    and give the same.
    """
    rng = np.random.default_rng(0)
    m, l = 400, 60
    X = rng.standard_normal((m, 5))
    first = rng.integers(0, l, m)
    indices = np.sort(
        np.stack([first, (first + rng.integers(1, l, m)) % l], axis=1), axis=1
    ).ravel()
    sets = SortedSets(np.arange(0, 2 * m + 1, 2), indices, l, None, np.float64)
    model = KernelRidge(kernel_matrix("rbf", X, gamma=0.1), 0.1, sets)
    p = rng.random((1, 2 * m))
    by_solves = model.step(p)
    assert model._partial._blocks is None
    built = []
    for _ in range(20):
        again = model.step(p)
        built.append(model._partial._blocks is not None)
        np.testing.assert_allclose(again[0], by_solves[0], atol=1e-10)
        np.testing.assert_allclose(again[1], by_solves[1], rtol=1e-10)
    assert built[-1]
