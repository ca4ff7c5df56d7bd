"""The index of approximate neighbours against the exact search."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

pytest.importorskip("faiss")

from surelabel.solvers.neighbours import ApproximateIndex, nearest


def clustered(m=6000, n=20, seed=0):
    rng = np.random.default_rng(seed)
    centres, axes = rng.normal(size=(40, 8)), rng.normal(size=(8, n))
    return (
        centres[rng.integers(0, 40, m)] + 0.7 * rng.normal(size=(m, 8))
    ) @ axes + 0.3 * rng.normal(size=(m, n))


def test_nearly_all_neighbours_are_found_and_their_distances_are_exact():
    X = clustered()
    queries = clustered(500, seed=0)[:, :] + 0.1
    for asked in (None, queries):
        distances, rows = ApproximateIndex(X).nearest(10, asked)
        _, exact = nearest(X, 10, asked)
        points = X if asked is None else asked
        recall = np.mean(
            [len(np.intersect1d(found, true)) / 10 for found, true in zip(rows, exact, strict=True)]
        )
        assert recall > 0.98
        np.testing.assert_allclose(
            distances, np.linalg.norm(points[:, None] - X[rows], axis=2), rtol=1e-12
        )
        assert np.all(np.diff(distances, axis=1) >= 0)
        assert all(len(set(row)) == 10 for row in rows.tolist())
        if asked is None:
            assert not np.any(rows == np.arange(len(X))[:, None])


def test_features_without_structure_are_the_hard_case():
    X = np.random.default_rng(0).normal(size=(5000, 30))
    _, rows = ApproximateIndex(X).nearest(10)
    _, exact = nearest(X, 10)
    assert (
        np.mean(
            [len(np.intersect1d(found, true)) / 10 for found, true in zip(rows, exact, strict=True)]
        )
        > 0.9
    )


def test_few_rows_copies_and_rows_far_from_the_origin():
    rng = np.random.default_rng(0)
    for X in (
        rng.normal(size=(60, 3)),
        rng.integers(0, 3, (60, 2)).astype(float),
        np.ones((60, 2)),
        1e6 + rng.normal(size=(60, 3)),
    ):
        for k in (1, 10, 59):
            for queries in (None, X[:7], X[:7] + 0.3):
                distances, rows = ApproximateIndex(X).nearest(k, queries)
                points = X if queries is None else queries
                assert rows.shape == (len(points), k)
                assert all(len(set(row)) == k for row in rows.tolist())
                assert queries is not None or not np.any(rows == np.arange(60)[:, None])
                np.testing.assert_allclose(
                    distances, np.linalg.norm(points[:, None] - X[rows], axis=2), atol=1e-12
                )


def test_rows_of_which_too_few_neighbours_are_found_are_looked_up_exactly():
    X = clustered(500)
    index = ApproximateIndex(X)
    search = index._index.search
    index._index.search = lambda points, k: (
        None,
        np.where(np.arange(len(points))[:, None] % 2, search(points, k)[1], -1),
    )
    for queries in (None, X[:50] + 0.1):
        distances, rows = index.nearest(10, queries)
        exact_distances, exact = nearest(X, 10, queries)
        assert np.array_equal(rows[::2], exact[::2])
        np.testing.assert_allclose(distances[::2], exact_distances[::2])


def test_the_same_whatever_the_number_of_threads():
    X = clustered(4000)
    answers = []
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            answers.append(ApproximateIndex(X).nearest(10))
    for distances, rows in answers[1:]:
        assert np.array_equal(rows, answers[0][1])
        assert np.array_equal(distances, answers[0][0])
