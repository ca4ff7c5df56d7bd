"""SURE on features that approximate the kernel: how many rows and features, kept where, which
landmarks.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ..data.candidates import CandidateSets
from ..data.rows import Rows
from ..exceptions import NumericalError, ParameterError
from ..solvers.confidence import CandidateBlocks
from ..solvers.features import (
    Centred,
    FourierFeatures,
    Landmarks,
    choose_landmarks,
    fourier_features,
)
from ..solvers.kernels import gamma_of, kernel_matrix
from ..solvers.lowrank import LowRankFit
from ..solvers.memory import available_memory
from ..solvers.passes import Keep, LocalPasses, block_rows
from ..solvers.triangular import NotPositiveDefiniteError
from ._base import check_finite, finite_blocks

FeatureMap: TypeAlias = Landmarks | FourierFeatures | Centred

#: The kernel matrix of more rows takes minutes to factorise: from here on "auto" approximates it.
EXACT_ROWS = 25_000
BANDWIDTH_ROWS = 4_000  # rows between which the average distance is taken
SAMPLE = 10  # rows among which landmarks are chosen, for each landmark


def exact_need(n_rows: int, n_classes: int, itemsize: int) -> int:
    """Bytes that an exact kernel fit takes: the kernel matrix, factorised in place, and what stands
    beside it; some m × l.
    """
    return int(itemsize * n_rows * (2.2 * n_rows + 3 * n_classes))


def choose_solver(
    kernel: str | Callable[..., Any], shape: tuple[int, int], n_classes: int, itemsize: int
) -> str:
    """What ``solver="auto"`` stands for: exact where it fits into memory and takes less than
    minutes, else landmarks.

    Parameters
    ----------
    kernel : str or callable
    shape : tuple of int
        Of ``X``.
    n_classes : int
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
    fits = available is None or exact_need(m, n_classes, itemsize) <= 0.8 * available
    return "dual" if kernel == "precomputed" or (fits and m <= EXACT_ROWS) else "nystroem"


def choose_keep(n_rows: int, n_components: int, n_features: int, itemsize: int) -> Keep:
    """Where features stay between passes.

    In memory if they take at most half of what is there. Else on disk if there is twice the room:
    reading a number back costs about 2 ns, making it again about ``(n + D/2) / 30`` ns (a product
    with the landmarks and a triangular solve, at some 60 · 10⁹ operations a second). For fewer than
    60 such operations, or without room, they are made again in every pass.
    """
    need = n_rows * n_components * itemsize
    available = available_memory()
    if available is None or need <= available / 2:
        return "memory"
    room = shutil.disk_usage(tempfile.gettempdir()).free >= 2 * need
    return (
        "disk"
        if room and n_features + n_components / 2 > 60 and hasattr(os, "preadv")
        else "recompute"
    )


def make_features(model: Any, rows: Rows, weight: np.ndarray | None) -> Landmarks | FourierFeatures:
    """The feature map of a :class:`~surelabel.SUREClassifier` with a low-rank solver; sets its
    ``gamma_``.
    """
    rng = generator(model.random_state)
    m, n = rows.shape
    count = min(model.n_components, m)
    if weight is not None:
        count = min(count, int(np.count_nonzero(weight)))
    sample, drawn = draw_rows(rows, max(BANDWIDTH_ROWS, SAMPLE * count), weight, rng)
    few = draw(len(sample), BANDWIDTH_ROWS, None, rng)
    model.gamma_ = gamma_of(
        model.kernel,
        model.gamma,
        model.bandwidth,
        sample[few],
        None,
        None if weight is None else weight[drawn[few]],
    )
    if model.solver_ == "fourier":
        if model.kernel not in ("rbf", "laplacian"):
            raise ParameterError(
                "solver='fourier' is for kernel='rbf' and 'laplacian'; use solver='nystroem'"
            )
        return fourier_features(model.kernel, model.gamma_, n, model.n_components, rng, rows.dtype)
    kernel = kernel_of(model)
    with positive_definite(model.beta):
        return Landmarks(
            sample[choose_landmarks(sample, count, model.landmarks, kernel, rng)], kernel
        )


def kernel_of(model: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The kernel of a model whose ``gamma_`` is known, between two sets of rows."""
    return partial(
        _kernel_of, kernel=model.kernel, gamma=model.gamma_, degree=model.degree, coef0=model.coef0
    )


def _kernel_of(
    X: np.ndarray, Z: np.ndarray, *, kernel: str | Callable[..., Any], **parameters: Any
) -> np.ndarray:
    return np.ascontiguousarray(kernel_matrix(kernel, X, Z, **parameters), dtype=X.dtype)


def generator(random_state: Any) -> np.random.Generator:
    """A generator from any ``random_state`` of scikit-learn."""
    old = isinstance(random_state, np.random.RandomState)
    return np.random.default_rng(random_state.randint(2**31 - 1) if old else random_state)


def draw_rows(
    rows: Rows, count: int, weight: np.ndarray | None, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """So many rows at random, and their positions."""
    drawn = draw(rows.shape[0], count, weight, rng)
    sample = rows.take(drawn)
    check_finite(sample, drawn)
    return sample, drawn


def draw(
    n_rows: int, count: int, weight: np.ndarray | None, rng: np.random.Generator
) -> np.ndarray:
    """Positions of so many rows at random (all, if there are not more), ascending; none of weight
    0.
    """
    allowed = np.arange(n_rows) if weight is None else np.flatnonzero(weight)
    return allowed if len(allowed) <= count else np.sort(rng.choice(allowed, count, replace=False))


def fit_low_rank(
    model: Any, rows: Rows, candidates: CandidateSets, weight: np.ndarray | None
) -> tuple[np.ndarray, LowRankFit, FeatureMap]:
    """Confidences, the fit and the feature map of a :class:`~surelabel.SUREClassifier`."""
    features: FeatureMap
    if model.kernel == "linear":
        features = Centred(
            draw_rows(rows, BANDWIDTH_ROWS, weight, np.random.default_rng(0))[0].mean(axis=0)
        )
    else:
        features = make_features(model, rows, weight)
    with positive_definite(model.beta), model._passes(rows, features, candidates, weight) as passes:
        fit = model._alternate_passes(passes)
        return passes.confidence, fit, features


def local_passes(
    rows: Rows,
    features: FeatureMap,
    candidates: CandidateSets,
    weight: np.ndarray | None,
    votes: np.ndarray | None,
    n_jobs: int | None,
) -> LocalPasses:
    """Passes over these rows on this machine."""
    m, n = rows.shape
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

    read = partial(finite_blocks, rows, block_rows(features.size))
    linear = isinstance(features, Centred)
    keep: Keep = "recompute" if linear else choose_keep(m, features.size, n, rows.dtype.itemsize)
    confidence = np.empty(len(indices), rows.dtype)
    return LocalPasses(
        read, (m, features.size), features, blocks_of, confidence, indptr, weight, keep, n_jobs
    )


@contextmanager
def positive_definite(beta: float) -> Iterator[None]:
    """Say what to do when a matrix has no Cholesky factor."""
    try:
        yield
    except NotPositiveDefiniteError as error:
        raise NumericalError(
            f"the kernel (or Gram) matrix plus beta={beta} is not positive definite ({error}); "
            "scale the features "
            "(for instance with StandardScaler), raise beta, or use a positive semidefinite kernel"
        ) from None
