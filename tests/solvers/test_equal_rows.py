"""Which rows are equal."""

import numpy as np
import pytest
from scipy import sparse

from surelabel.solvers.equal_rows import equal_rows


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_are_those_of_the_first_equal_row(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, (500, 4)).astype(dtype)
    X[7] = -0.0 * X[7]
    first = np.array([np.flatnonzero((row == X).all(axis=1))[0] for row in X])
    expected = np.searchsorted(np.unique(first), first)
    assert expected.max() < 81
    for blocks in ([X], [X[:99], X[99:]], [sparse.csr_array(X)]):
        assert np.array_equal(equal_rows(blocks), expected)


def test_a_row_with_the_same_values_elsewhere_differs():
    X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [2, 0, 0], [0, 0, 0]])
    for form in (X, sparse.csr_array(X)):
        assert equal_rows([form]).tolist() == [0, 1, 2, 3, 4, 5]
    assert equal_rows([np.empty((3, 0))]).tolist() == [0, 0, 0]
