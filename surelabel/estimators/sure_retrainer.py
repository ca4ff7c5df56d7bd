"""Eq. 1 of the SURE paper around any scikit-learn model."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import has_fit_parameter

from ..data.candidates import CandidateSets
from ..exceptions import InputError, ParameterError
from ..solvers.confidence import SortedSets
from ..solvers.equal_rows import equal_rows, folds_of
from ..solvers.leave_one_out import class_shares, next_shift, peer_confidence, shift_likelihood
from ._base import WeightedPartialLabelClassifier, check_learnable
from .kernel import probabilities
from .sure import LAM


@dataclass(eq=False, repr=False)
class SURERetrainer(WeightedPartialLabelClassifier):
    """Self-guided retraining of any scikit-learn model (eq. 1).

    Alternates "fit the model to the confidences" with a confidence step. A regressor is fitted to
    the matrix of confidences ``P``; a classifier to every candidate as an example weighted by its
    confidence, and its ``predict_proba`` is the output. For models other than regularised least
    squares, there is no guarantee that the confidences converge. They start at ``Y / |S|``.

    Parameters
    ----------
    estimator : scikit-learn regressor or classifier, default=None
        The model. A regressor with a single output is fitted once per class; a classifier needs
        ``predict_proba`` and a ``fit`` that accepts ``sample_weight``. A model without scikit-learn
        tags, such as a network with ``fit(X, P)`` and ``predict(X)``, is treated as a regressor
        with one output per class; ``P`` has the precision of ``X``. By default ridge regression,
        which gives the linear SURE.
    lam : float, default=0.3
        The weight λ of the infinity norm; without effect on cross-fitted models.
    cross_fit : int, "auto" or None, default="auto"
        Number of folds: each row is judged by a model of the other folds instead of a model that
        was fitted to its own confidence, and the confidence step is that of
        :class:`PUREClassifier`. Rows with equal features are in the same fold. Each iteration takes
        that many fits. None is the paper's method: one fit to all rows, and SURE's confidence step
        (eq. 10). "auto" is None for least squares (``Ridge``, ``LinearRegression``,
        ``KernelRidge``, also at the end of a pipeline) and 5 for all others, because a flexible
        model, such as a forest, repeats what it was fitted to.
    max_iter : int, default=20
        Maximum number of refits.
    tol : float, default=1e-3
        Stop when ``‖ΔP‖_F / √m`` falls to this.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The label space.
    estimator_ : estimator
        The model after the last fit.
    confidence_ : csr_array of shape (m, l)
        Confidence of each candidate of the training rows.
    transduction_ : ndarray of shape (m,)
        The most confident candidate of each training row.
    n_iter_ : int
        Number of refits.
    converged_ : bool
        Whether the change fell to ``tol``.
    delta_path_ : ndarray of shape (n_iter_,)
        ``‖ΔP‖_F / √m`` of each iteration.
    prior_shift_ : float
        For cross-fitted models: ``g``, as in :class:`PUREClassifier`.

    References
    ----------
    L. Feng and B. An. Partial label learning with self-guided retraining. AAAI 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from surelabel import SURERetrainer, make_partial
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0)
    >>> model = SURERetrainer(forest).fit(X, make_partial(y, p=0.8, r=1, random_state=0))
    >>> model.score(X, y) > 0.9
    True
    """

    estimator: BaseEstimator | None = None
    _: KW_ONLY
    lam: float = 0.3
    cross_fit: int | str | None = "auto"
    max_iter: int = 20
    tol: float = 1e-3

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "lam": LAM,
        "cross_fit": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"}), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        model = self._model()
        tags.input_tags.sparse = _has_tags(model) and get_tags(model).input_tags.sparse
        return tags

    def _model(self) -> Any:
        return Ridge() if self.estimator is None else self.estimator

    def _fit(self, X: Any, candidates: CandidateSets, weight: np.ndarray | None) -> np.ndarray:
        check_learnable(candidates)
        model = self._model()
        if isinstance(model, type):
            raise ParameterError(
                f"estimator is the class {model.__name__}: pass an instance, {model.__name__}(...)"
            )
        weighted = has_fit_parameter(model, "sample_weight")
        if _classifies(model) and not (weighted and hasattr(model, "predict_proba")):
            raise ParameterError(
                f"{type(model).__name__} cannot be retrained: a classifier needs predict_proba and "
                "a fit that takes sample_weight"
            )
        if weight is not None and not weighted:
            raise ParameterError(
                f"{type(model).__name__} does not take sample_weight: fit without weights, or "
                "choose another model"
            )
        sets = SortedSets(
            candidates.indptr, candidates.indices, candidates.shape[1], weight, X.dtype
        )
        folds = self._folds(X)
        p = sets.initial("uniform", 1)[0]
        path: list[float] = []
        following = 1.0  # g of the next step
        while len(path) < self.max_iter and (not path or path[-1] > self.tol):
            if folds:
                self.prior_shift_ = following
                new, likelihood = self._peer_step(X, candidates, sets, p, weight, folds)
                following = next_shift(likelihood, following, len(path) + 1)
            else:
                self.estimator_ = self._fitted(X, candidates, sets.all_entries(p), weight)
                q = self._at_candidates(self._outputs(X), candidates, sets)
                new = sets.project(q[None], np.array([self.lam], X.dtype))[0]
            path.append(float(np.sqrt((new - p) ** 2 @ sets.entry_weight / sets.total_weight)))
            p = new
        if folds:
            self.estimator_ = self._fitted(X, candidates, sets.all_entries(p), weight)
        self.n_iter_, self.delta_path_ = len(path), np.array(path)
        self.converged_ = path[-1] <= self.tol
        if not self.converged_:
            warnings.warn(
                f"SURERetrainer stopped after max_iter={self.max_iter} refits with a change of "
                f"{path[-1]:.2g}, above tol={self.tol:g}",
                ConvergenceWarning,
                stacklevel=3,
            )
        return sets.all_entries(p)

    def _folds(self, X: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        """The folds of cross-fitted models, with equal rows in the same one; none for others."""
        n_folds = self.cross_fit or 0
        if n_folds == "auto":
            model = self._model()
            last = model[-1] if isinstance(model, Pipeline) else model
            n_folds = 0 if isinstance(last, LinearRegression | Ridge | KernelRidge) else 5
        if not n_folds:
            return []
        numbers = equal_rows([X])
        different = int(numbers.max()) + 1
        if different < 2:
            raise InputError(
                "all rows of X are equal, so no other row can judge them: use cross_fit=None"
            )
        return folds_of(numbers, min(int(n_folds), different), 0)

    def _peer_step(
        self,
        X: Any,
        candidates: CandidateSets,
        sets: SortedSets,
        p: np.ndarray,
        weight: np.ndarray | None,
        folds: list[tuple[np.ndarray, np.ndarray]],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Confidences by PURE's step, from outputs of models that did not see the row, and the
        likelihood of every ``g``.
        """
        confidence = sparse.csr_array(
            (sets.all_entries(p), candidates.indices, candidates.indptr), shape=candidates.shape
        )
        outputs = np.empty(candidates.shape)
        for train, test in folds:
            known, own = candidates[train], None if weight is None else weight[train]
            model = self._fitted(X[train], known, confidence[train].data, own)
            outputs[test] = self._outputs_of(model, X[test])
        q = self._at_candidates(outputs, candidates, sets)
        mass = confidence.T @ (np.ones(len(candidates)) if weight is None else weight)
        mean = class_shares(mass, sets.total_weight)
        confidences = peer_confidence(sets, q, mean, self.prior_shift_)
        return confidences, shift_likelihood(sets, q, mean)

    def _at_candidates(
        self, outputs: np.ndarray, candidates: CandidateSets, sets: SortedSets
    ) -> np.ndarray:
        """Outputs at the entries of ambiguous rows."""
        values = outputs[candidates.rows, candidates.indices]
        return sets.ambiguous_entries(values).astype(sets.weight.dtype)

    def _fitted(
        self, X: Any, candidates: CandidateSets, confidence: np.ndarray, weight: np.ndarray | None
    ) -> Any:
        """The model, fitted to the confidences."""
        model = clone(self._model(), safe=False)  # a model without get_params is copied
        if _classifies(model):
            taken = np.flatnonzero(confidence)
            rows = candidates.rows[taken]
            strength = confidence[taken] if weight is None else confidence[taken] * weight[rows]
            return model.fit(X[rows], candidates.indices[taken], sample_weight=strength)
        P = sparse.csr_array(
            (confidence, candidates.indices, candidates.indptr), shape=candidates.shape
        ).toarray()
        given = {} if weight is None else {"sample_weight": weight}
        several = not _has_tags(model) or get_tags(model).target_tags.multi_output
        try:
            return model.fit(X, P, **given)
        except (TypeError, ValueError):
            # Networks accept a matrix without declaring it; other models with one output refuse it.
            if several:
                raise
        return MultiOutputRegressor(clone(self._model())).fit(X, P, **given)

    def _outputs(self, X: Any) -> np.ndarray:
        return self._outputs_of(self.estimator_, X)

    def _outputs_of(self, model: Any, X: Any) -> np.ndarray:
        """The outputs of a model; an error if there is not a finite one for each row and class."""
        shape = (X.shape[0], len(self.classes_))
        if _classifies(model):
            outputs = np.zeros(shape)
            outputs[:, model.classes_] = model.predict_proba(X)
            return outputs
        outputs = np.asarray(model.predict(X))
        if outputs.shape != shape:
            raise ParameterError(
                f"{type(model).__name__} predicts an array of shape {outputs.shape}, expected "
                f"{shape}: it must be a regressor with one output per class"
            )
        if not np.isfinite(outputs).all():
            raise ParameterError(
                f"{type(model).__name__} predicts NaN or infinity: it has diverged; scale the "
                "features, or let it learn more slowly"
            )
        return outputs

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return (
            super()._probabilities(scores)
            if _classifies(self.estimator_)
            else probabilities(scores)
        )


def _has_tags(model: Any) -> bool:
    """Whether a model has scikit-learn tags, which say what it is."""
    return hasattr(model, "__sklearn_tags__")


def _classifies(model: Any) -> bool:
    return _has_tags(model) and is_classifier(model)
