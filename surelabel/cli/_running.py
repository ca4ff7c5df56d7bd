"""What the verbs that run studies share."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import ParameterError

if TYPE_CHECKING:
    from ..experiments.study import Study

Datasets = Annotated[
    list[str] | None, typer.Option(help="Only these data sets: names separated by commas.")
]
Methods = Annotated[
    list[str] | None, typer.Option(help="Only these methods: names separated by commas.")
]
Levels = Annotated[
    str | None,
    typer.Option(
        metavar="0.1,0.4",
        help="On controlled data, only these levels of p (of ε in configuration I).",
    ),
]
Folds = Annotated[int | None, typer.Option(min=1, help="Run only this many folds, the first ones.")]
Selection = Annotated[
    str | None,
    typer.Option(
        metavar="CRITERION",
        help="Choose parameters by covering_rate, approximated_accuracy or oracle, not as the "
        "study says.",
    ),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Number of processes; by default one per core.")
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Run on this Dask cluster; 'local' starts one on this machine."
    ),
]
Results = Annotated[
    Path, typer.Option(help="The folder for the records, with a subfolder for each study.")
]


@dataclass(frozen=True)
class Part:
    """A study, or only some of its configurations."""

    study: Study
    configurations: Collection[str] | None = None


def run_parts(
    parts: list[Part],
    results: Path,
    *,
    datasets: list[str] | None,
    methods: list[str] | None,
    levels: str | None,
    folds: int | None,
    selection: str | None,
    **how: Any,
) -> None:
    """Run the parts one after another, print how each ended, and exit with code 1 if a trial
    failed.
    """
    from ..experiments.runner import run_study
    from ..experiments.trials import trials_of

    wanted: dict[str, Any] = {
        "datasets": _names(
            "data set", datasets, (name for part in parts for name in part.study.datasets)
        ),
        "methods": _names(
            "method", methods, (plan.name for part in parts for plan in part.study.methods)
        ),
        "levels": _levels(
            levels, [level.level for part in parts for level in part.study.configurations]
        ),
    }
    failed = 0
    for part in parts:
        study = _selected_by(part.study, selection)
        trials = list(trials_of(study, configurations=part.configurations, folds=folds, **wanted))
        if trials:
            outcome = run_study(study, results / study.name, trials, tell=typer.echo, **how)
            typer.echo(f"{study.name}: {outcome}")
            typer.echo(f"{study.name}: {study.scaling_in_words()}")
            failed += outcome.failed
    typer.echo(f"see the numbers: surelabel report {results}")
    if failed:
        raise typer.Exit(1)


def check_name(what: str, name: str, known: Iterable[str]) -> str:
    """The name, if it is known; otherwise an error that lists the known ones."""
    if name not in (known := dict.fromkeys(known)):
        raise ParameterError(f"there is no {what} {name!r} here; choose from {', '.join(known)}")
    return name


def _names(what: str, given: list[str] | None, known: Iterable[str]) -> list[str] | None:
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
