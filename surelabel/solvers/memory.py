"""How much memory is available, and how many rows are processed at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sklearn.utils import gen_batches

BLOCK = 2**22  # numbers of a block of rows: 32 MiB of float64


def available_memory() -> int | None:
    """Memory that is free now, in bytes, within the limit of a control group (a container); None
    where the system does not say.
    """
    limits = [limit for limit in (_machine(), _control_group()) if limit is not None]
    return min(limits, default=None)


def installed_memory() -> int | None:
    """Installed memory in bytes; None where the system does not say (Windows)."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return installed_memory()  # not Linux
    return kilobytes * 1024


def _control_group() -> int | None:
    """What the control group (version 2, then 1) still allows; None without a limit."""
    root = Path("/sys/fs/cgroup")
    for limit, usage in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            allowed = int((root / limit).read_text(encoding="ascii"))
            return max(0, allowed - int((root / usage).read_text(encoding="ascii")))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return None


def block_rows(width: int) -> int:
    """Number of rows of a block, if each row takes ``width`` numbers.

    It does not depend on the machine, because sums over other blocks would differ in the last
    digits.
    """
    return max(1, BLOCK // max(width, 1))


def feature_rows(n_components: int) -> int:
    """Number of rows whose features are summed at a time: enough for fast products, however many
    features there are.
    """
    return max(256, block_rows(n_components))


def row_blocks(X: Any, width: int) -> Iterator[tuple[slice, Any]]:
    """Rows of an array or a CSR matrix, a block at a time, if each row takes ``width`` numbers."""
    step = block_rows(max(width, X.shape[1]))
    for rows in gen_batches(X.shape[0], step):
        yield rows, X if step >= X.shape[0] else X[rows]
