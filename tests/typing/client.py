"""A program of a user, which type-checks with ``mypy --strict``; nothing here is run."""

from pathlib import Path
from typing import Any, assert_type

import numpy as np

import surelabel
from surelabel import SURECV, CandidateSets, SUREClassifier, as_candidates, make_partial
from surelabel.data.catalog import Dataset, load
from surelabel.estimators import Method, PartialLabelClassifier
from surelabel.evaluation import corrected_paired_t, covering_rate
from surelabel.tables import Cleaned, Comparison, Fitted, Inspection


def learn(X: np.ndarray, texts: list[str]) -> np.ndarray:
    candidates = CandidateSets.from_strings(texts)
    assert_type(candidates, CandidateSets)
    assert_type(candidates.shape, tuple[int, int])
    assert_type(candidates.indices, np.ndarray)
    assert_type(candidates.to_lists(), list[list[Any]])
    model = SURECV(kernel=["rbf", "linear"]).fit(X, candidates)
    assert_type(model, SURECV)
    assert_type(model.predict(X), np.ndarray)
    assert_type(model.predict_proba(X), np.ndarray)
    assert_type(model.transduction_, np.ndarray)
    assert_type(model.score(X, candidates), float)
    return model.classes_


def corrupt(y: np.ndarray) -> float:
    candidates = make_partial(y, p=0.5, r=2, random_state=0)
    assert_type(candidates, CandidateSets)
    assert_type(as_candidates(y), CandidateSets)
    return covering_rate(candidates, y)


def keep(model: SUREClassifier, path: Path) -> None:
    surelabel.save_model(model, path)
    assert_type(load("glass"), Dataset)


def tables(path: Path) -> Any:
    assert_type(surelabel.inspect(path, labels="labels", delimiter=";"), Inspection)
    cleaned = surelabel.clean(path, votes=["ann", "bob"], max_error=0.05)
    assert_type(cleaned, Cleaned)
    assert_type(cleaned.report("page.html"), Path)
    assert_type(surelabel.fit(path, labels="labels", features="x*"), Fitted)
    assert_type(surelabel.compare(path, labels="labels", methods="SURE,PLKNN"), Comparison)
    return surelabel.predict(cleaned, path)


def methods() -> list[str]:
    assert_type(surelabel.all_methods(), dict[str, Method])
    return [method.reference for method in surelabel.all_methods().values()]


class Majority(PartialLabelClassifier):
    """A method of one's own."""

    def _fit(self, X: np.ndarray, candidates: CandidateSets) -> np.ndarray:
        return np.asarray(1 / candidates.sizes[candidates.rows])

    def _outputs(self, X: np.ndarray) -> np.ndarray:
        return np.ones((len(X), len(self.classes_)))


def differ(ours: list[float], theirs: list[float]) -> bool:
    return corrected_paired_t(ours, theirs, n_train=90, n_test=10) < 0.05
