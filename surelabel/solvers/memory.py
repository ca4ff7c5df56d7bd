"""How much memory is available."""

from __future__ import annotations

import os
from pathlib import Path


def available_memory() -> int | None:
    """Memory that can be used now, in bytes: what is free on the machine, or less if a control
    group (a container) sets a limit.

    Returns
    -------
    int or None
        None where the system does not say.
    """
    limits = [limit for limit in (_machine(), _control_group()) if limit is not None]
    return min(limits, default=None)


def installed_memory() -> int | None:
    """Installed memory in bytes.

    Returns
    -------
    int or None
        None where the system does not say: Windows has no ``os.sysconf``.
    """
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
