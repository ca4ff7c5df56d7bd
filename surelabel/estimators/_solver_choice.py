"""Which solver a kernel model uses, and where its features are kept: by memory, disk and time."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

from ..solvers.memory import available_memory
from ..solvers.passes import Keep

#: The kernel matrix of more rows takes minutes to factorise: from here on "auto" approximates it.
EXACT_ROWS = 25_000


def exact_need(n_rows: int, n_classes: int, itemsize: int) -> int:
    """Bytes that an exact kernel fit takes: the kernel matrix, factorised in place, and what is
    needed beside it; some m × l.
    """
    return int(itemsize * n_rows * (2.2 * n_rows + 3 * n_classes))


def choose_solver(
    kernel: str | Callable[..., Any], shape: tuple[int, int], n_classes: int, itemsize: int
) -> str:
    """What ``solver="auto"`` means: exact where it fits into memory and takes less than
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
