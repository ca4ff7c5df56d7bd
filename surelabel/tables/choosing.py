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
from ..exceptions import InputError, ParameterError, shown
from ..progress import stage, track
from ..solvers.equal_rows import equal_rows, folds_of
from ..solvers.segments import row_max
from .annotators import AnnotatorAgreement, annotator_agreement
from .calibration import without_truth
from .comparison import (
    CROWD,
    chosen_kernels,
    convergence_warnings_ignored,
    covered_share,
    find_method,
    has_closed_form,
    large_parameters,
    left_out_proba,
    sample_rows,
    search,
    with_gold,
)
from .confusions import read_confusions
from .duplicates import conflicts
from .embedding import imported
from .judging import Judgement, judge, judge_soft, judge_votes
from .soft_labels import beside_features

CERTIFIED, PROBABLE, LOOK = "certified", "probable", "look"
#: Maximum number of rows to choose parameters on: below 2000, where the search uses its threads for
#: several fits at a time.
CHOOSE_ROWS = 1900
#: Share of rows from which on sets that seem to lack the truth are not learned from. A few of them
#: may as well be rows that differ from all others, and leaving these out makes the rest too sure.
MANY_LACKING = 0.02


@dataclass(frozen=True, kw_only=True, repr=False)
class ChosenLabels:
    """The labels of all rows, and how sure they are; arrays have one entry per row.

    Attributes
    ----------
    classes : ndarray of shape (l,)
        The label space.
    label : ndarray of int
        The label chosen, as a position in ``classes``: the gold label where it is known.
    confidence : ndarray of float
        Estimated probability that ``label`` is right, by models that did not learn from the row; 1
        where gold is known.
    second : ndarray of int
        The second choice, -1 where there is none.
    margin : ndarray of float
        Confidence minus that of the second choice.
    status : ndarray of str
        "probable": to be kept, by the estimate of its error; "certified": to be kept, and checks
        of such rows bound their error, or it was itself checked; "look": a person should look.
    outside : ndarray of bool
        The features contradict all candidates: the true label is probably not in the set.
    best : ndarray of int
        The most probable label of all: ``label``, or where ``outside`` one that is no candidate.
    best_confidence : ndarray of float
        Its probability.
    duplicate : ndarray of int
        The number of the row's group, if rows with equal features have different candidates;
        otherwise -1.
    gain : ndarray of float
        How much an answer by a person would help, 0 for gold rows; the rows to look at are sorted
        by it, descending.
    proba : ndarray of shape (m, l), float32
        Calibrated probabilities of all classes from the features alone, by models that did not
        learn from the row.
    max_error : float
        The largest error that the rows kept may have.
    expected_error : float
        The error that they are expected to have (NaN if none is kept, or it is not estimated).
    estimated : bool
        Whether the error can be estimated; not if soft labels may come from the features.
    n_kept : int
        Number of rows kept: those of status "probable" or "certified".
    gold_error : float or None
        Share of gold rows on which the choice among the candidates, made without knowing gold, is
        wrong.
    gold_ece : float or None
        Expected calibration error of the confidence on the gold rows, also without knowing gold.
    n_gold : int
        Number of gold rows.
    gold_confidence, gold_right : ndarray of shape (n_gold,)
        For the gold rows, in their order: the confidence of the choice, and whether it was right
        (for calibration plots).
    annotators : list of AnnotatorAgreement
        Empty where the labels are not votes.
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

    classes: np.ndarray
    label: np.ndarray
    confidence: np.ndarray
    second: np.ndarray
    margin: np.ndarray
    status: np.ndarray
    outside: np.ndarray
    best: np.ndarray
    best_confidence: np.ndarray
    duplicate: np.ndarray
    gain: np.ndarray
    proba: np.ndarray
    max_error: float
    expected_error: float
    estimated: bool = True
    n_kept: int
    gold_error: float | None
    gold_ece: float | None
    n_gold: int
    gold_confidence: np.ndarray
    gold_right: np.ndarray
    annotators: list[AnnotatorAgreement]
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
    method: str = "PURE",
    max_error: float = 0.02,
    random_state: int = 0,
    verbose: bool = False,
    groups: np.ndarray | None = None,
    estimator: Any = None,
    confusions: Any = None,
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
        A name in :func:`surelabel.all_methods`.
    max_error : float, default=0.02
        Keep labels whose estimated error is at most this.
    random_state : int, default=0
        Seed.
    verbose : bool, default=False
        Show a progress bar.
    groups : ndarray of shape (m,), default=None
        Equal numbers for instances that are equal; by default those of equal rows of X.
    estimator : classifier or "module:name", default=None
        The model of the features, where the labels are votes; see :func:`fit_crowd`.
    confusions : mapping, data frame or path, default=None
        What is known of annotators; see :func:`surelabel.clean`.

    Returns
    -------
    ChosenLabels
    """
    X, spec = _check(X, labels, max_error), find_method(method)
    if _given_several_times(labels):
        labels = replace(labels, soft=True)
    seconds: dict[str, float] = {}
    known, rng = with_gold(labels), np.random.default_rng(random_state)
    if groups is None:
        groups = equal_rows([X]) if X.shape[1] else np.arange(len(X))
    remarks: dict[str, str] = {}
    if by_crowd(spec, labels, estimator, confusions):
        method = CROWD
        with stage("fit", seconds, verbose=verbose):
            model = fit_crowd(X, labels, random_state, estimator, confusions)
            left_out, found = _by_crowd(model, labels, known, rng)
        remarks = _remarks(model)
    else:
        judged = _by_closed_form if has_closed_form(spec) else _by_folds
        left_out = judged(
            spec,
            X,
            labels,
            known,
            groups,
            random_state=random_state,
            seconds=seconds,
            verbose=verbose,
        )
        with stage("calibrate", seconds, verbose=verbose):
            found = judge(left_out.proba, labels, known, rng, left_out.even)
        if labels.votes is not None:  # as the method has weighed them: by the votes alone
            remarks = _remarks(fit_crowd(X[:, :0], labels, random_state))
    if labels.soft:
        found = beside_features(found, X, labels, rng)
    return _chosen(
        found,
        labels,
        remarks=remarks,
        max_error=max_error,
        duplicate=conflicts(groups, labels.candidates),
        objective_path=getattr(left_out.model, "objective_path_", np.empty(0)),
        delta_path=getattr(left_out.model, "delta_path_", np.empty(0)),
        seconds=seconds,
        classifier=left_out.model,
        method=method,
        parameters=left_out.parameters,
        cv_score=left_out.covering_rate,
    )


