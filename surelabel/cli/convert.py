"""``surelabel convert``: other file formats, and other forms of candidate labels."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import ParameterError
from ..text import count, printable
from ._screen import print_json
from ._table_options import (
    Annotator,
    Counts,
    Decimal,
    Delimiter,
    Encoding,
    Escape,
    Exclude,
    Gold,
    Id,
    Indicator,
    Json,
    LabelsColumn,
    Long,
    Map,
    Missing,
    Normalise,
    NotPrefix,
    Prefix,
    Separator,
    Sheet,
    Unlabelled,
    Votes,
    check_outputs,
    check_table_output,
    is_file,
    write_output,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from ..data.labelling import Labelling, Labels


TOOL_PANEL = "Annotation tools"
ANSWERS = "answers"


def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help="A table (.csv, .tsv, .json, .jsonl, .xlsx, .parquet, .arrow) or a .mat file.",
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="The file to write; its extension gives the format, - is standard output.",
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="labels|lists|indicator|votes|long|answers|TOOL",
            help="The form of the labels, by default unchanged; answers for clean --answers (with "
            "--from and --id); or tasks with suggested labels for an annotation tool: "
            "label-studio, argilla, doccano, prodigy.",
        ),
    ] = None,
    tool: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TOOL",
            help="IN is an export of label-studio, argilla, doccano or prodigy.",
            rich_help_panel=TOOL_PANEL,
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The tool's question, if there are several.",
            rich_help_panel=TOOL_PANEL,
        ),
    ] = None,
    shown: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column that tasks show; by default the first text column.",
            rich_help_panel=TOOL_PANEL,
        ),
    ] = None,
    prefix: Prefix = "",
    labels: LabelsColumn = None,
    separator: Separator = "|",
    votes: Votes = None,
    indicator: Indicator = None,
    counts: Counts = None,
    gold: Gold = None,
    id: Id = None,
    long: Long = False,
    annotator: Annotator = None,
    unlabelled: Unlabelled = "all",
    missing: Missing = None,
    normalise: Normalise = False,
    not_prefix: NotPrefix = None,
    map: Map = None,
    exclude: Exclude = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    escape_formulas: Escape = False,
    json: Json = False,
) -> None:
    """Convert a table to another file format, or its labels to another form.

    surelabel convert lost.mat lost.csv

    surelabel convert pets.csv pets.parquet --labels candidates --to lists

    surelabel convert votes.csv long.csv --votes 'annotator_*' --to long

    surelabel convert export.json votes.csv --from label-studio

    surelabel convert cleaned.csv tasks.json --to label-studio --question sentiment

    surelabel convert export.json pets.answers.jsonl --from label-studio --to answers --id pet
    """
    from ..data.arrow_tables import find_column
    from ..data.forms import MAT_LABELLING, labels_to_mat, mat_to_table
    from ..data.table_files import read_records, read_table
    from ..tables.annotation_tools import read_tool
    from ..tables.reading import column_names, make_labelling

    _check(source, target, to, tool, json)
    labelling = None
    if tool is not None:
        table, labelling = read_tool(read_records(source), tool, question, str(source))
    elif source.suffix == ".mat":
        table = mat_to_table(source)
        labels, gold = labels or MAT_LABELLING.labels, gold or MAT_LABELLING.gold
        to = to or "labels"
    else:
        table = read_table(
            source, delimiter=delimiter, encoding=encoding, decimal=decimal, sheet=sheet
        )
    for name in column_names(exclude, table):
        find_column(table, name)
        table = table.drop_columns(name)
    labelling = labelling or make_labelling(
        table,
        labels=labels,
        separator=separator,
        votes=votes,
        indicator=indicator,
        counts=counts,
        gold=gold,
        id=id,
        long=long,
        annotator=annotator,
        unlabelled=unlabelled,
        missing=missing,
        normalise=normalise,
        not_prefix=not_prefix,
        map=map,
    )
    if target.suffix == ".mat":
        found = _read(table, labelling)
        labels_to_mat(found, labelling, target)
        table = found.table
    else:
        tasks = {"question": question, "shown": shown, "prefix": prefix}
        table = _converted(table, labelling, to, id, str(source), **tasks)
        write_output(table, target, escape=escape_formulas)
    if json:
        print_json({"output": str(target), "rows": table.num_rows, "columns": table.column_names})
    elif is_file(target):
        typer.echo(
            f"{printable(target)}: {count(table.num_rows)}, "
            f"{count(table.num_columns, 'column', 'columns')}"
        )
        if to is None and tool is not None and labelling.not_prefix is not None:
            typer.echo(
                f"Votes against labels begin with {labelling.not_prefix}: read the file with "
                f"--not-prefix '{labelling.not_prefix}'"
            )


def _check(source: Path, target: Path, to: str | None, tool: str | None, json: bool) -> None:
    """Refuse options that do not fit together before anything is read."""
    from ..tables.annotation_tools import TOOLS

    if json and not is_file(target):
        raise ParameterError("--json prints a report in place of the table: name a file to write")
    if to == ANSWERS:
        _check_answers(target, tool)
    if to in TOOLS:
        _check_json(target)
    if target.suffix != ".mat":
        check_table_output(target)
    elif to is not None and source.suffix != ".mat":
        raise ParameterError("a .mat file has only one form of labels: leave --to out")
    check_outputs([source], target)


def _converted(
    table: pa.Table,
    labelling: Labelling,
    to: str | None,
    id: str | None,
    source: str,
    **tasks: Any,
) -> pa.Table:
    """The table with its labels in another form, as answers, or as tasks for a tool."""
    from ..data.forms import to_form
    from ..tables.annotation_tools import TOOLS, to_tasks
    from ..tables.tool_answers import to_answers

    if to is None:
        return table
    if to == ANSWERS:
        return to_answers(table, labelling, id, source)
    if to in TOOLS:
        return to_tasks(table, to, **tasks)
    return to_form(_read(table, labelling), labelling, to)


def _check_answers(target: Path, tool: str | None) -> None:
    if tool is None:
        raise ParameterError("answers come from an annotation tool: say which one (--from)")
    if target.suffix != ".jsonl":
        raise ParameterError(
            f"{target}: answers are written as JSON lines; use a name that ends in .jsonl"
        )
    if target.exists():
        raise ParameterError(
            f"{target} exists, and answers are never overwritten; name another file"
        )


def _check_json(target: Path) -> None:
    from ..data.table_files import JSON_FORMS, form_of

    if not is_file(target) or form_of(target)[0] not in JSON_FORMS:
        raise ParameterError(
            f"{target}: tasks are written as JSON; use a name that ends in .json, or in .jsonl for "
            "JSON lines"
        )


def _read(table: pa.Table, labelling: Labelling) -> Labels:
    from ..data.labelling import read_labels

    found = read_labels(table, labelling)
    for name in found.doubtful:
        warnings.warn(str(name), stacklevel=2)
    return found
