"""``surelabel inspect``: a table of doubtful labels, before anything is learned from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._screen import (
    LISTED,
    count,
    facts,
    few,
    kinds,
    listing,
    percent,
    print_json,
    printable,
    screen,
)
from ._table_options import Json, TableFile, TableOptions, table_options

if TYPE_CHECKING:
    from ..tables.tasks import Inspected


@table_options
def inspect(
    table: TableFile,
    options: TableOptions,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with code 1 if there are problems.")
    ] = False,
    json: Json = False,
) -> None:
    """Show how ambiguous a table is, which classes are confused, and what is wrong with it.

    surelabel inspect pets.csv --labels candidates

    surelabel inspect votes.csv --votes 'annotator_*' --gold checked

    surelabel inspect answers.parquet --labels label --id question --long --annotator model
    """
    from ..tables import tasks

    rows = options.read(table)
    found = tasks.inspect(rows, **options.columns(rows))
    if json:
        print_json(_as_dict(found))
    else:
        _show(str(table), found)
    if strict and found.inspection.problems:
        raise typer.Exit(1)


def _as_dict(found: Inspected) -> dict[str, Any]:
    inspection, summary = found.inspection, found.inspection.summary
    classes = summary.classes.tolist()
    return {
        "rows": summary.n_rows + inspection.unlabelled,
        "rows_with_one_candidate": inspection.certain,
        "rows_without_label": inspection.unlabelled,
        "candidates_per_row": summary.average_size,
        "rows_by_candidates": summary.set_sizes,
        "classes": [
            {"label": label, "rows": rows, "gold_rows": gold}
            for label, rows, gold in zip(
                classes, summary.class_frequency, inspection.gold_frequency, strict=True
            )
        ],
        "confused": [
            {
                "first": classes[pair.first],
                "second": classes[pair.second],
                "rows": pair.rows,
                "share_of_rarer": pair.share,
            }
            for pair in inspection.confused
        ],
        "gold_rows": inspection.n_gold,
        "gold_among_candidates": inspection.gold_inside,
        "annotators": inspection.annotators,
        "votes_per_row": inspection.votes_per_row,
        "unanimous": inspection.unanimous,
        "features": {feature.name: feature.kind for feature in inspection.features},
        "not_used": found.unused,
        "problems": [
            {"kind": problem.kind, "message": problem.message, "rows": problem.rows + 1}
            for problem in inspection.problems
        ],
    }


def _show(name: str, found: Inspected) -> None:
    inspection, summary, out = found.inspection, found.inspection.summary, screen()
    labelled, classes = summary.n_rows, summary.classes.tolist()
    out.print(
        f"{printable(name)}: {count(labelled + inspection.unlabelled)}, {len(classes):,} classes",
        style="bold",
    )
    gold = (
        f"{count(inspection.n_gold)}, {percent(inspection.gold_inside)} of these among the "
        "candidates"
    )
    votes = (
        f"{few(inspection.annotators)}; {inspection.votes_per_row:.1f} votes per row"
        if inspection.annotators
        else None
    )
    unanimous = (
        f", unanimous in {percent(inspection.unanimous)} of the rows"
        if inspection.unanimous is not None
        else ""
    )
    out.print(
        facts(
            [
                (
                    "candidates per row",
                    f"{summary.average_size:.2f} on average, {max(summary.set_sizes, default=0)} "
                    "at most",
                ),
                (
                    "one candidate",
                    f"{count(inspection.certain)} "
                    f"({percent(inspection.certain / max(labelled, 1))})",
                ),
                ("no label", count(inspection.unlabelled) if inspection.unlabelled else None),
                ("known-true labels", gold if inspection.n_gold else None),
                ("annotators", votes and votes + unanimous),
                ("learned from", kinds(inspection.features)),
                *(
                    ("not used", f"{column}: {reason}")
                    for column, reason in list(found.unused.items())[:LISTED]
                ),
                (
                    "",
                    f"and {len(found.unused) - LISTED} more columns"
                    if len(found.unused) > LISTED
                    else None,
                ),
            ]
        )
    )
    frequent = sorted(
        zip(summary.class_frequency.tolist(), map(str, classes), strict=True),
        key=lambda pair: -pair[0],
    )
    out.print("\nClasses", style="bold")
    out.print(
        listing(
            {"label": False, "rows": True, "share": True},
            (
                (label, f"{rows:,}", percent(rows / max(labelled, 1)))
                for rows, label in frequent[:LISTED]
            ),
        )
    )
    if len(frequent) > LISTED:
        out.print(f"  and {len(frequent) - LISTED:,} more", style="dim")
    if inspection.confused:
        out.print("\nCandidates of the same rows", style="bold")
        pairs = (
            (classes[pair.first], classes[pair.second], f"{pair.rows:,}", percent(pair.share))
            for pair in inspection.confused[:LISTED]
        )
        out.print(
            listing({"label": False, "and": False, "rows": True, "of the rarer": True}, pairs)
        )
    out.print("\nProblems" if inspection.problems else "\nNo problems found", style="bold")
    for problem in inspection.problems:
        out.print(f"  ! {printable(problem.message)}", style="yellow")
