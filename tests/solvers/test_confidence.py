import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surelabel.solvers.confidence import SortedSets, confidence
from surelabel.solvers.sparse_rows import row_normalise
from tests.reference.sure import qp_confidence
from tests.reference.theorem import op, opi, ops

outputs = st.lists(st.floats(-3, 3, width=32), min_size=1, max_size=7)
lams = st.sampled_from([0.0, 0.001, 0.1, 0.3, 1.0, 5.0])


@given(outputs)
@settings(max_examples=100)
def test_projection_satisfies_the_optimality_conditions(v):
    v = np.array(v)
    p = confidence(v[:, None], 0.0)[:, 0]
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1, abs=1e-12)
    theta = (v - p)[p > 0]  # v - p is the same wherever p is positive, and at most that elsewhere
    assert np.ptp(theta) < 1e-12
    assert np.all(v[p == 0] <= theta.max() + 1e-12)


@given(outputs, lams)
@settings(max_examples=150)
def test_closed_form_equals_quadprog(q, lam):
    q = np.array(q)
    j = int(np.argmax(q >= q.max() - 1e-9))
    expected, _ = qp_confidence(q, np.ones(len(q)), j, lam)
    np.testing.assert_allclose(confidence(q[:, None], lam)[:, 0], expected, atol=1e-8)


@given(
    st.lists(st.tuples(st.floats(-3, 3, width=32), st.integers(0, 9)), min_size=2, max_size=7),
    lams,
    st.floats(0, 5, width=32),
)
@settings(max_examples=150)
def test_votes_complete_the_square(entries, lam, kappa):
    """The step minimises ``‖p - q‖² - λ‖p‖_∞ - κ πᵀp``: no arg max j that quadprog
    may be given does better.
    """
    q, votes = np.array(entries).T
    prior = kappa * row_normalise(votes, np.array([0, len(q)]))
    sets = SortedSets(np.array([0, len(q)]), np.arange(len(q)), len(q) + 1, None, np.float64, prior)
    p = sets.ambiguous_entries(sets.all_entries(sets.project(q[None], np.array([lam]))[0]))
    value = np.sum((p - q) ** 2) - lam * p.max() - prior @ p
    best = min(qp_confidence(q, np.ones(len(q)), j, lam, prior)[1] for j in range(len(q)))
    assert value == pytest.approx(best, abs=1e-7)
    assert sets.agreement(p[None])[0] == pytest.approx(prior @ p)


@given(outputs, lams, st.data())
@settings(max_examples=150)
def test_theorems(q, lam, data):
    """Theorem 1 (OP = min OPI), Theorem 2 (OP ≤ OPS), and what the paper leaves open: OP = OPS. OPI
    by quadprog for every j.
    """
    q = np.array(q)
    allowed = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(q), max_size=len(q)).filter(any))
    )
    brute = {j: qp_confidence(q, allowed, j, lam)[1] for j in np.flatnonzero(allowed)}
    for j in range(len(q)):
        value, p = opi(q, allowed, j, lam)
        if not allowed[j]:
            assert value == np.inf
            continue
        assert value == pytest.approx(brute[j], abs=1e-8)
        assert p[j] == p.max()
        assert not p[~allowed].any()
    assert op(q, allowed, lam)[0] == pytest.approx(min(brute.values()), abs=1e-8)
    assert ops(q, allowed, lam)[0] == pytest.approx(op(q, allowed, lam)[0], abs=1e-8)


def test_op_is_below_every_point_of_the_simplex():
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, lam = rng.standard_normal(4), rng.random()
        points = rng.dirichlet(np.full(4, 0.5), 5000)
        values = ((points - q) ** 2).sum(axis=1) - lam * points.max(axis=1)
        assert op(q, np.ones(4), lam)[0] <= values.min() + 1e-12


def test_ties_go_to_the_lowest_index_even_under_rounding():
    q = np.array([[0.2, 0.2], [0.5, 0.5 - 1e-14], [0.5 + 1e-14, 0.5]])
    assert confidence(q, 0.3).argmax(axis=0).tolist() == [1, 1]


@pytest.mark.parametrize("size", [1, 2, 3, 8, 9, 30])
def test_sets_of_every_size(size):
    """Sorting by exchange and sorting by numpy give the same projection."""
    rng = np.random.default_rng(size)
    q = rng.standard_normal((2, size, 50))
    p = confidence(q, np.array([[0.1], [0.7]]))
    for problem, lam in enumerate((0.1, 0.7)):
        for row in range(0, 50, 10):
            j = int(q[problem, :, row].argmax())
            expected, _ = qp_confidence(q[problem, :, row], np.ones(size), j, lam)
            np.testing.assert_allclose(p[problem, :, row], expected, atol=1e-8)


def test_blocks_keep_entries_in_their_places():
    sizes = np.array([3, 1, 2, 4, 1, 2, 3])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    indices = np.concatenate(
        [np.sort(np.random.default_rng(i).permutation(5)[:size]) for i, size in enumerate(sizes)]
    )
    sets = SortedSets(indptr, indices, 5, None, np.float64)
    assert sets.n_clean == 2
    assert sizes[sets.row_order].tolist() == [1, 1, 2, 2, 3, 3, 4]
    marks = np.arange(len(indices), dtype=float)
    back = sets.all_entries(sets.ambiguous_entries(marks))
    certain = np.repeat(sizes == 1, sizes)
    assert np.array_equal(back[~certain], marks[~certain])
    assert np.all(back[certain] == 1)
    assert np.array_equal(sets.columns, indices[sets.ambiguous_entries(marks).astype(int)])
    rows = np.repeat(np.arange(7), sizes)
    assert np.array_equal(
        sets.row_order[sets.n_clean + sets.rows],
        rows[sets.ambiguous_entries(marks).astype(int)],
    )
