"""``compare``: which method suits a table best, by cross-validation that needs no true labels."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from ..data.ballots import informative_rows, weighed_votes
from ..data.candidates import CandidateSets, as_candidates
from ..data.frames import to_frame
from ..data.labelling import Labels
from ..estimators import CrowdClassifier, Method, all_methods
from ..evaluation.metrics import SCORERS
from ..evaluation.protocol import chosen_parameters
from ..exceptions import CandidateError, ParameterError, SurelabelError
from ..progress import track
from ..text import count, percent, suggest
from .overview import Listing, Overview, Result, named, parameters
from .reading import Columns, TableRead, separate_names
from .soft_labels import LIKELY, likely_sets

#: The name of the method that learns from votes, or soft labels, and features together.
CROWD = "Crowd"
#: What the table functions use by default; where there are votes, that is Crowd.
DEFAULT = "PURE"
NO_VOTES = f"{CROWD} learns from votes or soft labels, and there are none: leave the method out"
COVERED, APPROXIMATED = SCORERS["covering_rate"], SCORERS["approximated_accuracy"]
#: Above this many rows, an exact fit takes longer than one with landmarks.
EXACT_ROWS = 6000


_JOINT = Method(CROWD, CrowdClassifier, {}, reference="", idea="", cost="")


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
        where it is known: mean and standard deviation over the folds. The parameters were chosen by
        the candidates of these rows, so it is slightly optimistic, more so for larger grids. With
        votes: share of left-out votes that equal the label found.
    approximated_accuracy, approximated_sd : float
        Accuracy as estimated from candidates, and true labels where they are known: mean and
        standard deviation over the folds; NaN with votes.
    seconds : float
        Time for the whole search.
    n_rows : int
        Number of rows compared on.
    n_known : int
        How many of them have a known true label, which predictions are compared with.
    error : str or None
        Why the method could not be run on this table; its numbers are NaN in that case.
    gain : float or None
        How much the second half of the rows added to the covering rate; None if all rows of the
        table were used.
    fold_rates : tuple of float
        The covering rate of each fold.
    """

    method: str
    parameters: dict[str, Any]
    covering_rate: float
    covering_sd: float
    approximated_accuracy: float
    approximated_sd: float
    seconds: float
    n_rows: int
    n_known: int = 0
    error: str | None = None
    gain: float | None = None
    fold_rates: tuple[float, ...] = ()


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
    n_labelled : int
        How many of these have labels that say something, so that not every label is possible.
    sampled : bool
        Whether these are a random sample, to save time. Without a sample, the rows left out are
        those for which every label is a candidate.
    by_votes : bool
        Whether votes were left out to compare methods, rather than rows.
    soft : bool
        Whether the candidates are the likely labels of soft labels.
    n_known : int
        How many of the rows compared on have a known true label. Methods learn from their
        candidates all the same (from the true label if they have none), and what they find for them
        is compared with the true label.
    frame : data frame
        The results as a data frame of the kind given.
    """

    results: list[MethodResult]
    n_rows: int
    n_table: int
    n_labelled: int
    sampled: bool
    by_votes: bool
    soft: bool
    n_known: int
    frame: Any

    @property
    def best(self) -> MethodResult | None:
        """The best result, or None if no method could be run."""
        return self.results[0] if self.results and not self.results[0].error else None

    @property
    def better_than_default(self) -> tuple[MethodResult, MethodResult] | None:
        """The best method, and the method that ``clean`` uses by default, if the latter is behind
        by more than two standard errors of the difference over the folds; otherwise None.
        """
        default = CROWD if self.by_votes or self.soft else DEFAULT
        used = [r for r in self.results if r.method == default and not r.error]
        if not used or self.best is None or len(self.best.fold_rates) < 2:
            return None
        ahead = np.subtract(self.best.fold_rates, used[0].fold_rates)
        clear = ahead.mean() > 2 * ahead.std(ddof=1) / np.sqrt(len(ahead))
        return (self.best, used[0]) if clear else None

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

    def _left_out_rows(self) -> str:
        """Why some rows of the table were not compared on."""
        vague = self.n_table - self.n_labelled
        if not self.sampled:
            return "every label is possible for the others"
        sample = "a random sample, to save time; --max-rows for more"
        return f"every label is possible for {vague:,}; of the others {sample}" if vague else sample

    def overview(self) -> Overview:
        """A short summary of the result."""
        estimates = (
            {"left-out votes": True} if self.by_votes else {"in candidates": True, "accuracy": True}
        )
        listing = Listing(
            "",
            {"method": False} | estimates | {"seconds": True, "parameters": False},
            [
                (
                    result.method,
                    f"{percent(result.covering_rate)} ± {100 * result.covering_sd:.1f}",
                    *(
                        ()
                        if self.by_votes
                        else (
                            f"{percent(result.approximated_accuracy)} ± "
                            f"{100 * result.approximated_sd:.1f}",
                        )
                    ),
                    f"{result.seconds:.1f}",
                    parameters(result.parameters),
                )
                for result in self.results
                if not result.error
            ],
        )
        rows = count(self.n_rows)
        if self.n_rows < self.n_table:
            rows += f" of {self.n_table:,} ({self._left_out_rows()})"
        notes = [
            "left-out votes: share that equals the label found without them; annotators make "
            "mistakes, so no method reaches 100 %"
            if self.by_votes
            else "in candidates: share of predictions for left-out rows that are among their "
            "candidates; accuracy: estimated from the candidates"
        ]
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
        if best := self.best:
            near = [
                result.method
                for result in self.results[1:]
                if not result.error
                and result.covering_rate >= best.covering_rate - best.covering_sd
            ]
            if near:
                notes.append(
                    "within one standard deviation of the best, so possibly as good: " + named(near)
                )
            notes += self._with_more_rows(best)
        if clear := self.better_than_default:
            notes.append(
                f"{clear[1].method}, the default of clean, is clearly behind {clear[0].method}: "
                f"{percent(clear[1].covering_rate)} against {percent(clear[0].covering_rate)}, "
                "more than two standard errors over the folds; use --method "
                + shlex.quote(clear[0].method)
            )
        return Overview(
            title=f"methods compared on {rows}, the best first",
            facts=[],
            listings=[listing] if listing.rows else [],
            problems=[f"{name} could not be run: {error}" for name, error in self.errors.items()],
            notes=notes,
        )

    def _with_more_rows(self, best: MethodResult) -> list[str]:
        """Which methods may be ahead of the best on all rows, if each further doubling of the rows
        brings as much as the last one.
        """
        if not self.sampled or best.gain is None:
            return []
        doublings = np.log2(self.n_table / self.n_rows)
        ahead = [
            f"{result.method} ({100 * result.gain:+.1f})"
            for result in self.results[1:]
            if result.gain is not None
            and result.covering_rate + doublings * (result.gain - best.gain) > best.covering_rate
        ]
        if not ahead:
            return []
        return [
            f"the second half of these rows brought {best.method} {100 * best.gain:+.1f} points, "
            f"others more: {named(ahead)}; on all {self.n_table:,} rows the order may be another "
            "one (--max-rows compares on more)"
        ]


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
    """Find out which method, with which parameters, suits a table best, by cross-validation that
    needs no true labels, and uses those that are known.

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
    from .vote_comparison import compare_on_votes  # which imports this module

    names = separate_names(methods) if methods is not None else None
    read = TableRead(frame, columns, votes_suffice=True)
    by_votes, soft = read.labels.votes is not None, read.labels.soft
    with read.named():
        X = read.encoded()[1]
        how: dict[str, Any] = {
            "methods": names,
            "folds": folds,
            "max_rows": max_rows,
            "random_state": random_state,
            "verbose": verbose,
        }
        if read.labels.votes is not None:
            labelled = (read.labels.votes != -1).any(axis=1)
            found = compare_on_votes(X, read.labels, **how)
        else:
            given = weighed_votes(read.labels.candidates)
            candidates = likely_sets(given) if soft else given
            labelled = informative_rows(candidates) | (read.labels.gold >= 0)
            found = compare_methods(X, candidates, gold=read.labels.gold, **how, soft=soft)
    rows = [asdict(result) | {"parameters": parameters(result.parameters)} for result in found]
    for row in rows:
        del row["fold_rates"]
    return Comparison(
        results=found,
        n_rows=found[0].n_rows,
        n_table=read.table.num_rows,
        n_labelled=int(labelled.sum()),
        sampled=bool(found[0].n_rows < labelled.sum()),
        by_votes=by_votes,
        soft=soft,
        n_known=found[0].n_known,
        frame=to_frame(pa.Table.from_pylist(rows), read.frame),
    )


