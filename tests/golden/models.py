"""Model files: which classes there are, what a header says, and that a model read is the one
written.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import surelabel
from surelabel.exceptions import ModelFileError
from tests.golden import estimators, tables


def outline(value: Any) -> Any:
    """The keys of the header, and the types of what they hold."""
    if isinstance(value, dict):
        return {key: outline(part) for key, part in sorted(value.items())}
    if isinstance(value, list):
        parts = [outline(part) for part in value]
        return parts[:1] if parts and all(part == parts[0] for part in parts) else parts
    return type(value).__name__


def header(path: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        first = file.readline().decode()
        text = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return {"first line": first, "header": outline(text)}


def stored(folder: Path, model: Any) -> Any:
    """The file of a model, and the model read from it; or that it is refused."""
    path = folder / "a.model"
    try:
        surelabel.save_model(model, path)
    except ModelFileError:
        return "refused", None
    return header(path), surelabel.load_model(path)


def classifier(folder: Path, make: Callable[[], Any], voted: bool = False) -> Any:
    X, candidates, new, truth = estimators.problem("iris")
    model = make().fit(X, estimators.votes(truth) if voted else candidates)
    found, read = stored(folder, model)
    if read is not None:
        assert type(read) is type(model)
        assert np.array_equal(read.predict(new), model.predict(new))
        for name in ("predict_proba", "decision_function"):
            if hasattr(model, name):
                assert np.array_equal(getattr(read, name)(new), getattr(model, name)(new)), name
    return found


def table_model(folder: Path, columns: Callable[[], dict[str, Any]], **options: Any) -> Any:
    """The model of a table: it is read, and predicts the same."""
    path = tables.written(folder, columns())
    model = surelabel.fit(path, **options).model
    found, read = stored(folder, model)
    labels = [surelabel.predict(one, path)["label"].to_pylist() for one in (model, read)]
    assert labels[0] == labels[1]
    return found


def pipeline() -> Any:
    return make_pipeline(StandardScaler(), surelabel.SUREClassifier())


MADE = {
    **{name: method.estimator for name, method in surelabel.all_methods().items()},
    "SURE, linear kernel": estimators.sure(kernel="linear"),
    "SURE, nystroem": estimators.sure(**estimators.LOW_RANK),
    "PURE, rbf kernel": estimators.pure(kernel="rbf"),
    "SURECV": partial(surelabel.SURECV, **estimators.GRID),
    "SURERetrainer": surelabel.SURERetrainer,
    "SURERetrainer of a classifier": partial(surelabel.SURERetrainer, LogisticRegression()),
    "pipeline": pipeline,
}
RESULTS: dict[str, Callable[[Path], Any]] = {
    **{name: partial(classifier, make=make) for name, make in MADE.items()},
    "CrowdClassifier": partial(classifier, make=surelabel.CrowdClassifier, voted=True),
    "CrowdClassifier of a classifier": partial(
        classifier, make=partial(surelabel.CrowdClassifier, LogisticRegression()), voted=True
    ),
    "table of numbers": partial(table_model, columns=tables.strings, labels="labels"),
    "table of texts": partial(table_model, columns=tables.texts, labels="labels"),
    "table of categories": partial(table_model, columns=tables.categories, labels="labels"),
    "table of times": partial(table_model, columns=tables.times, labels="labels"),
    "table of annotators": partial(table_model, columns=tables.annotators, votes="person_*"),
}
