"""``surelabel run``: a study of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._running import RunOptions, takes_run_options


@takes_run_options
def run(
    study: Annotated[Path, typer.Argument(help="A study file (TOML).")], options: RunOptions
) -> None:
    """Run a study; if it is stopped, the same command continues where it left off."""
    from ..experiments.study import read_study

    options.run([(read_study(study), None)])
