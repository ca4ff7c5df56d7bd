"""The kernels that PURE chooses from, each with a scaling of the features. They are compared on a
sample of rows, by their leave-one-out outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.candidates import CandidateSets
from ..solvers.equal_rows import folds_of
from ..solvers.kernels import SCALINGS, distances, exponentiate, gamma_of, learn_scaling, rescale
from ..solvers.leave_one_out import solve_peers
from ..solvers.ridge import KernelRidge
from ..solvers.temperature import candidate_share
from .kernel import factorise, sort_candidates

SAMPLE = 800  # number of rows used for the choice

#: PURE tries all scalings with these kernels and β. It keeps the usual model unless others are
#: better by two standard errors; then it averages the best of these whose criteria differ, three at
#: most.
KERNELS, BETAS = ("rbf", "laplacian"), (0.01, 0.1)
USUAL = ("standard", "rbf", 0.1)
ERRORS, KEPT, SAME = 2.0, 3, 1e-3
TEMPERATURE = 0.1
EXCESS = 0.2  # the limit of the guard


@dataclass(frozen=True)
class ChosenKernel:
    """One model of the bank."""

    scaling: str
    kernel: str
    beta: float
    #: How well it explains the rows without having learned from them: the mean log of the share
    #: that its outputs give to the row's candidates.
    criterion: float = np.nan


def kernel_matrices(
    X: np.ndarray, weight: np.ndarray | None
) -> Iterator[tuple[tuple[str, str], np.ndarray]]:
    """The kernel matrix of the rows for each pair of scaling and kernel, with the mean distance as
    width.
    """
    for scaling in SCALINGS:
        Z = rescale(scaling, learn_scaling(scaling, X, weight), X)
        for kernel in KERNELS:
            D = distances(kernel, Z)
            gamma = gamma_of(kernel, "mean_distance", 1.0, Z, D, weight)
            yield (scaling, kernel), exponentiate(D, gamma)


def choose_kernels(
    X: np.ndarray,
    candidates: CandidateSets,
    weight: np.ndarray | None,
    *,
    prior: float,
    equal: np.ndarray | None = None,
    **stop: Any,
) -> tuple[list[ChosenKernel], bool]:
    """The usual kernel, or up to three that are better by two standard errors, each with its best
    β, chosen on a sample of rows; and whether the guard fired.

    It fires if the leave-one-out covering rate of the best exceeds that of held-out rows by 0.2.
    Then only the usual kernel is chosen. ``equal`` are equal numbers for equal rows, None if all
    differ; ``stop`` is ``max_iter``, ``tol`` and ``shift`` of
    :func:`~surelabel.solvers.leave_one_out.alternate_peers`.
    """
    # The model keeps its rows in this order, so no matrix has to be sorted.
    order = np.argsort(candidates.sizes, kind="stable")
    equal = order if equal is None else equal[order]
    X, candidates = X[order], candidates[order]
    weight = None if weight is None else weight[order]
    inside = candidates.to_indicator().astype(bool)
    sets = sort_candidates(candidates, weight, X.dtype, prior)
    matrices = dict(kernel_matrices(X, weight))
    outputs, scores = {}, {}
    for (scaling, kernel), K in matrices.items():
        for beta in BETAS:
            model = factorise(KernelRidge, K.copy(), beta, sets)
            found = solve_peers(model, sets, equal, **stop).outputs[0]
            outputs[scaling, kernel, beta] = found
            scaled = found.astype(np.float64) / TEMPERATURE
            scores[scaling, kernel, beta] = candidate_share(scaled, inside)
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
    best = chosen[0] if chosen else USUAL
    covered = inside[np.arange(len(X)), outputs[best].argmax(axis=1)]
    held_out = _held_out(matrices[best[:2]], best[2], candidates, weight, prior, equal, stop)
    excess = 0.0 if held_out is None else float(np.average(covered - held_out, weights=weight))
    guarded = excess > EXCESS
    chosen = chosen if chosen and not guarded else [USUAL]
    return [ChosenKernel(*name, float(share @ scores[name])) for name in chosen], guarded


def _held_out(
    K: np.ndarray,
    beta: float,
    candidates: CandidateSets,
    weight: np.ndarray | None,
    prior: float,
    equal: np.ndarray,
    stop: dict[str, Any],
) -> np.ndarray | None:
    """Whether a model of the other folds predicts one of the candidates: 0 or 1 for every row.
    Equal rows are in the same fold. None if there are not enough different rows.
    """
    if len(np.unique(equal)) < 5:
        return None
    inside, covered = candidates.to_indicator(), np.zeros(len(K))
    for train, test in folds_of(equal, 5, 0):
        own = None if weight is None else weight[train]
        sets = sort_candidates(candidates[train], own, K.dtype, prior)
        rows = train[sets.row_order]
        model = factorise(KernelRidge, K[np.ix_(rows, rows)], beta, sets)
        found = solve_peers(model, sets, equal[rows], **stop)
        outputs = K[np.ix_(test, rows)] @ found.coefficients[0] + found.intercepts[0]
        covered[test] = inside[test, outputs.argmax(axis=1)]
    return covered
