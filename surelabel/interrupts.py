"""Ctrl-C and other signals that end a command: it removes unfinished files, says so in one line and
exits with 128 + the number of the signal.

This module imports little, because it must be ready before the slow imports begin.
"""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
GRACE = 5.0
"""Seconds that the command has to clean up; then it is ended by force."""
RESUMED = ("run", "reproduce", "review")
"""Commands that continue where they left off when they are run again."""

unfinished: set[Path] = set()
"""Temporary files and folders in use; they are removed before the command ends."""
outputs_in_place = False
"""Whether an output is in place, and none is being written."""
stopped: int | None = None
"""The first signal received, or None."""
_code: int | None = None
"""The exit code, once the command has ended."""
_said = _swallowed = False


class Stopped(KeyboardInterrupt):
    """The signal of this number asked the process to end."""


def install() -> None:
    """Handle the signals from now on, for the rest of the process. Signals that the parent ignores
    (``nohup``, background jobs of a shell) stay ignored.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _insist)
    atexit.register(_leave)  # registered first, so called last
    report = sys.unraisablehook

    def unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
        # Python drops exceptions in finalizers and callbacks; Stopped is raised again shortly.
        global _swallowed
        if stopped is None:
            report(unraisable)
        elif isinstance(unraisable.exc_value, Stopped):
            _swallowed = True
            _alarm(0.01)

    sys.unraisablehook = unraisable
    shown = sys.excepthook
    # Some extension modules print an exception that interrupts their import.
    sys.excepthook = lambda *error: shown(*error) if stopped is None else None


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold signals back until the (short) block ends, so that all of it happens, or none."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals arrive in the main thread only
        return
    caught: list[int] = []
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    before = {number: old for number, old in handlers.items() if old not in (None, signal.SIG_IGN)}

    try:
        for number in before:
            signal.signal(number, lambda number, _: caught.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if caught:  # even if the block failed, perhaps because others had the signal too
            signal.raise_signal(caught[0])


def remove_unfinished(paths: Iterable[Path]) -> None:
    """Remove temporary files and folders."""
    for path in list(paths):
        try:
            path.unlink()
        except FileNotFoundError:
            pass
        except OSError:
            import shutil  # a folder; only now, because this module imports little

            shutil.rmtree(path, ignore_errors=True)
        unfinished.discard(path)


def finish(code: int) -> int:
    """Return the exit code of a command that has ended. A signal that comes now is ignored if the
    outputs are in place; otherwise the process ends at once.
    """
    global _code
    quiet = stopped is not None or _done()
    for number in SIGNALS:
        if signal.getsignal(number) is _stop:
            signal.signal(number, signal.SIG_IGN if quiet else _end)
    remove_unfinished(unfinished)
    if stopped is None or _done():
        _alarm(0)
        _code = code
    else:
        _say()
        _code = 128 + stopped
    return _code


def _end(number: int, _: FrameType | None) -> None:
    _say()
    os._exit(128 + number)


def message(verb: str | None) -> str:
    """The line that a stopped command prints."""
    then = (
        "run the same command again to continue" if verb in RESUMED else "no file is half-written"
    )
    return f"stopped; {then}\n"


def _say() -> None:
    """Print that line, once."""
    global _said
    if not _said:
        _said = True
        with suppress(OSError):  # standard error may be closed
            os.write(2, message(_verb()).encode())
        _silence()


def _silence() -> None:
    """Silence standard error: event loops and threads report being cut off as an error."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)


def _stop(number: int, _: FrameType | None) -> None:
    global stopped
    if stopped is not None:  # it is already ending
        return
    stopped = number
    _alarm(GRACE)
    if logging := sys.modules.get("logging"):  # asyncio logs the tasks that it could not end
        logging.disable()
    if not _done():
        raise Stopped(number)


def _insist(*_: object) -> None:
    """End the command by force, or raise Stopped again if Python dropped it."""
    global _swallowed
    if _swallowed:
        _swallowed = False
        _alarm(GRACE)
        raise Stopped(stopped or signal.SIGTERM)
    remove_unfinished(unfinished)
    _say()
    os._exit(128 + (stopped or signal.SIGTERM))


def _leave() -> None:
    """Exit before Python removes the signal handlers: without them a signal or the alarm would kill
    the process, or be lost. The system also cleans up what Python would, and faster.
    """
    if stopped is not None and not _done():
        os._exit(128 + stopped)
    if _code is not None:
        for stream in (sys.stdout, sys.stderr):
            print(end="", file=stream, flush=True)  # Python reports a failure
        os._exit(_code)


def _done() -> bool:
    """Whether the outputs are in place, and only a few lines remain to be printed."""
    return outputs_in_place and _verb() not in RESUMED


def _verb() -> str:
    """The verb, from the arguments, which may not be parsed yet."""
    return "".join(sys.argv[1:2])


def _alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