def compare_methods(
    X: Any,
    candidates: Any,
    *,
    gold: np.ndarray | None = None,
    methods: Sequence[str] | None = None,
    folds: int = 5,
    max_rows: int = 2000,
    random_state: int = 0,
    verbose: bool = False,
    soft: bool = False,
) -> list[MethodResult]:
    """Compare methods, each with its best parameters, on the same folds.

    Parameters
    ----------
    X : array-like of shape (m, n)
        The instances.
    candidates : CandidateSets or any form of candidates
        Their candidate labels. Rows for which every label is possible take no part.
    gold : ndarray of shape (m,), default=None
        Positions of the true labels where they are known, else -1. Predictions for these rows are
        compared with them, and not with the candidates.
    methods : sequence of str, default=None
        Names in :func:`surelabel.all_methods`; None for all of them.
    folds : int, default=5
        Number of folds of shuffled rows.
    max_rows : int, default=2000
        Compare on a random sample of at most ``max_rows`` rows.
    random_state : int, default=0
        Seed of the sample and the folds.
    verbose : bool, default=False
        Show a progress bar.
    soft : bool, default=False
        Whether the counts of the candidates are soft labels, from which "Crowd" learns, too.

    Returns
    -------
    list of MethodResult
        The best covering rate first; methods that could not be run last.
    """
    X, candidates = np.asarray(X), as_candidates(candidates)
    if len(X) != len(candidates):
        raise CandidateError(
            f"X has {len(X)} rows but there are candidates for {len(candidates)}: they must be the "
            "same instances"
        )
    names = [*((CROWD,) if soft else ()), *all_methods()] if methods is None else methods
    chosen = list(map(find_method, as_cleaned(names) if soft else names))
    if not soft and _JOINT in chosen:
        raise ParameterError(NO_VOTES)
    known = np.full(len(X), -1) if gold is None else gold
    judge = with_known(candidates, known)
    # A true label is learned from only where the candidates tell nothing.
    candidates = with_known(candidates, np.where(informative_rows(candidates), -1, known))
    rows = sample_rows(candidates, max_rows, random_state)
    if not 1 < folds <= len(rows):
        raise ParameterError(
            f"{len(rows)} rows with labels cannot be split into {folds} folds; there must be 2 "
            "folds or more"
        )
    splits = list(KFold(folds, shuffle=True, random_state=random_state).split(rows))
    sampled = len(rows) == max_rows < len(X)
    n_known = int((known[rows] >= 0).sum())
    found = [
        replace(
            _try(method, X[rows], candidates[rows], splits, judge=judge[rows], sampled=sampled),
            n_known=n_known,
        )
        for method in track(chosen, "compare", len(chosen), verbose=verbose)
    ]
    return best_first(found)


