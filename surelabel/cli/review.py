"""``surelabel review``: a page on which a person answers row by row and the model learns along."""

from __future__ import annotations

import secrets
import sys
import warnings
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..exceptions import ParameterError
from ..extras import extra
from ..text import printable
from ._table_options import (
    Escape,
    Prefix,
    TableFile,
    TableOptions,
    check_outputs,
    check_table_output,
    table_options,
    write_output,
)

if TYPE_CHECKING:
    from ..review.session import Review

FINISH = "What Finish writes"


@table_options
def review(
    table: TableFile,
    options: TableOptions,
    answers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="The file for the answers (.jsonl); by default beside the table.",
        ),
    ] = None,
    checks: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Share of the rows shown that are random checks of labels to be kept; the others "
            "help the model. Can be changed on the page.",
        ),
    ] = 0.5,
    new_labels: Annotated[
        bool, typer.Option("--new-labels", help="Allow answers that are not labels of the table.")
    ] = False,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Show the images at these paths, relative to the table."
        ),
    ] = None,
    who: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who answers; by default your user name.")
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="NUMBER", help="The port to listen on; by default a free one.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and do not open it.")
    ] = False,
    max_error: Annotated[
        float, typer.Option(metavar="SHARE", help="As for surelabel clean.")
    ] = 0.1,
    seed: Annotated[
        int, typer.Option(metavar="NUMBER", help="Seed of the random order of the checks.")
    ] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The cleaned table; by default beside TABLE, with .cleaned in its name.",
            rich_help_panel=FINISH,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE",
            readable=False,
            help="The report page (.html).",
            rich_help_panel=FINISH,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            readable=False,
            help="The model (.model).",
            rich_help_panel=FINISH,
        ),
    ] = None,
    prefix: Prefix = "",
    escape_formulas: Escape = False,
) -> None:
    """Answer row by row on a page in your browser; the model learns from each answer before the
    next row appears.

    The page is served on this machine only. Each answer is saved before the next row is shown; to
    continue later, start again with the same answers file. clean and fit read it, too (--answers).
    Ctrl-C ends the review.

    surelabel review pets.csv --labels candidates

    surelabel review votes.csv --votes 'annotator_*' --answers votes.answers.jsonl --checks 0.3

    surelabel review faces.csv --labels names --id face --image file --no-browser
    """
    with extra("review", "the review page"):
        from ..review.server import HOST, listen, make_app, make_server
    from ..estimators import save_model
    from ..files import replacing_all
    from ..progress import stage
    from ..review.session import Review
    from ..tables import clean
    from ..tables.reading import TableRead

    stem, ending = _parts(table)
    answers = answers or table.with_name(f"{stem}.answers.jsonl")
    output = output or table.with_name(f"{stem}.cleaned{ending}")
    report = report or output.with_name(f"{stem}.cleaned.html")
    model = model or output.with_name(f"{stem}.model")
    _check_numbers(checks, port, seed)
    check_table_output(output)
    check_outputs([table], answers, output, report, model)
    with stage("read", {}, verbose=True):
        rows = options.read(table)
    read = TableRead(rows, options.columns(), votes_suffice=True)
    if image is not None:
        from ..data.arrow_tables import find_column

        find_column(read.table, image)
    under_review = Review(
        read,
        answers,
        who=who if who is not None else _user(),
        max_error=max_error,
        check_share=checks,
        new_labels=new_labels,
        image=image,
        folder=table.resolve().parent,
        random_state=seed,
        verbose=True,
    )

    def finish() -> list[str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the page shows them
            found = clean(
                rows, max_error=max_error, answers=answers, prefix=prefix, **options.columns()
            )
        paths = [output, report, *([model] if found.model is not None else [])]
        with replacing_all(paths) as places:
            found.report(places[1], image=image, folder=table.resolve().parent)
            if found.model is not None:
                save_model(found.model, places[2])
            write_output(found.frame, places[0], escape=escape_formulas, name=output)
        return [str(path) for path in paths]

    sys.setswitchinterval(1e-3)  # keeps the page responsive while the model is fitted
    token = secrets.token_urlsafe(24)
    try:
        with listen(port) as place:
            number = place.getsockname()[1]
            app = make_app(under_review, title=table.name, token=token, port=number, finish=finish)
            _announce(f"http://{HOST}:{number}/{token}/", answers, under_review, no_browser)
            make_server(app).run(sockets=[place])
    finally:
        under_review.close()


def _check_numbers(checks: float, port: int, seed: int) -> None:
    if not 0 <= checks <= 1:
        raise ParameterError(f"--checks must be a share from 0 to 1; got {checks:g}")
    if not 0 <= port < 2**16:
        raise ParameterError(f"--port must be a number from 0 to 65535; got {port}")
    if seed < 0:
        raise ParameterError(f"--seed must be a whole number, at least 0; got {seed}")


def _announce(address: str, answers: Path, under_review: Review, no_browser: bool) -> None:
    """Print the address and the answers file, and open the page."""
    if under_review.file.repaired:
        typer.echo(f"{printable(answers)}: an unfinished line at its end was removed", err=True)
    typer.echo(f"{address}\nanswers go to {printable(answers)}; Ctrl-C ends the review")
    if not no_browser:
        webbrowser.open(address)


def _parts(table: Path) -> tuple[str, str]:
    """The name of a table without its extensions, and the extensions."""
    from ..data.table_files import form_of

    if str(table) == "-":
        raise ParameterError(
            "a review needs the file of a table, not standard input: it is read again when the "
            "review goes on"
        )
    form_of(table, reading=True)  # its error comes first
    form, compression = form_of(table)
    name = table.name
    return name[: len(name) - len(form + compression)], form + compression


def _user() -> str:
    from getpass import getuser

    try:
        return getuser()
    except Exception:  # the system knows no name: KeyError, OSError or ImportError, by platform
        return ""
