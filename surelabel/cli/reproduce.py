"""``surelabel reproduce``: the paper's tables and figures."""

from __future__ import annotations

from typing import Annotated

import typer

from ._running import RunOptions, check_name, takes_run_options

#: The studies behind each table and figure, with the configurations that it shows. Figures 1 to 4
#: draw the results that Table 2 counts.
TARGETS: dict[str, dict[str, list[str] | None]] = {
    "table2": {"table2": None},
    "table4": {"table4": None},
    "figure1": {"figure1": None, "table2": ["I"]},
    "figure2": {"table2": ["II"]},
    "figure3": {"table2": ["III"]},
    "figure4": {"table2": ["IV"]},
    "figure5": {"figure5-sensitivity": None, "figure5-convergence": None},
    "beyond": {"beyond": None},
    "pure": {"pure": None, "pure-parts": None},
    "people": {"people": None, "people-raw": None},
    "ordered": {"ordered": None},
    "readings": {"table2-raw": None, "table2-minmax": None, "table2-repeated": None},
}
TARGETS["all"] = {study: None for target in TARGETS.values() for study in target}


@takes_run_options
def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            metavar="STUDY", help=f"A table or figure of the paper, or ours: {', '.join(TARGETS)}."
        ),
    ],
    options: RunOptions,
) -> None:
    """Run the paper's experiments; if it is stopped, the same command continues where it left
    off.
    """
    from ..experiments.study import paper_study

    parts = [
        (paper_study(study), configurations)
        for study, configurations in TARGETS[check_name("target", target, TARGETS)].items()
    ]
    options.run(parts)
