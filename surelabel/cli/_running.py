"""What the verbs that run studies share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints
from typing import Annotated as A

import typer

from ..exceptions import ParameterError
from ._extended import extended, option

if TYPE_CHECKING:
    from ..experiments.study import Study


@dataclass(frozen=True)
class RunOptions:
    """Which trials run, where, and what becomes of them."""

    datasets: A[list[str] | None, typer.Option(help="Only these data sets: a,b,c")] = None
    methods: A[list[str] | None, typer.Option(help="Only these methods: SURE,PLKNN")] = None
    levels: A[
        str | None,
        typer.Option(
            metavar="0.1,0.4",
            help="On controlled data, only these levels of p (of ε in configuration I).",
        ),
    ] = None
    folds: A[int | None, typer.Option(min=1, help="Only this many folds, the first ones.")] = None
    selection: A[
        str | None,
        typer.Option(
            metavar="CRITERION",
            help="Choose parameters by covering_rate, approximated_accuracy or oracle, not as the "
            "study says.",
        ),
    ] = None
    workers: A[
        int | None, typer.Option(min=1, help="Number of processes; by default one per core.")
    ] = None
    dask: A[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run on the Dask cluster at this address."),
    ] = None
    results: A[
        Path, typer.Option(help="The folder for the records, with a subfolder for each study.")
    ] = Path("results")

    def run(self, parts: Sequence[tuple[Study, Collection[str] | None]]) -> None:
        """Run studies one after another, with some of their configurations or all (None); print how
        each ended, and exit with code 1 if a trial failed or none is there.
        """
        from ..experiments.runner import run_study
        from ..experiments.trials import trials_of

        studies = [study for study, _ in parts]
        levels = [level.level for study in studies for level in study.configurations]
        wanted: dict[str, Any] = {
            "datasets": _chosen_names(
                "data set", self.datasets, (n for s in studies for n in s.datasets)
            ),
            "methods": _chosen_names(
                "method", self.methods, (m.name for s in studies for m in s.methods)
            ),
            "levels": _levels(self.levels, levels),
            "folds": self.folds,
        }
        failed = there = 0
        for given, configurations in parts:
            study = _selected_by(given, self.selection)
            trials = list(trials_of(study, configurations=configurations, **wanted))
            if trials:
                outcome = run_study(
                    study,
                    self.results / study.name,
                    trials,
                    tell=typer.echo,
                    workers=self.workers,
                    dask=self.dask,
                )
                typer.echo(f"{study.name}: {outcome}")
                typer.echo(f"{study.name}: {study.scaling_in_words()}")
                failed += outcome.failed
                there += outcome.before + outcome.finished
        if there:
            typer.echo(f"see the numbers: surelabel report {self.results}")
        if failed or not there:
            raise typer.Exit(1)


def takes_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :class:`RunOptions`, in its argument ``options``."""
    hints = get_type_hints(RunOptions, include_extras=True)
    options = [option(one.name, hints[one.name], one.default) for one in fields(RunOptions)]
    return extended(command, "options", options, RunOptions)


def check_name(what: str, name: str, known: Iterable[str]) -> str:
    """The name, if it is known; otherwise an error that lists the known ones."""
    if name not in (known := dict.fromkeys(known)):
        raise ParameterError(f"there is no {what} {name!r} here; choose from {', '.join(known)}")
    return name


def _chosen_names(what: str, given: list[str] | None, known: Iterable[str]) -> list[str] | None:
    """Names given as ``a,b`` or by repeating the option; None if the option is not given."""
    known = list(known)
    return (
        [check_name(what, name.strip(), known) for text in given for name in text.split(",")]
        if given
        else None
    )


def _levels(given: str | None, known: Iterable[float | None]) -> list[float] | None:
    """Levels given as ``0.1,0.4``; None if the option is not given."""
    if given is None:
        return None
    by_name = {f"{level:g}": level for level in known if level is not None}
    return [by_name[check_name("level", text.strip(), by_name)] for text in given.split(",")]


def _selected_by(study: Study, selection: str | None) -> Study:
    """The study with another selection criterion, and another name to keep its records apart."""
    from ..evaluation.protocol import SELECTIONS

    if (
        selection is None
        or check_name("criterion", selection, SELECTIONS) == study.selection
        or study.kind != "accuracy"
    ):
        return study
    return replace(study, name=f"{study.name}-{selection}", selection=selection)
