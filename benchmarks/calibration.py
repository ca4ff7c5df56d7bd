"""How should SURE's outputs become probabilities? Cross-validated expected calibration error and
Brier score of several ways.

It runs on digits and the controlled UCI sets, and on Lost and MSRCv2 if SURELABEL_DATA has them.
``SURECV`` chooses λ and β from candidates only.
"""

import contextlib
import warnings

import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold
from sklearn.preprocessing import scale

from surelabel import SURECV, make_partial
from surelabel.data import catalog
from surelabel.exceptions import DataMissingError
from surelabel.solvers.confidence import confidence


def ways(outputs):
    positive = np.maximum(outputs, 0)
    yield "projection onto the simplex", confidence(outputs.T, 0.0).T
    yield "positive part, normalised", positive / positive.sum(axis=1, keepdims=True)
    for temperature in (0.3, 0.2, 0.15, 0.1, 0.07, 0.05):
        yield f"softmax at temperature {temperature}", softmax(outputs / temperature, axis=1)


def calibration_error(proba, correct, bins=15):
    top = proba.max(axis=1)
    which = np.minimum((top * bins).astype(int), bins - 1)
    gaps = [
        abs(top[which == b].mean() - correct[which == b].mean()) * np.mean(which == b)
        for b in np.unique(which)
    ]
    return sum(gaps)


def problems():
    X, y = load_digits(return_X_y=True)
    for p, r in ((0.7, 3), (1.0, 1)):
        yield f"digits, p = {p}, r = {r}", scale(X), make_partial(y, p=p, r=r, random_state=0), y
    for name in ("deter", "ecoli", "glass"):
        data = catalog.load(name)
        yield (
            f"{name}, p = 0.7, r = 2",
            scale(data.X),
            make_partial(data.y, p=0.7, r=2, random_state=0),
            data.y,
        )
    for name in ("lost", "msrcv2"):
        with contextlib.suppress(DataMissingError):
            data = catalog.load(name)
            yield name, scale(data.X), data.candidates, data.y


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name, X, candidates, y in problems():
        outputs = np.empty(candidates.shape)
        for train, test in KFold(5, shuffle=True, random_state=0).split(X):
            outputs[test] = (
                SURECV(kernel="rbf").fit(X[train], candidates[train]).decision_function(X[test])
            )
        correct = candidates.classes[outputs.argmax(axis=1)] == y
        print(f"{name}: accuracy {correct.mean():.3f}")
        for way, proba in ways(outputs):
            brier = np.mean(np.sum((proba - (y[:, None] == candidates.classes)) ** 2, axis=1))
            print(
                f"  {way:32} calibration error {calibration_error(proba, correct):.3f}  Brier "
                f"{brier:.3f}"
            )
