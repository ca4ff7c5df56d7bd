"""Refit the model after each answer: kernels and factorisations are kept, so a refit is fast.

There are two refits. :meth:`Follower.follow` starts from the last confidences and takes a few
matrix products, before the next row is shown; it does not estimate again how false candidates arise
(``g``). :meth:`Follower.settle` starts from even shares, as a fit does, and ends where a fit from
scratch with the same kernels ends. It runs while the person reads, and stops as soon as there is
another answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.special import softmax

from ..data.candidates import CandidateSets
from ..data.labelling import Labels
from ..estimators.kernel import sort_candidates
from ..solvers.alternate import Iteration
from ..solvers.crowds import (
    CrowdFit,
    SoftTally,
    Tally,
    alternate_crowd,
    merge_copies,
    trust_features,
)
from ..solvers.hat_matrix import HatMatrix, Outputs, SetsModel, make_hat
from ..solvers.kernels import rescale
from ..solvers.leave_one_out import LeftOut, alternate_peers
from ..solvers.temperature import softmax_scale
from ..solvers.threads import blas_threads
from ..tables.judging import Judgement, judge_sets, judge_votes
from ..tables.methods import with_gold

#: Number of rows used to fit the scale of the probabilities.
SCALE_ROWS = 2000
#: With candidates: maximum number of iterations before the next row is shown.
STEPS = 5
#: With votes: number of iterations before the next row is shown.
QUICK = 2


class Interrupted(Exception):
    """Raised to abandon a refit because there is another answer."""


class Follower(Protocol):
    """A model that can be refitted after each answer."""

    def follow(self, labels: Labels, changed: np.ndarray) -> None:
        """Refit from where it is, after the labels of these rows have changed."""

    def settle(self, labels: Labels, stop: Callable[[], bool]) -> Follower:
        """Fit from scratch, and return a new follower."""

    def shares(self) -> np.ndarray:
        """How likely each label of each row is: among the candidates, or by votes and features."""

    def judge(self, labels: Labels) -> Judgement:
        """The calibrated judgement of each row by models that did not learn from it."""


def resized(shares: np.ndarray, n_classes: int) -> np.ndarray:
    """Shares of ``n_classes`` labels: new labels are added at the end, or removed if taken back."""
    more = n_classes - shares.shape[1]
    return np.pad(shares, ((0, 0), (0, more))) if more > 0 else shares[:, :n_classes]


@dataclass(frozen=True)
class _Member:
    """One kernel: its model, and the confidences that it was last fitted to."""

    hat: HatMatrix
    outputs: Outputs
    P: np.ndarray = field(default_factory=lambda: np.empty((0, 0), np.float32))
    shift: float = 1.0


class PeerFollower:
    """Refits with the kernels of a :class:`~surelabel.PUREClassifier`.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        The rows.
    model : PUREClassifier
        Fitted to them.
    groups : ndarray of int of shape (m,)
        Equal rows have equal numbers: they are left out together.
    """

    def __init__(self, X: np.ndarray, model: Any, groups: np.ndarray) -> None:
        auto = model.kernel == "auto"
        parts = model.members_ if auto else [model]
        scaled: Sequence[np.ndarray] = [X]
        if auto:
            scaled = [
                rescale(str(chosen["scaling"]), learned, X)
                for chosen, learned in zip(model.kernels_, model.scalings_, strict=True)
            ]
        hats = [
            make_hat(
                part.kernel,
                Z,
                part.gamma_,
                part.beta,
                part.X_fit_ if part.solver_ == "nystroem" else None,
                np.float32,
            )
            for part, Z in zip(parts, scaled, strict=True)
        ]
        self._members = [_Member(hat, Outputs(hat)) for hat in hats]
        self._groups = groups
        self._prior, self._tol = model.prior, model.tol
        self._max_iter = 0 if model.guarded_ else model.max_iter
        self._shift = 0.0 if model.guarded_ else None
        self._scale = float(model.scale_)
        self._known: CandidateSets | None = None

    def follow(self, labels: Labels, changed: np.ndarray) -> None:
        """Refit from where it is, after the labels of these rows have changed."""
        self._refit(with_gold(labels), changed, lambda: False)

    def settle(self, labels: Labels, stop: Callable[[], bool]) -> PeerFollower:
        """Fit from scratch, and return a new follower."""
        fresh = object.__new__(type(self))
        fresh.__dict__ |= self.__dict__
        fresh._members = [_Member(old.hat, Outputs(old.hat)) for old in self._members]
        fresh._refit(with_gold(labels), None, stop)
        fresh._scale = _scale(fresh._left_out(), with_gold(labels))
        return fresh

    def _refit(
        self, known: CandidateSets, changed: np.ndarray | None, stop: Callable[[], bool]
    ) -> None:
        sets = sort_candidates(known, None, np.float32, self._prior)
        members = []
        for member in self._members:
            model, start, shift = SetsModel(member.outputs, sets), None, self._shift
            if changed is not None and len(member.P):
                before = resized(member.P, known.shape[1])
                start, shift = model.start(before, changed), member.shift
            with blas_threads(sets.n_rows):
                path = alternate_peers(
                    model,
                    sets,
                    LeftOut(member.hat.leverage[sets.row_order], self._groups[sets.row_order]),
                    max_iter=self._max_iter,
                    tol=self._tol,
                    shift=shift,
                    start=start,
                    callback=partial(_interrupt, stop) if start is None else _no_longer_nearer(),
                )
            members.append(replace(member, P=model.dense(path.fitted_p), shift=path.shift))
        self._members, self._known = members, known

    def _left_out(self, even: np.ndarray | None = None) -> np.ndarray:
        """Mean outputs of the models without the row, for the confidences or for even shares."""
        parts = []
        with blas_threads(len(self._members[0].P)):
            for member in self._members:
                P = member.P if even is None else even
                Q = member.outputs(P) if even is None else member.hat.apply(P)
                parts.append(LeftOut(member.hat.leverage, self._groups).outputs(P, Q))
        return np.asarray(sum(parts[1:], parts[0]) / len(parts), np.float32)

    def proba(self) -> np.ndarray:
        """Probabilities of all classes, each row by the model without it."""
        return np.asarray(softmax(np.float32(self._scale) * self._left_out(), axis=1))

    def shares(self) -> np.ndarray:
        """How likely each candidate of each row is, relative to the others."""
        assert self._known is not None
        inside = self._known.to_indicator().astype(np.float32)
        found = self.proba() * inside + np.float32(1e-12) * inside
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def judge(self, labels: Labels) -> Judgement:
        """The calibrated judgement of each row by models that did not learn from it."""
        known = with_gold(labels)
        even = known.to_indicator().astype(np.float32) / known.sizes[:, None].astype(np.float32)
        outputs = self._left_out(even)
        shares = softmax(np.float32(_scale(outputs, known)) * outputs, axis=1)
        return judge_sets(self.proba(), shares, labels)


def _scale(outputs: np.ndarray, known: CandidateSets) -> float:
    """The factor of the outputs that makes the candidates most likely."""
    if len(outputs) > SCALE_ROWS:
        drawn = np.random.default_rng(0).choice(len(outputs), SCALE_ROWS, replace=False)
        outputs, known = outputs[np.sort(drawn)], known[np.sort(drawn)]
    return softmax_scale(
        outputs.astype(np.float64), known.indptr, known.indices, np.ones(len(known))
    )


def _interrupt(stop: Callable[[], bool], _: Iteration) -> None:
    if stop():
        raise Interrupted


def _no_longer_nearer() -> Callable[[Iteration], bool]:
    """A stopping rule for alternations that cycle or converge slowly."""
    before = [np.inf]

    def stop(iteration: Iteration) -> bool:
        enough = iteration.delta > 0.9 * before[0] or iteration.number >= STEPS
        before[0] = iteration.delta
        return enough

    return stop


class CrowdFollower:
    """Refits with the kernels of a :class:`~surelabel.CrowdClassifier`, by votes and features.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        The rows; n may be 0.
    model : CrowdClassifier
        Fitted to them.
    groups : ndarray of int of shape (m,)
        Equal rows have equal numbers: they are left out together.
    labels : Labels
        The votes, or the soft labels.
    """

    def __init__(self, X: np.ndarray, model: Any, groups: np.ndarray, labels: Labels) -> None:
        self._votes = None
        if labels.votes is not None:
            self._votes = merge_copies(labels.votes, labels.candidates.shape[1])[0]
        self._outputs: list[tuple[HatMatrix, Outputs]] = []
        if model.kernels_:
            for chosen, learned, points in zip(
                model.kernels_, model.scalings_, model.points_, strict=True
            ):
                hat = make_hat(
                    chosen["kernel"],
                    rescale(chosen["scaling"], learned, X),
                    chosen["gamma"],
                    chosen["beta"],
                    points if len(points) < len(X) else None,
                    np.float32,
                )
                self._outputs.append((hat, Outputs(hat)))
        self._groups = groups
        self._max_iter, self._tol = model.max_iter, model.tol
        self._fit: CrowdFit | None = None

    def follow(self, labels: Labels, changed: np.ndarray) -> None:
        """Refit from where it is, after the labels of these rows have changed."""
        assert self._fit is not None
        before = resized(self._fit.posterior, labels.candidates.shape[1])
        self._fit = self._alternate(labels, before, QUICK, lambda: False)

    def settle(self, labels: Labels, stop: Callable[[], bool]) -> CrowdFollower:
        """Fit from scratch, starting from the votes, and return a new follower."""
        fresh = object.__new__(type(self))
        fresh.__dict__ |= self.__dict__
        fresh._outputs = [(hat, Outputs(hat)) for hat, _ in self._outputs]
        fresh._fit = fresh._alternate(labels, None, self._max_iter, stop)
        return fresh

    def _alternate(
        self, labels: Labels, start: np.ndarray | None, max_iter: int, stop: Callable[[], bool]
    ) -> CrowdFit:
        l = labels.candidates.shape[1]
        counts = labels.candidates.to_counts
        return alternate_crowd(
            SoftTally(counts()) if self._votes is None else Tally(self._votes, l),
            partial(self._features, stop) if self._outputs else None,
            start=start,
            known=labels.gold,
            max_iter=max_iter,
            tol=self._tol,
        )

    def _features(
        self, stop: Callable[[], bool], posterior: np.ndarray, evidence: np.ndarray
    ) -> np.ndarray:
        """Log-probabilities of the classes by the features, without the row."""
        if stop():
            raise Interrupted
        P = posterior.astype(np.float32)
        parts = [
            LeftOut(hat.leverage, self._groups).outputs(P, outputs(P))
            for hat, outputs in self._outputs
        ]
        mean = np.asarray(sum(parts[1:], parts[0]) / len(parts), np.float64)
        return np.asarray(np.log(trust_features(mean, evidence, posterior)(mean)))

    def shares(self) -> np.ndarray:
        """How likely each label of each row is, by votes and features."""
        assert self._fit is not None
        return self._fit.posterior.astype(np.float32)

    def judge(self, labels: Labels) -> Judgement:
        """The calibrated judgement of each row, made without its own known label."""
        fit = self._fit
        assert fit is not None
        return judge_votes(fit.unseen, np.exp(fit.log_prior), labels, confirmed=fit.confirmed)
