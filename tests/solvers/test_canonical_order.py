import numpy as np
import pytest
from scipy import sparse

from surelabel.solvers.canonical_order import canonical_order


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("sizes", [[1, 1, 1], [1e10, 1e-8, 1e-8], [1e-300, 1, 0]])
def test_order_belongs_to_the_data(form, sizes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)) * sizes
    X[:, 0] = X[0, 0]  # only what is small tells these apart
    X[20:30] = X[:10]
    Y = (rng.random((40, 5)) < 0.4).astype(float)
    Y[np.arange(40), rng.integers(5, size=40)] = 1
    weight = rng.integers(1, 3, size=40).astype(float)
    rows, classes = canonical_order(form(X), sparse.csr_array(Y), weight)
    moved, turned = rng.permutation(40), rng.permutation(5)
    again, named = canonical_order(
        form(X[moved]), sparse.csr_array(Y[moved][:, turned]), weight[moved]
    )
    np.testing.assert_array_equal(turned[named], classes)
    for values in (X, Y, weight):
        np.testing.assert_array_equal(values[moved][again], values[rows])
