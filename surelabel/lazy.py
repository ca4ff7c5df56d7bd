"""Import the names of a package when they are first used."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # type checkers know the name; importing typing would take longer than this
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any


def lazily(
    folder: str, names: Mapping[str, Sequence[str]], parts: Collection[str] = ()
) -> Callable[[str], Any]:
    """The ``__getattr__`` of the package ``folder``: a module is imported only when one of its
    public names is used. ``names`` lists those of each module; ``parts`` are modules and folders
    that are attributes themselves.
    """
    home = {name: module for module, given in names.items() for name in given}

    def find(name: str) -> Any:
        if name in home:
            value = getattr(import_module(f"{folder}.{home[name]}"), name)
        elif name in parts:
            value = import_module(f"{folder}.{name}")
        else:
            raise AttributeError(f"module {folder!r} has no attribute {name!r}")
        setattr(sys.modules[folder], name, value)  # found at once the next time
        return value

    return find
