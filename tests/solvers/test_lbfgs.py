import numpy as np
from scipy.special import expit

from surelabel.solvers.lbfgs import inverse_factor, minimise


def test_the_factor_changes_the_way_and_not_the_minimum():
    rng = np.random.default_rng(0)
    X, target = rng.normal(size=(50, 4)), rng.normal(size=(50, 3))

    def squares(W):
        error = X @ W - target
        return float((error**2).sum() + (W**2).sum()), 2 * X.T @ error + 2 * W

    expected = np.linalg.solve(X.T @ X + np.eye(4), X.T @ target)
    for inverse in (None, inverse_factor(X, 2 * np.ones(50), ridge=2.0)):
        found = minimise(squares, np.zeros((4, 3)), inverse, 1e-10, 100)
        np.testing.assert_allclose(found.weights, expected, atol=1e-8)
        assert found.converged
    assert found.n_iter <= 3  # the factor is that of the Hessian itself


def test_a_minimum_stays():
    def bowl(W):
        return float((W**2).sum()), 2 * W

    assert minimise(bowl, np.zeros((2, 2)), None, 0.1, 10).n_iter == 0


def test_too_few_iterations_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) * 10.0 ** np.arange(6)

    def logistic(W):
        value = np.logaddexp(0, X @ W).sum() + 0.5 * (W**2).sum()
        return float(value), X.T @ expit(X @ W) + W

    found = minimise(logistic, np.zeros((6, 1)), None, 1e-12, 3)
    assert not found.converged
    assert found.n_iter == 3
