"""Errors that are not about the input (memory, disk, bugs): one sentence and an exit code."""

import errno
import os

from ..files import FULL
from ..interrupts import RESUMED

UNEXPECTED = 70
"""Exit code of an unexpected error; EX_SOFTWARE of sysexits.h."""


def sentence(error: Exception, verb: str | None) -> tuple[str, int]:
    """One sentence (what happened and what to do) and the exit code."""
    kept = "what is finished is kept" if verb in RESUMED else "nothing was written"
    text = " ".join(str(error).split())
    if _out_of_memory(error, text):
        return f"{_memory(error, text)}; {kept}", 2
    if isinstance(error, OSError):
        place = error.filename or "standard output"
        what = f"{place}: {error.strerror or text}"
        if error.errno in FULL:
            what += f"{_free(error.filename)}; free some space, or write to another disk; {kept}"
        return what, 2
    return (
        f"unexpected: {type(error).__name__}: {text or 'no message'}; please report it, with the "
        "traceback that SURELABEL_TRACEBACK=1 in the environment shows"
    ), UNEXPECTED


def _out_of_memory(error: Exception, text: str) -> bool:
    return (
        isinstance(error, MemoryError)  # includes those of NumPy and Arrow
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or (isinstance(error, RuntimeError) and "can't start new thread" in text)
        or (
            isinstance(error, ImportError | OSError)
            and any(part in text for part in ("failed to map segment", "annot allocate memory"))
        )
    )


def _memory(error: Exception, text: str) -> str:
    if "can't start new thread" in text:
        return (
            "a thread cannot be started: the memory or the number of processes allowed here is "
            "used up (see ulimit -v and ulimit -u); raise the limit, or set OPENBLAS_NUM_THREADS=1 "
            "in the environment"
        )
    needed = f" ({text})" if text and isinstance(error, MemoryError | OSError) else ""
    return (
        f"memory ran out{needed}; use fewer rows or columns, or a machine or limit with more memory"
    )


def _free(path: str | None) -> str:
    """How much space is free on the disk of a file."""
    import shutil

    try:
        free = shutil.disk_usage(os.path.dirname(os.path.abspath(path))).free if path else None
    except OSError:
        free = None
    return "" if free is None else f" ({free / 2**20:,.1f} MB are free)"
