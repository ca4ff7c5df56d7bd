import threading

import numpy as np
import pytest

from surelabel.solvers import triangular
from surelabel.solvers.triangular import NotPositiveDefiniteError, cholesky, invert, solve, square


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 30])
def test_against_numpy_and_in_place(dtype, n):
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, n))
    K = (A @ A.T + n * np.eye(n)).astype(dtype)
    tolerance = 1e-10 if dtype == np.float64 else 1e-3
    memory = K.copy()
    factor = cholesky(memory)
    assert np.shares_memory(factor, memory)
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(K), atol=tolerance)
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
    np.testing.assert_allclose(np.tril(inverse), np.linalg.inv(np.tril(factor)), atol=tolerance)
    np.testing.assert_allclose(np.tril(square(inverse)), np.tril(np.linalg.inv(K)), atol=tolerance)


def test_no_factor():
    with pytest.raises(NotPositiveDefiniteError, match="leading minor 2 of 3"):
        cholesky(np.diag([1.0, -1.0, 1.0]))


def test_other_threads_run_meanwhile():
    """The interpreter is free while a factor is made: a counter in another thread goes on."""
    A = np.random.default_rng(0).standard_normal((1500, 1500))
    K = A @ A.T + 1500 * np.eye(1500)
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    cholesky(K)
    after = counted[0]
    stop.set()
    thread.join()
    assert after > before


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [48, 49, 70, 100])
def test_factors_of_large_matrices_are_made_in_blocks(monkeypatch, n, dtype):
    monkeypatch.setattr(triangular, "SAFE", 40)
    monkeypatch.setattr(triangular, "STEP", 16)
    A = np.random.default_rng(n).standard_normal((n, n))
    K = A @ A.T + n * np.eye(n)
    factor = np.tril(triangular.cholesky(K.astype(dtype)))
    np.testing.assert_allclose(
        factor, np.linalg.cholesky(K), rtol=1e-10 if dtype is np.float64 else 1e-4, atol=1e-4
    )
    K[60 % n, 60 % n] = -1
    with pytest.raises(
        triangular.NotPositiveDefiniteError, match=f"leading minor {60 % n + 1} of {n}"
    ):
        triangular.cholesky(K)
