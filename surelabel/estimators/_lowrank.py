"""SURE and PURE on features that approximate the kernel: the choice of landmarks, and passes over
rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ..data.candidates import CandidateSets
from ..data.finite import check_finite, finite_blocks
from ..data.rows import ArrayRows, Rows
from ..exceptions import NumericalError
from ..solvers.cholesky import NotPositiveDefiniteError
from ..solvers.confidence import SortedSets
from ..solvers.features import Centred, FeatureMap, Landmarks
from ..solvers.kernels import kernel_matrix
from ..solvers.memory import feature_rows
from ..solvers.out_of_core import Keep, LocalPasses
from .limits import choose_keep

BANDWIDTH_ROWS = 4_000  # rows used for the average distance
SAMPLE = 10  # rows drawn for each landmark


def make_features(model: Any, rows: Rows, weight: np.ndarray | None) -> Landmarks:
    """Landmarks drawn at random for a :class:`~surelabel.estimators.kernel.KernelClassifier`; sets
    its ``gamma_``.
    """
    rng = generator(model.random_state)
    count = min(model.n_components, rows.shape[0])
    if weight is not None:
        count = min(count, int(np.count_nonzero(weight)))
    sample, drawn = draw_rows(rows, max(BANDWIDTH_ROWS, SAMPLE * count), weight, rng)
    subset = draw(len(sample), BANDWIDTH_ROWS, None, rng)
    model._set_gamma(sample[subset], None, None if weight is None else weight[drawn[subset]])
    chosen = np.sort(rng.choice(len(sample), count, replace=False))
    with positive_definite(model.beta):
        return Landmarks(sample[chosen], partial(kernel_matrix, model.kernel, gamma=model.gamma_))


def generator(random_state: Any) -> np.random.Generator:
    """A generator from any scikit-learn ``random_state``."""
    old = isinstance(random_state, np.random.RandomState)
    return np.random.default_rng(random_state.randint(2**31 - 1) if old else random_state)


def draw_rows(
    X: Any, count: int, weight: np.ndarray | None, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """``count`` random rows, and their positions."""
    rows = X if isinstance(X, Rows) else ArrayRows(X)
    drawn = draw(rows.shape[0], count, weight, rng)
    sample = rows.take(drawn)
    check_finite(sample, drawn)
    return sample, drawn


def draw(
    n_rows: int, count: int, weight: np.ndarray | None, rng: np.random.Generator
) -> np.ndarray:
    """Ascending positions of ``count`` random rows, or of all if there are fewer; none has weight
    0.
    """
    allowed = np.arange(n_rows) if weight is None else np.flatnonzero(weight)
    return allowed if len(allowed) <= count else np.sort(rng.choice(allowed, count, replace=False))


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

    def sets_of(part: slice) -> SortedSets:
        low, high = indptr[part.start], indptr[part.stop]
        return SortedSets(
            indptr[part.start : part.stop + 1] - low,
            indices[low:high],
            candidates.shape[1],
            None if weight is None else weight[part],
            rows.dtype,
            None if votes is None else votes[low:high],
        )

    read = partial(finite_blocks, rows, feature_rows(features.size))
    linear = isinstance(features, Centred)
    keep: Keep = "recompute" if linear else choose_keep(m, features.size, n, rows.dtype.itemsize)
    confidence = np.empty(len(indices), rows.dtype)
    return LocalPasses(
        read, (m, features.size), features, sets_of, confidence, indptr, weight, keep, n_jobs
    )


@contextmanager
def positive_definite(beta: float) -> Iterator[None]:
    """Turn the failure of a Cholesky factorisation into an error that says what to do."""
    try:
        yield
    except NotPositiveDefiniteError as error:
        raise NumericalError(
            f"the kernel (or Gram) matrix plus beta={beta} is not positive definite ({error}); "
            "scale the features (for instance with StandardScaler), raise beta, or use a positive "
            "semidefinite kernel"
        ) from None
