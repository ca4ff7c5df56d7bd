"""The list of methods, collected from the modules of this package: to add a method, add one
file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from ..evaluation.protocol import check_selection, grid_search


@dataclass(frozen=True)
class Method:
    """One method of partial-label learning; its module defines it as ``METHOD``.

    Attributes
    ----------
    name : str
        Its name in tables, as the paper writes it.
    estimator : type
        The estimator class.
    grid : mapping of str to sequence
        The parameter grid that the paper searches by cross-validation; empty if the paper fixes all
        parameters.
    reference : str
        Where the method was published.
    idea : str
        What it does, in half a sentence.
    cost : str
        The cost of a fit to m rows, n features and l labels.
    search : callable, default=None
        The method's own search, if points of a grid can share work: ``search(estimator, grid,
        selection)``. The default is scikit-learn's search. :meth:`make_search` returns it.
    many_rows : mapping of str to Any
        Parameters that keep a fit affordable on tens of thousands of rows; empty if the defaults
        do.
    path : bool
        Whether a fit records its convergence in ``delta_path_`` and ``objective_path_``.
    """

    name: str
    estimator: type
    grid: Mapping[str, Sequence[Any]]
    reference: str
    idea: str
    cost: str
    search: Callable[[Any, Mapping[str, Sequence[Any]] | None, str], Any] | None = None
    many_rows: Mapping[str, Any] = field(default_factory=dict)
    path: bool = False

    def make_search(
        self,
        selection: str = "covering_rate",
        *,
        estimator: Any = None,
        grid: Mapping[str, Sequence[Any]] | None = None,
    ) -> Any:
        """A search over parameters of this method.

        Parameters
        ----------
        selection : {"covering_rate", "approximated_accuracy", "oracle"}, default="covering_rate"
            How the left-out rows are scored.
        estimator : estimator, default=None
            An estimator with the fixed parameters; by default all have their default values.
        grid : mapping of str to sequence, default=None
            Values to try; by default what the method recommends for a new table: its grid, and for
            SURE also other kernels.

        Returns
        -------
        search
            Has a parameter ``cv``, a method ``fit(X, candidates)`` (``fit(X, candidates,
            y_true=y)`` for "oracle"), and then ``best_params_``, ``best_score_`` and
            ``cv_results_``, as in ``GridSearchCV``.
        """
        check_selection(selection)
        estimator = self.estimator() if estimator is None else estimator
        if self.search is not None:
            return self.search(estimator, grid, selection)
        return grid_search(estimator, self.grid if grid is None else grid, selection)


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
        import_module(f"{__package__}.{module.name}")
        for module in iter_modules(package.__path__)
        if not module.name.startswith("_") and module.name != "checks"  # no method, and slow
    )
    found = [module.METHOD for module in modules if hasattr(module, "METHOD")]
    return {
        method.name: method
        for method in sorted(found, key=lambda method: (method.name != "SURE", method.name))
    }