def best_first(found: list[MethodResult]) -> list[MethodResult]:
    """Sort by covering rate; methods that could not be run come last."""
    return sorted(
        found,
        key=lambda result: (
            result.error is not None,
            -result.covering_rate if result.error is None else 0.0,
        ),
    )


def search(
    method: Method,
    X: np.ndarray,
    candidates: CandidateSets,
    splits: list[tuple[np.ndarray, np.ndarray]],
    *,
    judge: CandidateSets | None = None,
    sampled: bool = False,
) -> MethodResult:
    """Find the best parameters of one method by the covering rate of left-out rows.

    Parameters
    ----------
    method : Method
        The method and its grid.
    X, candidates : ndarray of shape (m, n), CandidateSets
        The rows to search on.
    splits : list of (ndarray, ndarray)
        For each fold, the rows to learn from and the rows left out.
    judge : CandidateSets, default=None
        What the predictions with these parameters are compared with; by default the candidates.
    sampled : bool, default=False
        Whether the table has more rows: if so, half of the rows are tried as well.

    Returns
    -------
    MethodResult
    """
    start = perf_counter()
    with convergence_warnings_ignored():
        parameters: dict[str, Any] = {}
        if method.grid:
            grid = method.make_search(grid=_fitting_grid(method, splits)).set_params(cv=splits)
            parameters = chosen_parameters(grid.fit(X, candidates))
        model = method.estimator(**parameters)
        check = partial(_judged, model, X, candidates, candidates if judge is None else judge)
        (covering, approximated), gain = check(splits), None
        if sampled:
            rng = np.random.default_rng(0)
            half = [(rng.permutation(train)[: len(train) // 2], test) for train, test in splits]
            gain = float(np.mean(covering - check(half)[0]))
    return MethodResult(
        method=method.name,
        parameters=parameters,
        covering_rate=float(covering.mean()),
        covering_sd=float(covering.std()),
        approximated_accuracy=float(approximated.mean()),
        approximated_sd=float(approximated.std()),
        seconds=perf_counter() - start,
        n_rows=len(X),
        gain=gain,
        fold_rates=tuple(map(float, covering)),
    )


def _judged(
    model: Any,
    X: np.ndarray,
    candidates: CandidateSets,
    judge: CandidateSets,
    splits: list[tuple[np.ndarray, np.ndarray]],
) -> np.ndarray:
    """Covering rate and approximated accuracy of each fold, as two rows."""
    scores = [
        [score(fitted, X[test], judge[test]) for score in (COVERED, APPROXIMATED)]
        for train, test in splits
        for fitted in [clone(model).fit(X[train], candidates[train])]
    ]
    return np.array(scores).T


def has_closed_form(method: Method) -> bool:
    """Whether a method has the outputs without a row in closed form, and so needs no folds."""
    return hasattr(method.estimator, "leave_one_out")


def joint(method: Method) -> bool:
    """Whether a method learns from votes, or soft labels, and features together: Crowd, and methods
    in whose place it is used where there are votes.
    """
    return method == _JOINT or has_closed_form(method)


def as_cleaned(names: Sequence[str]) -> list[str]:
    """The methods that ``clean`` uses for these names where there are votes or soft labels."""
    known = all_methods()
    return list(
        dict.fromkeys(CROWD if name in known and joint(known[name]) else name for name in names)
    )


def left_out_proba(model: Any, X: np.ndarray) -> np.ndarray:
    """Probabilities of the rows that a model was fitted to, each by the model without that row and
    its equals.
    """
    outputs = getattr(model, "loo_decision_", None)
    outputs = model.leave_one_out(X) if outputs is None else outputs
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


def large_parameters(method: Method, n_rows: int) -> dict[str, Any]:
    """Parameters that a method needs for ``n_rows`` rows."""
    return dict(method.many_rows) if n_rows > EXACT_ROWS else {}


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


def with_gold(labels: Labels) -> CandidateSets:
    """The candidates to learn from: the informative votes, or only the gold label where it is
    known.
    """
    return with_known(weighed_votes(labels.candidates), labels.gold)


def with_known(candidates: CandidateSets, known: np.ndarray) -> CandidateSets:
    """The candidates, or only the known label where its position is not -1."""
    rows = np.flatnonzero(known >= 0)
    if not len(rows):
        return candidates
    kept = known[candidates.rows] < 0
    all_rows = np.concatenate([candidates.rows[kept], rows])
    order = np.argsort(all_rows, kind="stable")
    columns = np.concatenate([candidates.indices[kept], known[rows]])[order]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(all_rows))])
    votes = candidates.counts
    counts = (
        None
        if votes is None
        else np.concatenate([votes[kept], np.ones(len(rows), votes.dtype)])[order]
    )
    return CandidateSets(indptr, columns, candidates.classes, counts)


