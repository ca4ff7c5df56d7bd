"""Which kernels PURE averages: chosen on a sample of rows by leave-one-out outputs, without
folds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..data.candidates import CandidateSets
from ..solvers.confidence import SortedSets
from ..solvers.equal_rows import folds_of
from ..solvers.kernels import SCALINGS, distances, exponentiate, gamma_of, learn_scaling, rescale
from ..solvers.leave_one_out import LeftOut, alternate_peers
from ..solvers.ridge import KernelRidge
from .kernel import factorise, sort_candidates

SAMPLE = 800  # number of rows used for the choice
BANK = ("rbf", "laplacian")
BETAS = (0.01, 0.1)
USUAL = ("standard", "rbf", 0.1)  # used unless others are better
ERRORS = 2.0  # better by this many standard errors
KEPT = 3  # maximum number of kernels averaged
SAME = 1e-3  # models whose criteria differ by less than this on average are the same
TEMPERATURE = 0.1
EXCESS = 0.2  # the limit of the guard


@dataclass(frozen=True)
class Choice:
    """One model of the bank.

    Attributes
    ----------
    scaling, kernel, beta : str, str, float
        The model.
    criterion : float
        Mean log of the share that the leave-one-out outputs give to the row's candidates.
    """

    scaling: str
    kernel: str
    beta: float
    criterion: float


def candidate_share(outputs: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Log of the share of each row's softmax (temperature 0.1) that its candidates have."""
    scaled = outputs.astype(np.float64) / TEMPERATURE
    return np.asarray(
        logsumexp(np.where(inside, scaled, -np.inf), axis=1) - logsumexp(scaled, axis=1)
    )


def choose_kernels(
    X: np.ndarray,
    candidates: CandidateSets,
    weight: np.ndarray | None,
    *,
    prior: float,
    max_iter: int,
    tol: float,
    shift: float | None = None,
    equal: np.ndarray | None = None,
) -> tuple[list[Choice], bool]:
    """The usual kernel, or up to three that are better by two standard errors, each with its best
    β.

    Parameters
    ----------
    X, candidates, weight
        The sample of rows.
    prior, max_iter, tol
        As in :class:`~surelabel.PUREClassifier`.
    shift : float, default=None
        ``g`` where it is known.
    equal : ndarray of int, default=None
        Equal numbers for equal rows; None if all rows differ.

    Returns
    -------
    choices : list of Choice
        Best first.
    guarded : bool
        Whether the guard fired, so that only the usual kernel was chosen: the leave-one-out
        covering rate of the best exceeds that of held-out rows by 0.2.
    """
    stop = {"max_iter": max_iter, "tol": tol, "shift": shift}
    bank = _Bank(X, candidates, weight, prior, equal, stop)
    scores = {
        (scaling, kernel, beta): bank.criterion(scaling, kernel, beta)
        for scaling in SCALINGS
        for kernel in BANK
        for beta in BETAS
    }
    copies = np.ones(len(X)) if weight is None else weight
    share = copies / copies.sum()
    usual = scores[USUAL]

    def better(values: np.ndarray) -> bool:
        gain = values - usual
        error = np.sqrt(share @ (gain - share @ gain) ** 2 / copies.sum())
        return bool(share @ gain > ERRORS * error)

    ranked = sorted(scores, key=lambda name: -float(share @ scores[name]))
    # Only the best β of each kernel: an average of three different kernels is better. Scalings of
    # 0/1 features are all the same.
    chosen: list[tuple[str, str, float]] = []
    for name in filter(lambda name: better(scores[name]), ranked):
        seen = (
            other[:2] == name[:2] or share @ np.abs(scores[other] - scores[name]) < SAME
            for other in chosen
        )
        if len(chosen) < KEPT and not any(seen):
            chosen.append(name)
    chosen = chosen or [USUAL]
    guarded = bank.excess(*chosen[0]) > EXCESS
    chosen = [USUAL] if guarded else chosen
    return [Choice(*name, float(share @ scores[name])) for name in chosen], guarded


class _Bank:
    """The models of the bank on the sample of rows."""

    def __init__(
        self,
        X: np.ndarray,
        candidates: CandidateSets,
        weight: np.ndarray | None,
        prior: float,
        equal: np.ndarray | None,
        stop: dict[str, Any],
    ) -> None:
        self._X, self._candidates, self._weight, self._prior = X, candidates, weight, prior
        self._equal = np.arange(len(X)) if equal is None else equal
        self._stop = stop
        self._inside = candidates.to_indicator().astype(bool)
        self._sets = sort_candidates(candidates, weight, X.dtype, prior)
        self._at: tuple[str, str] | None = None

    def criterion(self, scaling: str, kernel: str, beta: float) -> np.ndarray:
        """:func:`candidate_share` of every row."""
        return candidate_share(self._outputs(scaling, kernel, beta), self._inside)

    def _outputs(self, scaling: str, kernel: str, beta: float) -> np.ndarray:
        """Leave-one-out outputs of all rows."""
        sets = self._sets
        K, equal = self._kernel(scaling, kernel), self._equal[sets.row_order]
        model, p, left_out = self._fit(K, beta, sets, equal)
        outputs = np.empty(self._inside.shape, p.dtype)
        outputs[sets.row_order] = left_out.outputs(sets.dense(p), model.outputs(p))
        return outputs

    def _kernel(self, scaling: str, kernel: str) -> np.ndarray:
        """The kernel matrix, with rows sorted by set size; kept for the next β."""
        if self._at != (scaling, kernel):
            order = self._sets.row_order
            Z = rescale(scaling, learn_scaling(scaling, self._X, self._weight), self._X)[order]
            D = distances(kernel, Z)
            gamma = gamma_of(kernel, "mean_distance", 1.0, Z, D, self._sets.weight)
            self._at, self._K = (scaling, kernel), exponentiate(D, gamma)
        return self._K

    def _fit(
        self, K: np.ndarray, beta: float, sets: SortedSets, equal: np.ndarray
    ) -> tuple[KernelRidge, np.ndarray, LeftOut]:
        model = factorise(KernelRidge, K.copy(), beta, sets)
        left_out = LeftOut(model.leverage(), equal)
        return model, alternate_peers(model, sets, left_out, **self._stop).p, left_out

    def excess(self, scaling: str, kernel: str, beta: float) -> float:
        """The leave-one-out covering rate, minus that of models of other folds; equal rows are in
        the same fold.
        """
        covered = self._covered(self._outputs(scaling, kernel, beta))
        if len(np.unique(self._equal)) < 5:
            return 0.0
        K = self._kernel(scaling, kernel)
        place = np.argsort(self._sets.row_order)
        held = np.zeros(len(self._X), bool)
        for train, test in folds_of(self._equal, 5, 0):
            weight = None if self._weight is None else self._weight[train]
            sets = sort_candidates(self._candidates[train], weight, K.dtype, self._prior)
            rows = place[train[sets.row_order]]
            equal = self._equal[train[sets.row_order]]
            model, p, _ = self._fit(K[np.ix_(rows, rows)], beta, sets, equal)
            (A,), (b,) = model.coefficients(p[None])
            held[test] = self._covered(K[np.ix_(place[test], rows)] @ A + b, test)
        return float(np.average(covered, weights=self._weight)) - float(
            np.average(held, weights=self._weight)
        )

    def _covered(self, outputs: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
        return np.asarray(self._inside[rows][np.arange(len(outputs)), outputs.argmax(axis=1)])
