"""``compare``: which method suits a table best, by cross-validation that needs no true labels.

Methods are compared on rows that they did not learn from: is the prediction among the candidates?
With votes, they are compared on votes that they did not see: is each the label found without it? To
ask whether the label is among a row's votes would say little if some annotator always votes for the
same class.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, Unpack

import numpy as np
from sklearn.model_selection import KFold

from ..data.ballots import informative_rows
from ..data.candidates import CandidateSets
from ..data.label_order import has_order
from ..data.labelling import Labels
from ..estimators import all_methods
from ..evaluation.metrics import SCORERS, mean_absolute_error
from ..exceptions import ParameterError, SurelabelError
from ..progress import track
from ..solvers.equal_rows import equal_rows
from ..text import count, percent
from .methods import (
    CROWD,
    DEFAULT,
    VOTES_ONLY,
    FittedMethod,
    Split,
    by_content,
    by_crowd,
    convergence_warnings_ignored,
    find_method,
    fit_method,
    order_of,
    sample_rows,
    with_truth,
)
from .overview import Listing, Overview, Result, written_parameters
from .reading import Columns, TableRead, separate_names
from .soft_labels import LIKELY, likely_sets


@dataclass(frozen=True)
class MethodResult:
    """The result of one method, on the same folds as the others.

    Attributes
    ----------
    method : str
        Its name in :func:`surelabel.all_methods`.
    parameters : dict
        The best point of its grid.
    covering_rate, covering_sd : float
        Share of left-out rows whose prediction is among their candidates, or is the true label
        where it is known: mean and standard deviation over the folds. It is slightly optimistic,
        because parameters are chosen on the training rows of the first fold. With votes: share of
        left-out votes that equal the label found.
    approximated_accuracy, approximated_sd : float
        Accuracy as estimated from candidates, and true labels where they are known: mean and
        standard deviation over the folds; NaN with votes.
    seconds : float
        Time for the whole search.
    error : str or None
        Why the method could not be run on this table; its numbers are NaN in that case.
    fold_rates : tuple of float
        The covering rate of each fold.
    distance : float
        If labels have an order, the mean distance from a prediction to the nearest candidate;
        otherwise NaN.
    """

    method: str
    parameters: dict[str, Any]
    covering_rate: float
    covering_sd: float
    approximated_accuracy: float
    approximated_sd: float
    seconds: float
    error: str | None = None
    fold_rates: tuple[float, ...] = ()
    distance: float = float("nan")


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison(Result):
    """What :func:`compare` found: one result per method, the best first.

    Attributes
    ----------
    results : list of MethodResult
        The best covering rate first; methods that could not be run last.
    n_rows : int
        Number of rows compared on.
    n_table : int
        Number of rows of the table.
    by_votes : bool
        Whether votes were left out to compare methods, rather than rows.
    soft : bool
        Whether the candidates are the likely labels of soft labels.
    n_known : int
        Number of rows compared on whose true label is known. Methods still learn from their
        candidates (from the true label if they have none), but are judged by the true label.
    """

    results: list[MethodResult]
    n_rows: int
    n_table: int
    by_votes: bool
    soft: bool
    n_known: int

    @property
    def best(self) -> MethodResult | None:
        """The best result, or None if no method could be run."""
        return self.results[0] if self.results and not self.results[0].error else None

    @property
    def better_than_default(self) -> tuple[MethodResult, MethodResult] | None:
        """The best method and the default of ``clean``, if the default is behind by more than two
        standard errors of the difference over the folds; otherwise None.
        """
        used = [r for r in self.results if r.method in (CROWD, DEFAULT) and not r.error]
        if not used or self.best is None or len(self.best.fold_rates) < 2:
            return None
        ahead = np.subtract(self.best.fold_rates, used[0].fold_rates)
        clear = ahead.mean() > 2 * ahead.std(ddof=1) / np.sqrt(len(ahead))
        return (self.best, used[0]) if clear else None

    @property
    def ordered(self) -> bool:
        """Whether labels have an order, so that there are distances."""
        return any(np.isfinite(result.distance) for result in self.results)

    @property
    def errors(self) -> dict[str, str]:
        """Methods that could not be run on this table, and why."""
        return {result.method: result.error for result in self.results if result.error}

    def __iter__(self) -> Iterator[MethodResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, place: int) -> MethodResult:
        return self.results[place]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        return {
            "rows": self.n_rows,
            "table_rows": self.n_table,
            "known_rows": self.n_known,
            "better_than_default": self.better_than_default and self.better_than_default[0].method,
            "results": [asdict(result) for result in self.results],
        }

    def overview(self) -> Overview:
        """A short summary of the result."""
        estimates = (
            {"left-out votes": True} if self.by_votes else {"in candidates": True, "accuracy": True}
        )
        if self.ordered:
            estimates["distance"] = True
        listing = Listing(
            "",
            {"method": False} | estimates | {"seconds": True, "parameters": False},
            [self._line(result) for result in self.results if not result.error],
        )
        rows = count(self.n_rows)
        if self.n_rows < self.n_table:
            rows += f" of {self.n_table:,}"
        return Overview(
            title=f"methods compared on {rows}, the best first",
            facts=[],
            listings=[listing] if listing.rows else [],
            problems=[f"{name} could not be run: {error}" for name, error in self.errors.items()],
            notes=self._notes(),
        )

    def _line(self, result: MethodResult) -> tuple[str, ...]:
        """One method in the listing."""
        means = [(result.covering_rate, result.covering_sd)]
        if not self.by_votes:
            means.append((result.approximated_accuracy, result.approximated_sd))
        distance = [f"{result.distance:.2f}"] if self.ordered else []
        return (
            result.method,
            *(f"{percent(mean)} ± {100 * spread:.1f}" for mean, spread in means),
            *distance,
            f"{result.seconds:.1f}",
            written_parameters(result.parameters),
        )

    def _notes(self) -> list[str]:
        """What the numbers mean, and what follows from them."""
        notes = [
            "left-out votes: share that equals the label found without them; annotators make "
            "mistakes, so no method reaches 100 %"
            if self.by_votes
            else "in candidates: share of predictions for left-out rows that are among their "
            "candidates; accuracy: estimated from the candidates"
        ]
        if self.ordered:
            notes.append(
                "distance: how far a prediction is from the nearest candidate, on average, in the "
                "units of the labels, or in steps between words; smaller is better"
            )
        if self.n_rows < self.n_table:
            notes.append(
                "rows for which every label is possible take no part, and of the others a random "
                "sample of at most --max-rows, to save time"
            )
        if self.n_known:
            compared, learned = (
                ("left-out votes", "nothing was learned from it")
                if self.by_votes
                else ("candidates", "it was learned from only if a row has no other label")
            )
            notes.append(
                f"the true label of {count(self.n_known)} is known, and is what counts there in "
                f"place of {compared}; {learned}"
            )
        if self.soft:
            notes.append(
                "the candidates of a row are the fewest labels that together have "
                f"{100 * LIKELY:g} % of its share"
            )
        if clear := self.better_than_default:
            notes.append(
                f"{clear[1].method}, the default of clean, is clearly behind {clear[0].method}: "
                f"{percent(clear[1].covering_rate)} against {percent(clear[0].covering_rate)}, "
                "more than two standard errors over the folds; use --method "
                + shlex.quote(clear[0].method)
            )
        return notes


def compare(
    frame: Any,
    *,
    methods: str | Sequence[str] | None = None,
    folds: int = 5,
    max_rows: int = 2000,
    random_state: int = 0,
    verbose: bool = False,
    **columns: Unpack[Columns],
) -> Comparison:
    """Find the method and the parameters that suit a table best, by cross-validation. It needs no
    true labels, but uses those that are known.

    Parameters
    ----------
    frame : data frame, pyarrow.Table or path
        The table.
    methods : str or sequence of str, default=None
        Names in :func:`surelabel.all_methods`, as a list or as ``"SURE,PLKNN"``; with votes also
        "Crowd", "majority" and "Dawid-Skene", with soft labels also "Crowd"; None for all of them.
    folds : int, default=5
        Number of folds.
    max_rows : int, default=2000
        Compare on a random sample of at most ``max_rows`` rows.
    random_state : int, default=0
        Seed of the sample and the folds.
    verbose : bool, default=False
        Show progress on a terminal.
    **columns
        Which columns hold what; see :class:`~surelabel.tables.Columns`.

    Returns
    -------
    Comparison
    """
    names = separate_names(methods) if methods is not None else None
    read = TableRead(frame, columns, votes_suffice=True)
    with read.named():
        return compare_methods(
            read.encoded()[1],
            read.labels,
            methods=names,
            folds=folds,
            max_rows=max_rows,
            random_state=random_state,
            verbose=verbose,
        )


def compare_methods(
    X: np.ndarray,
    labels: Labels,
    *,
    methods: Sequence[str] | None = None,
    folds: int = 5,
    max_rows: int = 2000,
    random_state: int = 0,
    verbose: bool = False,
) -> Comparison:
    """Compare methods, each with its best parameters, on the same folds of rows or votes; for the
    parameters see :func:`compare`.

    ``X`` has no columns if there are only votes. Rows for which every label is possible take no
    part. Where a true label is known, it counts in place of the candidates or votes left out.
    """
    by_votes, names = labels.votes is not None, _method_names(X, labels, methods)
    order = by_content(X, labels)
    X, labels = X[order], labels.take(order)
    rows = sample_rows(_labelled(labels), max_rows, random_state)
    n_table, X, labels = len(X), X[rows], labels.take(rows)
    what = "votes for " if by_votes else ""
    n_parts = int(np.sum(labels.votes != -1)) if by_votes else len(rows)
    if not 1 < folds <= min(len(rows), n_parts):
        raise ParameterError(
            f"{what}{len(rows)} rows with labels cannot be split into {folds} folds; there must be "
            "2 folds or more"
        )
    splits = list(KFold(folds, shuffle=True, random_state=random_state).split(np.arange(n_parts)))
    run = partial(_by_left_out_votes if by_votes else _by_left_out_rows, X, labels, splits)
    found = [_try(name, run) for name in track(names, "compare", len(names), verbose=verbose)]
    return Comparison(
        results=best_first(found),
        n_rows=len(rows),
        n_table=n_table,
        by_votes=by_votes,
        soft=labels.soft,
        n_known=int(np.sum(labels.gold >= 0)),
    )


def _labelled(labels: Labels) -> np.ndarray:
    """The rows whose labels say something."""
    if labels.votes is not None:
        return np.asarray((labels.votes != -1).any(axis=1))
    return informative_rows(_sets_of(labels)) | (labels.gold >= 0)


def _sets_of(labels: Labels) -> CandidateSets:
    return likely_sets(labels.candidates) if labels.soft else labels.candidates


def _method_names(X: np.ndarray, labels: Labels, methods: Sequence[str] | None) -> list[str]:
    """The methods to compare: where there are votes or soft labels, those that ``clean`` uses."""
    by_votes = labels.votes is not None
    votes_only = tuple(VOTES_ONLY) if by_votes else ()
    if methods is None:
        of_features = tuple(all_methods()) if X.shape[1] else ()
        of_votes = (CROWD,) if by_votes or labels.soft else ()
        methods = [*of_votes, *votes_only, *of_features]
    names = []
    for name in methods:
        if name not in votes_only:
            method = find_method(name, besides=votes_only)
            if by_crowd(method, labels):
                name = CROWD
            elif not X.shape[1]:
                raise ParameterError(f"{name} learns from features, and there are none")
        names.append(name)
    return list(dict.fromkeys(names))


def best_first(found: list[MethodResult]) -> list[MethodResult]:
    """Sort by covering rate, or by the distance of labels with an order; methods that could not be
    run come last.
    """

    def place(result: MethodResult) -> tuple[bool, float]:
        if result.error is not None:
            return True, 0.0
        return False, result.distance if np.isfinite(result.distance) else -result.covering_rate

    return sorted(found, key=place)


#: The parameters chosen, and the covering rate (and approximated accuracy) of each fold.
Scores = tuple[dict[str, Any], np.ndarray]


def _try(name: str, run: Callable[[str], Scores]) -> MethodResult:
    """The result of one method, or why it could not be run."""
    start, error = perf_counter(), None
    try:
        with convergence_warnings_ignored():
            chosen, scores = run(name)
    except SurelabelError as failure:
        error, chosen, scores = str(failure), {}, np.full((3, 1), np.nan)
    return MethodResult(
        method=name,
        parameters=chosen,
        covering_rate=float(scores[0].mean()),
        covering_sd=float(scores[0].std()),
        approximated_accuracy=float(scores[1].mean()),
        approximated_sd=float(scores[1].std()),
        seconds=perf_counter() - start,
        error=error,
        fold_rates=() if error else tuple(map(float, scores[0])),
        distance=float(scores[2].mean()),
    )


def _by_left_out_rows(X: np.ndarray, labels: Labels, splits: list[Split], name: str) -> Scores:
    """Learn from some rows, and compare what is predicted for the others with their candidates."""
    given, equal = _sets_of(labels), equal_rows([X])
    # A true label is learned from only where the candidates tell nothing.
    known = with_truth(given, np.where(informative_rows(given), -1, labels.gold))
    learned = _learned(name, labels, known)
    judge = with_truth(given, labels.gold)
    fit: FittedMethod | None = None
    scores = []
    for train, test in splits:  # the first fold chooses the parameters
        fit = fit_method(name, X[train], learned.take(train), equal[train], like=fit)
        scores.append(_scores(fit.model, X[test], judge[test], labels.ordered))
    assert fit is not None
    return fit.parameters, np.array(scores).T


def _scores(model: Any, X: np.ndarray, judge: CandidateSets, ordered: Any) -> list[float]:
    """Covering rate, approximated accuracy and, if labels have an order, mean distance of rows that
    a model did not learn from.
    """
    return [
        float(SCORERS["covering_rate"](model, X, judge)),
        float(SCORERS["approximated_accuracy"](model, X, judge)),
        mean_absolute_error(judge, model.predict(X), ordered=ordered)
        if has_order(ordered)
        else np.nan,
    ]


def _learned(name: str, labels: Labels, candidates: CandidateSets) -> Labels:
    """What a method learns from: these candidates without gold, and the order if it uses it."""
    used = order_of(find_method(name), labels, strict=False)
    nothing = np.full_like(labels.gold, -1)
    ordered = labels.ordered if used else False
    return replace(labels, candidates=candidates, gold=nothing, ordered=ordered)


def _by_left_out_votes(X: np.ndarray, labels: Labels, splits: list[Split], name: str) -> Scores:
    """Learn from some votes, not from true labels; compare the labels found with the other votes,
    or with the true label where it is known.
    """
    assert labels.votes is not None
    cast, rates = np.argwhere(labels.votes != -1), []
    classes = labels.candidates.classes
    equal = equal_rows([X]) if X.shape[1] else np.arange(len(X))
    fit: FittedMethod | None = None
    for _, hidden in splits:
        rows, who = cast[hidden].T
        votes = labels.votes.copy()
        votes[rows, who] = -1
        if name in VOTES_ONLY:
            label = VOTES_ONLY[name](votes, len(classes)).argmax(axis=1)
        else:  # the first fold chooses the parameters
            known = CandidateSets.from_ballots(votes, classes, annotators=labels.annotators)
            fit = fit_method(name, X, _learned(name, labels, known), equal, like=fit)
            label = np.searchsorted(classes, fit.model.transduction_)
        truth = np.where(labels.gold[rows] >= 0, labels.gold[rows], labels.votes[rows, who])
        rates.append(float(np.mean(label[rows] == truth)))
    chosen = {} if fit is None else fit.parameters
    nothing = np.full(len(rates), np.nan)
    return chosen, np.stack([rates, nothing, nothing])
