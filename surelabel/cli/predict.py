"""``surelabel predict``: labels for new tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ..exceptions import ModelFileError, ParameterError
from ..text import count, printable
from ._screen import print_json
from ._table_options import (
    As,
    Decimal,
    Delimiter,
    Encoding,
    Escape,
    Json,
    Prefix,
    Sheet,
    TableFile,
    check_outputs,
    check_table_output,
    is_file,
    write_output,
)


def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", readable=False, help="A model written by surelabel fit or clean."
        ),
    ],
    table: TableFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            readable=False,
            help="Where to write; by default CSV to standard output.",
        ),
    ] = None,
    prefix: Prefix = "",
    as_: As = None,
    escape_formulas: Escape = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    json: Json = False,
) -> None:
    """Add a label, its confidence and the second choice to every row of a table; its own columns
    stay as they are.

    surelabel predict pets.model new.csv -o labelled.csv

    surelabel predict pets.model new.csv | head
    """
    from ..data.table_files import read_table
    from ..estimators import load_model
    from ..progress import stage
    from ..tables import predict

    if json and not is_file(output):
        raise ParameterError(
            "--json prints a report in place of the table: name a file with --output"
        )
    check_table_output(output)
    check_outputs([model, table], output)
    seconds: dict[str, float] = {}
    with stage("read", seconds, verbose=True):
        loaded = load_model(model)
        rows = read_table(
            table, delimiter=delimiter, encoding=encoding, decimal=decimal, sheet=sheet
        )
    with stage("predict", seconds, verbose=True), _named(model):
        found = predict(loaded, rows, prefix=prefix, as_=as_)
    write_output(found, output, escape=escape_formulas)
    if json:
        labels = found[f"{prefix}label"].value_counts().to_pylist()
        counts = {part["values"]: part["counts"] for part in labels}
        print_json(
            {"output": str(output), "rows": found.num_rows, "labels": counts, "seconds": seconds}
        )
    elif is_file(output):
        typer.echo(f"{printable(output)}: {count(found.num_rows)}")


@contextmanager
def _named(model: Path) -> Iterator[None]:
    """Put the file name before errors about the model."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{model}: {error}") from error
