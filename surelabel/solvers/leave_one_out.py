"""PURE: a confidence step in which each row is judged by the model without that row.

Every model here is linear in the confidences: ``Q = SP``. The output of the model that was fitted
without row ``i`` is, for all rows at once,

    q_i⁽⁻ⁱ⁾ = (q_i - h_i p_i) / (1 - h_i),    h_i = S_ii (the leverage)

because a row with the target ``q_i⁽⁻ⁱ⁾``, which the model without it already meets, changes
nothing. Rows with equal features are left out together (:class:`LeftOut`); otherwise a copy of a
row would confirm it. With ``π`` the mean of ``P`` (with one extra row for every class) and ``q =
max(q⁽⁻ⁱ⁾, 0.001)``, the step is

    p_ij ∝ [j ∈ S_i] q_ij² / π_j^(g/2).

``g`` says how false candidates arise. If the chance of the set ``S`` at an instance of class ``j``
is proportional to ``θ_j/π_j / Σ_{k∈S} θ_k`` with ``θ = π^(1-g)``, the candidates have the
log-likelihood ``Σ_i log Σ_{j∈S_i} (θ_j/Θ_{S_i}) q_ij/π_j`` up to a constant. ``g = 0``: false
candidates are drawn at random. ``g = 1``: all candidates of a set are equally likely, however
frequent their classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .alternate import Course, Iteration, Model, Trajectory
from .confidence import SortedSets

FLOOR = 1e-3  # smaller outputs are raised to this
SHIFTS = np.arange(11) / 10  # the values of g that are tried
SIGNIFICANT = 3.0  # g is 0 unless its log-likelihood is better by this much
SETTLED = 10  # g is fixed after this many iterations


def without_row(p: np.ndarray, q: np.ndarray, leverage: np.ndarray) -> np.ndarray:
    """Outputs of the model fitted without the row itself, from the confidences ``p`` that it was
    fitted to, its outputs ``q``, and the leverage of the row of each entry.

    If a leverage is 1, the output depends on the row alone, and the result is meaningless but
    finite.
    """
    rest = np.maximum(1 - leverage, np.finfo(q.dtype).eps)
    return p - (p - q) / rest


class LeftOut:
    """What is left out to judge a row: the row itself, and all rows with equal features.

    Equal rows ``G`` have the same output, ``q = Σ h_j p_j + (1 - H) q⁽⁻ᴳ⁾`` with ``H = Σ h_j``
    (sums over ``G``). So each of them is judged like one row with the leverage ``H`` and the
    confidences ``Σ h_j p_j / H``. ``w`` equal rows with equal confidences are like one row of
    weight ``w``.

    Parameters
    ----------
    leverage : ndarray of shape (m,)
        ``h_i`` of the rows.
    numbers : ndarray of int of shape (m,), default=None
        Equal numbers for equal rows, starting at 0; None if all rows differ.

    Attributes
    ----------
    leverage : ndarray of shape (m,)
        ``H`` of the group of each row.
    """

    def __init__(self, leverage: np.ndarray, numbers: np.ndarray | None = None) -> None:
        self.leverage = leverage
        self._rows = np.empty(0, np.intp)  # those that have equals
        if numbers is None:
            return
        self._rows = np.flatnonzero(np.bincount(numbers)[numbers] > 1)
        group = np.unique(numbers[self._rows], return_inverse=True)[1]
        total = np.bincount(group, leverage[self._rows])[group]
        self.leverage = leverage.copy()
        self.leverage[self._rows] = total
        self._group = np.full(len(leverage), -1)
        self._group[self._rows] = group
        self._share = np.zeros(len(leverage))
        # A total may be 0.
        self._share[self._rows] = leverage[self._rows] / np.maximum(total, 1e-30)

    def means(
        self, rows: np.ndarray, columns: np.ndarray, n_classes: int
    ) -> Callable[[np.ndarray], np.ndarray]:
        """A function of the confidences of all candidates, whose rows and classes are given, that
        returns their means over equal rows.
        """
        if not len(self._rows):
            return lambda p: p
        here = np.flatnonzero(self._group[rows] >= 0)
        keys = self._group[rows[here]] * n_classes + columns[here]
        place = np.unique(keys, return_inverse=True)[1]
        share = self._share[rows[here]]

        def mean(p: np.ndarray) -> np.ndarray:
            found = p.copy()
            found[here] = np.bincount(place, share * p[here])[place]
            return found

        return mean

    def outputs(self, P: Any, Q: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Outputs of the model fitted without the row and its equals, from the confidences ``P`` (m
        × l, dense or CSR) that it was fitted to and its outputs ``Q``, for all rows or for
        ``rows``.
        """
        rows = np.arange(len(self.leverage)) if rows is None else rows
        own = P[rows].toarray() if sparse.issparse(P) else P[rows]
        if len(self._rows):
            group = self._group[rows]
            average = sparse.csr_array(
                (self._share[self._rows], (self._group[self._rows], self._rows)),
                shape=(int(self._group.max()) + 1, len(self.leverage)),
            )
            mean = (average @ P)[group[group >= 0]]
            own[group >= 0] = mean.toarray() if sparse.issparse(mean) else mean
        return without_row(own, Q, self.leverage[rows][:, None].astype(Q.dtype, copy=False))


