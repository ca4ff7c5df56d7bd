"""Labels that have an order: a neighbour is half right.

Outputs ``Q`` are smoothed over neighbouring labels before any choice: they become ``QG``, where

    G_jk ∝ exp(-(x_j - x_k)² / 2s²),   columns that sum to 1,

with ``x`` the positions of the labels and ``s`` the width. Every model here is linear in the
confidences, so smoothing its coefficients smooths its outputs, and outputs of the model without a
row stay exact. The width is chosen so that ``softmax(t QG)`` makes the candidates most likely. The
covering rate would choose no smoothing at all.
"""

from __future__ import annotations

import numpy as np

from .sparse_rows import entry_rows
from .temperature import candidate_share, softmax_scale


def smoothing_matrix(positions: np.ndarray, width: float) -> np.ndarray:
    """``G``, labels × labels; the identity for a width of 0."""
    if width == 0:
        return np.eye(len(positions))
    G = np.exp(-(((positions[:, None] - positions) / width) ** 2) / 2)
    return np.asarray(G / G.sum(axis=0))


def widths_to_try(positions: np.ndarray) -> np.ndarray:
    """0, and widths from half the mean gap between neighbours to a quarter of the range, each √2
    times the last. With two labels there is nothing to smooth.
    """
    if len(positions) <= 2:
        return np.zeros(1)
    span = float(np.ptp(positions))
    gap = span / (len(positions) - 1)
    n_steps = int(2 * np.log2(span / (2 * gap))) + 1
    return np.append(0.0, gap / 2 * 2 ** (np.arange(n_steps) / 2))


def choose_width(
    outputs: np.ndarray,
    positions: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    weight: np.ndarray | None = None,
) -> tuple[float, float]:
    """The width ``s`` and the scale ``t`` that make the candidates most likely, given outputs of
    models that did not learn from the row.
    """
    inside = np.zeros(outputs.shape, bool)
    inside[entry_rows(indptr), indices] = True
    copies = np.ones(len(outputs)) if weight is None else weight
    best = (-np.inf, 0.0, 1.0)
    for width in widths_to_try(positions):
        smoothed = outputs.astype(float) @ smoothing_matrix(positions, width)
        scale = softmax_scale(smoothed, indptr, indices, weight)
        likelihood = float(copies @ candidate_share(scale * smoothed, inside))
        if likelihood > best[0]:
            best = (likelihood, float(width), scale)
    return best[1], best[2]


def median_label(proba: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The column with the smallest expected distance ``Σ_k p_k |x_k - x_j|``: the median in the
    order of the labels, the lower one of two.
    """
    order = np.argsort(positions, kind="stable")
    reached = proba[:, order].cumsum(axis=1, dtype=float)
    half = reached[:, -1:] / 2
    return np.asarray(order[(reached >= half * (1 - 1e-12)).argmax(axis=1)])
