"""Cholesky factors and triangular solves: in place, on part of a matrix, and without holding the
interpreter lock.

SciPy's Python wrappers copy part of a matrix and hold the interpreter lock while they work. Here
the same BLAS and LAPACK routines are called through the function pointers that SciPy publishes for
Cython.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

SAFE = 8192  # up to this many rows, LAPACK's own Cholesky factor has never failed
STEP = 512  # columns of a block of larger matrices
COLUMNS = 256  # that are looked at together


class NotPositiveDefiniteError(ArithmeticError):
    """A matrix has no Cholesky factor at this precision."""


def cholesky(K: np.ndarray) -> np.ndarray:
    """Lower Cholesky factor of a C-ordered symmetric matrix, in place (the upper triangle is not
    cleared).

    Large matrices are factorised by block columns: LAPACK's own ``potrf`` is a tenth faster, but
    uses the BLAS routine ``syrk``, which crashes at some sizes above ten thousand in some versions
    of OpenBLAS (0.3.31 at 19,690). Here the work is done by ``gemm``.
    """
    factor, n = K.T, len(K)
    one, minus = np.ones(1, K.dtype), -np.ones(1, K.dtype)
    stride = _stride(factor)
    step = STEP if n > SAFE else max(n, 1)
    for k in range(0, n, step):
        end = min(k + step, n)
        corner = factor[k:end, k:end]
        info = _call("potrf", factor, b"L", end - k, corner, stride)
        if info:
            raise NotPositiveDefiniteError(f"leading minor {k + info} of {n} is not positive")
        below = factor[end:, k:end]
        _call(
            "trsm",
            factor,
            b"R",
            b"L",
            b"T",
            b"N",
            n - end,
            end - k,
            one,
            corner,
            stride,
            below,
            stride,
        )
        for j in range(end, n, step):
            stop = min(j + step, n)
            left, right, rest = factor[j:, k:end], factor[j:stop, k:end], factor[j:, j:stop]
            sizes = (n - j, stop - j, end - k)
            _call(
                "gemm",
                factor,
                b"N",
                b"T",
                *sizes,
                minus,
                left,
                stride,
                right,
                stride,
                one,
                rest,
                stride,
            )
    if not np.isfinite(factor.diagonal()).all():
        raise NotPositiveDefiniteError("it holds NaN or infinity")
    return factor


def solve(factor: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Solve ``L Lᵀ x = r`` for every row ``r`` of a C-ordered matrix, in place."""
    return backward(factor, forward(factor, rows))


def forward(factor: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Solve ``L x = r`` for every row ``r`` of a C-ordered matrix, in place."""
    return _substitute(factor, rows, b"N")


def backward(factor: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Solve ``Lᵀ x = r`` for every row ``r`` of a C-ordered matrix, in place."""
    return _substitute(factor, rows, b"T")


def squared_norms(factor: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """``‖L⁻¹r‖²`` for every row ``r`` of a C-ordered matrix, which is overwritten."""
    solved = forward(factor, rows)
    return np.einsum("ij,ij->i", solved, solved)


def _substitute(factor: np.ndarray, rows: np.ndarray, transposed: bytes) -> np.ndarray:
    n, one = len(factor), np.ones(1, factor.dtype)
    _call(
        "trsm",
        factor,
        b"L",
        b"L",
        transposed,
        b"N",
        n,
        len(rows),
        one,
        factor,
        _stride(factor),
        rows,
        n,
    )
    return rows


def invert(factor: np.ndarray) -> np.ndarray:
    """``L⁻¹`` in place of ``L``; only the lower triangle is read and written."""
    _call("trtri", factor, b"L", b"N", len(factor), factor, _stride(factor))
    return factor


def square(factor: np.ndarray) -> np.ndarray:
    """``LᵀL`` in place of ``L``; only the lower triangle is read and written."""
    _call("lauum", factor, b"L", len(factor), factor, _stride(factor))
    return factor


def symmetric(matrix: np.ndarray) -> np.ndarray:
    """The matrix whose lower triangle is given, completed in place."""
    n = len(matrix)
    for start in range(0, n, COLUMNS):
        stop = min(start + COLUMNS, n)
        corner = matrix[start:stop, start:stop]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
    return matrix


def _stride(matrix: np.ndarray) -> int:
    """Distance between the columns of a matrix with contiguous columns, as BLAS expects it."""
    return max(matrix.strides[1] // matrix.itemsize, len(matrix), 1)


def _call(name: str, like: np.ndarray, *arguments: Any) -> int:
    """Call a BLAS or LAPACK routine of the matrix's precision; returns LAPACK's info, 0
    for BLAS.
    """
    info = ctypes.c_int(0)
    is_lapack = name not in ("trsm", "gemm")
    pointers: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            if argument.dtype != like.dtype:
                raise TypeError(
                    f"{name} needs matrices of one type, not {like.dtype} and {argument.dtype}"
                )
            pointers.append(ctypes.c_void_p(argument.ctypes.data))
        elif isinstance(argument, bytes):
            pointers.append(ctypes.byref(ctypes.c_char(argument)))
        else:
            pointers.append(ctypes.byref(ctypes.c_int(argument)))
    if is_lapack:
        pointers.append(ctypes.byref(info))
    _routine(("s" if like.dtype == np.float32 else "d") + name, is_lapack, len(pointers))(*pointers)
    return info.value


@cache
def _routine(name: str, is_lapack: bool, n_arguments: int) -> Any:
    capsule = (cython_lapack if is_lapack else cython_blas).__pyx_capi__[name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # A function made this way releases the interpreter lock while it runs.
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(
        pointer_of(capsule, name_of(capsule))
    )
