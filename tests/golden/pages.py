"""The structure of the pages: headings, ids, headers of tables and numbers of tags."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import surelabel
from surelabel.report import write_report
from tests.golden import tables

RECORDS = Path(__file__).parents[2] / "docs" / "reproduction" / "records"
NAMED = (
    "title",
    "h1",
    "h2",
    "h3",
    "h4",
    "summary",
    "caption",
    "figcaption",
    "th",
    "button",
    "legend",
)
COUNTED = (
    "section",
    "article",
    "figure",
    "table",
    "details",
    "svg",
    "form",
    "input",
    "select",
    "nav",
)


def without_digits(text: str) -> str:
    return re.sub(r"\d[\d,.]*", "#", " ".join(text.split()))


class Outline(HTMLParser):
    """What is compared of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.ids: list[str] = []
        self.tags: Counter[str] = Counter()
        self.drawing = 0
        self.inside: list[list[str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.tags[tag] += 1
        self.drawing += tag == "svg"
        name = dict(attributes).get("id")
        # Names of paths inside a figure are hashes of their content.
        if name is not None and not self.drawing and without_digits(name) not in self.ids:
            self.ids.append(without_digits(name))
        if tag in NAMED:
            self.inside.append([tag, ""])

    def handle_data(self, data: str) -> None:
        for entry in self.inside:
            entry[1] += data

    def handle_endtag(self, tag: str) -> None:
        self.drawing -= tag == "svg"
        if self.inside and self.inside[-1][0] == tag:
            name, text = self.inside.pop()
            line = f"{name}: {without_digits(text)}"
            if line not in self.texts:
                self.texts.append(line)


def outline(text: str) -> dict[str, Any]:
    found = Outline(text)
    counts = {tag: found.tags[tag] for tag in COUNTED if found.tags[tag]}
    return {"texts": found.texts, "ids": found.ids, "tags": counts}


def report(folder: Path, columns: Callable[[], dict[str, Any]], **options: Any) -> dict[str, Any]:
    """The report page of a cleaned table."""
    path = folder / "page.html"
    surelabel.clean(tables.written(folder, columns()), **options).report(path)
    return outline(path.read_text(encoding="utf-8"))


def review(_: Path) -> dict[str, Any]:
    """The page on which a person answers, as the server sends it."""
    import pytest

    pytest.importorskip("uvicorn", reason="needs surelabel[review]")
    from surelabel.review.server import make_app

    app = make_app(
        SimpleNamespace(new_labels=True), title="a.csv", token="a", port=80, finish=lambda: []
    )
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": "/a/", "raw_path": b"/a/", "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:80")], "scheme": "http", "http_version": "1.1",
        "root_path": "",
    }  # fmt: skip
    with ThreadPoolExecutor(1) as thread:  # a loop may be running in this one
        thread.submit(asyncio.run, app(scope, receive, send)).result()
    assert sent[0]["status"] == 200
    return outline(b"".join(message.get("body", b"") for message in sent[1:]).decode())


def results(folder: Path, names: tuple[str, ...]) -> dict[str, Any]:
    """The report of recorded studies: its page, its Markdown, and its files."""
    paths = write_report([RECORDS / name for name in names], folder / "report")
    text = (folder / "report" / "report.md").read_text(encoding="utf-8")
    lines = text.splitlines()
    headers = [
        lines[i - 1] for i, line in enumerate(lines) if re.fullmatch(r"[|: -]+-[|: -]+", line)
    ]
    return outline(paths[0].read_text(encoding="utf-8")) | {
        "headings": [without_digits(line) for line in lines if line.startswith("#")],
        "headers": list(dict.fromkeys(map(without_digits, headers))),
        "files": [path.relative_to(folder).as_posix() for path in paths],
    }


RESULTS: dict[str, Callable[[Path], Any]] = {
    "candidates": partial(report, columns=tables.strings, labels="labels"),
    "annotators": partial(
        report, columns=tables.annotators_and_truth, votes="person_*", gold="truth"
    ),
    "texts": partial(report, columns=tables.texts, labels="labels"),
    "review": review,
    "results, accuracy": partial(results, names=("table4", "people")),
    "results, curves": partial(results, names=("figure1",)),
    "results, figure 5": partial(results, names=("figure5-convergence", "figure5-sensitivity")),
}
