"""Cholesky factors: made in place, and solved with in place, also on a part of a factor.

A C-ordered matrix is the transpose of a Fortran-ordered one, so LAPACK can overwrite it.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs
from sklearn.utils import gen_batches

SAFE = 8192  # up to this many rows, LAPACK's own Cholesky factor has never failed
STEP = 256  # columns of a factor that are worked on together


class NotPositiveDefiniteError(ArithmeticError):
    """A matrix has no Cholesky factor at this precision."""


def cholesky(K: np.ndarray) -> np.ndarray:
    """Lower Cholesky factor of a C-ordered symmetric matrix, in place (the upper triangle is not
    cleared).

    Large matrices are factorised by block columns: LAPACK's own ``potrf`` is a third faster, but
    uses the BLAS routine ``syrk``, which crashes at some sizes above ten thousand in some versions
    of OpenBLAS (0.3.31 at 19,690).
    """
    factor, n = K.T, len(K)
    (potrf,) = get_lapack_funcs(("potrf",), (factor,))
    for part in gen_batches(n, STEP if n > SAFE else max(n, 1)):
        before, after = slice(part.start), slice(part.stop, None)
        if part.start:
            factor[part.start :, part] -= factor[part.start :, before] @ factor[part, before].T
        corner, info = potrf(factor[part, part], lower=1, clean=0, overwrite_a=1)
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

    Almost all of it is products of matrices, so other threads can work at the same time: SciPy's
    ``trsm`` holds the interpreter lock.
    """
    (trsm,) = get_blas_funcs(("trsm",), (factor,))
    for part in gen_batches(len(factor), STEP):
        if part.start:
            rows[:, part] -= rows[:, : part.start] @ factor[part, : part.start].T
        rows[:, part] = trsm(1.0, factor[part, part], rows[:, part].T, lower=1).T
    return rows


def backward(factor: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Solve ``Lᵀ x = r`` for every row ``r``, in place."""
    (trsm,) = get_blas_funcs(("trsm",), (factor,))
    for part in reversed(list(gen_batches(len(factor), STEP))):
        if part.stop < len(factor):
            rows[:, part] -= rows[:, part.stop :] @ factor[part.stop :, part]
        rows[:, part] = trsm(1.0, factor[part, part], rows[:, part].T, lower=1, trans_a=1).T
    return rows


def invert(factor: np.ndarray) -> np.ndarray:
    """``L⁻¹``; a Fortran-ordered ``L`` is overwritten. Only the lower triangle is meaningful."""
    (trtri,) = get_lapack_funcs(("trtri",), (factor,))
    return np.asarray(trtri(factor, lower=1, overwrite_c=1)[0])


def square(factor: np.ndarray) -> np.ndarray:
    """``LᵀL``; a Fortran-ordered ``L`` is overwritten. Only the lower triangle is meaningful."""
    (lauum,) = get_lapack_funcs(("lauum",), (factor,))
    return np.asarray(lauum(factor, lower=1, overwrite_c=1)[0])


def symmetric(matrix: np.ndarray) -> np.ndarray:
    """The matrix whose lower triangle is given, completed in place."""
    for part in gen_batches(len(matrix), STEP):
        corner = matrix[part, part]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        matrix[part, part.stop :] = matrix[part.stop :, part].T
    return matrix


def column_norms(factor: np.ndarray) -> np.ndarray:
    """Squared norms of the columns of a lower triangle."""
    norms = np.empty(len(factor), factor.dtype)
    for part in gen_batches(len(factor), STEP):
        below = np.tril(factor[part.start :, part])
        norms[part] = np.einsum("ij,ij->j", below, below)
    return norms
