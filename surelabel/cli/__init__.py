"""The command line: one module per verb, named after it, with a function of the same name.

Slow imports happen inside the functions, so that help, completion and errors in options appear at
once.
"""

import sys
import warnings
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any

from ..extras import extra
from ..text import printable

with extra("cli", "the command line"):
    import typer
    from typer.core import TyperGroup

    from ._failures import PIPE, UNEXPECTED, one_line

TABLE_VERBS = ("inspect", "clean", "review", "audit", "fit", "predict", "compare", "convert")


class _Verbs(TyperGroup):
    """The group of all verbs; shows errors as one line, without a traceback."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with one_line(None):
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with one_line(ctx), warnings.catch_warnings():
            warnings.showwarning = _warn
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result


def _warn(message: Any, *_: Any, **__: Any) -> None:
    typer.echo(f"warning: {printable(message)}", err=True)


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
