"""Models of the features, for use with votes. Their outputs for a training row leave out that row
and all rows equal to it, because copies of a row would confirm its votes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..exceptions import ParameterError
from ..solvers.crowds import Trust, trust_features
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
from ._kernel_bank import ChosenKernel, left_out

LANDMARKS = 500  # for models of many rows
FOLDS = 5
FLOOR = 1e-3  # smaller probabilities are raised to this


class KernelPeers:
    """The mean of several kernel models, as ``class_model`` of
    :func:`~surelabel.solvers.crowds.alternate_crowd`.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        The rows.
    kernels : iterable of ChosenKernel
        The models.
    landmarks : ndarray of int or None
        Rows that stand for all; None for exact models.
    equal : ndarray of int of shape (m,)
        Equal numbers for equal rows.

    Attributes
    ----------
    scalings, points, gammas : list
        For each kernel: what its scaling learned, the rows to compare new ones with, and γ.
    """

    def __init__(
        self,
        X: np.ndarray,
        kernels: Iterable[ChosenKernel],
        landmarks: np.ndarray | None,
        equal: np.ndarray,
    ) -> None:
        self.kernels, self._equal = list(kernels), equal
        self.scalings = [learn_scaling(k.scaling, X) for k in self.kernels]
        self.points, self.gammas = [], []
        self._hats: list[HatMatrix] = []
        for k, learned in zip(self.kernels, self.scalings, strict=True):
            Z = rescale(k.scaling, learned, X)
            points = Z if landmarks is None else Z[landmarks]
            D = distances(k.kernel, points)
            gamma = gamma_of(k.kernel, "mean_distance", 1.0, points, D, None)
            if landmarks is None:
                self._hats.append(KernelHat(exponentiate(D, gamma), k.beta))
            else:
                kernel = partial(kernel_matrix, k.kernel, gamma=gamma)
                self._hats.append(LandmarkHat(Landmarks(points, kernel), Z, k.beta))
            self.points.append(points)
            self.gammas.append(gamma)

    def __call__(self, posterior: np.ndarray, evidence: np.ndarray) -> np.ndarray:
        """Log-probabilities of the classes."""
        parts = [left_out(hat, posterior, self._equal) for hat in self._hats]
        outputs = np.mean(parts, axis=0, dtype=float)
        self.trust: Trust = trust_features(outputs, evidence, posterior)
        return np.asarray(np.log(self.trust(outputs)))

    def coefficients(self, posterior: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each kernel: coefficients of its values at ``points``, and the intercept."""
        return [hat.coefficients(posterior.astype(hat.leverage.dtype)) for hat in self._hats]


class CrossFitted:
    """A scikit-learn classifier, fitted to the rows of other folds.

    Parameters
    ----------
    X : array of shape (m, n)
        The rows.
    estimator : classifier
        A classifier with ``predict_proba``. It gets each row once per possible class, weighted by
        its probability; if it does not accept ``sample_weight``, once with the most probable class.
    n_classes : int
        Number of classes.
    """

    def __init__(self, X: Any, estimator: Any, n_classes: int) -> None:
        self._X, self._estimator, self._n_classes = X, estimator, n_classes
        numbers = equal_rows([X])
        self._folds = folds_of(numbers, min(FOLDS, int(numbers.max()) + 1), 0)

    def __call__(self, posterior: np.ndarray, evidence: np.ndarray) -> np.ndarray:
        """Log-probabilities of the classes."""
        outputs = np.empty(posterior.shape)
        for train, test in self._folds:
            model = self.fit(posterior, train)
            outputs[test] = class_outputs(model, self._X[test], self._n_classes)
        self.trust: Trust = trust_features(outputs, evidence, posterior)
        return np.asarray(np.log(self.trust(outputs)))

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
