"""``compare`` on votes: leave some votes out, and compare them with the labels that each method
finds without them.

Whether a label is among a row's votes says little if some annotator always votes for the same
class, because that label is in every row. A left-out vote is right more often than not, and no
single label agrees with annotators who disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from ..data.ballots import weighed_votes
from ..data.candidates import CandidateSets
from ..data.labelling import Labels
from ..estimators import all_methods
from ..exceptions import ParameterError, SurelabelError
from ..progress import track
from ..solvers.crowds import AGAINST
from .choosing import VOTES_ONLY, fit_crowd
from .comparison import (
    CROWD,
    MethodResult,
    as_cleaned,
    best_first,
    chosen_kernels,
    convergence_warnings_ignored,
    find_method,
    search,
)

#: The labels of all rows as positions of classes, and the parameters chosen.
Found = tuple[np.ndarray, dict[str, Any]]


def compare_on_votes(
    X: np.ndarray,
    labels: Labels,
    *,
    methods: Sequence[str] | None = None,
    folds: int = 5,
    max_rows: int = 2000,
    random_state: int = 0,
    verbose: bool = False,
) -> list[MethodResult]:
    """Compare methods by votes that they did not see.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        The instances; n is 0 if there are no features.
    labels : Labels
        Their votes, and true labels where they are known; these are not learned from, and count in
        place of the left-out votes.
    methods : sequence of str, default=None
        "Crowd", "majority", "Dawid-Skene" and names in :func:`surelabel.all_methods`; None for all
        that the table allows.
    folds : int, default=5
        Number of parts into which the votes are split; each is left out once.
    max_rows : int, default=2000
        Compare on a random sample of at most ``max_rows`` rows with votes.
    random_state : int, default=0
        Seed of the sample and the parts.
    verbose : bool, default=False
        Show a progress bar.

    Returns
    -------
    list of MethodResult
        Those that agree best with the left-out votes come first; methods that could not be run come
        last. ``covering_rate`` is the share of left-out votes that equal the label found.
    """
    of_features = all_methods() if X.shape[1] else ()
    names = as_cleaned([CROWD, *VOTES_ONLY, *of_features] if methods is None else methods)
    assert labels.votes is not None
    voted = np.flatnonzero((labels.votes != -1).any(axis=1))
    rows = np.sort(np.random.default_rng(random_state).permutation(voted)[:max_rows])
    cast = np.argwhere(labels.votes[rows] != -1)
    X, labels = X[rows], _some_rows(labels, rows)
    if not 1 < folds <= min(len(rows), len(cast)):
        raise ParameterError(
            f"votes for {len(rows)} rows cannot be split into {folds} folds; there must be 2 folds "
            "or more"
        )
    splits = list(KFold(folds, shuffle=True, random_state=random_state).split(cast))
    learn = {name: _learner(name, X, random_state) for name in names}
    found = [
        _by_left_out_votes(name, learn[name], labels, cast, [hidden for _, hidden in splits])
        for name in track(names, "compare", len(names), verbose=verbose)
    ]
    return best_first(found)


def _learner(name: str, X: np.ndarray, random_state: int) -> Callable[[Labels], Found]:
    if name == CROWD:
        return partial(_by_crowd, X, random_state)
    if name in VOTES_ONLY:
        return partial(_by_votes_only, VOTES_ONLY[name])
    find_method(name, besides=tuple(VOTES_ONLY))
    if not X.shape[1]:
        raise ParameterError(f"{name} learns from features, and there are none")
    return partial(_by_method, name, X, random_state)


def _by_crowd(X: np.ndarray, random_state: int, labels: Labels) -> Found:
    model = fit_crowd(X, labels, random_state)
    return model.confidence_.toarray().argmax(axis=1), chosen_kernels(model)


def _by_votes_only(posterior: Callable[[np.ndarray, int], np.ndarray], labels: Labels) -> Found:
    assert labels.votes is not None
    return posterior(labels.votes, labels.candidates.shape[1]).argmax(axis=1), {}


def _by_method(name: str, X: np.ndarray, random_state: int, labels: Labels) -> Found:
    method, known = find_method(name), weighed_votes(labels.candidates)
    parameters: dict[str, Any] = {}
    if method.grid:
        informative = np.flatnonzero(known.sizes < known.shape[1])
        folds = KFold(min(5, len(informative)), shuffle=True, random_state=random_state)
        parameters = search(
            method, X[informative], known[informative], list(folds.split(informative))
        ).parameters
    model = method.estimator(**parameters).fit(X, known)
    return np.searchsorted(known.classes, model.transduction_), parameters


def _by_left_out_votes(
    name: str,
    learn: Callable[[Labels], Found],
    labels: Labels,
    cast: np.ndarray,
    parts: list[np.ndarray],
) -> MethodResult:
    start, nan = perf_counter(), float("nan")
    agreement: list[float] = []
    parameters: dict[str, Any] = {}
    error = None
    assert labels.votes is not None
    try:
        for hidden in parts:
            rows, who = cast[hidden].T
            votes = labels.votes.copy()
            votes[rows, who] = -1
            with convergence_warnings_ignored():
                label, parameters = learn(_with_votes(labels, votes))
            known = labels.gold[rows]
            left_out = np.where(known >= 0, known, labels.votes[rows, who])
            right = np.where(
                left_out >= 0, label[rows] == left_out, label[rows] != AGAINST - left_out
            )
            agreement.append(float(right.mean()))
    except SurelabelError as failure:
        error, agreement, parameters = str(failure), [nan], {}
    return MethodResult(
        method=name,
        parameters=parameters,
        covering_rate=float(np.mean(agreement)),
        covering_sd=float(np.std(agreement)),
        approximated_accuracy=nan,
        approximated_sd=nan,
        seconds=perf_counter() - start,
        n_rows=len(labels.votes),
        n_known=int((labels.gold >= 0).sum()),
        error=error,
        fold_rates=tuple(agreement),
    )


def _some_rows(labels: Labels, rows: np.ndarray) -> Labels:
    assert labels.votes is not None
    return replace(
        labels,
        candidates=labels.candidates[rows],
        gold=labels.gold[rows],
        votes=labels.votes[rows],
        unlabelled=labels.unlabelled[rows],
    )


def _with_votes(labels: Labels, votes: np.ndarray) -> Labels:
    """The labels with these votes in place of their own, and none known for certain; a row without
    votes may have any label.
    """
    candidates = CandidateSets.from_ballots(
        votes, labels.candidates.classes, annotators=labels.annotators
    )
    nothing = np.full_like(labels.gold, -1)
    return replace(labels, candidates=candidates, votes=votes, gold=nothing)
