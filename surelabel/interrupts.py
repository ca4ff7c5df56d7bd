"""Ctrl-C and other signals that end a command: it removes unfinished files, says so in one line and
exits with 128 + the number of the signal.

This module imports little, because it must be ready before the slow imports begin.
"""

import atexit
import os
import signal
import sys
from contextlib import suppress
from types import FrameType

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
GRACE = 5.0
"""Seconds that the command has to clean up; then it is ended by force."""
RESUMED = ("run", "reproduce", "review")
"""Commands that continue where they left off when they are run again."""


class Stopped(KeyboardInterrupt):
    """The process was asked to end; ``number`` is the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


stopped: int | None = None
"""The first signal received, or None."""
_code: int | None = None
"""The exit code, once the command has ended."""
_said = _swallowed = False
_held: int | None = None
"""A signal that is held back, or None."""


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


def hurry(number: int) -> None:
    """End the command by force if a block that holds this signal back takes too long."""
    global _held
    if hasattr(signal, "setitimer") and signal.getsignal(signal.SIGALRM) is _insist:
        _held = number
        _alarm(GRACE)


def finish(code: int) -> int:
    """Return the exit code of a command that has ended. A signal that comes now is ignored if the
    outputs are in place; otherwise the process ends at once.
    """
    global _code
    quiet = stopped is not None or _done()
    for number in SIGNALS:
        if signal.getsignal(number) is _stop:
            signal.signal(number, signal.SIG_IGN if quiet else _end)
    if files := sys.modules.get("surelabel.files"):
        files.remove_unfinished()
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
    """Drop what is still written to standard error: event loops and threads report being cut off as
    an error.
    """
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
    if files := sys.modules.get("surelabel.files"):
        files.remove_unfinished()
    _say()
    os._exit(128 + (stopped or _held or signal.SIGTERM))


def _leave() -> None:
    """Exit before Python removes the signal handlers: without them a signal or the alarm would kill
    the process, or be lost. What Python would clean up then, the system does, too, and faster.
    """
    if stopped is not None and not _done():
        os._exit(128 + stopped)
    if _code is not None:
        for stream in (sys.stdout, sys.stderr):
            print(end="", file=stream, flush=True)  # an error is Python's to report
        os._exit(_code)


def _done() -> bool:
    """Whether the outputs are in place, and only a few lines remain to be printed."""
    files = sys.modules.get("surelabel.files")
    return files is not None and files.finished and _verb() not in RESUMED


def _verb() -> str:
    """The verb, from the arguments, which may not be parsed yet."""
    return "".join(sys.argv[1:2])


def _alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
