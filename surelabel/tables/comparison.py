"""Which method, and which of its parameters, suit a table: cross-validation that looks at
candidates only.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, cross_validate

from ..data.candidates import CandidateSets, as_candidates
from ..estimators import SURECV, Method, SUREClassifier, all_methods
from ..evaluation.metrics import SCORERS
from ..evaluation.protocol import grid_search
from ..exceptions import CandidateError, ParameterError, SurelabelError
from ..progress import track


@dataclass(frozen=True)
class Comparison:
    """What one method reached, over the same folds as the others.

    Attributes
    ----------
    method : str
        Its name in :func:`surelabel.all_methods`.
    parameters : dict
        The best point of its grid.
    covering_rate, covering_sd : float
        Share of left-out rows whose prediction is among their candidates: mean and standard
        deviation over the folds. It chose the parameters, so it is a little too good, the more so
        the larger the grid.
    approximated_accuracy, approximated_sd : float
        Accuracy expected from candidates alone, mean and standard deviation over the folds.
    seconds : float
        Time for the whole search.
    n_rows : int
        Number of rows compared on.
    error : str or None
        Why the method could not be run on this table; its numbers are NaN then.
    """

    method: str
    parameters: dict[str, Any]
    covering_rate: float
    covering_sd: float
    approximated_accuracy: float
    approximated_sd: float
    seconds: float
    n_rows: int
    error: str | None = None


def compare(
    X: Any,
    candidates: Any,
    *,
    methods: Sequence[str] | None = None,
    folds: int = 5,
    max_rows: int = 2000,
    random_state: int = 0,
    verbose: bool = False,
) -> list[Comparison]:
    """Compare methods, each with its best parameters, on the same folds.

    Parameters
    ----------
    X : array-like of shape (m, n)
        The instances.
    candidates : CandidateSets or any form of candidates
        Their candidate labels. Rows for which every label is possible take no part.
    methods : sequence of str, default=None
        Names in :func:`surelabel.all_methods`; None for all of them.
    folds : int, default=5
        Number of folds of shuffled rows.
    max_rows : int, default=2000
        Compare on a random sample of at most so many rows.
    random_state : int, default=0
        Seed of the sample and the folds.
    verbose : bool, default=False
        Show a progress bar.

    Returns
    -------
    list of Comparison
        The best covering rate first; methods that could not be run last.
    """
    X, candidates = np.asarray(X), as_candidates(candidates)
    if len(X) != len(candidates):
        raise CandidateError(
            f"X has {len(X)} rows but there are candidates for {len(candidates)}: they must be the "
            "same instances"
        )
    chosen = [find_method(name) for name in (all_methods() if methods is None else methods)]
    rows = sample_rows(candidates, max_rows, random_state)
    if not 1 < folds <= len(rows):
        raise ParameterError(
            f"{len(rows)} rows with labels cannot be split into {folds} folds; there must be 2 "
            "folds or more"
        )
    splits = list(KFold(folds, shuffle=True, random_state=random_state).split(rows))
    found = [
        _try(method, X[rows], candidates[rows], splits)
        for method in track(chosen, "compare", len(chosen), verbose=verbose)
    ]
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
) -> Comparison:
    """Find the best parameters of one method by the covering rate of left-out rows.

    Parameters
    ----------
    method : Method
        The method and its grid.
    X, candidates : ndarray of shape (m, n), CandidateSets
        The rows to search on.
    splits : list of (ndarray, ndarray)
        Rows to learn from and rows left out, of each fold.

    Returns
    -------
    Comparison
    """
    start = perf_counter()
    with patience():
        parameters: dict[str, Any] = {}
        if method.grid:
            grid = (
                SURECV(cv=splits) if method.estimator is SUREClassifier else _grid(method, splits)
            )
            best = grid.fit(X, candidates).best_params_
            parameters = {
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in best.items()
            }
        scores = cross_validate(
            method.estimator(**parameters),
            X,
            candidates,
            cv=splits,
            scoring={name: SCORERS[name] for name in ("covering_rate", "approximated_accuracy")},
            error_score="raise",
        )
    covering, approximated = scores["test_covering_rate"], scores["test_approximated_accuracy"]
    return Comparison(
        method=method.name,
        parameters=parameters,
        covering_rate=float(covering.mean()),
        covering_sd=float(covering.std()),
        approximated_accuracy=float(approximated.mean()),
        approximated_sd=float(approximated.std()),
        seconds=perf_counter() - start,
        n_rows=len(X),
    )


def find_method(name: str) -> Method:
    """The method of this name, or an error that suggests the nearest one."""
    known = all_methods()
    if name not in known:
        near = get_close_matches(str(name).upper(), known, 1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ParameterError(
            f"there is no method {name!r}; {hint}The methods are {', '.join(known)}"
        )
    return known[name]


def sample_rows(candidates: CandidateSets, max_rows: int, random_state: int) -> np.ndarray:
    """At most ``max_rows`` rows at random, in order, of those whose candidates say something."""
    rows = np.flatnonzero(candidates.sizes < candidates.shape[1])
    if not len(rows):
        raise CandidateError(
            "every row has every class as a candidate: there is nothing to learn from"
        )
    return np.sort(np.random.default_rng(random_state).permutation(rows)[:max_rows])


@contextmanager
def patience() -> Iterator[None]:
    """Fits at a bad point of a grid, or on a part of the rows, may stop before they converge: that
    is no news to a user.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _grid(method: Method, splits: list[tuple[np.ndarray, np.ndarray]]) -> Any:
    grid = dict(method.grid)
    if "n_neighbors" in grid:  # a small table has fewer
        others = max(1, min(len(train) for train, _ in splits) - 1)
        grid["n_neighbors"] = sorted({min(k, others) for k in grid["n_neighbors"]})
    return grid_search(method.estimator(), grid, "covering_rate").set_params(cv=splits)


def _try(
    method: Method,
    X: np.ndarray,
    candidates: CandidateSets,
    splits: list[tuple[np.ndarray, np.ndarray]],
) -> Comparison:
    start = perf_counter()
    try:
        return search(method, X, candidates, splits)
    except SurelabelError as error:
        nan = float("nan")
        return Comparison(
            method.name, {}, nan, nan, nan, nan, perf_counter() - start, len(X), str(error)
        )
