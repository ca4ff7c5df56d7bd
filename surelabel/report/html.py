"""HTML pages that open offline: style, script and figures are embedded."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from .drawing import INK, PAPER, RULE, Picture
from .markdown import facts_line, in_short, notes

THEMED = {INK: "var(--ink)", PAPER: "none", RULE: "var(--rule)"}
"""Colours of a figure that adapt to the page, light or dark."""


OPEN = ("accuracy", "counts", "curves", "sensitivity", "convergence")
"""Topics that are unfolded at first."""

LONGEST = 40
"""Tables with more rows start folded."""


def render(
    summary: dict[str, Any],
    pages: list[tuple[dict[str, Any], list[Any]]],
    front: Sequence[Any] = (),
) -> str:
    """The summary of experiments as a page.

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
        The page.
    """

    def starts_open(display: Any) -> bool:
        return display.topic in OPEN and len(getattr(display, "rows", ())) <= LONGEST

    return page(
        "report",
        front=front,
        in_short=in_short(summary),
        starts_open=starts_open,
        title=pages[0][0]["title"] if len(pages) == 1 else "Results",
        summary=summary,
        pages=pages,
        notes=notes,
        facts_line=facts_line,
        datasets=list(dict.fromkeys(name for section, _ in pages for name in section["datasets"])),
        methods=list(
            dict.fromkeys(
                name
                for section, _ in pages
                for name in section["methods"] + section["published_methods"]
            )
        ),
    )


def page(name: str, **values: Any) -> str:
    """Fill the template of this name; its style and script follow those shared by all pages."""
    # everything is escaped, because names come from data
    environment = Environment(
        loader=PackageLoader("surelabel.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    script = _source(environment, "page.js") + _source(environment, f"{name}.js")
    return environment.get_template(f"{name}.html").render(
        inline=inline,
        style=_source(environment, "page.css") + _source(environment, f"{name}.css"),
        script=script,
        # no script but ours runs, and nothing is fetched
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        **values,
    )


def _source(environment: Environment, name: str) -> Markup:
    """A file of the templates folder, unchanged."""
    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, name)[0])


def inline(picture: Picture, methods: Sequence[str] = ()) -> Markup:
    """The figure as part of the page: with ids of its own, the page's colours, and the parts of
    each method marked for the filter.
    """
    svg = picture.svg[picture.svg.index("<svg") :]
    svg = re.sub(r'(<\w+ id="|href="#(?!row)|url\(#)', rf"\g<1>{picture.name}-", svg)
    # links to rows (#row…) lead out of the figure, into this page; keyboard users should not have
    # to pass hundreds of them
    svg = svg.replace(' target="_blank"', ' tabindex="-1"')
    for colour, themed in THEMED.items():
        svg = svg.replace(colour, themed)

    def mark(match: re.Match[str]) -> str:
        return f'{match[0]} data-method="{escape(methods[int(match[1])])}"'

    svg = re.sub(rf'<g id="{re.escape(picture.name)}-method(\d+)-\w+"', mark, svg)
    # the text of the figure was escaped when it was drawn
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{escape(picture.title)}"', 1))
