"""``surelabel run``: a study of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._running import (
    Dask,
    Datasets,
    Folds,
    Levels,
    Methods,
    Part,
    Results,
    Selection,
    Workers,
    run_parts,
)


def run(
    study: Annotated[Path, typer.Argument(help="A study file (TOML).")],
    datasets: Datasets = None,
    methods: Methods = None,
    levels: Levels = None,
    folds: Folds = None,
    selection: Selection = None,
    workers: Workers = None,
    dask: Dask = None,
    results: Results = Path("results"),
) -> None:
    """Run a study; if it is stopped, the same command continues where it left off."""
    from ..experiments.study import read_study

    run_parts(
        [Part(read_study(study))],
        results,
        datasets=datasets,
        methods=methods,
        levels=levels,
        folds=folds,
        selection=selection,
        workers=workers,
        dask=dask,
    )
