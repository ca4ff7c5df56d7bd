"""The command line: one module per verb, named after it, with a function of the same name.

Slow imports happen inside the functions, so that help, completion and errors in options appear at
once.
"""

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any

from .. import interrupts
from ..exceptions import ParameterError, SurelabelError
from ..extras import extra
from ..text import printable
from ._failures import UNEXPECTED, sentence

with extra("cli", "the command line"):
    import typer
    from typer.core import TyperGroup

#: Raised for unknown options and values of the wrong type; typer does not export this class.
UsageError: Any = typer.BadParameter.__base__
#: Exit code when the reader closes our output early, as if SIGPIPE had ended the command.
PIPE = 141
TABLE_VERBS = ("inspect", "clean", "review", "audit", "fit", "predict", "compare", "convert")


class _Verbs(TyperGroup):
    """The group of all verbs; shows errors as one line, without a traceback."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _one_line(None):
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _one_line(ctx), warnings.catch_warnings():
            warnings.showwarning = _warn
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result


@contextmanager
def _one_line(ctx: Any) -> Iterator[None]:
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
        message, code = sentence(error, verb)
    typer.echo(f"error: {printable(message)}", err=True)
    return typer.Exit(code)


def _warn(message: Any, *_: Any, **__: Any) -> None:
    typer.echo(f"warning: {printable(message)}", err=True)


def _forget_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


app = typer.Typer(
    cls=_Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    epilog=(
        "Exit codes: 0 done; 1 done, but something needs attention; 2 not done: the input, the "
        "memory or the disk does not allow it, and nothing was written; "
        f"{UNEXPECTED} unexpected error; 130 stopped by Ctrl-C, 143 by SIGTERM; "
        f"{PIPE} the reader closed the output."
    ),
)


def _print_version(asked: bool) -> None:
    if asked:
        from .. import __version__

        typer.echo(f"surelabel {__version__}")
        raise typer.Exit


@app.callback()
def _surelabel(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Learning from candidate labels: turn doubtful labels into clean ones and a model."""


_modules = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
for _name in (*TABLE_VERBS, *sorted(set(_modules) - set(TABLE_VERBS))):
    _panel = "Your tables" if _name in TABLE_VERBS else "Experiments"
    _function = getattr(import_module(f"{__name__}.{_name}"), _name)
    app.command(_name, rich_help_panel=_panel)(_function)
