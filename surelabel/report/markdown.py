"""The report as one Markdown page, with figures and long tables as separate files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from .claims import NOT_ENOUGH
from .table_parts import Cell, Table

LONGEST = 40
"""Tables with more rows are linked, not printed."""


def render(
    summary: dict[str, Any],
    pages: list[tuple[dict[str, Any], list[Any]]],
    front: Sequence[Table] = (),
) -> str:
    """The summary as a Markdown page.

    Parameters
    ----------
    summary : dict
        The result of :func:`surelabel.report.summary.summarize`.
    pages : list of (section, displays)
        The tables and galleries of every section.
    front : sequence of Table
        What comes before them.

    Returns
    -------
    str
        The page; it refers to ``figures/`` and ``tables/`` beside it.
    """
    lines = [
        "# Results",
        "",
        *(f"- {markdown_text(line)}" for line in in_short(summary)),
        "",
        *(line for table in front for line in (*_display(table, "##"), "")),
        *(line for section, displays in pages for line in _section(section, displays)),
        "## How it was run",
        "",
        f"Last trial finished {summary['finished']}.",
        "",
        *(
            f"- {markdown_text(facts_line(facts))}"
            for facts in summary["versions"] + summary["machines"]
        ),
    ]
    return "\n".join(lines) + "\n"


def in_short(summary: dict[str, Any]) -> list[str]:
    """What agrees with the paper and what does not, in a few sentences."""
    lines = []
    for section in summary["sections"]:
        if section["agreement"]:
            lines.append(
                "{title}: {within} of {compared} means lie within one published standard "
                "deviation.".format(title=section["title"], **section["agreement"])
            )
    verdicts = [claim["agrees"] for claim in summary["claims"] if claim["agrees"]]
    if verdicts:
        lines.append(
            f"Of {len(verdicts)} claims of the paper {verdicts.count('yes')} hold, "
            f"{verdicts.count('in part')} in part, {verdicts.count('no')} do not."
        )
    if open_claims := len(summary["claims"]) - len(verdicts):
        lines.append(f"Claims of the paper with {NOT_ENOUGH}: {open_claims}.")
    unfinished = [section["title"] for section in summary["sections"] if section["gaps"]]
    if unfinished:
        lines.append(f"Not finished: {'; '.join(unfinished)}.")
    return lines


def facts_line(facts: dict[str, Any]) -> str:
    """Names and values on one line.

    >>> facts_line({"python": "3.12", "numpy": "2.1"})
    'python 3.12, numpy 2.1'
    """
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def notes(section: dict[str, Any]) -> list[str]:
    """What a reader must know about a section: criterion, folds, scaling, trials, limits."""
    lines = [
        f"Selection criterion: {section['criterion']}.",
        f"{section['folds']} folds, scaling of features: {', '.join(section['scaling'])}; "
        f"{section['n_records']} finished trials.",
    ]
    if section["agreement"]:
        lines.append(
            "{within} of {compared} means lie within one published standard deviation.".format(
                **section["agreement"]
            )
        )
    lines += [
        f"{cap['dataset']}: parameters chosen on {cap['n_select']} of {cap['n_train']} training "
        "rows."
        for cap in section["capped"]
    ]
    lines += [
        f"{line['method']} on {line['dataset']}: {line['stopped']} of {line['n']} fits stopped "
        "before they converged."
        for line in section["unconverged"]
    ]
    if section["outdated"]:
        lines.append(
            "Outdated (made with other defaults) and left out: "
            f"{'; '.join(section['outdated'])}. Run the study again."
        )
    if section["gaps"]:
        lines.append(f"Not finished: {'; '.join(section['gaps'])}.")
    return lines


def markdown_text(text: str) -> str:
    """Escape what Markdown, or HTML inside Markdown, would read as markup."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]|#$~])", r"\\\1", text)


def to_markdown(table: Table) -> str:
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
        *([show(cell) for cell in row.cells] for row in table.rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _section(section: dict[str, Any], displays: list[Any]) -> Iterator[str]:
    yield from (f"## {markdown_text(section['title'])}", "")
    yield from (f"- {markdown_text(note)}" for note in notes(section))
    yield ""
    for display in displays:
        yield from (*_display(display, "###"), "")


def _display(display: Any, heading: str) -> Iterator[str]:
    """A table or a gallery below its heading."""
    yield from (f"{heading} {markdown_text(display.title)}", "", markdown_text(display.caption), "")
    if not isinstance(display, Table):
        yield from (
            f"![{markdown_text(picture.title)}](figures/{picture.name}.svg)"
            for picture in display.pictures
        )
    elif len(display.rows) <= LONGEST:
        yield to_markdown(display).rstrip()
    else:
        yield f"{len(display.rows)} rows: [tables/{display.name}.csv](tables/{display.name}.csv)"
