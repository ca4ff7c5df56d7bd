"""What the verbs that read tables share."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pyarrow as pa

LABELS = "Where the labels are"
READING = "How the file is written"

LabelsColumn = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="COLUMN",
        help="Candidates in one column: cat|dog, or lists.",
        rich_help_panel=LABELS,
    ),
]
Separator = Annotated[
    str, typer.Option(help="What stands between the labels of a cell.", rich_help_panel=LABELS)
]
Votes = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="One column per annotator: a,b,c or 'annotator_*'.",
        rich_help_panel=LABELS,
    ),
]
Indicator = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS", help="One 0/1 column per class: a,b,c or 'is_*'.", rich_help_panel=LABELS
    ),
]
Gold = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Labels known to be true.", rich_help_panel=LABELS),
]
Id = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Names of the rows.", rich_help_panel=LABELS)
]
Long = Annotated[
    bool, typer.Option("--long", help="One row per id and label.", rich_help_panel=LABELS)
]
Annotator = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="With --long: who gave the label.", rich_help_panel=LABELS),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="By default found: comma, semicolon, tab or |.",
        rich_help_panel=READING,
    ),
]
Encoding = Annotated[str | None, typer.Option(help="By default UTF-8.", rich_help_panel=READING)]
Decimal = Annotated[
    str, typer.Option(metavar=".|,", help="What stands before decimals.", rich_help_panel=READING)
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Leave these columns out: a,b,c or 'old_*'."),
]


def column_names(given: Iterable[str] | None, table: pa.Table) -> tuple[str, ...]:
    """Columns named one by one, as ``a,b`` or by a pattern with ``*``; names that no column has
    stay, for errors to name.
    """
    names: list[str] = []
    for text in given or ():
        for part in (
            [text] if text in table.column_names else [part.strip() for part in text.split(",")]
        ):
            matching = (
                []
                if part in table.column_names
                else [name for name in table.column_names if fnmatchcase(name, part)]
            )
            names += matching or [part]
    return tuple(dict.fromkeys(names))
