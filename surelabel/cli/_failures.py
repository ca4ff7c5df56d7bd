"""How a command reports an error: one line on standard error, and an exit code."""

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from .. import interrupts
from ..exceptions import ParameterError, SurelabelError
from ..files import FULL
from ..interrupts import RESUMED
from ..text import printable

UNEXPECTED = 70
"""Exit code of an unexpected error; EX_SOFTWARE of sysexits.h."""
PIPE = 141
"""Exit code when the reader closes our output early, as if SIGPIPE had ended the command."""
#: What other errors than MemoryError say if memory runs out (see ulimit -v and -u).
NO_MEMORY = ("can't start new thread", "failed to map segment", "annot allocate memory")
#: Raised for unknown options and values of the wrong type; typer does not export this class.
UsageError: Any = typer.BadParameter.__base__


@contextmanager
def one_line(ctx: Any) -> Iterator[None]:
    """Turn whatever is raised into a line on standard error and an exit code."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except (KeyboardInterrupt, SystemExit, Exception) as error:
        if interrupts.stopped is not None:  # the error is a consequence of stopping
            raise typer.Exit(128 + interrupts.stopped) from None
        if isinstance(error, KeyboardInterrupt):
            typer.echo(interrupts.message(ctx and ctx.invoked_subcommand), err=True, nl=False)
            raise typer.Exit(130) from None
        if isinstance(error, SystemExit):
            # raised by rich when the reader has closed our output, or by a module of the user
            if isinstance(error.__context__, BrokenPipeError):
                raise typer.Exit(PIPE) from None
            if ctx is None:  # --show-completion
                raise
            error = ParameterError(
                "a module that the command was given tried to end it; remove the sys.exit() there"
            )
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        raise _failed(error, ctx and ctx.invoked_subcommand) from None


def _failed(error: Exception, verb: str | None) -> typer.Exit:
    code = 2
    if os.environ.get("SURELABEL_TRACEBACK"):
        traceback.print_exception(error)
    if isinstance(error, SurelabelError):
        message = str(error)
    elif isinstance(error, UsageError):
        command = " ".join(filter(None, ("surelabel", verb)))
        message = f"{error.format_message().rstrip('.')}; see {command} --help"
    elif isinstance(error, BrokenPipeError):  # the reader has closed our output
        _forget_output()
        return typer.Exit(PIPE)
    else:
        if isinstance(error, OSError) and error.filename is None:
            _forget_output()  # its disk is full: do not try again at exit
        message, code = _sentence(error, verb)
    typer.echo(f"error: {printable(message)}", err=True)
    return typer.Exit(code)


def _forget_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _sentence(error: Exception, verb: str | None) -> tuple[str, int]:
    """One sentence (what happened and what to do) and the exit code."""
    kept = "what is finished is kept" if verb in RESUMED else "nothing was written"
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError) or any(part in text for part in NO_MEMORY):
        why = f" ({text})" if text else ""
        return (
            f"memory ran out{why}; use fewer rows or columns, or a machine or limit with more "
            f"memory; {kept}"
        ), 2
    if isinstance(error, OSError):
        what = f"{error.filename or 'standard output'}: {error.strerror or text}"
        if error.errno in FULL:
            what += f"; free some space, or write to another disk; {kept}"
        return what, 2
    return (
        f"unexpected: {type(error).__name__}: {text or 'no message'}; please report it, with the "
        "traceback that SURELABEL_TRACEBACK=1 in the environment shows"
    ), UNEXPECTED
