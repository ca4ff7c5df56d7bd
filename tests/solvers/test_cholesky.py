import numpy as np
import pytest

from surelabel.solvers import cholesky as module
from surelabel.solvers.cholesky import NotPositiveDefiniteError, cholesky, invert, solve, square


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 30, 600])
def test_against_numpy_and_in_place(dtype, n):
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, n))
    K = (A @ A.T + n * np.eye(n)).astype(dtype)
    tolerance = 1e-10 if dtype == np.float64 else 1e-3
    memory = K.copy()
    factor = cholesky(memory)
    assert np.shares_memory(factor, memory)
    np.testing.assert_allclose(factor, np.linalg.cholesky(K), atol=tolerance)
    rows = rng.standard_normal((3, n)).astype(dtype)
    right = rows.copy()
    assert solve(factor, right) is right
    np.testing.assert_allclose(right, np.linalg.solve(K, rows.T).T, atol=tolerance)
    # A part of the factor, without a copy: the inverse restricted to the last rows.
    first = n // 3
    restricted = np.linalg.inv(K)[first:, first:]
    solved = solve(factor[first:, first:], rows[:, first:].copy())
    np.testing.assert_allclose(solved, rows[:, first:] @ restricted, atol=tolerance)
    inverse = invert(factor.copy(order="F"))
    np.testing.assert_allclose(inverse, np.linalg.inv(factor), atol=tolerance)
    np.testing.assert_allclose(square(inverse), np.linalg.inv(K), atol=tolerance)


def test_no_factor():
    with pytest.raises(NotPositiveDefiniteError, match="leading minor 2 of 3"):
        cholesky(np.diag([1.0, -1.0, 1.0]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [48, 49, 70, 100])
def test_factors_of_large_matrices_are_made_in_blocks(monkeypatch, n, dtype):
    monkeypatch.setattr(module, "SAFE", 40)
    monkeypatch.setattr(module, "STEP", 16)
    A = np.random.default_rng(n).standard_normal((n, n))
    K = A @ A.T + n * np.eye(n)
    factor = cholesky(K.astype(dtype))
    np.testing.assert_allclose(
        factor, np.linalg.cholesky(K), rtol=1e-10 if dtype is np.float64 else 1e-4, atol=1e-4
    )
    K[60 % n, 60 % n] = -1
    with pytest.raises(NotPositiveDefiniteError, match=f"leading minor {60 % n + 1} of {n}"):
        cholesky(K)
