"""The base classes of all partial-label classifiers: validation before ``_fit``, and the
scikit-learn interface after it.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import gen_batches, get_tags
from sklearn.utils._param_validation import Interval, InvalidParameterError
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data.ballots import informative_rows, weighed_votes
from ..data.candidates import CandidateSets, as_candidates
from ..data.finite import check_finite, check_not_vanishing, finite_blocks
from ..data.rows import Rows
from ..evaluation.metrics import covering_rate, row_weights
from ..exceptions import (
    CandidateError,
    InputError,
    InputTypeError,
    MemoryNeedError,
    NumericalError,
    ParameterError,
    first_few,
)
from ..solvers.memory import available_memory, block_rows
from ..solvers.sparse_rows import row_argmax, row_normalise
from ..solvers.threads import blas_threads

#: The values of a parameter ``n_jobs``: -1 means one per core, as in scikit-learn.
N_JOBS = [
    Interval(Integral, 1, None, closed="left"),
    Interval(Integral, None, -1, closed="right"),
    None,
]


class PartialLabelClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base class of the classifiers that learn from candidate labels.

    A method implements two hooks:

    ``_fit(X, candidates) -> confidence``
        Learn, store the fitted attributes, and return the confidence of every candidate entry
        (aligned with ``candidates.indices``, each row on the probability simplex).
    ``_outputs(X) -> ndarray of shape (n, l)``
        Scores of new instances, one column per class; the largest is the prediction. Called with a
        block of rows at a time, to limit the memory that rows need (``_width`` numbers each).

    and overrides ``_probabilities`` if it has better probabilities than normalised positive scores.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    classes_: np.ndarray
    confidence_: sparse.csr_array
    transduction_: np.ndarray

    # ---------------------------------------------------------------- fit

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from instances and their candidate labels.

        Parameters
        ----------
        X : array-like of shape (m, n)
            The instances.
        y : CandidateSets or any form that :func:`surelabel.as_candidates` accepts
            The candidate labels of each instance.

        Returns
        -------
        self
        """
        X, candidates = self._validate_fit(X, y)
        with blas_threads(X.shape[0]):
            self._set_confidence(candidates, self._fit(X, candidates))
        return self

    @abstractmethod
    def _fit(self, *args: Any, **kwargs: Any) -> np.ndarray: ...

    @abstractmethod
    def _outputs(self, X: Any) -> np.ndarray: ...

    def _validate_fit(
        self, X: Any, y: Any, *, all_votes: bool = False
    ) -> tuple[Any, CandidateSets]:
        """Instances and candidates; of votes only the informative ones, if not ``all_votes``."""
        self._check_parameters()
        if y is None:
            raise CandidateError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        X = self._validate_X(X, reset=True)
        candidates = as_candidates(y)
        if len(candidates) != X.shape[0]:
            raise CandidateError(
                f"X has {X.shape[0]} rows but y has {len(candidates)}: they must be the same "
                "instances"
            )
        self.classes_ = candidates.classes
        return X, candidates if all_votes else weighed_votes(candidates)

    def _check_parameters(self) -> None:
        try:
            self._validate_params()
        except InvalidParameterError as error:
            raise ParameterError(_one_line(error)) from None
        for name, value in self.get_params(deep=False).items():
            allowed = self._parameter_constraints.get(name, [])
            if isinstance(value, bool) and not any(
                isinstance(kind, str) and kind in ("boolean", "verbose") for kind in allowed
            ):
                raise ParameterError(
                    f"the {name!r} parameter of {type(self).__name__} must be a number, not {value}"
                )
            if isinstance(value, int) and abs(value) >= 2**63:
                raise ParameterError(
                    f"the {name!r} parameter of {type(self).__name__} is a whole number of more "
                    "than 64 bits; write it as a float, or use a smaller one"
                )

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        tags = self.__sklearn_tags__().input_tags
        try:
            X = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr" if tags.sparse else False,
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
                ensure_min_samples=2 if reset else 1,
            )
        except TypeError as error:
            kind = InputError if sparse.issparse(X) else InputTypeError
            raise kind(_one_line(error)) from None
        except (ValueError, OverflowError) as error:
            raise InputError(_one_line(error)) from None
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # X may belong to the caller
            X.sum_duplicates()
        check_finite(X)
        if reset:
            check_not_vanishing(X)
            if tags.pairwise and X.shape[0] != X.shape[1]:
                raise InputError(
                    f"a precomputed kernel needs a square kernel matrix at fit, not {X.shape[0]} × "
                    f"{X.shape[1]}"
                )
        return X

    def _set_confidence(self, candidates: CandidateSets, confidence: np.ndarray) -> None:
        self.confidence_ = sparse.csr_array(
            (confidence, candidates.indices, candidates.indptr), shape=candidates.shape, copy=True
        )
        best = row_argmax(confidence, candidates.indptr)
        self.transduction_ = self.classes_[candidates.indices[best]]

    # ---------------------------------------------------------------- predict

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._validate_X(X, reset=False)

    def _scores(self, X: Any) -> np.ndarray:
        """Outputs of all instances, which must have been validated."""
        with blas_threads(X.shape[0]):
            return np.concatenate([_numbers(scores) for scores in self._output_blocks(X)])

    def _output_blocks(self, X: Any) -> Iterator[np.ndarray]:
        """Outputs of all instances in order, a block of rows at a time."""
        return map(self._outputs, self._row_blocks(X))

    def _row_blocks(self, X: Any) -> Iterator[Any]:
        step = block_rows(self._width())
        if isinstance(X, Rows):
            return finite_blocks(X, step)
        if X.shape[0] <= step:
            return iter([X])
        return (X[rows] for rows in gen_batches(X.shape[0], step))

    def _width(self) -> int:
        """How many numbers it takes to compute the outputs of one row."""
        return max(int(self.n_features_in_), len(self.classes_))

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n)
            The instances.

        Returns
        -------
        ndarray of shape (n_samples, l), or (n_samples,) for two classes
            As in scikit-learn; with two classes, the score of the second minus that of the first.
        """
        scores = self._scores(self._checked(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The most likely label of each instance (ties go to the first class).

        The scores of a block of rows are dropped once its labels are known, so memory does not grow
        with the number of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n)
            The instances.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._chosen_by(lambda scores: scores.argmax(axis=1), X)

    def _chosen_by(self, rule: Callable[[np.ndarray], np.ndarray], X: Any) -> np.ndarray:
        """The labels whose positions a rule finds in the scores."""
        X = self._checked(X)
        with blas_threads(X.shape[0]):
            best = [rule(_numbers(scores)) for scores in self._output_blocks(X)]
        return np.asarray(self.classes_[np.concatenate(best)])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes; their arg max is ``predict``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n)
            The instances.

        Returns
        -------
        ndarray of shape (n_samples, l)
        """
        return _numbers(self._probabilities(self._scores(self._checked(X))))

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Positive part of the scores, normalised; without a positive score, the classes with the
        largest score share the probability evenly.
        """
        positive = np.maximum(scores, 0)
        none = positive.sum(axis=1) <= 0
        positive[none] = scores[none] == scores[none].max(axis=1, keepdims=True)
        return np.asarray(positive / positive.sum(axis=1, keepdims=True))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of instances whose prediction is among their candidates.

        With one label per instance this is plain accuracy; with candidate sets it is the covering
        rate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n)
            The instances.
        y : labels, or candidates in any form
            The true labels, or the candidates.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the instances.

        Returns
        -------
        float
        """
        # The columns of a bare matrix have no names: they are the classes in order.
        bare = (
            not hasattr(y, "columns")
            and len(getattr(y, "shape", ())) == 2
            and not isinstance(y, CandidateSets)
        )
        if bare and y.shape[1] == len(self.classes_):
            y = as_candidates(y, classes=self.classes_)
        return covering_rate(y, self.predict(X), sample_weight=sample_weight)


