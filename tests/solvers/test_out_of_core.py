"""Fits to rows that are read in blocks, against the literal methods on all rows at once."""

import os
import tempfile
import threading
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from surelabel import PUREClassifier, make_partial
from surelabel.solvers import out_of_core, ridge
from surelabel.solvers.confidence import SortedSets
from surelabel.solvers.equal_rows import equal_rows
from surelabel.solvers.kernels import rescale
from surelabel.solvers.memory import BLOCK, block_rows, feature_rows
from surelabel.solvers.out_of_core import (
    LocalPasses,
    alternate_passes,
    alternate_peer_passes,
    block_change,
    block_start,
    block_step,
    ordered_map,
)
from surelabel.solvers.ridge import GramRidge, moments_of
from surelabel.solvers.sparse_rows import row_normalise
from surelabel.solvers.threads import _libraries
from tests.reference.pure import literal_pure
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


# ---------------------------------------------------------------- passes over blocks


def test_results_come_in_order_whatever_the_number_of_threads():
    expected = [number**2 for number in range(50)]
    for n_jobs in (None, 1, 2, 7, -1):
        assert list(ordered_map(lambda number: number**2, range(50), n_jobs)) == expected
    assert list(ordered_map(len, [], 2)) == []


def test_no_more_items_are_read_than_are_worked_on():
    read = []

    def items():
        for number in range(100):
            read.append(number)
            yield number

    results = ordered_map(lambda number: number, items(), 2)
    for number in range(10):
        assert next(results) == number
        assert len(read) <= number + 4  # two at work, one read ahead, one given back
    results.close()
    assert len(read) < 20


def test_an_error_in_the_work_or_in_the_reading_comes_out_and_ends_the_threads():
    before = threading.active_count()

    def work(number):
        if number == 3:
            raise KeyError("in the work")
        return number

    def items():
        yield from range(3)
        raise OSError("in the reading")

    with pytest.raises(KeyError, match="in the work"):
        list(ordered_map(work, range(1000), 2))
    with pytest.raises(OSError, match="in the reading"):
        list(ordered_map(work, items(), 2))
    assert threading.active_count() == before


def test_blas_gets_its_threads_back():
    def numbers():
        return [library["num_threads"] for library in _libraries().info()]

    with _libraries().limit(limits=2):
        before = numbers()
        inside = [set(numbers()) for _ in ordered_map(lambda number: number, range(3), 2)]
        assert inside == [{1}] * 3
        assert numbers() == before


def test_blocks_do_not_depend_on_the_machine():
    assert block_rows(1000) == feature_rows(1000) == BLOCK // 1000
    assert (block_rows(10**9), feature_rows(10**9)) == (1, 256)


@pytest.mark.parametrize(("keep", "times"), [("memory", 1), ("disk", 1), ("recompute", 6)])
def test_features_are_made_once_or_in_every_pass(keep, times):
    Z, Y = problem(80)
    made = []
    fit(
        Z, Y, keep=keep, features=lambda X: made.append(len(X)) or X.copy(), options={"max_iter": 4}
    )
    assert made == [40, 40] * times  # factor, start, four iterations