def sample_rows(candidates: CandidateSets, max_rows: int, random_state: int) -> np.ndarray:
    """At most ``max_rows`` random rows, in order, of those for which not every label is
    possible.
    """
    rows = np.flatnonzero(informative_rows(candidates))
    if not len(rows):
        raise CandidateError(
            "every row has every class as a candidate: there is nothing to learn from"
        )
    return np.sort(np.random.default_rng(random_state).permutation(rows)[:max_rows])


@contextmanager
def convergence_warnings_ignored() -> Iterator[None]:
    """Ignore warnings about fits that stop before they converge, at a bad point of a grid or on a
    part of the rows: users can do nothing about these.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _fitting_grid(
    method: Method, splits: list[tuple[np.ndarray, np.ndarray]]
) -> dict[str, Sequence[Any]] | None:
    """The grid of a method, limited to as many neighbours as the folds have rows; None if no limit
    is needed.
    """
    counts = method.grid.get("n_neighbors", ())
    others = max(1, min(len(train) for train, _ in splits) - 1)
    if max(counts, default=0) <= others:
        return None
    return {**method.grid, "n_neighbors": sorted({min(k, others) for k in counts})}


def _try(
    method: Method,
    X: np.ndarray,
    candidates: CandidateSets,
    splits: list[tuple[np.ndarray, np.ndarray]],
    **how: Any,
) -> MethodResult:
    start = perf_counter()
    try:
        return search(method, X, candidates, splits, **how)
    except SurelabelError as error:
        nan = float("nan")
        return MethodResult(
            method.name, {}, nan, nan, nan, nan, perf_counter() - start, len(X), error=str(error)
        )
