"""The report as one HTML page that opens offline: style, script and figures are inside it."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from .figures import INK, PAPER, RULE, Picture
from .markdown import facts_line, notes

THEMED = {INK: "var(--ink)", PAPER: "none", RULE: "var(--rule)"}
"""Colours of a figure that follow the page, light or dark."""


def render(summary: dict[str, Any], pages: list[tuple[dict[str, Any], list[Any]]]) -> str:
    """Print the summary.

    Parameters
    ----------
    summary : dict
        Of :func:`surelabel.report.summary.summarize`.
    pages : list of (section, blocks)
        The tables and galleries of every section.

    Returns
    -------
    str
        The page.
    """
    # every name that comes from data is escaped, whatever it is called
    environment = Environment(
        loader=PackageLoader("surelabel.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    script = Markup(_source(environment, "report.js"))
    return environment.get_template("report.html").render(
        summary=summary,
        pages=pages,
        notes=notes,
        facts_line=facts_line,
        inline=inline,
        style=Markup(_source(environment, "report.css")),
        script=script,
        # no script but ours runs, and nothing is fetched
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        datasets=list(dict.fromkeys(name for section, _ in pages for name in section["datasets"])),
        methods=list(dict.fromkeys(name for section, _ in pages for name in section["methods"] + section["published_methods"])),
    )


def _source(environment: Environment, name: str) -> str:
    """A file of the templates folder as it is."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def inline(picture: Picture, section: dict[str, Any]) -> Markup:
    """The figure as part of the page: ids of its own, the page's colours, parts of a method marked for the filter."""
    svg = picture.svg[picture.svg.index("<svg") :]
    svg = re.sub(r'(<\w+ id="|href="#|url\(#)', rf"\g<1>{picture.name}-", svg)
    for colour, themed in THEMED.items():
        svg = svg.replace(colour, themed)

    def mark(match: re.Match[str]) -> str:
        return f'{match[0]} data-method="{escape(section["methods"][int(match[1])])}"'

    svg = re.sub(rf'<g id="{re.escape(picture.name)}-method(\d+)-\w+"', mark, svg)
    # the text of the figure was escaped when it was drawn
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{escape(picture.title)}"', 1))
