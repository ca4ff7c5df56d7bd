"""Up to how many rows fits are exact, which solver a kernel model uses, and where it keeps its
features, given memory, disk and time.
"""

from __future__ import annotations

import os
import shutil
import tempfile

from ..solvers.memory import available_memory
from ..solvers.out_of_core import Keep

#: The kernel matrix of more rows takes minutes to factorise, so "auto" approximates it.
EXACT_ROWS = 25_000

#: With more rows, commands use landmarks, which take less time than an exact fit.
QUICK_ROWS = 6_000


def exact_need(n_rows: int, n_classes: int, itemsize: int) -> int:
    """Memory of an exact kernel fit in bytes: the kernel matrix, factorised in place, working
    memory, and a few m × l matrices.
    """
    return int(itemsize * n_rows * (2.2 * n_rows + 3 * n_classes))


def choose_solver(kernel: str, shape: tuple[int, int], n_classes: int, itemsize: int) -> str:
    """The solver for ``solver="auto"``: exact if it fits into memory and does not take minutes,
    otherwise landmarks; ``itemsize`` is the size of a number in bytes.
    """
    m, n = shape
    if kernel == "linear":
        return "primal" if n < m else "dual"
    available = available_memory()
    fits = available is None or exact_need(m, n_classes, itemsize) <= 0.8 * available
    return "dual" if kernel == "precomputed" or (fits and m <= EXACT_ROWS) else "nystroem"


def choose_keep(n_rows: int, n_components: int, n_features: int, itemsize: int) -> Keep:
    """Where to keep features between passes.

    In memory if they take at most half of what is free. Otherwise on disk if twice their size is
    free: reading a number back costs about 2 ns, computing it again about ``(n + D/2) / 30`` ns (a
    product with the landmarks and a triangular solve, at some 60 · 10⁹ operations a second). For
    fewer than 60 such operations, or without space, they are computed again in every pass.
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
