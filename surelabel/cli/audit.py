"""``surelabel audit``: draw rows to check; the answers bound the errors among all labels kept."""

from __future__ import annotations

from typing import Annotated

import typer

from ..text import count, printable
from ._files import Output, TableFile, check_outputs, is_file
from ._settings import Settings, takes_settings


@takes_settings("method", "max_error")
def audit(
    table: TableFile,
    output: Output,
    settings: Settings,
    checks: Annotated[
        int, typer.Option(metavar="NUMBER", help="Draw at most this many rows.")
    ] = 300,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Seed of the random order.")] = 0,
) -> None:
    """Draw rows at random from those that clean would keep, for a person to check.

    Write the true label of each row into the column answer, starting with the first row (? where
    nobody can tell); stop whenever you like. Then run clean with the same options and --audit: it
    corrects what was wrong, and says how many of the labels kept can still be wrong.

    surelabel audit pets.csv -o audit.csv --labels candidates

    surelabel clean pets.csv -o cleaned.csv --labels candidates --audit audit.csv
    """
    from ..data.table_files import write_table
    from ..evaluation.audits import checks_needed
    from ..progress import stage
    from ..tables import clean
    from ..tables.auditing import LEVELS

    check_outputs([table], table=output)
    with stage("read", verbose=True):
        rows = settings.read(table)
    found = clean(rows, verbose=True, **settings.cleaning(), **settings.columns())
    sheet = found.audit_sheet(checks, random_state=seed)
    write_table(sheet, output)
    n_rows = found.status_counts["probable"]
    needed = ", ".join(
        f"{checks_needed(n_rows, level):,} for {100 * level:g} %" for level in LEVELS
    )
    name = printable(output) if is_file(output) else "the sheet"
    typer.echo(
        f"{name}: {count(sheet.num_rows)} to check, drawn at random from {count(n_rows)} to be "
        "kept\n"
        "Write the true labels into the column answer, from the top, and stop when you like.\n"
        f"Checks without a mistake that certify an error of at most …: {needed}",
        err=not is_file(output),
    )
