"""A fitted kernel model, approximated with few landmarks: smaller and faster to predict with."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ..data.finite import finite_blocks
from ..data.rows import ArrayRows, Rows
from ..exceptions import ParameterError
from ..solvers.features import EPS, Landmarks, choose_landmarks
from ..solvers.memory import feature_rows
from ..solvers.out_of_core import ordered_map
from ..solvers.ridge import GramRidge, Moments, Targets, moments_of
from ._lowrank import SAMPLE, draw_rows, generator, kernel_of, positive_definite

#: The attributes that a compressed model keeps; the others belong to the training rows.
KEPT = (
    *("width_", "scale_"),
    "classes_",
    "gamma_",
    "n_features_in_",
    "feature_names_in_",
    "n_iter_",
    "converged_",
)


def compress(model: Any, n_components: int, X: Any) -> Any:
    """See :meth:`surelabel.SUREClassifier.compress`."""
    small = clone(model).set_params(solver="nystroem", n_components=n_components)
    rows = _instances(model, X)
    small._check_parameters()
    count = min(n_components, rows.shape[0])
    rng = generator(model.random_state)
    sample, _ = draw_rows(rows, SAMPLE * count, None, rng)
    kernel = kernel_of(model)
    with positive_definite(model.beta):
        points = sample[choose_landmarks(sample, count, model.landmarks, kernel, rng)]
        landmarks = Landmarks(points.astype(np.float64), kernel)
        W, b = _least_squares(model, rows, landmarks, 8 * np.finfo(rows.dtype).eps)
    vars(small).update({name: value for name, value in vars(model).items() if name in KEPT})
    small.solver_, small.X_fit_ = "nystroem", points
    small.dual_coef_, small.intercept_ = landmarks.dual(W).astype(rows.dtype), b.astype(rows.dtype)
    small.compression_ = _loss(model, small, rows)
    return small


def _instances(model: Any, X: Any) -> Rows:
    if model.kernel in ("linear", "precomputed"):
        raise ParameterError(
            f"kernel={model.kernel!r} has no landmarks: there is nothing to compress"
        )
    if X is None:
        if not hasattr(model, "X_fit_"):
            raise ParameterError(
                "a model on Fourier features keeps no instances: pass some as X, for instance the "
                "training rows"
            )
        return ArrayRows(model.X_fit_)
    X = model._validate_X(X, reset=False)
    return X if isinstance(X, Rows) else ArrayRows(X)


def _least_squares(
    model: Any, rows: Rows, landmarks: Landmarks, eps: float
) -> tuple[np.ndarray, np.ndarray]:
    """The ``W`` and ``b`` that minimise ``Σ ‖f(x) - Wᵀz(x) - b‖²`` over the rows, up to a ridge of
    the size of rounding errors.
    """

    def sums(X: np.ndarray) -> tuple[Moments, Targets]:
        outputs, Z = model._outputs(X).astype(np.float64), landmarks(X.astype(np.float64))
        return moments_of(Z, None), Targets(
            outputs.T @ Z, outputs.sum(axis=0), float(np.sum(outputs**2))
        )

    parts = ordered_map(sums, finite_blocks(rows, feature_rows(landmarks.size)), model.n_jobs)
    moments, targets = next(parts)
    for more, others in parts:
        moments, targets = moments + more, targets + others
    ridge = (landmarks.size * EPS + eps) * float(np.trace(moments.gram))
    W, b, _ = GramRidge(moments, ridge).solve(targets)
    return W, b


def _loss(model: Any, small: Any, rows: Rows) -> dict[str, float]:
    """How much the small model differs from the original one, over the rows."""

    def compare(X: np.ndarray) -> tuple[int, float, int]:
        before, after = model._outputs(X), small._outputs(X)
        changed = int(np.count_nonzero(before.argmax(axis=1) != after.argmax(axis=1)))
        return changed, float(np.sum((before - after) ** 2)), before.size

    step = feature_rows(len(small.X_fit_))
    changed, squares, size = np.sum(
        list(ordered_map(compare, rows.blocks(step), model.n_jobs)), axis=0
    )
    return {
        "n_rows": rows.shape[0],
        "changed": float(changed / rows.shape[0]),
        "rms": float(np.sqrt(squares / size)),
    }