class WeightedPartialLabelClassifier(PartialLabelClassifier):
    """A partial-label classifier whose instances may carry weights: ``_fit(X, candidates,
    weight)``.

    A weight counts as that many copies of the row. Rows of weight 0 take no part in learning
    (``support_`` lists the others); they still get a confidence, from the fitted model.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from instances and their candidate labels.

        Parameters
        ----------
        X : array-like of shape (m, n)
            The instances.
        y : CandidateSets or any form that :func:`surelabel.as_candidates` accepts
            The candidate labels of each instance.
        sample_weight : array-like of shape (m,), default=None
            Weights of the instances, 0 or more.

        Returns
        -------
        self
        """
        X, candidates = self._validate_fit(X, y)
        self._learn(X, candidates, sample_weight)
        return self

    def _learn(
        self, X: Any, candidates: CandidateSets, sample_weight: Any, *by_row: np.ndarray | None
    ) -> None:
        """Learn from the rows of positive weight; ``by_row`` are further arguments of ``_fit``, per
        row or None.
        """
        weight, used = check_weight(sample_weight, X)
        self.support_ = np.flatnonzero(used)
        learned = used[candidates.rows]
        with blas_threads(X.shape[0]):
            if used.all() or isinstance(X, Rows):  # out of core, all rows go through the passes
                confidence = self._fit(X, candidates, weight, *by_row)
            else:
                pairwise = self.__sklearn_tags__().input_tags.pairwise
                confidence = np.empty(len(candidates.indices), X.dtype)
                confidence[learned] = self._fit(
                    X[np.ix_(used, used)] if pairwise else X[used],
                    candidates[used],
                    weight[used],
                    *(None if values is None else values[used] for values in by_row),
                )
            if not used.all():
                confidence[~learned] = self._confidence_of_some(X, candidates, ~used)
            self._set_confidence(candidates, confidence)

    def _confidence_of_some(
        self, X: Any, candidates: CandidateSets, wanted: np.ndarray
    ) -> np.ndarray:
        """As :meth:`_confidence_of`, for some of the rows, which may be read in blocks."""
        step = block_rows(max(X.shape[1], candidates.shape[1]))
        start, parts = 0, []
        for block in X.blocks(step) if isinstance(X, Rows) else [X]:
            here = np.flatnonzero(wanted[start : start + block.shape[0]])
            if len(here):
                parts.append(self._confidence_of(block[here], candidates[start + here]))
            start += block.shape[0]
        return np.concatenate(parts)

    def _confidence_of(self, X: Any, candidates: CandidateSets) -> np.ndarray:
        """Confidence of rows that were not learned from: the model's probabilities, renormalised
        over the candidates.
        """
        proba = self._probabilities(self._scores(X))[candidates.rows, candidates.indices]
        return row_normalise(proba, candidates.indptr)


