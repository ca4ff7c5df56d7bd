import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris

from surelabel import CandidateSets, make_partial
from surelabel.data.labelling import Labels


def as_labels(candidates, gold=None, votes=None, names=(), table=None, unlabelled=None):
    m = len(candidates)
    return Labels(
        candidates=candidates,
        gold=np.full(m, -1) if gold is None else np.asarray(gold),
        votes=votes,
        annotators=tuple(names),
        unlabelled=np.zeros(m, bool) if unlabelled is None else unlabelled,
        ids=None,
        table=pa.table({"row": np.arange(m)}) if table is None else table,
    )


@pytest.fixture(scope="session")
def make_labels():
    """Labels as read from a table, from candidates and what else is known."""
    return as_labels


@pytest.fixture(scope="session")
def iris():
    """Flowers whose true names are known, with false candidates: X, truth, candidates."""
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    names = np.array(["setosa", "versicolor", "virginica"])
    return X, y, make_partial(names[y], p=0.7, r=1, random_state=0)


@pytest.fixture(scope="session")
def crowd():
    """Three annotators, the last of whom is often wrong: X, truth, votes, candidates."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    votes = np.stack(
        [
            np.where(rng.random(len(y)) < right, y, rng.integers(0, 3, len(y)))
            for right in (0.95, 0.8, 0.2)
        ],
        axis=1,
    )
    votes[rng.random(votes.shape) < 0.1] = -1
    votes[(votes < 0).all(axis=1), 0] = 0
    counts = np.stack([(votes == k).sum(axis=1) for k in range(3)], axis=1)
    return (
        (X - X.mean(axis=0)) / X.std(axis=0),
        y,
        votes,
        CandidateSets.from_counts(counts, classes=["a", "b", "c"]),
    )
