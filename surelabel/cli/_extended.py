"""How a command takes over options that are declared elsewhere: for tables in ``_settings``, for
studies in ``_running``, and single ones in ``_files``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any


def option(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    """A parameter that becomes an option: its annotation says how."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def extended(
    command: Callable[..., None],
    argument: str,
    options: Sequence[inspect.Parameter],
    collect: Callable[..., Any],
) -> Callable[..., None]:
    """Add options to a command; ``collect`` makes the value of its ``argument`` from the values of
    the options.
    """
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(command, eval_str=True).parameters.values()
        if parameter.name != argument
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        said = {one.name: given.pop(one.name) for one in options}
        command(**{argument: collect(**said)}, **given)

    run.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in (*own, *options)}
    return run
