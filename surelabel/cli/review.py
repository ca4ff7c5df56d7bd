"""``surelabel review``: a page on which a person answers row by row, and the model learns."""

from __future__ import annotations

import secrets
import sys
import warnings
import webbrowser
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..exceptions import ParameterError
from ..text import printable
from ._files import TableFile, check_outputs, write_cleaned
from ._settings import Settings, takes_settings

if TYPE_CHECKING:
    import pyarrow as pa

    from ..review.session import Review


AnswersFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, help="Where answers go (.jsonl); default: beside TABLE"
    ),
]
CleanedTable = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The cleaned table that Finish writes, with a page and a model of the same name; "
        "default: beside TABLE",
    ),
]
NewLabels = Annotated[
    bool, typer.Option("--new-labels", help="Allow labels that the table does not have.")
]
Port = Annotated[
    int, typer.Option(metavar="NUMBER", min=0, max=2**16 - 1, help="Default: a free one")
]
NoBrowser = Annotated[
    bool, typer.Option("--no-browser", help="Print the address, and do not open it.")
]


@takes_settings("max_error", "image")
def review(
    table: TableFile,
    settings: Settings,
    answers: AnswersFile = None,
    output: CleanedTable = None,
    new_labels: NewLabels = False,
    port: Port = 0,
    no_browser: NoBrowser = False,
) -> None:
    """Answer row by row on a page in your browser; the model learns from every answer.

    The page is served on this machine only. Each answer is saved before the next row is shown; to
    continue later, start again with the same answers file. clean and fit read it, too (--answers).
    Ctrl-C ends the review.

    surelabel review pets.csv --labels candidates

    surelabel review votes.csv --votes 'rater_*' --answers votes.answers.jsonl

    surelabel review faces.csv --labels names --id face --image file --no-browser
    """
    from ..progress import stage
    from ..review import server
    from ..review.session import Review
    from ..tables.methods import votes_suffice
    from ..tables.reading import TableRead

    stem, ending = _stem_and_ending(table)
    answers = answers or table.with_name(f"{stem}.answers.jsonl")
    output = output or table.with_name(f"{stem}.cleaned{ending}")
    check_outputs([table], answers, output)  # refuses "-", which has no extension for _beside
    check_outputs([table], answers, *_beside(output), table=output)
    with stage("read", verbose=True):
        rows = settings.read(table)
    under_review = Review(
        TableRead(rows, settings.columns(), votes_suffice=votes_suffice(settings.method)),
        answers,
        who=_user(),
        max_error=settings.max_error,
        method=settings.method,
        estimator=settings.estimator,
        new_labels=new_labels,
        image=settings.image,
        folder=table.resolve().parent,
        verbose=True,
    )
    sys.setswitchinterval(1e-3)  # keeps the page responsive while the model is fitted
    token = secrets.token_urlsafe(24)
    try:
        with server.listen(port) as socket:
            port = socket.getsockname()[1]  # the free one, if it was 0
            app = server.make_app(
                under_review,
                title=table.name,
                token=token,
                port=port,
                finish=partial(_finish, rows, settings, answers, output),
            )
            _announce(f"http://{server.HOST}:{port}/{token}/", under_review, no_browser)
            server.make_server(app).run(sockets=[socket])
    finally:
        under_review.close()


def _finish(rows: pa.Table, settings: Settings, answers: Path, output: Path) -> list[str]:
    """Write the cleaned table, its page and its model; return the names of the files."""
    from ..tables import clean

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page shows them
        found = clean(rows, answers=answers, **settings.cleaning(), **settings.columns())
    page, model = _beside(output)
    # Votes alone make no model, and a model file cannot hold an estimator of others.
    written_model = None if found.model is None or settings.estimator else model
    return list(map(str, write_cleaned(found, settings, output, page, written_model)))


def _beside(output: Path) -> tuple[Path, Path]:
    """The page and the model beside the cleaned table."""
    stem, _ = _stem_and_ending(output)
    return output.with_name(f"{stem}.html"), output.with_name(f"{stem}.model")


def _announce(address: str, under_review: Review, no_browser: bool) -> None:
    """Print the address and the answers file, and open the page."""
    answers = printable(under_review.file.path)
    if under_review.file.repaired:
        typer.echo(f"{answers}: an unfinished line at its end was removed", err=True)
    typer.echo(f"{address}\nanswers go to {answers}; Ctrl-C ends the review")
    if not no_browser:
        webbrowser.open(address)


def _stem_and_ending(table: Path) -> tuple[str, str]:
    """The name of a table without its extensions, and the extensions; for a zip archive, which can
    only be read, ``.csv``.
    """
    from ..data.file_formats import form_of

    if str(table) == "-":
        raise ParameterError(
            "a review needs the file of a table, not standard input: it is read again when the "
            "review goes on"
        )
    ending = "".join(form_of(table, reading=True))
    return table.name[: -len(ending)], ".csv" if ending == ".zip" else ending


def _user() -> str:
    """The login name of the user; empty if it is not known."""
    from getpass import getuser

    with suppress(Exception):  # KeyError, OSError or ImportError, by platform
        return getuser()
    return ""
