"""``surelabel predict``: labels for new tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._desk import Escape, Prefix, TableFile, check_outputs, check_table_output, write_output
from ._tables import Decimal, Delimiter, Encoding


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", readable=False, help="A model that surelabel fit or clean wrote.")],
    table: TableFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", readable=False, help="Where to write; by default CSV to standard output."),
    ] = None,
    prefix: Prefix = "",
    escape_formulas: Escape = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
) -> None:
    """Add label, confidence and second choice to the rows of a table; all its columns stay as they are.

    surelabel predict pets.skops new.csv -o labelled.csv

    surelabel predict pets.skops new.csv | head
    """
    from ..data.tables import read_table
    from ..desk import tasks
    from ..estimators import load_model
    from ..progress import stage

    check_table_output(output)
    check_outputs([model, table], output)
    with stage("read", {}, verbose=True):
        loaded = load_model(model)
        rows = read_table(table, delimiter=delimiter, encoding=encoding, decimal=decimal)
    with stage("predict", {}, verbose=True):
        found = tasks.predict(loaded, rows, prefix=prefix)
    write_output(found, output, escape=escape_formulas)
    if output is not None:
        typer.echo(f"{output}: {found.num_rows:,} rows")