def check_rows(model: Any, rows: Rows, *, reset: bool) -> None:
    """Check rows that are not in memory as scikit-learn checks an array: number of rows, number of
    columns and column names.
    """
    if min(rows.shape) < 1 or (reset and rows.shape[0] < 2):
        raise InputError(
            f"X has {rows.shape[0]} sample(s) and {rows.shape[1]} feature(s): there is nothing to "
            "learn or predict"
        )
    names = getattr(rows, "columns", None)
    if reset:
        model.n_features_in_ = rows.shape[1]
        vars(model).pop("feature_names_in_", None)
        if names is not None:
            model.feature_names_in_ = np.array(names, dtype=object)
    elif rows.shape[1] != model.n_features_in_:
        raise InputError(
            f"X has {rows.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_}"
        )
    elif names is not None and names != list(getattr(model, "feature_names_in_", names)):
        raise InputError(
            f"X has the feature names {first_few(names)}, but those at fit were "
            f"{first_few(model.feature_names_in_)}: choose and order the columns as at fit"
        )


def check_learnable(candidates: CandidateSets, *, votes: bool = False) -> None:
    """Refuse candidates from which nothing can be learned; ``votes`` says whether the method also
    learns from vote counts.
    """
    if candidates.shape[1] < 2:
        raise CandidateError(
            f"there is only one class ({candidates.classes.tolist()[0]!r}): a classifier needs "
            "more than one class to tell apart"
        )
    if np.all(candidates.sizes == candidates.shape[1]):
        differ = informative_rows(candidates).any()
        if not (votes and differ):
            raise CandidateError(
                "every row has every class as a candidate: there is nothing to learn from"
                + (
                    " except their shares, which CrowdClassifier, PUREClassifier and "
                    "SUREClassifier (prior above 0) use"
                    if differ
                    else ""
                )
            )


def _numbers(outputs: np.ndarray) -> np.ndarray:
    """The outputs, if none is NaN or +inf; -inf marks a class that is impossible."""
    if np.isnan(outputs).any() or (outputs == np.inf).any():
        raise NumericalError(
            "the outputs of the model are not numbers: its coefficients, or the instances, are too "
            "large; scale the features and fit it again"
        )
    return outputs


def _one_line(error: Exception) -> str:
    """The message of an error of scikit-learn or NumPy, without line breaks."""
    return " ".join(str(error).split())


def check_inner(estimator: BaseEstimator | None) -> None:
    """Refuse an inner classifier that takes kernel values or distances, because it is fitted to a
    selection of rows.
    """
    if hasattr(estimator, "__sklearn_tags__") and get_tags(estimator).input_tags.pairwise:
        raise ParameterError(
            f"{type(estimator).__name__} expects a matrix of kernel values or distances "
            "(precomputed), but gets features here: choose a kernel or a metric by name"
        )


def require_memory(what: str, need: float, advice: str) -> None:
    """Refuse a computation (``what``, such as "an exact kernel fit of 100000 rows") whose peak
    memory in bytes is not free, before it starts; ``advice`` says what to do instead.
    """
    available = available_memory()
    if available is not None and need > available:
        raise MemoryNeedError(
            f"{what} needs about {need / 2**30:.1f} GiB of memory, but {available / 2**30:.1f} GiB "
            f"are free; {advice}"
        )


def check_weight(sample_weight: Any, X: Any) -> tuple[Any, np.ndarray]:
    """Weights as an array of X's type (None if all are equal), and the mask of the rows with a
    positive weight.
    """
    m = X.shape[0]
    if sample_weight is None:
        return None, np.ones(m, bool)
    with suppress(TypeError, ValueError):
        if np.ndim(sample_weight) == 0:
            sample_weight = np.full(m, sample_weight)
    weight = row_weights(sample_weight, m, X.dtype)
    used = weight > 0
    if np.count_nonzero(used) < 2:
        raise InputError(
            "fewer than two rows have a weight above zero: there is nothing to learn from"
        )
    limits = np.finfo(weight.dtype)
    extreme = used & ((weight < np.sqrt(limits.tiny)) | (weight > np.sqrt(limits.max) / m))
    if extreme.any():
        rows = np.flatnonzero(extreme)
        raise InputError(
            f"sample_weight holds {weight[rows[0]]:.2g}, whose square overflows or underflows in "
            f"{weight.dtype}; see row {first_few(rows)}: divide the weights by their mean, and set "
            "negligible ones to 0"
        )
    return weight, used
