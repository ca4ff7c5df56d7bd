"""The quantities of Theorems 1 and 2 on one instance: OPI(j), OP and OPS, each with its minimiser.

The paper proves ``OP = min_j OPI(j)`` and ``OP ≤ OPS``. In fact ``OP = OPS``: permuting the entries
of ``p`` changes neither its norm nor its largest entry, and ``Σ p_k q_k`` is largest when ``p`` and
``q`` are sorted alike, so some optimum has its largest entry at the arg max of ``q``, which is
where OPS looks.
"""

from __future__ import annotations

import numpy as np

from surelabel.solvers.confidence import confidence


def opi(q: np.ndarray, allowed: np.ndarray, j: int, lam: float) -> tuple[float, np.ndarray]:
    """Solve eq. 9: ``min ‖p - q‖² - λ p_j`` subject to ``p_k ≤ p_j`` on the simplex of the
    candidates.

    Parameters
    ----------
    q : ndarray of shape (l,)
        Modelling outputs.
    allowed : ndarray of shape (l,)
        True (or 1) for candidates.
    j : int
        The label that must be largest.
    lam : float
        The weight λ.

    Returns
    -------
    value : float
        OPI(j); infinite when ``j`` is no candidate.
    p : ndarray of shape (l,)
        The minimiser (NaN when there is none).
    """
    allowed = np.asarray(allowed, bool)
    if not allowed[j]:
        return np.inf, np.full(len(q), np.nan)
    v = np.where(allowed, q, -np.inf)
    v[j] += lam / 2
    # p_k ≤ p_j: pool j with the entries above it (isotonic regression on a star), then project;
    # projection keeps ties and order.
    others = np.flatnonzero(allowed & (np.arange(len(q)) != j))
    pooled, level = [j], v[j]
    for k in others[np.argsort(-v[others], kind="stable")]:
        if v[k] <= level:
            break
        pooled.append(k)
        level = v[pooled].mean()
    v[pooled] = level
    p = np.zeros(len(q))
    p[allowed] = confidence(v[allowed, None], 0.0)[:, 0]
    return float(np.sum((p - q) ** 2) - lam * p[j]), p


def op(q: np.ndarray, allowed: np.ndarray, lam: float) -> tuple[float, np.ndarray]:
    """Solve eq. 8, ``min ‖p - q‖² - λ‖p‖_∞`` on the simplex of the candidates, by Theorem 1: the
    best of all OPI(j).
    """
    return min((opi(q, allowed, j, lam) for j in range(len(q))), key=lambda solution: solution[0])


def ops(q: np.ndarray, allowed: np.ndarray, lam: float) -> tuple[float, np.ndarray]:
    """Solve eq. 10: OPI at the candidate with the largest output, as SURE does for every
    instance.
    """
    allowed = np.asarray(allowed, bool)
    p = np.zeros(len(q))
    p[allowed] = confidence(np.asarray(q, float)[allowed, None], lam)[:, 0]
    return float(np.sum((p - q) ** 2) - lam * p.max()), p
