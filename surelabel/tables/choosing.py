"""Choose a label for every row, by a model that did not learn from it and by what is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from ..data.candidates import CandidateSets
from ..data.label_order import has_order, label_positions
from ..data.labelling import Labels
from ..estimators import CrowdClassifier, SUREClassifier
from ..exceptions import InputError, ParameterError
from ..progress import stage
from ..solvers.copied_votes import merge_copies
from ..solvers.crowds import Tally, alternate_crowd, confirmed, with_useful_features
from ..solvers.equal_rows import equal_rows
from ..solvers.temperature import trust_features
from ..text import percent
from .annotators import AnnotatorAgreement, annotator_agreement
from .calibration import Judgement, judge_sets, judge_votes
from .methods import (
    CROWD,
    DEFAULT,
    VOTES_ONLY,
    FittedMethod,
    Split,
    by_content,
    convergence_warnings_ignored,
    fit_crowd,
    fit_method,
    folds_of_rows,
    left_out_proba,
    with_gold,
)
from .status import Decision, decide


@dataclass(frozen=True)
class FeaturesRole:
    """What the features did beside votes.

    Attributes
    ----------
    sharpness, failure : float
        ``t`` and ``ε`` of :class:`~surelabel.solvers.temperature.Trust`.
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
        """The role in a sentence."""
        if not self.n_changed:
            return f"{self.word}: the votes alone give the same labels"
        found = f"t = {self.sharpness:.3g}, ε = {self.failure:g}"
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
    gold_error : float or None
        Share of gold rows for which the choice among the candidates, made without gold, is wrong.
    n_gold : int
        Number of gold rows.
    annotators : list of AnnotatorAgreement
        Empty if the labels are not votes.
    features_role : FeaturesRole or None
        What the features did beside votes; None without votes or without features.
    classifier : estimator
        The classifier, fitted to ``X``.
    method : str
        Its name.
    parameters : dict
        The parameters chosen.
    cv_score : float
        Covering rate of the left-out rows at these parameters; NaN if every label is always a
        candidate, as with soft labels.
    """

    gold_error: float | None
    n_gold: int
    annotators: list[AnnotatorAgreement]
    features_role: FeaturesRole | None
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
    estimator: Any = None,
    like: ChosenLabels | None = None,
) -> ChosenLabels:
    """Choose a label for every row, and say how sure it is; for the parameters see
    :func:`surelabel.clean`.

    Every row is judged by a model that did not learn from it (:mod:`surelabel.tables.calibration`);
    rows with equal features are always left out together. PURE has such models in closed form.
    Other methods choose parameters by cross-validation on candidates, and leave out folds. The
    final model learns from all rows.

    With an earlier result ``like``, its method, kernels and parameters are used instead of choosing
    anew. ``clean`` and ``review`` choose by the table as it is, before any answer, so that both
    find the same labels after the same answers.
    """
    X = _checked_rows(X, labels, max_error)
    order = by_content(X, labels)
    X, given = X[order], labels.take(order)
    equal = equal_rows([X]) if X.shape[1] else np.arange(len(X))
    earlier = None
    if like is not None:
        earlier = FittedMethod(like.method, like.classifier, like.parameters, like.cv_score)
    if method in tuple(VOTES_ONLY):
        fit, found = _by_votes_only(method, given, estimator, random_state)
    else:
        fit = fit_method(
            method,
            X,
            given,
            equal,
            random_state=random_state,
            estimator=estimator,
            like=earlier,
            verbose=verbose,
        )
        with stage("judge rows", verbose=verbose):
            found = _judge(fit, X, given, equal, random_state)
    gold, decision = labels.gold >= 0, decide(found.put_back(order), labels, max_error)
    return ChosenLabels(
        **vars(decision),
        gold_error=float(1 - found.gold_right.mean()) if gold.any() else None,
        n_gold=int(gold.sum()),
        annotators=_annotators(fit.model, labels, decision.label, random_state),
        features_role=_features_role(fit.model),
        classifier=fit.model,
        method=fit.method,
        parameters=fit.parameters,
        cv_score=fit.covering_rate,
    )


def _by_votes_only(
    method: str, labels: Labels, estimator: Any, random_state: int
) -> tuple[FittedMethod, Judgement]:
    """Judge the labels of a method that looks at votes alone, by the model of the annotators."""
    if labels.votes is None or estimator is not None:
        raise ParameterError(
            f"{method} goes by the votes of known annotators alone: name them (votes), and give no "
            "estimator"
        )
    nothing = np.empty((len(labels.votes), 0))
    fit = fit_method(CROWD, nothing, labels, np.arange(len(nothing)), random_state=random_state)
    label = VOTES_ONLY[method](labels.votes, labels.candidates.shape[1]).argmax(axis=1)
    found = judge_votes(fit.model.blind_proba_, labels, label, confirmed=fit.model.confirmed_)
    return replace(fit, method=method), found


def _judge(
    fit: FittedMethod, X: np.ndarray, labels: Labels, equal: np.ndarray, random_state: int
) -> Judgement:
    """Judge every row by models that did not learn from it."""
    if isinstance(fit.model, CrowdClassifier):
        return judge_votes(fit.model.blind_proba_, labels, confirmed=fit.model.confirmed_)
    if fit.proba is not None:
        proba, even = fit.proba, left_out_proba(fit.model.at_even_shares(), X, equal)
    else:
        models = [clone(fit.model)]
        models += [_even_shares(fit.model)] if labels.votes is None else []
        folds = folds_of_rows(equal, random_state)
        proba, even = _left_out(models, X, with_gold(labels), folds)[[0, -1]]
    if labels.votes is not None:
        return _beside_votes(proba, labels.votes, labels)
    return judge_sets(proba, even, labels)


def _beside_votes(proba: np.ndarray, votes: np.ndarray, labels: Labels) -> Judgement:
    """Judge rows by their votes and by the probabilities of any method."""
    scores = np.log(np.maximum(proba, np.finfo(np.float32).tiny)).astype(float)

    def features(posterior: np.ndarray, evidence: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(trust_features(scores, evidence, posterior)(scores)))

    classes = labels.candidates.classes
    places = label_positions(labels.ordered, classes) if has_order(labels.ordered) else None
    tally = Tally(merge_copies(votes, len(classes))[0], len(classes), places)
    alone = alternate_crowd(tally, known=labels.gold)
    fit = with_useful_features(tally, features, alone, known=labels.gold)
    return judge_votes(fit.unseen, labels, confirmed=confirmed(tally, fit))


def _annotators(
    model: Any, labels: Labels, label: np.ndarray, random_state: int
) -> list[AnnotatorAgreement]:
    """How the annotators compare with the labels chosen, and what is odd about them."""
    if labels.votes is None:
        return []
    if not isinstance(model, CrowdClassifier):  # what the votes alone say about them
        model = fit_crowd(np.empty((len(label), 0)), labels, random_state)
    remarks = {person.name: person.remark for person in model.annotators_}
    return annotator_agreement(labels.votes, labels.annotators, label, labels.gold, remarks)


def _features_role(model: Any) -> FeaturesRole | None:
    if not isinstance(model, CrowdClassifier) or not model.n_features_in_:
        return None
    changed = model.transduction_ != model.classes_[model.votes_alone_]
    return FeaturesRole(model.scale_, model.failure_, int(changed.sum()), float(changed.mean()))


def _checked_rows(X: Any, labels: Labels, max_error: float) -> np.ndarray:
    X = np.asarray(X)
    if X.ndim != 2 or len(X) != len(labels.candidates):
        raise InputError(
            f"X has shape {X.shape} but there are labels for {len(labels.candidates)} rows: the "
            "numbers must be equal"
        )
    if not isinstance(max_error, Real) or not 0 < max_error < 1:
        raise ParameterError(
            "max_error must be a share of wrong labels, above 0 and below 1, such as 0.05 for 5 %; "
            f"got {max_error}"
        )
    return X


def _even_shares(model: Any) -> Any:
    """A model's first step (SURE's if it has none), fitted to even shares of the candidates."""
    base = clone(model) if "init" in model.get_params() else SUREClassifier()
    return base.set_params(init="uniform", max_iter=1)


def _left_out(
    models: list[Any], X: np.ndarray, candidates: CandidateSets, folds: list[Split]
) -> np.ndarray:
    """Probabilities of every row by each model, fitted to the other folds."""
    proba = np.empty((len(models), *candidates.shape), np.float32)
    with convergence_warnings_ignored():
        for found, model in zip(proba, models, strict=True):
            for train, test in folds:
                fitted = clone(model).fit(X[train], candidates[train])
                found[test] = fitted.predict_proba(X[test])
    return proba
