"""PURE on a Dask cluster: the answer in memory, the same bits for any number of workers."""

import logging

import numpy as np
import pytest
from sklearn.datasets import make_classification

import surelabel
from surelabel import make_partial
from surelabel.exceptions import ParameterError

pytest.importorskip("distributed")

import dask.array as da
from dask.distributed import Client, LocalCluster

from surelabel.distributed import PUREClassifier

FIXED = {"kernel": "rbf", "gamma": 0.05, "n_components": 40}


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        600, 6, n_informative=5, n_redundant=0, n_classes=4, n_clusters_per_class=1, random_state=0
    )
    return X, y, make_partial(y, p=0.8, r=2, random_state=0)


def cluster_of(n_workers):
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=False,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_same_answer_everywhere(data, weighted):
    X, y, candidates = data
    weight = np.random.default_rng(0).integers(1, 3, 600).astype(float) if weighted else None
    blocks = da.from_array(X, chunks=(170, -1))
    models = []
    for n_workers in (1, 3):
        with cluster_of(n_workers) as cluster, Client(cluster):
            model = PUREClassifier(**FIXED).fit(blocks, candidates, sample_weight=weight)
            models.append(model)
            proba = model.predict_proba(blocks).compute()
    one, other = models
    np.testing.assert_array_equal(one.confidence_.data, other.confidence_.data)
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    expected = surelabel.PUREClassifier(**FIXED, solver="nystroem")
    expected.fit(X, candidates, sample_weight=weight)
    np.testing.assert_allclose(other.confidence_.data, expected.confidence_.data, atol=1e-6)
    np.testing.assert_allclose(other.leverage_, expected.leverage_, atol=1e-9)
    np.testing.assert_allclose(proba, expected.predict_proba(X), atol=1e-5)
    assert np.mean(other.transduction_ == y) > 0.85


def test_auto(data):
    X, y, candidates = data
    blocks = da.from_array(X, chunks=(170, -1))
    with cluster_of(2) as cluster, Client(cluster):
        model = PUREClassifier(n_components=60).fit(blocks, candidates)
        predicted = model.predict(blocks).compute()
        with pytest.raises(ParameterError, match="groups need an exact solver"):
            PUREClassifier(**FIXED).fit(blocks, candidates, groups=y)
    assert len(model.members_) == len(model.kernels_)
    np.testing.assert_array_equal(predicted, model.predict(X))
    assert np.mean(model.transduction_ == y) > 0.85
    assert np.mean(model.leave_one_out(X).argmax(axis=1) == y) > 0.7
