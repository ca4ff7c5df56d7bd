"""The command line: one module per verb, named as the verb, holding a function of that name."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import typer
from typer.core import TyperGroup

from ..exceptions import SurelabelError


class _Verbs(TyperGroup):
    """Errors as one line, without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except SurelabelError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2) from None
        except BrokenPipeError:
            raise  # the reader of our output has seen enough; typer ends quietly
        except OSError as error:
            typer.echo(f"error: {error.filename}: {error.strerror}" if error.filename else f"error: {error}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("stopped; run the same command again to go on", err=True)
            raise typer.Exit(130) from None


app = typer.Typer(cls=_Verbs, no_args_is_help=True, pretty_exceptions_enable=False, help="Learning from candidate labels.")
for _module in iter_modules(__path__):
    if not _module.name.startswith("_"):
        app.command(_module.name)(getattr(import_module(f"{__name__}.{_module.name}"), _module.name))