def open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"), reason="counts open files as Linux shows them"
)
def test_nothing_is_left_of_features_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    Z, Y = problem(100)
    before = open_files()

    def look(_):
        assert list(tmp_path.iterdir()) == []  # the file has no name even while it is used
        assert open_files() == before + 1

    fit(Z, Y, keep="disk", callback=look)
    assert open_files() == before

    def broken(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(Z, Y, keep="disk", callback=broken)
    assert open_files() == before
    assert list(tmp_path.iterdir()) == []


def test_reads_and_writes_that_do_a_part_only(monkeypatch):
    Z, Y = problem(100)
    expected = fit(Z, Y)
    pwrite, preadv = os.pwrite, os.preadv
    monkeypatch.setattr(os, "pwrite", lambda file, content, at: pwrite(file, content[:100], at))
    monkeypatch.setattr(os, "preadv", lambda file, parts, at: preadv(file, [parts[0][:77]], at))
    P, W, *_ = fit(Z, Y, keep="disk")
    assert np.array_equal(P, expected[0])
    assert np.array_equal(W, expected[1])


def test_a_file_that_was_cut_short_is_an_error_not_an_endless_loop():
    Z, Y = problem(100)
    with local_passes(Z, Y, keep="disk") as passes:
        passes.moments()
        os.ftruncate(passes._store._descriptor, 1000)
        with pytest.raises(OSError, match="features ends too early"):
            passes.start("uniform")


# ---------------------------------------------------------------- PURE


def peer_problem(m=90, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(4, m, p=[0.55, 0.15, 0.15, 0.15])
    X = np.eye(4)[y] * 3 + rng.standard_normal((m, 4))
    return X, y, make_partial(y, p=0.8, r=1, random_state=seed)


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("keep", ["memory", "disk", "recompute"])
def test_passes_are_the_literal_method(monkeypatch, keep, weighted, copies):
    monkeypatch.setattr(out_of_core, "feature_rows", lambda _: 32)
    X, _, candidates = peer_problem()
    numbers = None
    if copies:  # in the same block and in others
        X[[1, 40, 70, 71, 89]] = X[[0, 5, 5, 6, 0]]
        numbers = equal_rows([X])
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float) if weighted else None
    indptr, indices = candidates.indptr, candidates.indices

    def sets_of(part):
        low, high = indptr[part.start], indptr[part.stop]
        own = None if weight is None else weight[part]
        return SortedSets(
            indptr[part.start : part.stop + 1] - low, indices[low:high], 4, own, np.float64
        )

    read = partial(np.array_split, X, [32, 64])
    confidence = np.empty(len(indices))
    with LocalPasses(
        lambda: iter(read()), X.shape, lambda Z: Z, sets_of, confidence, indptr, weight, keep
    ) as passes:
        equal = None if numbers is None else (numbers, indices)
        fit = alternate_peer_passes(passes, 0.5, max_iter=4, tol=-1, equal=equal)
        P, shift, _ = literal_pure(
            X @ X.T, candidates.to_indicator(), 0.5, 4, weight, numbers=numbers
        )
        ours = np.zeros(P.shape)
        ours[candidates.rows, indices] = passes.confidence
    assert fit.shift == shift
    np.testing.assert_allclose(ours, P, atol=1e-8)


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_all_rows_as_landmarks_are_the_exact_model(dtype, copies):
    X, _, candidates = peer_problem(150)
    X = X.astype(dtype)
    if copies:
        X[[1, 40, 70, 71, 149]] = X[[0, 5, 5, 6, 0]]
    exact = PUREClassifier(kernel="rbf").fit(X, candidates)
    low_rank = PUREClassifier(kernel="rbf", solver="nystroem", n_components=150).fit(X, candidates)
    assert low_rank.prior_shift_ == exact.prior_shift_
    atol = 1e-8 if dtype == np.float64 else 2e-3
    np.testing.assert_allclose(low_rank.confidence_.data, exact.confidence_.data, atol=atol)
    np.testing.assert_allclose(low_rank.leave_one_out(X), exact.loo_decision_, atol=10 * atol)
    np.testing.assert_allclose(low_rank.scale_, exact.scale_, rtol=0.02)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "auto"])
def test_the_first_step_is_kept(kernel):
    X, _, candidates = peer_problem(300)
    weight = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    options = {"solver": "nystroem", "n_components": 50}
    model = PUREClassifier(kernel=kernel, **options).fit(X, candidates, weight)
    first, scaled = model.at_even_shares(), X
    if kernel == "auto":
        (chosen,), (learned,) = model.kernels_, model.scalings_
        scaled = rescale(chosen["scaling"], learned, X)
        options |= {"beta": chosen["beta"]}
        kernel = chosen["kernel"]
    expected = PUREClassifier(kernel=kernel, max_iter=0, **options)
    expected.fit(scaled, candidates, weight)
    outputs = expected.decision_function(scaled)
    np.testing.assert_allclose(first.decision_function(X), outputs, atol=1e-10)
    np.testing.assert_allclose(first.leave_one_out(X), expected.leave_one_out(scaled), atol=1e-10)
    np.testing.assert_allclose(first.scale_, expected.scale_, rtol=1e-9)
    assert np.abs(model.decision_function(X) - outputs).max() > 0.01
