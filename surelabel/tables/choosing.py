"""Choose a label for every row, by a model that did not learn from it and by what is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from ..data.candidates import CandidateSets
from ..data.labelling import Labels
from ..estimators import CrowdClassifier, Method, SUREClassifier
from ..evaluation.metrics import expected_calibration_error
from ..exceptions import InputError, ParameterError
from ..progress import stage, track
from ..solvers.crowds import Tally, alternate_crowd, merge_copies, trust_features
from ..solvers.equal_rows import equal_rows
from ..solvers.sparse_rows import row_max
from ..text import percent
from .annotators import AnnotatorAgreement, annotator_agreement
from .calibration import Prior
from .duplicates import conflicts
from .judging import Judgement, judge_sets, judge_votes
from .methods import (
    CROWD,
    DEFAULT,
    VOTES_ONLY,
    Split,
    by_crowd,
    check_different,
    choose_parameters,
    chosen_kernels,
    convergence_warnings_ignored,
    covered_share,
    find_method,
    fit_crowd,
    has_closed_form,
    large_parameters,
    left_out_proba,
    make_folds,
    with_gold,
)
from .status import LOOK, Decision, decide


@dataclass(frozen=True)
class FeaturesRole:
    """What the features did beside votes.

    Attributes
    ----------
    sharpness, failure : float
        ``t`` and ``ε`` of :mod:`surelabel.solvers.crowds`.
    n_changed : int
        Number of labels that differ from those of the votes alone.
    share : float
        ``n_changed`` as a share of all rows.
    """

    sharpness: float
    failure: float
    n_changed: int
    share: float

    @property
    def word(self) -> str:
        """Of no use if they change no label, decisive if they change more than one in ten."""
        if not self.n_changed:
            return "of no use"
        return "decisive" if self.share > 0.1 else "helpful"

    def sentence(self) -> str:
        """The same in words."""
        found = f"t = {self.sharpness:.3g}, ε = {self.failure:g}"
        if not self.n_changed:
            return f"{self.word}: the votes alone give the same labels ({found})"
        return (
            f"{self.word}: they change {self.n_changed:,} of the labels that the votes alone would "
            f"give ({percent(self.share)}; {found})"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class ChosenLabels(Decision):
    """The labels of all rows, how sure they are, and how they were found; arrays have one entry per
    row.

    Attributes
    ----------
    duplicate : ndarray of int
        The number of the row's group, if rows with equal features have different candidates;
        otherwise -1.
    proba : ndarray of shape (m, l), float32
        Probabilities of all classes from the features alone, by models that did not
        learn from the row.
    gold_error : float or None
        Share of gold rows on which the choice among the candidates, made without knowing gold, is
        wrong.
    gold_ece : float or None
        Expected calibration error of the confidence on the gold rows, also without knowing gold.
    n_gold : int
        Number of gold rows.
    gold_confidence, gold_right, gold_score : ndarray of shape (n_gold,)
        For the gold rows, in their order: the confidence of the choice, whether it was right, and
        what the confidence is made of.
    annotators : list of AnnotatorAgreement
        Empty where the labels are not votes.
    score, prior : ndarray of float, Prior
        What the confidence is made of; see :mod:`surelabel.tables.calibration`.
    features_role : FeaturesRole or None
        What the features did beside votes; None without votes or without features.
    objective_path, delta_path : ndarray
        Convergence of the final model; empty for methods that have none.
    seconds : dict of str to float
        Time by stage.
    classifier : estimator
        The fitted classifier, on ``X``.
    method : str
        Its name.
    parameters : dict
        The parameters chosen.
    cv_score : float
        Covering rate of the left-out rows at these parameters; NaN if every label is always a
        candidate, as with soft labels.
    """

    duplicate: np.ndarray
    proba: np.ndarray
    gold_error: float | None
    gold_ece: float | None
    n_gold: int
    gold_confidence: np.ndarray
    gold_right: np.ndarray
    gold_score: np.ndarray
    annotators: list[AnnotatorAgreement]
    score: np.ndarray
    prior: Prior
    features_role: FeaturesRole | None
    objective_path: np.ndarray
    delta_path: np.ndarray
    seconds: dict[str, float]
    classifier: Any
    method: str
    parameters: dict[str, Any]
    cv_score: float


def choose_labels(
    X: Any,
    labels: Labels,
    *,
    method: str = DEFAULT,
    max_error: float = 0.1,
    random_state: int = 0,
    verbose: bool = False,
    groups: np.ndarray | None = None,
    estimator: Any = None,
) -> ChosenLabels:
    """Choose a label for every row, and say how sure it is.

    Every row is judged by a model that did not learn from it (:mod:`surelabel.tables.judging`);
    rows with equal features are always left out together. PURE has such models in closed form. For
    other methods, parameters are chosen by cross-validation on candidates, and folds are left out.
    The final model learns from all rows.

    Parameters
    ----------
    X : array-like of shape (m, n)
        The instances.
    labels : Labels
        What is known about their labels.
    method : str, default="PURE"
        A name in :func:`surelabel.all_methods`, or with votes "Crowd", "majority" or "Dawid-Skene".
    max_error : float, default=0.1
        Keep labels whose estimated error is at most this.
    random_state : int, default=0
        Seed.
    verbose : bool, default=False
        Show a progress bar.
    groups : ndarray of shape (m,), default=None
        Equal numbers for instances that are equal; by default those of equal rows of X.
    estimator : classifier or "module:name", default=None
        The model of the features, where the labels are votes; see :func:`fit_crowd`.

    Returns
    -------
    ChosenLabels
    """
    X = _check(X, labels, max_error)
    if _given_several_times(labels):
        labels = replace(labels, soft=True)
    seconds: dict[str, float] = {}
    if groups is None:
        groups = equal_rows([X]) if X.shape[1] else np.arange(len(X))
    if method in tuple(VOTES_ONLY):
        left_out, found = _by_votes_only(method, labels, random_state, estimator, seconds)
    elif by_crowd(spec := find_method(method, besides=tuple(VOTES_ONLY)), labels, estimator):
        method = CROWD
        with stage("fit", seconds, verbose=verbose):
            model = fit_crowd(X, labels, random_state, estimator)
            left_out = _left_out_by_crowd(model, with_gold(labels))
            found = judge_votes(
                model.blind_proba_, model.loo_proba_, labels, confirmed=model.confirmed_
            )
    else:
        judged = _by_closed_form if has_closed_form(spec) else _by_folds
        left_out = judged(
            spec,
            X,
            labels,
            with_gold(labels),
            groups,
            random_state=random_state,
            seconds=seconds,
            verbose=verbose,
        )
        with stage("calibrate", seconds, verbose=verbose):
            found = _beside_votes(left_out.proba, labels) or judge_sets(
                left_out.proba, left_out.even, labels
            )
    remarks: dict[str, str] = {}
    if labels.votes is not None:
        crowd = left_out.model
        if not isinstance(crowd, CrowdClassifier):  # what the votes alone say of the annotators
            crowd = fit_crowd(X[:, :0], labels, random_state)
        remarks = {person.name: person.remark for person in crowd.annotators_}
    return _chosen(
        found,
        labels,
        remarks=remarks,
        max_error=max_error,
        features_role=_features_role(left_out.model),
        duplicate=conflicts(groups, labels.candidates),
        objective_path=getattr(left_out.model, "objective_path_", np.empty(0)),
        delta_path=getattr(left_out.model, "delta_path_", np.empty(0)),
        seconds=seconds,
        classifier=left_out.model,
        method=method,
        parameters=left_out.parameters,
        cv_score=left_out.covering_rate,
    )


def _by_votes_only(
    method: str, labels: Labels, random_state: int, estimator: Any, seconds: dict[str, float]
) -> tuple[_LeftOut, Judgement]:
    """Judge the labels of a method that looks at votes alone; how sure they are is what the model
    of the annotators says.
    """
    if labels.votes is None or estimator is not None:
        raise ParameterError(
            f"{method} goes by the votes of known annotators alone: name them (votes), and give no "
            "estimator"
        )
    with stage("fit", seconds, verbose=False):
        model = fit_crowd(np.empty((len(labels.gold), 0)), labels, random_state)
        label = VOTES_ONLY[method](labels.votes, labels.candidates.shape[1]).argmax(axis=1)
        found = judge_votes(
            model.blind_proba_, model.loo_proba_, labels, label, confirmed=model.confirmed_
        )
    return _left_out_by_crowd(model, with_gold(labels)), found


def _beside_votes(proba: np.ndarray, labels: Labels) -> Judgement | None:
    """Judge rows by their votes and by the probabilities of any method; None if there are none."""
    if labels.votes is None:
        return None
    scores = np.log(np.maximum(proba, np.finfo(np.float32).tiny)).astype(float)

    def features(posterior: np.ndarray, evidence: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(trust_features(scores, evidence, posterior)(scores)))

    tally = Tally(merge_copies(labels.votes, proba.shape[1])[0], proba.shape[1])
    fit = alternate_crowd(tally, features, known=labels.gold)
    return judge_votes(fit.unseen, np.exp(fit.log_prior), labels, confirmed=fit.confirmed)


def _features_role(model: Any) -> FeaturesRole | None:
    if not isinstance(model, CrowdClassifier) or not model.n_features_in_:
        return None
    changed = model.transduction_ != model.classes_[model.votes_alone_]
    return FeaturesRole(model.scale_, model.failure_, int(changed.sum()), float(changed.mean()))


def _given_several_times(labels: Labels) -> bool:
    """Whether most sets of several labels say how often each was given: such numbers are votes."""
    given = labels.candidates
    several = given.sizes > 1
    if given.counts is None or labels.votes is not None or not several.any():
        return False
    uneven = row_max(given.counts, given.indptr) > -row_max(-given.counts, given.indptr)
    return bool(uneven[several].mean() > 0.5)


def rows_to_look_at(cleaned: ChosenLabels) -> np.ndarray:
    """The rows of status "look", starting where an answer helps most; ties keep the order of the
    table.
    """
    rows = np.flatnonzero(cleaned.status == LOOK)
    return rows[np.argsort(-cleaned.gain[rows], kind="stable")]


def _check(X: Any, labels: Labels, max_error: float) -> np.ndarray:
    X = np.asarray(X)
    if X.ndim != 2 or len(X) != len(labels.candidates):
        raise InputError(
            f"X has shape {X.shape} but there are labels for {len(labels.candidates)} rows: the "
            "numbers must be equal"
        )
    if not isinstance(max_error, Real) or not 0 < max_error < 1:
        raise ParameterError(
            f"max_error must be a share of wrong labels, above 0 and below 1; got {max_error}"
        )
    return X


@dataclass(frozen=True)
class _LeftOut:
    """A model of all rows, and the probabilities of each row by models that did not learn from
    it.
    """

    model: Any
    parameters: dict[str, Any]
    covering_rate: float
    proba: np.ndarray
    even: np.ndarray


def _left_out_by_crowd(model: CrowdClassifier, known: CandidateSets) -> _LeftOut:
    return _LeftOut(
        model=model,
        parameters=chosen_kernels(model),
        covering_rate=covered_share(model.loo_proba_, known),
        proba=model.loo_proba_,
        even=model.loo_proba_,
    )


def _by_closed_form(
    method: Method,
    X: np.ndarray,
    labels: Labels,
    known: CandidateSets,
    groups: np.ndarray,
    *,
    random_state: int,
    seconds: dict[str, float],
    verbose: bool,
) -> _LeftOut:
    """Use a method that has the outputs without a row in closed form; labels are candidates."""
    check_different(groups)
    parameters = large_parameters(method, len(X))
    model = method.estimator(**parameters)
    with stage("fit", seconds, verbose=verbose):
        model.fit(X, known)
    with stage("judge rows", seconds, verbose=verbose):
        proba, shares = (left_out_proba(part, X) for part in (model, model.at_even_shares()))
    return _LeftOut(
        model=model,
        parameters=parameters | chosen_kernels(model),
        covering_rate=covered_share(proba, known),
        proba=proba,
        even=shares,
    )


def _by_folds(
    method: Method,
    X: np.ndarray,
    labels: Labels,
    known: CandidateSets,
    groups: np.ndarray,
    *,
    random_state: int,
    seconds: dict[str, float],
    verbose: bool,
) -> _LeftOut:
    """Use models of the other folds, with parameters chosen on a part of the rows."""
    with stage("choose parameters", seconds, verbose=verbose):
        chosen, covering_rate = choose_parameters(method, X, known, groups, random_state)
    parameters = chosen | large_parameters(method, len(X))
    model = method.estimator(**parameters)
    with stage("judge rows", seconds, verbose=False):
        models = [model] if labels.votes is not None else [model, _even_shares(model)]
        proba, *shares = _left_out(models, X, known, make_folds(groups, random_state), verbose)
    with stage("fit", seconds, verbose=verbose):
        model.fit(X, known)
    return _LeftOut(
        model=model,
        parameters=parameters,
        covering_rate=covering_rate,
        proba=proba,
        even=shares[0] if shares else proba,
    )


def _even_shares(model: Any) -> Any:
    """The first step of a model alone, fitted to even shares of the candidates; that of SURE if the
    method has no such step. It never prefers one candidate.
    """
    base = clone(model) if "init" in model.get_params() else SUREClassifier()
    return base.set_params(init="uniform", max_iter=1)


def _left_out(
    models: list[Any],
    X: np.ndarray,
    candidates: CandidateSets,
    folds: list[Split],
    verbose: bool,
) -> np.ndarray:
    """Probabilities of every row by each model, fitted to the other folds."""
    proba = np.empty((len(models), *candidates.shape), np.float32)
    steps = list(product(range(len(models)), folds))
    with convergence_warnings_ignored():
        for i, (train, test) in track(steps, "judge rows", len(steps), verbose=verbose):
            proba[i, test] = (
                clone(models[i]).fit(X[train], candidates[train]).predict_proba(X[test])
            )
    return proba


def _chosen(
    found: Judgement, labels: Labels, *, remarks: dict[str, str], max_error: float, **rest: Any
) -> ChosenLabels:
    """The decision about every row, with how it came about."""
    gold, decision = labels.gold >= 0, decide(found, labels, max_error)
    return ChosenLabels(
        **vars(decision),
        proba=found.proba,
        gold_error=float(1 - found.gold_right.mean()) if gold.any() else None,
        gold_ece=_calibration_error(found) if gold.any() else None,
        n_gold=int(gold.sum()),
        gold_confidence=found.gold_confidence,
        gold_right=found.gold_right,
        gold_score=found.score[gold],
        annotators=[]
        if labels.votes is None
        else annotator_agreement(
            labels.votes, labels.annotators, decision.label, labels.gold, remarks
        ),
        score=found.score,
        prior=found.prior,
        **rest,
    )


def _calibration_error(found: Judgement) -> float:
    sure = found.gold_confidence
    return expected_calibration_error(
        found.gold_right.astype(int), np.stack([1 - sure, sure], axis=1), classes=[0, 1]
    )
