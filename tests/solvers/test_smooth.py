import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy.special import expit

from surelabel.solvers.smooth import inverse_factor, lbfgs, minimise


def logistic(seed, m, n, scale):
    """A smooth convex function of n variables, badly scaled."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) * scale ** np.arange(n)
    y = rng.choice([-1.0, 1.0], m)

    def function(w):
        margin = y * (X @ w)
        value = np.logaddexp(0, -margin).sum() + 0.01 * w @ w
        return float(value), X.T @ (-y * expit(-margin)) + 0.02 * w

    return function


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.integers(1, 15),
    st.sampled_from([0.5, 1.0, 1.5]),
    st.integers(1, 30),
)
def test_the_iterations_are_those_of_scipy(seed, m, n, scale, max_iter):
    function, start = logistic(seed, m, n, scale), np.zeros(n)
    value, gradient = function(start)
    tol = 1e-3 * np.abs(gradient).max()
    options = {"maxiter": max_iter, "gtol": tol, "ftol": np.finfo(float).eps, "maxcor": 10}
    theirs = optimize.minimize(function, start, jac=True, method="L-BFGS-B", options=options)
    x, gradient, n_iter, _ = lbfgs(function, start, value, gradient, tol, max_iter)
    assert n_iter == theirs.nit
    np.testing.assert_allclose(x, theirs.x, atol=1e-6 * (1 + np.abs(theirs.x).max()))
    np.testing.assert_allclose(function(x)[1], gradient, atol=1e-9)


def test_a_hard_line_is_searched_as_scipy_does():
    def rosenbrock(x):
        return float(optimize.rosen(x)), optimize.rosen_der(x)

    start = np.array([-1.2, 1.0, 0.7])
    theirs = optimize.minimize(
        rosenbrock, start, jac=True, method="L-BFGS-B", options={"maxiter": 15, "gtol": 1e-9}
    )
    x, _, n_iter, converged = lbfgs(rosenbrock, start, *rosenbrock(start), 1e-9, 15)
    assert (n_iter, converged) == (15, False)
    np.testing.assert_allclose(x, theirs.x, rtol=1e-8)


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
