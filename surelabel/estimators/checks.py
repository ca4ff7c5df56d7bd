"""Conformance suite for partial-label classifiers, to run beside scikit-learn's
``check_estimator``.

>>> from surelabel import SUREClassifier
>>> from surelabel.estimators.checks import check_partial_label_classifier
>>> check_partial_label_classifier(SUREClassifier())
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import LeaveOneOut
from sklearn.utils.validation import has_fit_parameter

from ..data.candidates import CandidateSets
from ..data.corruption import make_partial
from ..exceptions import CandidateError, ModelFileError
from .persistence import load_model, save_model

__all__ = ["check_partial_label_classifier"]

Check = Callable[[Any], None]


def check_partial_label_classifier(estimator: Any) -> None:
    """Run every check on an estimator; the first failure raises ``AssertionError``.

    Parameters
    ----------
    estimator : partial-label classifier
        An instance; it is cloned, never fitted itself.
    """
    for check in CHECKS:
        check(estimator)


def check_candidates_respected(estimator: Any) -> None:
    """Confidence lies on the candidates, rows are on the simplex, and the transduction is the best
    candidate.
    """
    X, y, candidates = _problem()
    model = _fit(estimator, X, candidates)
    confidence = model.confidence_
    assert sparse.issparse(confidence)
    assert confidence.shape == candidates.shape
    dense = confidence.toarray()
    assert np.all(dense >= 0), "confidences must not be negative"
    assert_allclose(dense.sum(axis=1), 1, atol=1e-6, err_msg="rows of confidence_ must sum to 1")
    assert not np.any(dense[candidates.to_indicator() == 0]), "confidence outside the candidate set"
    assert_array_equal(model.transduction_, candidates.classes[dense.argmax(axis=1)])
    assert np.mean(model.transduction_ == y) > 0.8, "an easy problem must be disambiguated"


def check_probabilities(estimator: Any) -> None:
    """``predict_proba`` is on the simplex, and ``predict`` is its arg max and that of
    ``decision_function``.
    """
    X, y, candidates = _problem()
    model = _fit(estimator, X, candidates)
    proba, prediction = model.predict_proba(X), model.predict(X)
    assert proba.shape == (len(X), len(model.classes_))
    assert np.all(proba >= 0)
    assert_allclose(proba.sum(axis=1), 1, atol=1e-6)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], prediction)
    assert_array_equal(model.classes_[model.decision_function(X).argmax(axis=1)], prediction)
    assert np.mean(prediction == y) > 0.8, "an easy problem must be learned"


def check_singletons_are_supervised(estimator: Any) -> None:
    """With one candidate per row, the model is the supervised one, and the transduction returns the
    labels.
    """
    X, y, _ = _problem()
    by_sets = _fit(estimator, X, CandidateSets.from_lists([[label] for label in y]))
    by_labels = _fit(estimator, X, y)
    _same_model(by_sets, by_labels, X, exact=True)
    assert_array_equal(by_sets.transduction_, y)


def check_row_order(estimator: Any) -> None:
    """The order of rows does not matter."""
    X, _, candidates = _problem()
    if "cv" in estimator.get_params():  # folds depend on the order of rows
        estimator = clone(estimator).set_params(cv=LeaveOneOut())
    order = np.random.default_rng(0).permutation(len(X))
    _same_model(_fit(estimator, X, candidates), _fit(estimator, X[order], candidates[order]), X)


def check_class_order(estimator: Any) -> None:
    """The order of classes does not matter."""
    X, _, candidates = _problem()
    model = _fit(estimator, X, candidates)
    turned = _fit(estimator, X, candidates.with_classes(candidates.classes[::-1]))
    assert_array_equal(turned.classes_, model.classes_[::-1])
    assert_array_equal(turned.predict(X), model.predict(X))
    assert_allclose(turned.predict_proba(X)[:, ::-1], model.predict_proba(X), atol=1e-4)


def check_input_forms(estimator: Any) -> None:
    """Every form of the same candidates gives the same model; votes carry more information."""
    X, _, candidates = _problem()
    model = _fit(estimator, X, candidates)
    texts = np.array([" | ".join(row) for row in candidates.to_lists()])
    for form in (
        candidates.to_lists(),
        [set(row) for row in candidates.to_lists()],
        CandidateSets.from_strings(texts),
        CandidateSets.from_indicator(candidates.to_indicator(), classes=candidates.classes),
        CandidateSets.from_counts(2 * candidates.to_indicator(), classes=candidates.classes),
    ):
        _same_model(_fit(estimator, X, form), model, X, exact=True)
    for matrix in (
        candidates.to_indicator(),
        candidates.to_sparse(),
        candidates.to_indicator().astype(bool),
    ):
        numbered = _fit(estimator, X, matrix)
        assert_allclose(numbered.predict_proba(X), model.predict_proba(X), atol=1e-12)


def check_empty_set_is_refused(estimator: Any) -> None:
    """A row without candidates is an error that names the row."""
    X, _, candidates = _problem()
    rows = candidates.to_lists()
    rows[7] = []
    message = ""
    try:
        _fit(estimator, X, rows)
    except CandidateError as error:
        message = str(error)
    assert "row 7" in message, "an empty candidate set must raise CandidateError and name the row"


def check_unlabelled_rows(estimator: Any) -> None:
    """Rows for which every label is possible are accepted, and do not spoil what is learned from
    the others.
    """
    X, y, candidates = _problem()
    rows = candidates.to_lists()
    rows[::5] = [[] for _ in rows[::5]]
    model = _fit(
        estimator, X, CandidateSets.from_lists(rows, classes=candidates.classes, unlabelled="all")
    )
    assert_allclose(model.confidence_.sum(axis=1), 1, atol=1e-6)
    assert np.mean(model.predict(X) == y) > 0.8


def check_class_without_rows(estimator: Any) -> None:
    """A class without candidates is accepted and never predicted, because folds may lack
    classes.
    """
    X, y, candidates = _problem()
    more = CandidateSets.from_lists(candidates.to_lists(), classes=["none", *candidates.classes])
    model = _fit(estimator, X, more)
    assert_array_equal(model.classes_, more.classes)
    queries = np.vstack([X, np.zeros_like(X), 100 * X, -100 * X])
    assert "none" not in model.predict(queries)
    assert np.mean(model.predict(X) == y) > 0.8
    assert model.predict_proba(queries).shape == (len(queries), 4)
    assert_array_equal(
        model.classes_[model.predict_proba(queries).argmax(axis=1)], model.predict(queries)
    )
    lone = CandidateSets.from_lists([["virginica"]] * len(X), classes=more.classes)
    with suppress(CandidateError):  # one class may be too few to learn from
        assert set(_fit(estimator, X, lone).predict(queries)) == {"virginica"}


def check_zero_weight(estimator: Any) -> None:
    """A row of weight 0 is not learned from, but still gets a confidence."""
    if not has_fit_parameter(estimator, "sample_weight"):
        return
    X, _, candidates = _problem()
    used = np.arange(len(X)) % 4 != 0
    weighted = _fit(estimator, X, candidates, sample_weight=used.astype(float))
    _same_model(weighted, _fit(estimator, X[used], candidates[used]), X)
    assert_allclose(weighted.confidence_.sum(axis=1), 1, atol=1e-6)


def check_persistence(estimator: Any) -> None:
    """A fitted model survives pickle, and a model file if it is one of ours."""
    X, _, candidates = _problem()
    model = _fit(estimator, X, candidates)
    _same_model(pickle.loads(pickle.dumps(model)), model, X, exact=True)
    with TemporaryDirectory() as folder:
        try:
            save_model(model, f"{folder}/model")
        except ModelFileError:  # surelabel.estimators.stored does not name its class
            return
        _same_model(load_model(f"{folder}/model"), model, X, exact=True)


CHECKS: tuple[Check, ...] = (
    check_candidates_respected,
    check_probabilities,
    check_singletons_are_supervised,
    check_row_order,
    check_class_order,
    check_input_forms,
    check_empty_set_is_refused,
    check_unlabelled_rows,
    check_class_without_rows,
    check_zero_weight,
    check_persistence,
)


def _problem() -> tuple[np.ndarray, np.ndarray, CandidateSets]:
    """Iris with half of its rows ambiguous and classes with names: easy, real, and small."""
    X, codes = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, names[codes], make_partial(names[codes], p=0.5, r=1, random_state=0)


def _fit(estimator: Any, X: np.ndarray, y: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(estimator).fit(X, y, **options)


def _same_model(one: Any, other: Any, X: np.ndarray, *, exact: bool = False) -> None:
    assert_array_equal(one.classes_, other.classes_)
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-12 if exact else 1e-4)
    assert_array_equal(one.predict(X), other.predict(X))
