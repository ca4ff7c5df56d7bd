"""The method that learns from a table, its training data and its parameters: the same for
``clean``, ``fit``, ``compare`` and ``review``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..data.ballots import informative_rows, weighed_votes
from ..data.candidates import CandidateSets
from ..data.label_order import has_order
from ..data.labelling import Labels
from ..estimators import CrowdClassifier, Method, all_methods
from ..estimators.limits import QUICK_ROWS
from ..evaluation.protocol import chosen_parameters
from ..exceptions import CandidateError, InputError, ParameterError, shown
from ..progress import stage
from ..solvers.dawid_skene import dawid_skene, majority
from ..solvers.equal_rows import equal_rows, folds_of
from ..solvers.sparse_rows import row_max
from ..text import suggest
from .embedding import imported

#: The rows to learn from, and those left out.
Split = tuple[np.ndarray, np.ndarray]

#: The name of the method that learns from votes, or soft labels, and features together.
CROWD = "Crowd"
#: The default of the table functions; with votes, it means Crowd.
DEFAULT = "PURE"
#: Methods that look at votes alone.
VOTES_ONLY: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "majority": majority,
    "Dawid-Skene": lambda votes, n_classes: dawid_skene(votes, n_classes)[0],
}
#: Maximum number of rows to choose parameters on: below 2000, where the search uses its threads for
#: several fits at a time.
CHOOSE_ROWS = 1900

_JOINT = Method(CROWD, CrowdClassifier, {}, reference="", idea="", cost="")


# -------------------------------------------------------------------- which method


def find_method(name: str, besides: Sequence[str] = ()) -> Method:
    """The method of this name, or an error that suggests the most similar one, including the names
    in ``besides``.
    """
    known = {CROWD: _JOINT} | all_methods()
    if not isinstance(name, str) or name not in known:
        names = [*known, *besides]
        raise ParameterError(
            f"there is no method {name!r}; {suggest(name, names, 'methods', len(names))}"
        )
    return known[name]


def has_closed_form(method: Method) -> bool:
    """Whether a method has leave-one-out outputs in closed form, and so needs no folds."""
    return hasattr(method.estimator, "leave_one_out")


def joint(method: Method) -> bool:
    """Whether a method learns from votes (or soft labels) and features together: Crowd, and the
    methods that it replaces where there are votes.
    """
    return method == _JOINT or has_closed_form(method)


def votes_suffice(name: str) -> bool:
    """Whether a method of this name can do without features where there are votes."""
    return name in tuple(VOTES_ONLY) or joint(find_method(name, tuple(VOTES_ONLY)))


def by_content(X: np.ndarray, labels: Labels) -> np.ndarray:
    """The rows in an order that depends on their content alone: whatever is drawn from them is then
    the same however the table is sorted, and however its columns are scaled.
    """
    rng, equal = np.random.default_rng(0), equal_rows([X])
    first = np.unique(equal, return_index=True)[1]
    spread = np.ptp(X, axis=0)
    place = X[first] @ (rng.standard_normal(X.shape[1]) / np.where(spread > 0, spread, 1))
    given = labels.candidates.to_sparse() if labels.votes is None else labels.votes
    # The last digits of a sum depend on where its row stands.
    told = np.round(given @ rng.standard_normal(given.shape[1]), 9)
    return np.lexsort((told, place[equal]))


def by_crowd(method: Method, labels: Labels, estimator: Any = None) -> bool:
    """Whether votes and features are learned from together."""
    votes = labels.votes is not None or labels.soft or _given_several_times(labels)
    if method.name == CROWD and not votes:
        raise ParameterError(
            f"{CROWD} learns from votes or soft labels, and there are none: leave the method out"
        )
    together = votes and joint(method)
    if estimator is not None and not together:
        raise ParameterError(
            "an estimator models the features beside votes (votes, noisy): without votes, leave it "
            "out and choose a method"
        )
    return together


def _given_several_times(labels: Labels) -> bool:
    """Whether most sets of several labels say how often each was given: such numbers are votes."""
    given = labels.candidates
    several = given.sizes > 1
    if given.counts is None or labels.votes is not None or not several.any():
        return False
    uneven = row_max(given.counts, given.indptr) > -row_max(-given.counts, given.indptr)
    return bool(uneven[several].mean() > 0.5)


def order_of(method: Method, labels: Labels, *, strict: bool = True) -> dict[str, Any]:
    """The parameter ``ordered`` of a method, if labels have an order. With ``strict``, a method
    that cannot use it is an error.
    """
    if not has_order(labels.ordered):
        return {}
    if "ordered" in method.estimator().get_params():
        return {"ordered": labels.ordered}
    if strict:
        raise ParameterError(
            f"{method.name} does not use the order of labels: choose PURE or SURE, or leave the "
            "order out"
        )
    return {}


# -------------------------------------------------------------------- what it learns from


def with_gold(labels: Labels) -> CandidateSets:
    """The candidates to learn from: the informative votes, or only the gold label where it is
    known.
    """
    return with_truth(weighed_votes(labels.candidates), labels.gold)


def with_truth(candidates: CandidateSets, truth: np.ndarray) -> CandidateSets:
    """The candidates, or only the true label where its position is not -1."""
    rows = np.flatnonzero(truth >= 0)
    return with_sets(candidates, rows, truth[rows])


def with_sets(candidates: CandidateSets, rows: np.ndarray, codes: np.ndarray) -> CandidateSets:
    """The candidates, with those of some rows replaced by the classes ``codes``, one vote each."""
    if not len(rows):
        return candidates
    kept = ~np.isin(candidates.rows, rows)
    all_rows = np.concatenate([candidates.rows[kept], rows])
    order = np.argsort(all_rows, kind="stable")
    counts = candidates.counts
    if counts is not None:
        counts = np.concatenate([counts[kept], np.ones(len(rows), counts.dtype)])[order]
    return CandidateSets(
        np.concatenate([[0], np.cumsum(np.bincount(all_rows))]),
        np.concatenate([candidates.indices[kept], codes])[order],
        candidates.classes,
        counts,
    )


def sample_rows(informative: np.ndarray, max_rows: int, random_state: int) -> np.ndarray:
    """At most ``max_rows`` random rows of those that are informative, in order."""
    rows = np.flatnonzero(informative)
    if not len(rows):
        raise CandidateError(
            "every row has every class as a candidate: there is nothing to learn from"
        )
    return np.sort(np.random.default_rng(random_state).permutation(rows)[:max_rows])


# -------------------------------------------------------------------- parameters


def choose_parameters(
    method: Method, X: np.ndarray, known: CandidateSets, equal: np.ndarray, random_state: int
) -> tuple[dict[str, Any], float]:
    """The best parameters of a method by folds of the rows, and the covering rate of rows left out.

    If there are very many rows, a sample is used. Rows with equal numbers in ``equal`` are left out
    together.
    """
    rows = sample_rows(informative_rows(known), CHOOSE_ROWS, random_state)
    X, known, splits = X[rows], known[rows], folds_of_rows(equal[rows], random_state)
    # No method can use more neighbours than the folds have rows.
    grid, counts = None, method.grid.get("n_neighbors", ())
    others = max(1, min(len(train) for train, _ in splits) - 1)
    if max(counts, default=0) > others:
        grid = {**method.grid, "n_neighbors": sorted({min(k, others) for k in counts})}
    with convergence_warnings_ignored():
        found = method.make_search(grid=grid).set_params(cv=splits).fit(X, known)
    return chosen_parameters(found), float(found.best_score_)


def folds_of_rows(equal: np.ndarray, random_state: int) -> list[Split]:
    """Folds that keep equal rows together: ten for few different rows, three for very many."""
    check_different(equal)
    n = len(np.unique(equal))
    n_folds = min(10 if n < 200 else 5 if n < 50_000 else 3, n)
    return folds_of(equal, n_folds, random_state)


def check_different(equal: np.ndarray) -> None:
    """Refuse rows if nearly all of them are equal."""
    n_different = len(np.unique(equal))
    if n_different < 4:
        raise InputError(
            f"there are {n_different} different row(s) of features: too few to learn from some of "
            "them and judge the others"
        )


def convergence_warnings_ignored() -> warnings.catch_warnings[None]:
    """Ignore warnings about fits that do not converge, at a bad point of a grid or on some of the
    rows: users can do nothing about them.
    """
    return warnings.catch_warnings(action="ignore", category=ConvergenceWarning)


# -------------------------------------------------------------------- fitted models


@dataclass(frozen=True)
class FittedMethod:
    """A model of a table, and how it was found.

    Attributes
    ----------
    method : str
        The name of the method.
    model : estimator
        Fitted to all rows.
    parameters : dict
        The kernels or parameters that were chosen.
    covering_rate : float
        Share of left-out rows whose most probable label is among their candidates; NaN if every
        label always is, as with soft labels.
    proba : ndarray of shape (m, l) or None
        Probabilities of the rows by models that did not learn from them, where they have a closed
        form.
    """

    method: str
    model: Any
    parameters: dict[str, Any]
    covering_rate: float
    proba: np.ndarray | None = None


def fit_method(
    name: str,
    X: np.ndarray,
    labels: Labels,
    equal: np.ndarray,
    *,
    random_state: int = 0,
    estimator: Any = None,
    like: FittedMethod | None = None,
    verbose: bool = False,
) -> FittedMethod:
    """Learn from a table, and choose kernels or parameters by it; where there are votes or soft
    labels, PURE means Crowd.

    Rows with equal numbers in ``equal`` are left out together. ``estimator`` is the model of the
    features beside votes (:func:`fit_crowd`). With an earlier fit ``like``, its kernels or
    parameters are used instead of choosing anew: after answers, every verb uses those of the table
    before any answer, so that all find the same labels. Crowd has nothing to choose.
    """
    method = find_method(name, besides=tuple(VOTES_ONLY))
    if by_crowd(method, labels, estimator) if like is None else like.method == CROWD:
        with stage("fit", verbose=verbose):
            crowd = fit_crowd(X, labels, random_state, estimator)
        known = with_truth(labels.candidates, labels.gold)
        rate = covered_share(crowd.loo_proba_, known)
        return FittedMethod(CROWD, crowd, chosen_kernels(crowd), rate, crowd.loo_proba_)
    known, large = with_gold(labels), dict(method.many_rows) if len(X) > QUICK_ROWS else {}
    order = order_of(method, labels)
    if has_closed_form(method):
        check_different(equal)
        with stage("fit", verbose=verbose):
            learn = method.estimator(**large | order).fit if like is None else like.model.refit
            model = learn(X, known)
        with stage("judge rows", verbose=verbose):
            proba = left_out_proba(model, X, equal)
        rate = covered_share(proba, known)
        return FittedMethod(name, model, large | chosen_kernels(model), rate, proba)
    with stage("choose parameters", verbose=verbose):
        chosen, rate = (
            choose_parameters(method, X, known, equal, random_state)
            if like is None
            else (like.parameters, like.covering_rate)
        )
    with stage("fit", verbose=verbose):
        model = method.estimator(**chosen | large | order).fit(X, known)
    return FittedMethod(name, model, chosen | large, rate)


def fit_crowd(
    X: np.ndarray, labels: Labels, random_state: int, estimator: Any = None
) -> CrowdClassifier:
    """Learn from votes and features together, or from votes alone where there are no features.

    ``estimator`` is the model of the features, a classifier with ``predict_proba`` or its
    ``"module:name"``. If it takes a seed and has none, it gets ours.
    """
    if estimator is not None:
        estimator = imported("estimator", estimator)
        if not hasattr(estimator, "predict_proba") or not hasattr(estimator, "get_params"):
            raise ParameterError(
                f"estimator {shown(estimator)} is not a scikit-learn classifier with predict_proba"
            )
        if estimator.get_params().get("random_state", 0) is None:
            estimator = clone(estimator).set_params(random_state=random_state)
    classes = labels.candidates.classes.tolist()
    gold = [None if code < 0 else classes[code] for code in labels.gold.tolist()]
    model = CrowdClassifier(estimator, random_state=random_state, ordered=labels.ordered)
    return model.fit(X if X.shape[1] else None, labels.candidates, known=gold)


def left_out_proba(model: Any, X: np.ndarray, equal: np.ndarray) -> np.ndarray:
    """Probabilities of the rows that a model was fitted to, each by the model without that row and
    those with equal numbers in ``equal``.
    """
    outputs = getattr(model, "loo_decision_", None)
    outputs = model.leave_one_out(X, equal) if outputs is None else outputs
    return np.asarray(softmax((model.scale_ * outputs).astype(np.float32), axis=1))


def covered_share(proba: np.ndarray, known: CandidateSets) -> float:
    """Share of rows whose most probable label is a candidate; NaN where every label always is, as
    with soft labels.
    """
    if np.all(known.sizes == known.shape[1]):
        return float("nan")
    return float(np.mean(known.contains(known.classes[proba.argmax(axis=1)])))


def chosen_kernels(model: Any) -> dict[str, Any]:
    """The kernels that a model chose by itself, or the estimator that it was given; nothing where
    there are no features.
    """
    if getattr(model, "estimator", None) is not None:
        return {"estimator": type(model.estimator).__name__}
    kernels = [f"{part['scaling']} {part['kernel']} β={part['beta']:g}" for part in model.kernels_]
    return {"kernels": kernels} if kernels else {}
