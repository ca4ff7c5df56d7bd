"""The command line: one module per verb, named as the verb, holding a function of that name."""

import os
import sys
import warnings
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import typer
from typer.core import TyperGroup

from ..exceptions import SurelabelError

#: Unknown options and values that are not of their type; typer gives this class no name of its own.
UsageError: Any = typer.BadParameter.__base__
#: Verbs that go on where they were when they are run again.
RESUMED = ("run", "reproduce")
TABLE_VERBS = ("inspect", "clean", "fit", "predict", "compare", "convert")


class _Verbs(TyperGroup):
    """Errors as one line, without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warn
                result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except SurelabelError as error:
            raise _failed(str(error)) from None
        except UsageError as error:
            message = error.format_message().rstrip(".")
            raise _failed(
                f"{message}; see {' '.join(filter(None, ('surelabel', ctx.invoked_subcommand)))} "
                "--help"
            ) from None
        except BrokenPipeError:
            raise  # the reader of our output has seen enough; typer ends quietly
        except OSError as error:
            if (
                error.filename is None
            ):  # standard output is on a full disk, and what is left of it must not be tried again
                _forget_output()
            raise _failed(f"{error.filename or 'the output'}: {error.strerror or error}") from None
        except KeyboardInterrupt:
            then = (
                "run the same command again to go on"
                if ctx.invoked_subcommand in RESUMED
                else "no file is half-written"
            )
            typer.echo(f"stopped; {then}", err=True)
            raise typer.Exit(130) from None


def _failed(message: str) -> typer.Exit:
    typer.echo(f"error: {_line(message)}", err=True)
    return typer.Exit(2)


def _line(text: str) -> str:
    """One line, without what could move the cursor: names of files and columns may hold
    anything.
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _warn(message: Any, *_: Any, **__: Any) -> None:
    typer.echo(f"warning: {_line(str(message))}", err=True)


def _forget_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


app = typer.Typer(
    cls=_Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Learning from candidate labels: from doubtful labels to clean ones and a model.",
    epilog=(
        "Exit codes: 0 done; 1 done, but something needs attention; 2 bad input, nothing was "
        "written; 130 stopped."
    ),
)
_modules = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
for _name in (*TABLE_VERBS, *sorted(set(_modules) - set(TABLE_VERBS))):
    _panel = "Your tables" if _name in TABLE_VERBS else "Experiments"
    app.command(_name, rich_help_panel=_panel)(getattr(import_module(f"{__name__}.{_name}"), _name))