def shift_likelihood(sets: SortedSets, q: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Log-likelihood of the candidates of the ambiguous rows, for every ``g`` of ``SHIFTS``, from
    the outputs ``q`` at the ambiguous entries and the class shares ``mean``, ``π``.

    Rows with every label as a candidate do not show how false candidates arise, and are left out.
    """
    informative = sets.row_sums(np.ones((1, len(q))))[0] < sets.n_classes
    weight = sets.weight[sets.n_clean :].astype(np.float64) * informative
    ratio = np.maximum(q, FLOOR) / mean[sets.columns]
    theta = np.take(mean ** (1 - SHIFTS[:, None]), sets.columns, axis=1)
    above, below = sets.row_sums(theta * ratio), sets.row_sums(theta)
    return np.asarray(np.log(above / below) @ weight)


def choose_shift(likelihood: np.ndarray) -> float:
    """The most likely ``g``, or 0 unless its log-likelihood is better by ``SIGNIFICANT``."""
    best = int(likelihood.argmax())
    return float(SHIFTS[best]) if likelihood[best] - likelihood[0] > SIGNIFICANT else 0.0


def class_shares(mass: np.ndarray, total: float) -> np.ndarray:
    """``π``: each class's share of the rows, with one extra row for every class, from the sums of
    confidences by weight and the weight of all rows.

    Without it, a class that loses all its rows would have a share of 0. Compared with that, its
    outputs of at least 0.001 would seem large, and ``g`` would be 1 on data with rare classes.
    """
    return np.asarray((mass + 1) / (total + len(mass)))


def next_shift(
    likelihood: np.ndarray, used: float, number: int, known: float | None = None
) -> float:
    """``g`` of the next step: the known value, or the most likely one until it is fixed."""
    if known is not None:
        return known
    return choose_shift(likelihood) if number < SETTLED else used


def peer_confidence(sets: SortedSets, q: np.ndarray, mean: np.ndarray, shift: float) -> np.ndarray:
    """``p_ij ∝ q_ij² / π_j^(g/2)`` over the candidates of each ambiguous row, from leave-one-out
    outputs ``q``; votes multiply ``q`` by ``exp(κ π)``.
    """
    lifted = np.maximum(q, FLOOR)
    if sets.prior is not None:
        lifted *= np.exp(sets.prior)
    scale = (mean ** (-shift / 4)).astype(q.dtype)
    return sets.normalise((lifted * scale[sets.columns])[None] ** 2)[0]


@dataclass(kw_only=True)
class PeerCourse(Course):
    """The course of the iterations, with ``g`` of the last step; ``objective_path`` is the negative
    log-likelihood of the candidates.
    """

    shift: float = 0.0


@dataclass(kw_only=True)
class PeerTrajectory(Trajectory, PeerCourse):
    """The course of the iterations in memory, and its solution; the model is fitted to the final
    confidences (``fitted_p`` is ``p``).
    """


def iterate_peers(
    step: Callable[[float], tuple[float, np.ndarray]],
    course: PeerCourse,
    *,
    max_iter: int,
    tol: float,
    shift: float | None = None,
    callback: Callable[[Iteration], bool | None] | None = None,
) -> None:
    """Repeat a step of PURE until the confidences no longer change; ``course`` gets the course of
    the iterations.

    ``step`` is called with ``g``, and returns its change ``‖ΔP‖_F / √m`` and the result of
    :func:`shift_likelihood`. ``g`` is estimated from the outputs of the previous step; in the first
    step it is 1, because ``P = Y / |S|`` treats all candidates equally. So one pass over the rows
    is one iteration even if rows are read in blocks. ``g`` is fixed after 10 iterations, because
    otherwise it and the confidences could change each other forever.
    """
    following = 1.0 if shift is None else shift
    for number in range(1, max(max_iter, 1) + 1):
        course.shift = following
        delta, likelihood = step(course.shift)
        following = next_shift(likelihood, course.shift, number, shift)
        # The likelihood of the nearest g that is tried.
        iteration = course.add(delta, -float(likelihood[round(10 * course.shift)]))
        course.converged = (delta <= tol and following == course.shift) or not max_iter
        stop = callback is not None and callback(iteration)
        if course.converged or stop:
            break


def alternate_peers(
    model: Model,
    sets: SortedSets,
    left_out: LeftOut,
    *,
    max_iter: int,
    tol: float,
    shift: float | None = None,
    refine: Callable[[np.ndarray], np.ndarray] | None = None,
    callback: Callable[[Iteration], bool | None] | None = None,
) -> PeerTrajectory:
    """Alternate the model step and the confidence step of PURE; the options are those of
    :func:`~surelabel.solvers.alternate.alternate` where they have the same name.

    With ``max_iter=0``, the model stays at ``P = Y / |S|`` (``fitted_p``), and ``p`` is the result
    of one confidence step. ``left_out`` is what is left out with each row, rows sorted by set size;
    ``shift`` is a known ``g``; ``refine`` changes the confidences of the ambiguous entries after
    each step.
    """
    p = sets.initial("uniform", 1)[0]
    own = left_out.leverage[sets.n_clean + sets.rows].astype(p.dtype)
    mean_of = left_out.means(
        np.concatenate([np.arange(sets.n_clean), sets.n_clean + sets.rows]),
        np.concatenate([sets.clean_columns, sets.columns]),
        sets.n_classes,
    )
    known = np.ones(sets.n_clean, p.dtype)
    certain = np.bincount(sets.clean_columns, sets.weight[: sets.n_clean], sets.n_classes)
    path = PeerTrajectory(p=p, fitted_p=p)

    def step(shift: float) -> tuple[float, np.ndarray]:
        before = path.p
        judged = mean_of(np.concatenate([known, before]))[sets.n_clean :]
        q = without_row(judged, model.step(before[None])[0][0], own)
        moving = np.bincount(sets.columns, before * sets.entry_weight, sets.n_classes)
        mean = class_shares(certain + moving, sets.total_weight)
        path.p = peer_confidence(sets, q, mean, shift)
        if refine is not None:
            path.p = refine(path.p)
        path.fitted_p = path.p if max_iter else before
        squares = sets.weighted_sum((path.p - before)[None] ** 2)[0]
        return float(np.sqrt(squares / sets.total_weight)), shift_likelihood(sets, q, mean)

    iterate_peers(step, path, max_iter=max_iter, tol=tol, shift=shift, callback=callback)
    return path


@dataclass(frozen=True)
class PeerSolution:
    """A model that :func:`alternate_peers` found, and the one at even shares, ``P = Y / |S|``,
    where it began. Rows are sorted by set size.

    Attributes
    ----------
    path : PeerTrajectory
        The course of the iterations.
    leverage : ndarray of shape (m,)
        ``h_i`` of every row.
    coefficients : ndarray of shape (2, k, l)
        Of the model, and of the model at even shares.
    intercepts : ndarray of shape (2, l)
        Likewise.
    outputs : ndarray of shape (2, m, l)
        Outputs of every row by the model without the row and its equals, likewise.
    """

    path: PeerTrajectory
    leverage: np.ndarray
    coefficients: np.ndarray
    intercepts: np.ndarray
    outputs: np.ndarray


def solve_peers(
    model: Any, sets: SortedSets, equal: np.ndarray | None, **options: Any
) -> PeerSolution:
    """PURE with one model in memory, a KernelRidge or a LinearRidge; ``equal`` are equal numbers
    for equal rows, sorted by set size, or None if all rows differ; ``options`` are those of
    :func:`alternate_peers`.
    """
    leverage = model.leverage()
    left_out = LeftOut(leverage, equal)
    path = alternate_peers(model, sets, left_out, **options)
    p = np.stack([path.fitted_p, sets.initial("uniform", 1)[0]])
    coefficients, intercepts = model.coefficients(p)
    outputs = [
        left_out.outputs(sets.dense(one), model.outputs(one, A, b))
        for one, A, b in zip(p, coefficients, intercepts, strict=True)
    ]
    return PeerSolution(path, leverage, coefficients, intercepts, np.array(outputs))
