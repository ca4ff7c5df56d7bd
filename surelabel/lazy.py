"""Import the names of a package when they are first used."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazily(folder: str, names: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: a module is imported only when one of its names is used.

    Parameters
    ----------
    folder : str
        Its ``__name__``.
    names : mapping of str to sequence of str
        Each module with its public names.

    Returns
    -------
    callable
        Returns the object of a name.
    """
    home = {name: module for module, given in names.items() for name in given}

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {folder!r} has no attribute {name!r}")
        return getattr(import_module(f"{folder}.{home[name]}"), name)

    return find
