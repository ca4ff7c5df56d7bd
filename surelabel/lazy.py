"""Names of a folder that are imported when they are first used."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazily(folder: str, names: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a folder: its modules cost nothing to those who use only one of them.

    Parameters
    ----------
    folder : str
        Its ``__name__``.
    names : mapping of str to sequence of str
        Each module of the folder that makes public names, with these names.

    Returns
    -------
    callable
        From a name to what it stands for.
    """
    home = {name: module for module, given in names.items() for name in given}

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {folder!r} has no attribute {name!r}")
        return getattr(import_module(f"{folder}.{home[name]}"), name)

    return find
