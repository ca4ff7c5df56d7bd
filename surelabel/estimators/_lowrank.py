"""SURE on features that approximate the kernel: how many rows and features, kept where, which landmarks."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..data.candidates import CandidateSets
from ..data.rows import Rows
from ..exceptions import ParameterError
from ..solvers.confidence import CandidateBlocks
from ..solvers.features import FourierFeatures, Landmarks, choose_landmarks, fourier_features
from ..solvers.kernels import gamma_of, kernel_matrix
from ..solvers.lowrank import LowRankFit, alternate_passes
from ..solvers.memory import available_memory
from ..solvers.passes import Keep, LocalPasses, block_rows
from ._base import check_finite

#: The kernel matrix of more rows takes minutes to factorise: from here on "auto" approximates it.
EXACT_ROWS = 25_000
BANDWIDTH_ROWS = 4_000  # rows between which the average distance is taken
SAMPLE = 10  # landmarks are chosen among so many times as many rows


def exact_need(n_rows: int, itemsize: int) -> int:
    """Bytes that an exact kernel fit takes: the kernel matrix, factorised in place, and what stands beside it."""
    return int(2.2 * itemsize * n_rows**2)


def choose_solver(kernel: str | Callable, shape: tuple[int, int], itemsize: int) -> str:
    """What ``solver="auto"`` stands for: exact where it fits into memory and takes less than minutes, else landmarks.

    Parameters
    ----------
    kernel : str or callable
    shape : tuple of int
        Of ``X``.
    itemsize : int
        Bytes of a number.

    Returns
    -------
    {"primal", "dual", "nystroem"}
    """
    m, n = shape
    if kernel == "linear":
        return "primal" if n < m else "dual"
    available = available_memory()
    fits = available is None or exact_need(m, itemsize) <= 0.8 * available
    return "dual" if kernel == "precomputed" or (fits and m <= EXACT_ROWS) else "nystroem"


def choose_keep(n_rows: int, n_components: int, n_features: int, itemsize: int) -> Keep:
    """Where features stay between passes.

    In memory if they take at most half of what is there. Else on disk if there is twice the room: reading a number back costs
    about 2 ns, making it again about ``(n + D/2) / 30`` ns (a product with the landmarks and a triangular solve, at some 60 · 10⁹
    operations a second). For fewer than 60 such operations, or without room, they are made again in every pass.
    """
    need = n_rows * n_components * itemsize
    available = available_memory()
    if available is None or need <= available / 2:
        return "memory"
    room = shutil.disk_usage(tempfile.gettempdir()).free >= 2 * need
    return "disk" if room and n_features + n_components / 2 > 60 and hasattr(os, "preadv") else "recompute"


def make_features(model: Any, rows: Rows, weight: np.ndarray | None) -> Landmarks | FourierFeatures:
    """The feature map of a :class:`~surelabel.SUREClassifier` with a low-rank solver; sets its ``gamma_``."""
    rng = np.random.default_rng(model.random_state)
    m, n = rows.shape
    count = min(model.n_components, m)
    if weight is not None:
        count = min(count, int(np.count_nonzero(weight)))
    drawn = draw(m, max(BANDWIDTH_ROWS, SAMPLE * count), weight, rng)
    sample = rows.take(drawn)
    check_finite(sample, drawn)
    few = draw(len(sample), BANDWIDTH_ROWS, None, rng)
    model.gamma_ = gamma_of(
        model.kernel, model.gamma, model.bandwidth, sample[few], None, None if weight is None else weight[drawn[few]]
    )
    if model.solver_ == "fourier":
        if model.kernel not in ("rbf", "laplacian"):
            raise ParameterError("solver='fourier' is for kernel='rbf' and 'laplacian'; use solver='nystroem'")
        return fourier_features(model.kernel, model.gamma_, n, model.n_components, rng, rows.dtype)

    def kernel_of(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        K = kernel_matrix(model.kernel, X, Z, gamma=model.gamma_, degree=model.degree, coef0=model.coef0)
        return np.ascontiguousarray(K, dtype=rows.dtype)

    chosen = choose_landmarks(sample, count, model.landmarks, kernel_of, rng)
    return Landmarks(sample[chosen], kernel_of)


def draw(n_rows: int, count: int, weight: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """Positions of so many rows at random (all, if there are not more), ascending; none of weight 0."""
    allowed = np.arange(n_rows) if weight is None else np.flatnonzero(weight)
    return allowed if len(allowed) <= count else np.sort(rng.choice(allowed, count, replace=False))


def fit_low_rank(
    model: Any, rows: Rows, candidates: CandidateSets, weight: np.ndarray | None, votes: np.ndarray | None
) -> tuple[np.ndarray, LowRankFit, Any]:
    """Confidences, the fit and the feature map (None for the linear kernel) of a :class:`~surelabel.SUREClassifier`."""
    m, n = rows.shape
    features = None if model.kernel == "linear" else make_features(model, rows, weight)
    width = n if features is None else features.size
    indptr, indices = candidates.indptr, candidates.indices

    def blocks_of(part: slice) -> CandidateBlocks:
        low, high = indptr[part.start], indptr[part.stop]
        return CandidateBlocks(
            indptr[part.start : part.stop + 1] - low,
            indices[low:high],
            candidates.shape[1],
            None if weight is None else weight[part],
            rows.dtype,
            None if votes is None else votes[low:high],
        )

    def read() -> Iterator[np.ndarray]:
        start = 0
        for X in rows.blocks(block_rows(width)):
            check_finite(X, np.arange(start, start := start + len(X)))
            yield X

    keep: Keep = "recompute" if features is None else choose_keep(m, width, n, rows.dtype.itemsize)
    confidence = np.empty(len(indices), rows.dtype)
    with LocalPasses(
        read, (m, width), features or np.asarray, blocks_of, confidence, indptr, weight, keep, model.n_jobs
    ) as passes:
        fit = alternate_passes(
            passes, model.beta, model.lam, init=model.init, max_iter=model.max_iter, tol=model.tol, callback=model._report
        )
    return confidence, fit, features
