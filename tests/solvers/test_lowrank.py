"""The low-rank model in passes over blocks of rows, against Algorithm 1 as printed on the dense
features.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from surelabel.solvers import out_of_core, ridge
from surelabel.solvers.confidence import SortedSets
from surelabel.solvers.out_of_core import (
    LocalPasses,
    alternate_passes,
    block_change,
    block_start,
    block_step,
)
from surelabel.solvers.ridge import GramRidge, moments_of
from surelabel.solvers.sparse_rows import row_normalise
from tests.reference.sure import literal_sure
from tests.solvers.test_sure import assert_same, problems

OPTIONS = {"init": "candidates", "max_iter": 6, "tol": -1.0}


def compressed(Y):
    return np.concatenate([[0], np.cumsum(Y.sum(axis=1))]), np.nonzero(Y)[1]


def local_passes(
    Z, Y, *, weight=None, prior=None, keep="memory", n_jobs=1, step=40, features=np.asarray
):
    """Passes over features that are at hand, in blocks of ``step`` rows."""
    indptr, indices = compressed(Y)

    def sets_of(part):
        low, high = indptr[part.start], indptr[part.stop]
        return SortedSets(
            indptr[part.start : part.stop + 1] - low,
            indices[low:high],
            Y.shape[1],
            None if weight is None else weight[part],
            Z.dtype,
            None if prior is None else prior[low:high],
        )

    def read():
        return (Z[start : start + step] for start in range(0, len(Z), step))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(out_of_core, "feature_rows", lambda _: step)
        return LocalPasses(
            read,
            Z.shape,
            features,
            sets_of,
            np.empty(len(indices), Z.dtype),
            indptr,
            weight,
            keep,
            n_jobs,
        )


def fit(Z, Y, lam=0.3, beta=0.05, *, callback=None, options=None, **how):
    """``P``, ``W``, ``b``, the objective and the whole fit."""
    with local_passes(Z, Y, **how) as passes:
        found = alternate_passes(passes, beta, lam, callback=callback, **OPTIONS | (options or {}))
        P = np.zeros(Y.shape, Z.dtype)
        P[np.nonzero(Y)] = passes.confidence
    return P, found.W, found.b, np.array(found.objective_path), found


def problem(m=60, D=5, l=4, seed=0, clean=0.3):
    rng = np.random.default_rng(seed)
    Y = np.eye(l, dtype=int)[rng.integers(0, l, m)]
    Y[(rng.random((m, l)) < 0.3) & (rng.random(m) >= clean)[:, None]] = 1
    return rng.standard_normal((m, D)), Y


@pytest.mark.parametrize("dense", [0, 10**9], ids=["by class", "one product"])
@given(problems(), st.integers(1, 30))
@settings(max_examples=25)
def test_equals_the_literal_algorithm(dense, given_problem, step):
    Z, Y, weight, lam, beta, init, votes, kappa = given_problem
    prior = (
        None
        if votes is None
        else kappa * row_normalise(votes[np.nonzero(Y)].astype(float), compressed(Y)[0])
    )
    weights = None if weight is None else weight.astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ridge, "DENSE", dense)
        ours = fit(Z, Y, lam, beta, weight=weights, prior=prior, step=step, options={"init": init})
    literal = literal_sure(
        None, Y, lam, beta, 6, linear_X=Z, init=init, weight=weight, votes=votes, kappa=kappa
    )
    assert_same(ours[:4], literal, Y)


def test_order_of_rows_and_size_of_blocks_matter_to_rounding_only():
    Z, Y = problem(200)
    P, W, b, objective, _ = fit(Z, Y, step=200)
    order = np.random.default_rng(1).permutation(200)
    for rows, other in (
        (np.arange(200), fit(Z, Y, step=13)),
        (order, fit(Z[order], Y[order], step=64)),
    ):
        np.testing.assert_allclose(other[0], P[rows], atol=1e-10)
        np.testing.assert_allclose(other[1], W, atol=1e-10)
        np.testing.assert_allclose(other[2], b, atol=1e-10)
        np.testing.assert_allclose(other[3], objective, rtol=1e-10)


def test_rows_of_weight_zero_are_not_learned_from():
    Z, Y = problem(80)
    weight = (np.arange(80) % 3 > 0).astype(float)
    P, W, b, objective, _ = fit(Z, Y, weight=weight)
    used = weight > 0
    alone = fit(Z[used], Y[used])
    np.testing.assert_allclose(P[used], alone[0], atol=1e-10)
    np.testing.assert_allclose(W, alone[1], atol=1e-10)
    np.testing.assert_allclose(b, alone[2], atol=1e-10)
    np.testing.assert_allclose(objective, alone[3], rtol=1e-10)
    np.testing.assert_allclose(P.sum(axis=1), 1)  # also of the rows that did not count


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=15)
def test_certain_rows_give_scikit_learns_ridge(seed, weighted):
    rng = np.random.default_rng(seed)
    Z, y = rng.standard_normal((50, 4)) + 3, rng.integers(0, 3, 50)
    Y = np.eye(3, dtype=int)[y]
    weight = rng.integers(0, 4, 50).astype(float) if weighted else None
    _, W, b, objective, found = fit(Z, Y, 0.3, 0.7, weight=weight)
    ridge = Ridge(0.7).fit(Z, Y, sample_weight=weight)
    np.testing.assert_allclose(W.T, ridge.coef_, atol=1e-10)
    np.testing.assert_allclose(b, ridge.intercept_, atol=1e-10)
    count = np.ones(50) if weight is None else weight
    value = (
        count @ ((ridge.predict(Z) - Y) ** 2).sum(axis=1)
        + 0.7 * np.sum(ridge.coef_**2)
        - 0.3 * count.sum()
    )
    np.testing.assert_allclose(objective, value, rtol=1e-9)
    assert np.all(np.array(found.delta_path) == 0)  # nothing can move


def test_one_ambiguous_row():
    Z, _ = problem(30)
    Y = np.eye(4, dtype=int)[np.arange(30) % 4]
    Y[17, 0] = 1
    assert_same(fit(Z, Y)[:4], literal_sure(None, Y, 0.3, 0.05, 6, linear_X=Z), Y)


def test_fewer_rows_than_features_and_features_that_are_the_same():
    Z, Y = problem(20, D=40)
    Z[:, 20:] = Z[:, :20]
    Z[:, 7] = 2.5
    assert_same(fit(Z, Y)[:4], literal_sure(None, Y, 0.3, 0.05, 6, linear_X=Z), Y)


def test_five_hundred_labels_by_class():
    """With so many labels the outputs of candidates are computed class by class; classes without
    candidates stay out.
    """
    rng = np.random.default_rng(0)
    m, l = 300, 500
    Z, Y = rng.standard_normal((m, 6)), np.zeros((m, l), int)
    Y[np.arange(m), rng.integers(0, 400, m)] = 1
    Y[np.arange(0, m, 2), rng.integers(0, 400, m // 2)] = 1
    W, b = rng.standard_normal((6, l)), rng.standard_normal(l)
    sets = SortedSets(*compressed(Y), l, None, np.float64)
    assert l * m > ridge.DENSE * len(sets.rows)
    rows = sets.row_order[sets.n_clean + sets.rows]
    np.testing.assert_allclose(
        ridge.outputs_at(Z, sets, W, b), (Z @ W + b)[rows, sets.columns], atol=1e-12
    )
    P, W, b, _, _ = fit(Z, Y, step=50)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ridge, "DENSE", 10**9)
        other = fit(Z, Y, step=50)
    np.testing.assert_allclose(P, other[0], atol=1e-10)
    np.testing.assert_allclose(W, other[1], atol=1e-10)
    assert np.all(W[:, 400:] == 0)
    assert np.all(b[400:] == 0)


def test_objective_never_rises_and_confidences_stay_on_the_simplex():
    Z, Y = problem(400, D=8, l=6, clean=0.0)
    P, _, _, objective, found = fit(Z, Y, 0.5, 0.1, options={"max_iter": 60, "tol": 1e-6})
    assert np.all(np.diff(objective) <= 1e-9 * abs(objective[0]))
    assert found.converged
    assert found.delta_path[-1] <= 1e-6 < found.delta_path[-2]
    assert np.all(P >= 0)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert not P[Y == 0].any()


def test_callback_sees_every_iteration_and_stops():
    Z, Y = problem(100)
    seen = []

    def callback(iteration):
        seen.append(iteration)
        return iteration.number == 3

    *_, found = fit(Z, Y, callback=callback)
    assert [iteration.number for iteration in seen] == [1, 2, 3]
    assert [iteration.delta for iteration in seen] == found.delta_path
    assert [iteration.objective for iteration in seen] == found.objective_path
    assert not found.converged


def test_the_model_is_the_one_that_the_last_step_was_made_with():
    Z, Y = problem(50)
    P, W, b, _, _ = fit(Z, Y, lam=0.0, options={"max_iter": 1})
    np.testing.assert_allclose(
        W.T, Ridge(0.05).fit(Z, Y).coef_, atol=1e-10
    )  # fitted to P = Y, the start
    sets = SortedSets(*compressed(Y), 4, None, np.float64)
    p = sets.ambiguous_entries(P[np.nonzero(Y)])
    again, q, _ = block_step(Z, sets, W, b, 0.0)
    np.testing.assert_allclose(again, p, atol=1e-12)
    assert block_change(sets, p, again, q)[0] == pytest.approx(0, abs=1e-20)


def test_sums_over_blocks_are_the_sums():
    Z, Y = problem(60)
    weight = np.random.default_rng(2).random(60)
    parts = [slice(0, 11), slice(11, 50), slice(50, 60)]
    total = sum(
        (moments_of(Z[part], weight[part]) for part in parts[1:]),
        start=moments_of(Z[:11], weight[:11]),
    )
    np.testing.assert_allclose(total.gram, Z.T @ (weight[:, None] * Z), atol=1e-12)
    np.testing.assert_allclose(total.total, weight @ Z)
    assert total.weight == pytest.approx(weight.sum())
    sets = SortedSets(*compressed(Y), 4, weight, np.float64)
    _, certain, moving = block_start(Z, sets, "candidates")
    both = certain + moving
    start = np.where((Y.sum(axis=1) == 4)[:, None], 0.25, Y)  # unlabelled rows start uniform
    np.testing.assert_allclose(both.right, (weight[:, None] * start).T @ Z, atol=1e-12)
    np.testing.assert_allclose(both.mass, weight @ start)
    assert both.squares == pytest.approx(weight @ (start**2).sum(axis=1))


def test_single_precision_sums_are_kept_in_double():
    Z, Y = problem(500)
    single = fit(Z.astype(np.float32), Y)
    double = fit(Z, Y)
    assert single[0].dtype == np.float32
    assert moments_of(Z.astype(np.float32), None).gram.dtype == np.float64
    np.testing.assert_allclose(single[0], double[0], atol=1e-4)
    np.testing.assert_allclose(single[1], double[1], atol=1e-5)


def test_model_solves_for_any_targets():
    Z, Y = problem(70)
    sets = SortedSets(*compressed(Y), 4, None, np.float64)
    _, certain, moving = block_start(Z, sets, "uniform")
    W, b, loss = GramRidge(moments_of(Z, None), 0.3).solve(certain + moving)
    P = Y / Y.sum(axis=1, keepdims=True)
    known = Ridge(0.3).fit(Z, P)
    np.testing.assert_allclose(W.T, known.coef_, atol=1e-10)
    np.testing.assert_allclose(b, known.intercept_, atol=1e-10)
    assert loss == pytest.approx(np.sum((known.predict(Z) - P) ** 2) + 0.3 * np.sum(known.coef_**2))
