"""Cholesky factors, computed in place, and solves with all or part of a factor, also in place.

A C-ordered matrix is the transpose of a Fortran-ordered one, so LAPACK can overwrite it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from .threads import one_thread_of_scipy

SAFE = 8192  # up to this many rows, LAPACK's own Cholesky factor has never failed
STEP = 256  # columns of a factor that are worked on together


class NotPositiveDefiniteError(ArithmeticError):
    """A matrix has no Cholesky factor at this precision."""


def cholesky(K: np.ndarray) -> np.ndarray:
    """Lower Cholesky factor of a C-ordered symmetric matrix, in place.

    Large matrices are factorised by block columns: LAPACK's own ``potrf`` is a third faster, but
    uses the BLAS routine ``syrk``, which crashes at some sizes above ten thousand in some versions
    of OpenBLAS (0.3.31 at 19,690).
    """
    factor, n = K.T, len(K)
    potrf = _lapack("potrf", K.dtype)
    for part in _parts(n, STEP if n > SAFE else n):
        before, after = slice(part.start), slice(part.stop, None)
        if part.start:
            factor[part.start :, part] -= factor[part.start :, before] @ factor[part, before].T
            factor[before, part] = 0
        corner, info = potrf(factor[part, part], lower=1, overwrite_a=1)
        if info:
            raise NotPositiveDefiniteError(
                f"leading minor {part.start + info} of {n} is not positive"
            )
        if part.stop - part.start < n:
            factor[part, part] = corner
            forward(corner, factor[after, part])
    if not np.isfinite(factor.diagonal()).all():
        raise NotPositiveDefiniteError("it holds NaN or infinity")
    return factor


def solve(factor: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Solve ``L Lᵀ x = r`` for every row ``r``, in place."""
    return backward(factor, forward(factor, rows))


def forward(factor: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Solve ``L x = r`` for every row ``r``, in place.

    Almost all of the work is matrix products, during which other threads can run; SciPy's ``trsm``
    would hold the interpreter lock.
    """
    trsm = _blas("trsm", factor.dtype)
    with one_thread_of_scipy:
        for part in _parts(len(factor)):
            if part.start:
                rows[:, part] -= rows[:, : part.start] @ factor[part, : part.start].T
            rows[:, part] = trsm(1.0, factor[part, part], rows[:, part].T, lower=1).T
    return rows


def backward(factor: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Solve ``Lᵀ x = r`` for every row ``r``, in place."""
    trsm = _blas("trsm", factor.dtype)
    with one_thread_of_scipy:
        for part in reversed(_parts(len(factor))):
            if part.stop < len(factor):
                rows[:, part] -= rows[:, part.stop :] @ factor[part.stop :, part]
            rows[:, part] = trsm(1.0, factor[part, part], rows[:, part].T, lower=1, trans_a=1).T
    return rows


def invert(factor: np.ndarray) -> np.ndarray:
    """``L⁻¹``; a Fortran-ordered ``L`` is overwritten."""
    return np.asarray(_lapack("trtri", factor.dtype)(factor, lower=1, overwrite_c=1)[0])


def solve_by_inverse(inverse: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """``L⁻ᵀ L⁻¹ r`` for every row ``r``, in place: :func:`solve` where ``L⁻¹`` is known."""
    inner = np.empty_like(rows)
    for part in _parts(len(inverse)):
        inner[:, part] = rows[:, : part.stop] @ inverse[part, : part.stop].T
    for part in _parts(len(inverse)):
        rows[:, part] = inner[:, part.start :] @ inverse[part.start :, part]
    return rows


def square(factor: np.ndarray) -> np.ndarray:
    """``LᵀL``; a Fortran-ordered ``L`` is overwritten."""
    matrix = np.asarray(_lapack("lauum", factor.dtype)(factor, lower=1, overwrite_c=1)[0])
    for part in _parts(len(matrix)):
        corner = matrix[part, part]  # LAPACK makes the lower triangle only
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        matrix[part, part.stop :] = matrix[part.stop :, part].T
    return matrix


def _parts(n: int, step: int | None = None) -> list[slice]:
    step = step or STEP
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


@cache
def _blas(name: str, dtype: np.dtype) -> Any:
    return get_blas_funcs(name, dtype=dtype)


@cache
def _lapack(name: str, dtype: np.dtype) -> Any:
    return get_lapack_funcs(name, dtype=dtype)
