"""Shared by the verbs for tables: the options that name columns, and the checks of output files."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard, get_type_hints

import typer

from ..exceptions import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

    from ..tables.reading import Columns

LABELS = "Where the labels are"
FEATURES = "What to learn from"
READING = "How the file is written"
#: The options in that panel.
HOW = ("delimiter", "encoding", "decimal", "sheet")

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
    str, typer.Option(help="What separates the labels in a cell.", rich_help_panel=LABELS)
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
Counts = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="One column per class, with its votes or its probability: 'p_*'.",
        rich_help_panel=LABELS,
    ),
]
Gold = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Labels known to be true.", rich_help_panel=LABELS),
]
Id = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="The names of the rows.", rich_help_panel=LABELS),
]
Long = Annotated[
    bool,
    typer.Option("--long", help="The table has one row per id and label.", rich_help_panel=LABELS),
]
Annotator = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="With --long: who gave the label.", rich_help_panel=LABELS),
]
Noisy = Annotated[
    bool,
    typer.Option(
        "--noisy",
        help="Each row has one label, and some of them are wrong.",
        rich_help_panel=LABELS,
    ),
]
Complete = Annotated[
    bool,
    typer.Option(
        "--complete",
        help="Every set of candidates holds the true label.",
        rich_help_panel=LABELS,
    ),
]
Unlabelled = Annotated[
    str,
    typer.Option(
        metavar="all|error",
        help="What to do with a row without labels: treat every label as possible, or report an "
        "error.",
        rich_help_panel=LABELS,
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Values that mean no label, as an empty cell does: NA,null; '' if each value is a "
        "label.",
        rich_help_panel=LABELS,
    ),
]
Normalise = Annotated[
    bool,
    typer.Option(
        "--normalise",
        help="Treat Games, GAMES and ' games.' as one label, in the most frequent spelling.",
        rich_help_panel=LABELS,
    ),
]
Map = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OLD=NEW",
        help="Rename a label (an empty NEW removes it); or a table of two columns, old and new.",
        rich_help_panel=LABELS,
    ),
]
NotPrefix = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="What stands before a label that is ruled out: with '!', !cat is a vote against cat.",
        rich_help_panel=LABELS,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="What separates cells; by default detected (comma, semicolon, tab or |).",
        rich_help_panel=READING,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="The encoding of the text; by default UTF-8.", rich_help_panel=READING),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar=".|,",
        help="The decimal separator; by default a point.",
        rich_help_panel=READING,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The sheet of a workbook; by default the only one.",
        rich_help_panel=READING,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Leave these columns out: a,b,c or 'old_*'."),
]


def _columns(text: str) -> Any:
    return typer.Option(metavar="COLUMNS", help=text, rich_help_panel=FEATURES)


As = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="COLUMN=KIND",
        help="Treat a column as number, category, text, time, vector or image (a path), or let a "
        "Python function, MODULE:NAME, compute vectors from it.",
        rich_help_panel=FEATURES,
    ),
]
TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        readable=False,
        help="A table: .csv, .tsv, .json, .jsonl (also .gz, .zip), .xlsx, .parquet, .arrow; "
        "'part-*.csv' for several, - for standard input.",
    ),
]
Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where to write the table; its extension gives the format, - writes CSV to standard "
        "output.",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="A method that surelabel compare lists for the table. With votes, PURE means Crowd, "
        "which also judges the annotators; majority and Dawid-Skene go by the votes alone.",
    ),
]
Estimator = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:NAME",
        help="With votes: the model of the features, such as "
        "sklearn.ensemble:RandomForestClassifier.",
    ),
]
Prefix = Annotated[
    str, typer.Option(metavar="TEXT", help="Prefix of the names of the new columns.")
]
Escape = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="In CSV, put ' before text that a spreadsheet would run as a formula.",
    ),
]
Answers = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        readable=False,
        help="Answers written by surelabel review (.jsonl), taken as true.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class TableOptions:
    """How a table is written, and which of its columns hold what."""

    labels: LabelsColumn = None
    separator: Separator = "|"
    votes: Votes = None
    indicator: Indicator = None
    counts: Counts = None
    gold: Gold = None
    id: Id = None
    long: Long = False
    annotator: Annotator = None
    noisy: Noisy = False
    complete: Complete = False
    unlabelled: Unlabelled = "all"
    missing: Missing = None
    normalise: Normalise = False
    map: Map = None
    not_prefix: NotPrefix = None
    features: Annotated[
        list[str] | None,
        _columns("Only these: a,b,c or 'x*'; by default every column that may be informative."),
    ] = None
    exclude: Annotated[list[str] | None, _columns("Not these.")] = None
    no_features: Annotated[
        bool,
        typer.Option(
            "--no-features", help="None: go by the votes alone.", rich_help_panel=FEATURES
        ),
    ] = False
    as_: As = None
    delimiter: Delimiter = None
    encoding: Encoding = None
    decimal: Decimal = None
    sheet: Sheet = None

    def read(self, path: Path) -> pa.Table:
        """Read the table."""
        from ..data.table_files import read_table

        return read_table(path, **{name: getattr(self, name) for name in HOW})

    def columns(self) -> Columns:
        """The options for columns, as keyword arguments of the table functions."""
        ways = ("labels", "votes", "indicator", "counts")
        given = [name for name in ways if getattr(self, name)]
        if len(given) != 1:
            both = (
                f"not {' and '.join(f'--{name}' for name in given)}" if given else "none is given"
            )
            raise ParameterError(
                "say where the labels are in exactly one way: with --labels, --votes, --indicator "
                f"or --counts; {both}"
            )
        columns = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in (*HOW, "no_features") and getattr(self, field.name) is not None
        }
        return columns | ({"exclude": ["*"]} if self.no_features else {})  # type: ignore[return-value]


def table_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command every option of :class:`TableOptions`, collected in its argument
    ``options``.
    """
    hints = get_type_hints(TableOptions, include_extras=True)
    own = [
        parameter
        for parameter in inspect.signature(command, eval_str=True).parameters.values()
        if parameter.name != "options"
    ]
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=hints[field.name],
        )
        for field in fields(TableOptions)
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        options = TableOptions(
            **{field.name: given.pop(field.name) for field in fields(TableOptions)}
        )
        command(options=options, **given)

    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own
    ] + shared
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


