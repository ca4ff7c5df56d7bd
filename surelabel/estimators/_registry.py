"""The list of methods, collected from the modules of this package: adding a method is adding one
file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


@dataclass(frozen=True)
class Method:
    """One method of partial-label learning; its module holds it as ``METHOD``.

    Attributes
    ----------
    name : str
        Its name in tables, as the paper writes it.
    estimator : type
        The estimator class.
    grid : mapping of str to sequence
        The parameter grid that the paper searches by cross-validation; empty if it fixes
        everything.
    reference : str
        Where the method was published.
    idea : str
        What it does, in half a sentence.
    cost : str
        What a fit of m rows, n features and l labels takes.
    """

    name: str
    estimator: type
    grid: Mapping[str, Sequence[Any]]
    reference: str
    idea: str
    cost: str


def all_methods() -> dict[str, Method]:
    """Every method of the package by name, SURE first, the others in alphabetical order.

    Returns
    -------
    dict of str to Method

    Examples
    --------
    >>> from surelabel.estimators import all_methods
    >>> "SURE" in all_methods()
    True
    """
    package = import_module(__package__)
    modules = (
        import_module(f"{__package__}.{module.name}") for module in iter_modules(package.__path__)
    )
    found = [module.METHOD for module in modules if hasattr(module, "METHOD")]
    return {
        method.name: method
        for method in sorted(found, key=lambda method: (method.name != "SURE", method.name))
    }
