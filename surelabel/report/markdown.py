"""The report as Markdown, with figures and long tables as separate files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from .drawing import Gallery
from .page import Page, Section, is_long
from .tables import Cell, Table


def render_markdown(page: Page) -> str:
    """The page; it refers to ``figures/`` and ``tables/`` beside it."""
    lines = [
        "# Results",
        "",
        *(f"- {markdown_text(line)}" for line in page.in_short),
        "",
        *(line for table in page.front for line in _display(table, "##")),
        *(line for section in page.sections for line in _section(section)),
        "## How it was run",
        "",
        f"Last trial finished {page.finished}.",
        "",
        *(f"- {markdown_text(facts)}" for facts in page.facts),
    ]
    return "\n".join(lines) + "\n"


def markdown_text(text: str) -> str:
    """Escape what Markdown, or HTML inside Markdown, would read as markup."""
    return re.sub(r"([\\`*_{}\[\]|#$~])", r"\\\1", escape(text, quote=False))


def markdown_table(table: Table) -> str:
    """A pipe table; published numbers are below ours."""

    def show(cell: Cell) -> str:
        ours = markdown_text(cell.text)
        lines = [" ".join(filter(None, [f"**{ours}**" if cell.best else ours, cell.mark]))]
        if cell.published:
            lines.append(" ".join(filter(None, ["pub.", cell.published, cell.arrow])))
        return "<br>".join(lines)

    lines = [
        [markdown_text(column.title) for column in table.columns],
        ["---:" if column.numeric else ":---" for column in table.columns],
        *([show(cell) for cell in row] for row in table.rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _section(section: Section) -> Iterator[str]:
    yield from (f"## {markdown_text(section.title)}", "")
    yield from (f"- {markdown_text(note)}" for note in section.notes)
    yield ""
    for display in section.displays:
        yield from _display(display, "###")


def _display(display: Table | Gallery, heading: str) -> Iterator[str]:
    """A table or a gallery below its heading."""
    yield from (f"{heading} {markdown_text(display.title)}", "", markdown_text(display.caption), "")
    if isinstance(display, Gallery):
        yield from (
            f"![{markdown_text(picture.title)}](figures/{picture.name}.svg)"
            for picture in display.pictures
        )
    elif is_long(display):
        yield f"{len(display.rows)} rows: [tables/{display.name}.tex](tables/{display.name}.tex)"
    else:
        yield markdown_table(display)
    yield ""
