"""``surelabel clean``: clean labels, and the rows worth a human look."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.text import Text

from ._screen import (
    count,
    facts,
    few,
    kinds,
    memory,
    parameters,
    peak_memory,
    percent,
    print_json,
    printable,
    screen,
    times,
)
from ._table_options import (
    Escape,
    Json,
    Method,
    Output,
    Prefix,
    TableFile,
    TableOptions,
    check_outputs,
    check_table_output,
    table_options,
    write_output,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from ..tables.tasks import CleanedTable

REPORT = "The report"


@table_options
def clean(
    table: TableFile,
    output: Output,
    options: TableOptions,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE",
            readable=False,
            help="Write a page (.html) about it, too.",
            rich_help_panel=REPORT,
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Paths of images, beside the table, to show.",
            rich_help_panel=REPORT,
        ),
    ] = None,
    text_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Text to show; by default the first text learned from.",
            rich_help_panel=REPORT,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", readable=False, help="Write the model (.skops), too."),
    ] = None,
    max_error: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Labels are certain if their error is below this."),
    ] = 0.02,
    method: Method = "SURE",
    prefix: Prefix = "",
    escape_formulas: Escape = False,
    json: Json = False,
) -> None:
    """Choose a label for every row, say how sure it is, and list the rows that a person should look
    at.

    New columns: label, confidence, margin, second, status (certain, likely, look), outside and
    suggestion (the true label is probably not among the candidates), duplicate (rows of equal
    features and other candidates), look (1: look at this first). Ends with code 1 if no label is
    certain.

    surelabel clean pets.csv -o cleaned.csv --labels candidates --report pets.html

    surelabel clean votes.csv -o cleaned.parquet --votes 'annotator_*' --gold checked --max-error
    0.01

    surelabel clean faces.csv -o cleaned.csv --labels names --id face --image file --report
    faces.html
    """
    from ..data.table_files import find_column
    from ..estimators import save_model
    from ..files import replacing_all
    from ..progress import stage
    from ..tables import tasks

    check_table_output(output)
    check_outputs([table], output, report, model)
    seconds: dict[str, float] = {}
    with stage("read", seconds, verbose=True):
        rows = options.read(table)
    for column in filter(None, (image, text_column)):
        find_column(rows, column)
    found = tasks.clean(
        rows,
        method=method,
        max_error=max_error,
        prefix=prefix,
        verbose=True,
        **options.columns(rows),
    )
    seconds |= found.seconds
    paths = [path for path in (output, report, model) if path is not None]
    with replacing_all(paths) as places:
        beside = dict(zip(paths, places, strict=True))
        if report is not None:
            with stage("report", seconds, verbose=True):
                _write_report(found, table, beside[report], image, text_column)
        if model is not None:
            save_model(found.model, beside[model])
        with stage("write", seconds, verbose=True):
            write_output(found.frame, beside[output], escape=escape_formulas, name=output)
    summary = _summary(found, seconds)
    if json:
        print_json(summary)
    else:
        _show(paths, found, summary)
    if not found.cleaned.n_kept:
        raise typer.Exit(1)


def _write_report(
    found: CleanedTable, table: Path, path: Path, image: str | None, text: str | None
) -> None:
    from ..report.cleaning_page import write_cleaning_page

    if text is None:
        text = next((feature.name for feature in found.features if feature.kind == "text"), None)
    rows: pa.Table = found.labels.table
    write_cleaning_page(
        found.cleaned,
        found.labels,
        rows,
        found.X,
        found.features,
        path,
        title=table.name,
        text=text,
        image=image,
        folder=table.resolve().parent,
    )


def _summary(found: CleanedTable, seconds: dict[str, float]) -> dict[str, Any]:
    cleaned = found.cleaned
    return {
        "rows": len(cleaned.label),
        "classes": cleaned.classes,
        "status": {
            status: int(np.sum(cleaned.status == status))
            for status in ("certain", "likely", "look")
        },
        "max_error": cleaned.max_error,
        "expected_error": cleaned.expected_error,
        "outside": int(cleaned.outside.sum()),
        "duplicate_groups": int(cleaned.duplicate.max() + 1),
        "gold_rows": cleaned.n_gold,
        "gold_error": cleaned.gold_error,
        "gold_calibration_error": cleaned.gold_ece,
        "annotators": [
            {
                "name": person.name,
                "votes": person.n_votes,
                "agreement": person.agreement,
                "gold_votes": person.n_gold,
                "gold_agreement": person.gold_agreement,
            }
            for person in cleaned.annotators
        ],
        "features": {feature.name: feature.kind for feature in found.features},
        "method": cleaned.method,
        "parameters": cleaned.parameters,
        "solver": getattr(cleaned.model, "solver_", None),
        "covering_rate": cleaned.cv_score,
        "seconds": seconds,
        "peak_memory": peak_memory(),
    }


def _show(paths: list[Path], found: CleanedTable, summary: dict[str, Any]) -> None:
    cleaned, status, m, out = found.cleaned, summary["status"], summary["rows"], screen()
    styles = {"certain": "bold green", "likely": "cyan", "look": "bold yellow"}
    meanings = {
        "certain": (
            f"keep these: expected error {percent(cleaned.expected_error)}, at most "
            f"{percent(cleaned.max_error)} each"
        ),
        "likely": "probably right",
        "look": "a person should look at these; the column look says which first",
    }
    out.print(f"{count(m)}, {len(cleaned.classes):,} classes", style="bold")
    width = max(len(f"{n:,}") for n in status.values())
    out.print(
        facts(
            (
                name,
                Text.assemble(
                    (f"{n:>{width},} rows ({percent(n / m):>7})", styles[name]),
                    f"  {meanings[name]}",
                ),
            )
            for name, n in status.items()
        )
    )
    outside = (
        f"{count(summary['outside'])} whose features contradict all candidates; see the column "
        "suggestion"
    )
    duplicates = (
        f"{count(summary['duplicate_groups'], 'group', 'groups')} of rows with equal features but "
        "other candidates"
    )
    agreement = few(f"{person.name} {percent(person.agreement)}" for person in cleaned.annotators)
    solver = f", solver {summary['solver']}" if summary["solver"] else ""
    gold = (
        f"{percent(cleaned.gold_error)} wrong of {cleaned.n_gold:,}, judged as if they were not "
        "known"
    )
    out.print()
    out.print(
        facts(
            [
                ("known-true labels", gold if cleaned.n_gold else None),
                ("outside", outside if summary["outside"] else None),
                ("duplicates", duplicates if summary["duplicate_groups"] else None),
                ("agree with result", agreement or None),
                ("learned from", kinds(found.features)),
                ("method", f"{cleaned.method} ({parameters(cleaned.parameters)}{solver})"),
                ("time", times(summary["seconds"])),
                ("peak memory", memory(summary["peak_memory"])),
                ("written", ", ".join(map(str, paths))),
            ]
        )
    )
    if not cleaned.n_kept:
        out.print(
            printable(
                "no label is certain: allow a larger --max-error, add known-true labels, or look "
                "at more rows"
            )
        )
