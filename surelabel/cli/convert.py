"""``surelabel convert``: other file formats, and the files of annotation tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..exceptions import ParameterError
from ..text import count, printable
from ._files import Json, check_outputs, is_file
from ._screen import print_json
from ._settings import READING, Settings, takes_settings

ANSWERS = "answers"


def _tool_option(*names: str, metavar: str, help: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel="Annotation tools")


Source = Annotated[
    Path,
    typer.Argument(
        metavar="IN",
        help="A table (.csv, .tsv, .json, .jsonl, .xlsx, .parquet, .arrow) or a .mat file.",
    ),
]
Target = Annotated[
    Path,
    typer.Argument(
        metavar="OUT",
        help="The file to write; its extension gives the format, - is standard output.",
    ),
]
To = Annotated[
    str | None,
    _tool_option(
        metavar="answers|TOOL",
        help="Answers for clean --answers (with --from and --id), or tasks with suggested labels "
        "for label-studio or argilla.",
    ),
]
From = Annotated[
    str | None,
    _tool_option("--from", metavar="TOOL", help="IN is an export of label-studio or argilla."),
]
Question = Annotated[
    str | None,
    _tool_option(metavar="NAME", help="The tool's question, if there are several."),
]
ShownColumn = Annotated[
    str | None,
    _tool_option(
        metavar="COLUMN", help="The column that tasks show; by default the first text column."
    ),
]


@takes_settings("id", "exclude", groups=())
def convert(
    source: Source,
    target: Target,
    settings: Settings,
    to: To = None,
    tool: From = None,
    question: Question = None,
    shown: ShownColumn = None,
    json: Json = False,
) -> None:
    """Convert a table to another file format, or from and to the files of annotation tools.

    surelabel convert lost.mat lost.csv

    surelabel convert export.json votes.csv --from label-studio

    surelabel convert cleaned.csv tasks.json --to label-studio --question sentiment

    surelabel convert export.json pets.answers.jsonl --from label-studio --to answers --id pet
    """
    from ..data.table_files import write_table
    from ..tables.conversion import convert

    _check_options(source, target, to, json)
    names: dict[str, Any] = {"to": to, "tool": tool}  # convert refuses unknown ones
    table = convert(
        source,
        **names,
        question=question,
        shown=shown,
        prefix=settings.prefix,
        id=settings.id,
        exclude=settings.exclude,
        **settings.of_group(READING),
    )
    write_table(table, target)
    if json:
        print_json({"output": str(target), "rows": table.num_rows, "columns": table.column_names})
    elif is_file(target):
        typer.echo(
            f"{printable(target)}: {count(table.num_rows)}, "
            f"{count(table.num_columns, 'column', 'columns')}"
        )


def _check_options(source: Path, target: Path, to: str | None, json: bool) -> None:
    """Refuse options that do not fit together before anything is read."""
    from ..data.file_formats import JSON_FORMS, form_of
    from ..tables.annotation_tools import TOOLS

    if to == ANSWERS and target.suffix != ".jsonl":
        raise ParameterError(
            f"{target}: answers are written as JSON lines; use a name that ends in .jsonl"
        )
    if to == ANSWERS and target.exists():
        raise ParameterError(
            f"{target} exists, and answers are never overwritten; name another file"
        )
    if to in TOOLS and not (is_file(target) and form_of(target)[0] in JSON_FORMS):
        raise ParameterError(
            f"{target}: tasks are written as JSON; use a name that ends in .json, or in .jsonl for "
            "JSON lines"
        )
    check_outputs([source], table=target, json=json)
