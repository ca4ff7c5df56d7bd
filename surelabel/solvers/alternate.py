"""Algorithm 1: alternate the model step and the confidence step, whatever the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from .confidence import SortedSets


class Model(Protocol):
    """A model that can be fitted to confidences, such as those of :mod:`.ridge`."""

    def step(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fit to the confidences ``p`` (problems × ambiguous entries).

        Returns the outputs ``q`` at the same entries and, per problem, the minimum of eq. 3 (or 5)
        at this ``P``.
        """


@dataclass(frozen=True)
class Iteration:
    """What a callback gets after each iteration.

    Attributes
    ----------
    number : int
        1 for the first.
    delta : float
        Change of the confidences, ``‖ΔP‖_F / √m``.
    objective : float
        Value of the objective (2), including the term of the votes.
    """

    number: int
    delta: float
    objective: float


@dataclass(kw_only=True)
class Course:
    """The course of the iterations: one value each per iteration (the objective is NaN where it was
    not wanted), and whether the change fell to the tolerance.
    """

    delta_path: list[float] = field(default_factory=list)
    objective_path: list[float] = field(default_factory=list)
    converged: bool = False

    def add(self, delta: float, objective: float) -> Iteration:
        """One more iteration."""
        self.delta_path.append(delta)
        self.objective_path.append(objective)
        return Iteration(len(self.delta_path), delta, objective)


@dataclass(kw_only=True)
class Trajectory(Course):
    """The course of the iterations for one problem in memory: the confidences of the ambiguous
    entries at the end, and those that the last model step was fitted to.
    """

    p: np.ndarray
    fitted_p: np.ndarray


def alternate(
    model: Model,
    sets: SortedSets,
    lam: np.ndarray,
    *,
    init: str,
    max_iter: int,
    tol: float,
    callback: Callable[[Iteration], bool | None] | None = None,
    with_objective: bool = True,
) -> list[Trajectory]:
    """Run Algorithm 1 for several λ at once on the same instances.

    Parameters
    ----------
    model : Model
        Performs the model step.
    sets : SortedSets
        The candidates.
    lam : ndarray of shape (problems,)
        One λ per problem.
    init : {"candidates", "uniform"}
        Start at ``P = Y`` as in the paper, or at ``Y / |S|``.
    max_iter : int
        Maximum number of iterations.
    tol : float
        A problem ends when ``‖ΔP‖_F / √m`` falls to this (rows counted by weight).
    callback : callable, default=None
        Called with an :class:`Iteration` after each iteration of a single problem; if it returns
        True, the iterations stop.
    with_objective : bool, default=True
        Whether to compute the objective; a search does without it.

    Returns
    -------
    list of Trajectory
        One per λ. Problems end independently; those that have ended are no longer computed.
    """
    p = sets.initial(init, len(lam))
    paths = [Trajectory(p=one, fitted_p=one) for one in p]
    active = np.arange(len(lam))
    for number in range(1, max_iter + 1):
        if number == 1:  # all problems start at the same P
            q, loss = (np.repeat(part, len(p), axis=0) for part in model.step(p[:1]))
        else:
            q, loss = model.step(p)
        new = sets.project(q, lam[active])
        change = new - p
        objective = np.full(len(p), np.nan)
        if with_objective:
            # The model step leaves loss(P); moving P to its projection changes only the entries of
            # candidates: ‖new - q‖² - ‖p - q‖² = (new - p)ᵀ(new + p - 2q).
            moved = sets.weighted_sum(change * (new + p - 2 * q))
            objective = loss + moved - lam[active] * sets.peak(new) - sets.agreement(new)
        delta = np.sqrt(sets.weighted_sum(change**2) / sets.total_weight)
        done = delta <= tol
        for i, problem in enumerate(active):
            path = paths[problem]
            path.fitted_p, path.p = p[i], new[i]
            iteration = path.add(float(delta[i]), float(objective[i]))
            path.converged = bool(done[i])
            if callback is not None and callback(iteration):
                done[i] = True
        active, p = active[~done], new[~done]
        if not len(active):
            break
    return paths