def _given_several_times(labels: Labels) -> bool:
    """Whether most sets of several labels say how often each was given: such numbers are votes."""
    given = labels.candidates
    several = given.sizes > 1
    if given.counts is None or labels.votes is not None or not several.any():
        return False
    uneven = row_max(given.counts, given.indptr) > -row_max(-given.counts, given.indptr)
    return bool(uneven[several].mean() > 0.5)


def _remarks(model: CrowdClassifier) -> dict[str, str]:
    return {person.name: person.remark for person in model.annotators_}


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


def _check_different(groups: np.ndarray) -> None:
    n_different = len(np.unique(groups))
    if n_different < 4:
        raise InputError(
            f"there are {n_different} different row(s) of features: too few to learn from some of "
            "them and judge the others"
        )


def _folds(groups: np.ndarray, random_state: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds that keep equal rows together: ten folds of few groups, three of very many."""
    _check_different(groups)
    n = len(np.unique(groups))
    n_folds = min(10 if n < 200 else 5 if n < 50_000 else 3, n)
    return folds_of(groups, n_folds, random_state)


@dataclass(frozen=True)
class _LeftOut:
    """A model of all rows, and the probabilities of each row by models that did not learn from
    it.
    """

    model: Any
    parameters: dict[str, Any]
    covering_rate: float
    proba: np.ndarray
    even: np.ndarray | None


def by_crowd(method: Method, labels: Labels, estimator: Any, confusions: Any) -> bool:
    """Whether votes and features are learned from together."""
    together = (labels.votes is not None or labels.soft) and has_closed_form(method)
    if estimator is not None and not together:
        raise ParameterError(
            "an estimator models the features beside votes (votes, noisy): without votes, leave it "
            "out and choose a method"
        )
    if confusions is not None and not together:
        raise ParameterError(
            "confusions tell how far to trust the votes of annotators: leave them out, or name the "
            "votes and no other method"
        )
    return together


def fit_crowd(
    X: np.ndarray,
    labels: Labels,
    random_state: int,
    estimator: Any = None,
    confusions: Any = None,
) -> CrowdClassifier:
    """Learn from votes and features together, or from votes alone where there are no features.

    ``estimator`` is the model of the features, a classifier with ``predict_proba`` or its
    ``"module:name"``. If it takes a seed and has none, it gets ours. ``confusions`` is what is
    known about annotators (:func:`~surelabel.tables.confusions.read_confusions`).
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
    model = CrowdClassifier(estimator, random_state=random_state)
    given = labels.candidates
    ballots = CandidateSets(
        given.indptr,
        given.indices,
        given.classes,
        given.counts,
        votes=labels.votes,
        annotators=labels.annotators,
    )
    return model.fit(
        X if X.shape[1] else None,
        ballots,
        known=gold,
        confusions=read_confusions(confusions, labels),
    )


def _by_crowd(
    model: CrowdClassifier, labels: Labels, known: CandidateSets, rng: np.random.Generator
) -> tuple[_LeftOut, Judgement]:
    """Judge by votes, and by features if there are any."""
    # A row must not be judged by its own known label.
    if labels.soft:
        found = judge_soft(model.loo_proba_, labels, rng)
    else:
        confusion = np.stack([person.confusion for person in model.annotators_])
        weight = np.array([person.weight for person in model.annotators_])
        found = judge_votes(model.loo_proba_, labels, confusion, weight, rng)
    left_out = _LeftOut(
        model=model,
        parameters=chosen_kernels(model),
        covering_rate=covered_share(model.loo_proba_, known),
        proba=model.loo_proba_,
        even=None,
    )
    return left_out, found


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
    _check_different(groups)
    parameters = large_parameters(method, len(X))
    model, weight = method.estimator(**parameters), np.ones(len(X))
    with stage("fit", seconds, verbose=verbose):
        model.fit(X, known)
    with stage("judge rows", seconds, verbose=verbose):
        proba, exact = left_out_proba(model, X), hasattr(model, "loo_decision_")
        if exact:
            # Sets without the truth teach wrong labels: the model is fitted again without them.
            # With very many rows, that would double the time.
            lacks = without_truth(
                proba, labels.candidates, labels.gold, np.random.default_rng(random_state)
            )
            lacking = (lacks >= 0.5) & (labels.gold < 0)
            if lacking.mean() > MANY_LACKING:
                weight[lacking] = 0
                model.fit(X, known, sample_weight=weight)
                proba = left_out_proba(model, X)
            first = _even_shares(model).fit(X, known, sample_weight=weight)
        else:
            first = model.at_even_shares()
        shares = left_out_proba(first, X)
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
        rows = sample_rows(known, CHOOSE_ROWS, random_state)
        chosen = search(method, X[rows], known[rows], _folds(groups[rows], random_state))
    parameters = chosen.parameters | large_parameters(method, len(X))
    model = method.estimator(**parameters)
    even = labels.votes is None and not labels.soft
    with stage("judge rows", seconds, verbose=False):
        models = [model, _even_shares(model)] if even else [model]
        proba, *shares = _left_out(models, X, known, _folds(groups, random_state), verbose)
    with stage("fit", seconds, verbose=verbose):
        model.fit(X, known)
    return _LeftOut(
        model=model,
        parameters=parameters,
        covering_rate=chosen.covering_rate,
        proba=proba,
        even=shares[0] if even else None,
    )


def _even_shares(model: Any) -> Any:
    """The first step of a model alone, fitted to even shares of the candidates; that of SURE if the
    method has no such step. It never prefers one candidate.
    """
    if hasattr(model, "leave_one_out"):
        return clone(model).set_params(max_iter=0)
    base = clone(model) if "init" in model.get_params() else SUREClassifier()
    return base.set_params(init="uniform", max_iter=1)


def _left_out(
    models: list[Any],
    X: np.ndarray,
    candidates: CandidateSets,
    folds: list[tuple[np.ndarray, np.ndarray]],
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
    """Combine the judgement with what is known: gold rows are certified, and of the others those
    above the threshold are probable.
    """
    gold = labels.gold >= 0
    label = np.where(gold, labels.gold, found.label)
    confidence = np.where(gold, 1.0, found.confidence)
    outside = found.outside & ~gold
    kept = (confidence >= 1 - max_error) & ~outside
    status = np.full(len(label), LOOK, "U9")
    status[kept] = PROBABLE
    status[gold] = CERTIFIED
    return ChosenLabels(
        classes=labels.candidates.classes,
        label=label,
        confidence=confidence,
        second=np.where(gold, -1, found.second),
        margin=np.where(gold, 1.0, found.margin),
        status=status,
        outside=outside,
        best=np.where(gold, labels.gold, found.best),
        best_confidence=np.where(gold, 1.0, found.best_confidence),
        gain=gain_of_answers(
            label,
            np.where(outside, found.best, found.second),
            1 - confidence,
            len(labels.candidates.classes),
        ),
        proba=found.proba,
        max_error=max_error,
        expected_error=float(np.mean(1 - confidence[kept]))
        if kept.any() and found.estimated
        else float("nan"),
        estimated=found.estimated,
        n_kept=int(kept.sum()),
        gold_error=float(1 - found.gold_right.mean()) if gold.any() else None,
        gold_ece=_calibration_error(found) if gold.any() else None,
        n_gold=int(gold.sum()),
        gold_confidence=found.gold_confidence,
        gold_right=found.gold_right,
        annotators=[]
        if labels.votes is None
        else annotator_agreement(
            labels.votes,
            labels.annotators,
            label,
            labels.gold,
            len(labels.candidates.classes),
            remarks,
        ),
        **rest,
    )


def gain_of_answers(
    label: np.ndarray, rival: np.ndarray, doubt: np.ndarray, n_classes: int
) -> np.ndarray:
    """A row's doubt, times the square root of all doubt between the same two labels: an answer also
    helps to tell these apart elsewhere.

    Asking for 6 % of the rows in this order left 76 % of the mistakes over twelve problems (ecoli
    and glass, three kinds of false candidates); in the order of doubt alone 78 %, of the margin 83
    %, in random order 91 %.
    """
    first, second = np.minimum(label, rival) + 1, np.maximum(label, rival) + 1
    total = np.bincount(first * (n_classes + 1) + second, doubt)
    return np.asarray(doubt * np.sqrt(total[first * (n_classes + 1) + second]))


def _calibration_error(found: Judgement) -> float:
    sure = found.gold_confidence
    return expected_calibration_error(
        found.gold_right.astype(int), np.stack([1 - sure, sure], axis=1), classes=[0, 1]
    )