# -------------------------------------------------------------------- where results go


#: The file name that means standard output.
STANDARD_OUTPUT = Path("-")


def is_file(path: Path | None) -> TypeGuard[Path]:
    """Whether an output is a file rather than standard output."""
    return path is not None and path != STANDARD_OUTPUT


def check_outputs(inputs: Iterable[Path], *outputs: Path | None) -> None:
    """Check, before anything is computed, that every output can be written and replaces no
    input.
    """
    from ..data.table_files import files_of

    taken = {
        os.path.realpath(file): f"{file} is read" for path in inputs for file in files_of(path)
    }
    for path in filter(is_file, outputs):
        real = os.path.realpath(path)
        if real in taken:
            raise ParameterError(f"{path}: {taken[real]} by the same command; choose another name")
        taken[real] = f"{path} is written"
        if not os.path.isdir(os.path.dirname(real)):
            raise ParameterError(
                f"{path}: there is no folder {os.path.dirname(real)}; create it first"
            )
        if os.path.exists(real) and not os.path.isfile(real):
            raise ParameterError(f"{path} is not a file; choose another name")
        if not os.access(os.path.dirname(real), os.W_OK):
            raise ParameterError(
                f"{path}: no permission to write to {os.path.dirname(real)}; choose another folder"
            )


def check_model_output(estimator: str | None, option: str, path: Path | None) -> None:
    """Refuse, before anything is computed, to write a model that model files do not hold."""
    from ..estimators.persistence import foreign

    if estimator is not None and path is not None:
        raise ParameterError(
            f"--estimator and {option} cannot be used together: "
            f"{foreign(f'a model around {estimator}')}"
        )


def check_table_output(path: Path | None) -> None:
    """Check, before anything is computed, that the extension of a file names a format for
    tables.
    """
    from ..data.table_files import form_of

    if is_file(path):
        form_of(path)


def write_output(
    table: pa.Table, path: Path | None, *, escape: bool, name: Path | None = None
) -> None:
    """Write a table to a file, or to standard output as CSV. In text formats, which a spreadsheet
    may open, escape formulas or warn of them.
    """
    from ..data.formulas import escape_formulas, find_formula
    from ..data.table_files import TEXT_FORMS, dialect_for, form_of, write_delimited, write_table

    if not is_file(path) or form_of(path)[0] in TEXT_FORMS:
        if escape:
            table = escape_formulas(table)
        elif found := find_formula(table):
            where = f"row {found[0]}" if found[0] else "the header"
            place = name or (path if is_file(path) else "the output")
            typer.echo(
                f"warning: {place}: {where}, column {found[1]!r}: this looks like a formula, and a "
                "spreadsheet would run it; --escape-formulas writes such cells as text",
                err=True,
            )
    if not is_file(path):
        write_delimited(table, sys.stdout.buffer, dialect_for(table, ".csv"))
        sys.stdout.buffer.flush()
    else:
        write_table(table, path)
