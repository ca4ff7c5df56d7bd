"""Ctrl-C and signals that ask a command to end: it removes what it has not finished, says so in one
line and ends with 128 + the number of the signal.

Imports little, because it has to be there before anything that takes time to import.
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
"""Seconds that the command has to close what it opened; then it is ended by force."""
RESUMED = ("run", "reproduce", "review")
"""Commands that go on where they were when they are run again."""


class Stopped(KeyboardInterrupt):
    """The process was asked to end; ``number`` is the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


stopped: int | None = None
"""The signal that came first."""
_said = _swallowed = False


def install() -> None:
    """Handle the signals from now on, for the rest of the process. What the parent switched off
    (``nohup``, background jobs of a shell) stays off.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _insist)
    atexit.register(_leave)  # the first to be registered is the last to be called
    report = sys.unraisablehook

    def unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
        # Python drops exceptions in finalizers and callbacks; ours is raised again shortly.
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


def finish(code: int) -> int:
    """The command has ended; signals no longer change how. Returns its exit code."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if files := sys.modules.get("surelabel.files"):
        files.remove_unfinished()
    if stopped is None or _done():
        _alarm(0)
        return code
    _say()
    return 128 + stopped


def message(verb: str | None) -> str:
    """What a stopped command says."""
    then = "run the same command again to go on" if verb in RESUMED else "no file is half-written"
    return f"stopped; {then}\n"


def _say() -> None:
    """Say it once."""
    global _said
    if not _said:
        _said = True
        with suppress(OSError):  # nobody may be there to read it
            os.write(2, message(_verb()).encode())
        _silence()


def _silence() -> None:
    """Drop what is still written to standard error: event loops and threads that are cut off in
    their work report that as an error.
    """
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)


def _stop(number: int, _: FrameType | None) -> None:
    global stopped
    if stopped is not None:  # it ends already
        return
    stopped = number
    _alarm(GRACE)
    if logging := sys.modules.get("logging"):  # asyncio logs tasks that it could not end
        logging.disable()
    if not _done():
        raise Stopped(number)


def _insist(*_: object) -> None:
    """The command did not end."""
    global _swallowed
    if _swallowed:
        _swallowed = False
        _alarm(GRACE)
        raise Stopped(stopped or signal.SIGTERM)
    if files := sys.modules.get("surelabel.files"):
        files.remove_unfinished()
    _say()
    os._exit(128 + (stopped or signal.SIGTERM))


def _leave() -> None:
    """End a stopped command before Python takes the handlers away: the alarm would kill it."""
    if stopped is not None and not _done():
        os._exit(128 + stopped)


def _done() -> bool:
    """Whether the outputs are in their place, and only a few lines remain to be printed."""
    files = sys.modules.get("surelabel.files")
    return files is not None and files.finished and _verb() not in RESUMED


def _verb() -> str:
    """The command, which may not be parsed yet."""
    return "".join(sys.argv[1:2])


def _alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
