"""PURE in blocks of rows against the model in one piece."""

from functools import partial

import numpy as np
import pytest

from surelabel import PUREClassifier, make_partial
from surelabel.solvers import out_of_core
from surelabel.solvers.confidence import SortedSets
from surelabel.solvers.equal_rows import equal_rows
from surelabel.solvers.kernels import rescale
from surelabel.solvers.out_of_core import LocalPasses, alternate_peer_passes
from tests.reference.pure import literal_pure


def problem(m=90, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(4, m, p=[0.55, 0.15, 0.15, 0.15])
    X = np.eye(4)[y] * 3 + rng.standard_normal((m, 4))
    return X, y, make_partial(y, p=0.8, r=1, random_state=seed)


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("keep", ["memory", "disk", "recompute"])
def test_passes_are_the_literal_method(monkeypatch, keep, weighted, copies):
    monkeypatch.setattr(out_of_core, "feature_rows", lambda _: 32)
    X, _, candidates = problem()
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
    X, _, candidates = problem(150)
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


def test_fourier_features():
    X, y, candidates = problem(300)
    model = PUREClassifier(kernel="rbf", solver="fourier", n_components=200).fit(X, candidates)
    assert np.mean(model.transduction_ == y) > 0.9
    left_out = model.leave_one_out(X)
    rest = np.arange(300) != 7
    known = PUREClassifier(kernel="rbf", solver="fourier", n_components=200, max_iter=0)
    one = known.set_params(gamma=model.gamma_).fit(X[rest], candidates[rest])
    assert left_out.shape == one.decision_function(X).shape


@pytest.mark.parametrize(
    ("kernel", "solver"), [("rbf", "nystroem"), ("laplacian", "fourier"), ("auto", "nystroem")]
)
def test_the_first_step_is_kept(kernel, solver):
    X, _, candidates = problem(300)
    weight = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    options = {"solver": solver, "n_components": 50}
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
