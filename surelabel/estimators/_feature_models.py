"""Models of the features, for use with votes. Their outputs for a training row leave out that row
and all rows equal to it, because copies of a row would confirm its votes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..exceptions import ParameterError
from ..solvers.equal_rows import equal_rows, folds_of
from ..solvers.features import Landmarks
from ..solvers.hat_matrix import HatMatrix, KernelHat, LandmarkHat
from ..solvers.kernels import (
    distances,
    exponentiate,
    gamma_of,
    kernel_matrix,
    learn_scaling,
    rescale,
)
from ..solvers.leave_one_out import FLOOR, LeftOut
from ..solvers.temperature import Trust, trust_features
from .limits import QUICK_ROWS

#: Scalings and kernels of the models, which are averaged. Texts need the first: if every column had
#: the same spread, words that occur once would count most. The first two alone find as many labels
#: of labelme, cifar10n and sentiment, but are less stable: leaving out a tenth of labelme's rows
#: moves the accuracy by up to .020 (.009 with all four).
KERNELS = (
    ("none", "rbf"),
    ("standard", "rbf"),
    ("standard", "laplacian"),
    ("rank", "laplacian"),
)
#: On labelme, cifar10n and sentiment, choosing β by the votes finds no more labels.
BETA = 0.1
#: With more rows, only the first two kernels are used, with landmarks. An exact fit factorises four
#: kernel matrices, each of which takes an eighth of the time at half the rows.
EXACT_ROWS, LANDMARKS = QUICK_ROWS // 2, 500
FOLDS = 5


class KernelPeers:
    """The mean of several kernel models, as ``class_model`` of
    :func:`~surelabel.solvers.crowds.alternate_crowd`. ``rng`` draws the rows that stand for all if
    there are very many.

    Attributes
    ----------
    kernels : list of dict
        For each kernel: ``scaling``, ``kernel``, ``gamma`` and ``beta``.
    scalings, points : list
        For each kernel: what its scaling learned, and the rows to compare new ones with.
    """

    def __init__(self, X: np.ndarray, rng: np.random.Generator) -> None:
        m, self._equal = len(X), equal_rows([X])
        drawn = None if m <= EXACT_ROWS else np.sort(rng.permutation(m)[:LANDMARKS])
        self.kernels: list[dict[str, Any]] = []
        self.scalings, self.points = [], []
        self._hats: list[HatMatrix] = []
        for scaling, kernel in KERNELS if drawn is None else KERNELS[:2]:
            learned = learn_scaling(scaling, X)
            Z = rescale(scaling, learned, X)
            points = Z if drawn is None else Z[drawn]
            D = distances(kernel, points)
            gamma = gamma_of(kernel, "mean_distance", 1.0, points, D)
            if drawn is None:
                self._hats.append(KernelHat(exponentiate(D, gamma), BETA))
            else:
                values = partial(kernel_matrix, kernel, gamma=gamma)
                self._hats.append(LandmarkHat(Landmarks(points, values), Z, BETA))
            self.kernels.append(
                {"scaling": scaling, "kernel": kernel, "gamma": gamma, "beta": BETA}
            )
            self.scalings.append(learned)
            self.points.append(points)

    def __call__(self, posterior: np.ndarray, evidence: np.ndarray) -> np.ndarray:
        """Log-probabilities of the classes."""
        parts = [left_out(hat, posterior, self._equal) for hat in self._hats]
        outputs = np.mean(parts, axis=0, dtype=float)
        self.trust: Trust = trust_features(outputs, evidence, posterior)
        self.proba = self.trust(outputs)
        return np.asarray(np.log(self.proba))

    def coefficients(self, posterior: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """For each kernel the coefficients of its values at ``points``; and the intercept."""
        fitted = [hat.coefficients(posterior.astype(hat.leverage.dtype)) for hat in self._hats]
        return [A / len(fitted) for A, _ in fitted], np.mean([b for _, b in fitted], axis=0)


def kernel_outputs(
    X: np.ndarray,
    kernels: list[dict[str, Any]],
    scalings: list[np.ndarray],
    points: list[np.ndarray],
    coefficients: list[np.ndarray],
    intercept: np.ndarray,
) -> np.ndarray:
    """Outputs of new rows by the mean of the models that :class:`KernelPeers` describes."""
    total = np.tile(intercept, (len(X), 1))
    for kernel, learned, rows, A in zip(kernels, scalings, points, coefficients, strict=True):
        Z = rescale(kernel["scaling"], learned, X)
        total += kernel_matrix(kernel["kernel"], Z, rows, gamma=kernel["gamma"]) @ A
    return total


def left_out(hat: HatMatrix, posterior: np.ndarray, equal: np.ndarray) -> np.ndarray:
    """Outputs of each row by the model fitted to the probabilities of the others; equal rows are
    left out together.
    """
    P = posterior.astype(hat.leverage.dtype)
    return LeftOut(hat.leverage, equal).outputs(P, hat.apply(P))


class CrossFitted:
    """A scikit-learn classifier with ``predict_proba``, fitted to the rows of other folds. It gets
    each row once per possible class, weighted by its probability; if it does not accept
    ``sample_weight``, once with the most probable class.
    """

    def __init__(self, X: Any, estimator: Any, n_classes: int) -> None:
        self._X, self._estimator, self._n_classes = X, estimator, n_classes
        numbers = equal_rows([X])
        if not numbers.any():
            raise ParameterError(
                "an estimator learns nothing from rows that are all equal: leave it out"
            )
        self._folds = folds_of(numbers, min(FOLDS, int(numbers.max()) + 1), 0)

    def __call__(self, posterior: np.ndarray, evidence: np.ndarray) -> np.ndarray:
        """Log-probabilities of the classes."""
        outputs = np.empty(posterior.shape)
        for train, test in self._folds:
            model = self.fit(posterior, train)
            try:
                outputs[test] = class_outputs(model, self._X[test], self._n_classes)
            except ValueError as error:
                raise ParameterError(
                    f"estimator {type(model).__name__} cannot predict rows left out: {error}"
                ) from error
        if not np.isfinite(outputs).all():
            raise ParameterError(
                f"estimator {type(self._estimator).__name__} gives probabilities that are not "
                "finite numbers"
            )
        self.trust: Trust = trust_features(outputs, evidence, posterior)
        self.proba = self.trust(outputs)
        return np.asarray(np.log(self.proba))

    def fit(self, posterior: np.ndarray, rows: np.ndarray | None = None) -> Any:
        """Fit the classifier to these rows, by default to all."""
        rows = np.arange(len(posterior)) if rows is None else rows
        model = clone(self._estimator)
        try:
            if not has_fit_parameter(model, "sample_weight"):
                return model.fit(self._X[rows], posterior[rows].argmax(axis=1))
            # Classes with almost no probability only cost time.
            which, labels = np.nonzero(posterior[rows] >= min(0.02, 0.5 / self._n_classes))
            weight = posterior[rows[which], labels]
            return model.fit(self._X[rows[which]], labels, sample_weight=weight)
        except ValueError as error:
            raise ParameterError(
                f"estimator {type(model).__name__} cannot learn from these features: {error}"
            ) from error


def class_outputs(model: Any, X: Any, n_classes: int) -> np.ndarray:
    """Log-probabilities of all classes by a classifier that knows some of them."""
    proba = np.zeros((X.shape[0], n_classes))
    proba[:, model.classes_] = model.predict_proba(X)
    return np.asarray(np.log(np.maximum(proba, FLOOR)))
