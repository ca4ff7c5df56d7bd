"""Models of the features beside votes. Their outputs for a training row leave out that row and
all rows equal to it, because copies of a row would confirm its votes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..exceptions import ParameterError
from ..solvers.confidence import SortedSets
from ..solvers.crowds import Trust, trust_features
from ..solvers.dual import DualModel
from ..solvers.equal_rows import equal_rows, folds_of
from ..solvers.features import Landmarks
from ..solvers.kernels import (
    distances,
    exponentiate,
    gamma_of,
    kernel_matrix,
    learn_scaling,
    rescale,
)
from ..solvers.leave_one_out import without_equal_rows
from ..solvers.primal import PrimalModel

#: Scalings and kernels. Texts need the first: words that occur once would count for most if every
#: column had the same spread.
BANK = (("none", "rbf"), ("standard", "rbf"), ("standard", "laplacian"), ("rank", "laplacian"))
BETAS = (0.01, 0.1, 1.0)
LANDMARKS = 500  # for models of many rows
FOLDS = 5
FLOOR = 1e-3  # smaller probabilities are raised to this


@dataclass(frozen=True)
class PeerKernel:
    """One kernel model.

    Attributes
    ----------
    scaling, kernel, beta : str, str, float
        The model.
    likelihood : float
        Log-likelihood of the votes, given its outputs.
    """

    scaling: str
    kernel: str
    beta: float
    likelihood: float


class KernelRidge:
    """Kernel ridge regression on class probabilities, with leave-one-out outputs in closed form.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        The rows, rescaled.
    kernel : {"rbf", "laplacian"}
        The kernel; its width is the mean distance.
    beta : float
        The regularisation β.
    n_classes : int
        Number of classes.
    landmarks : ndarray of int, default=None
        Rows that stand for all; by default the model is exact.
    D : ndarray, default=None
        ``distances(kernel, X)``, if already computed.
    equal : ndarray of int of shape (m,)
        Equal numbers for equal rows.
    """

    def __init__(
        self,
        X: np.ndarray,
        kernel: str,
        beta: float,
        n_classes: int,
        landmarks: np.ndarray | None = None,
        D: np.ndarray | None = None,
        *,
        equal: np.ndarray,
    ) -> None:
        m = len(X)
        self._sets = SortedSets(
            np.arange(m + 1) * n_classes, np.tile(np.arange(n_classes), m), n_classes, None, X.dtype
        )
        self.points = X if landmarks is None else X[landmarks]
        D = distances(kernel, self.points) if D is None else D
        self.gamma = gamma_of(kernel, "mean_distance", 1.0, self.points, D, None)
        self._map = None
        if landmarks is None:
            self._model: Any = DualModel(exponentiate(D.copy(), self.gamma), beta, self._sets)
        else:
            self._map = Landmarks(self.points, partial(kernel_matrix, kernel, gamma=self.gamma))
            self._model = PrimalModel(self._map(X), beta, self._sets)
        self._leverage = self._model.leverage()
        self._numbers = equal

    def __call__(self, posterior: np.ndarray) -> np.ndarray:
        """Outputs of each row by the model fitted to the probabilities of the others."""
        P = posterior.astype(self.points.dtype)
        Q = self._model.outputs(self._entries(P))
        return without_equal_rows(P, Q, self._leverage, self._numbers)

    def coefficients(self, posterior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of the kernel values at ``points`` (points × l), and the intercept."""
        entries = self._entries(posterior.astype(self.points.dtype))
        (A,), (b,) = self._model.coefficients(entries[None])
        return (A if self._map is None else self._map.dual(A)), b

    def _entries(self, P: np.ndarray) -> np.ndarray:
        return np.asarray(P[self._sets.rows, self._sets.columns])


class KernelPeers:
    """The mean of several kernel models, as ``class_model`` of
    :func:`~surelabel.solvers.crowds.alternate_crowd`.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        The rows.
    kernels : iterable of PeerKernel
        The models.
    n_classes : int
        Number of classes.
    landmarks : ndarray of int, default=None
        Rows that stand for all; by default the models are exact.
    equal : ndarray of int of shape (m,)
        Equal numbers for equal rows.
    """

    def __init__(
        self,
        X: np.ndarray,
        kernels: Iterable[PeerKernel],
        n_classes: int,
        landmarks: np.ndarray | None = None,
        *,
        equal: np.ndarray,
    ) -> None:
        self.kernels = list(kernels)
        self.scalings = [learn_scaling(k.scaling, X) for k in self.kernels]
        scaled = [
            rescale(k.scaling, learned, X)
            for k, learned in zip(self.kernels, self.scalings, strict=True)
        ]
        self.models = [
            KernelRidge(Z, k.kernel, k.beta, n_classes, landmarks, equal=equal)
            for k, Z in zip(self.kernels, scaled, strict=True)
        ]

    def __call__(self, posterior: np.ndarray, evidence: np.ndarray) -> np.ndarray:
        """Log-probabilities of the classes."""
        outputs = np.mean([model(posterior) for model in self.models], axis=0, dtype=float)
        self.trust: Trust = trust_features(outputs, evidence, posterior)
        return np.asarray(np.log(self.trust(outputs)))


class KernelBank:
    """All kernels with all β, to choose the β that make the votes most likely.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        The rows used for the choice.
    n_classes : int
        Number of classes.
    equal : ndarray of int of shape (m,)
        Equal numbers for equal rows.
    """

    def __init__(self, X: np.ndarray, n_classes: int, equal: np.ndarray) -> None:
        self._models = {}
        for scaling, kernel in BANK:
            Z = rescale(scaling, learn_scaling(scaling, X), X)
            D = distances(kernel, Z)
            for beta in BETAS:
                self._models[scaling, kernel, beta] = KernelRidge(
                    Z, kernel, beta, n_classes, None, D, equal=equal
                )

    def choose(self, posterior: np.ndarray, evidence: np.ndarray) -> list[PeerKernel]:
        """The kernels, each with its best β, the best first."""
        found = [
            PeerKernel(*name, trust_features(model(posterior), evidence, posterior).log_likelihood)
            for name, model in self._models.items()
        ]
        best = {(k.scaling, k.kernel): k for k in sorted(found, key=lambda k: k.likelihood)}
        return sorted(best.values(), key=lambda k: -k.likelihood)


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
