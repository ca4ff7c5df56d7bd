"""HTML pages that open offline: style, script and figures are embedded."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from .drawing import INK, PAPER, RULE, Gallery, Picture
from .page import TOPICS, Page, is_long
from .tables import Table

#: Colours of a figure that adapt to the page, light or dark.
THEMED = {INK: "var(--ink)", PAPER: "none", RULE: "var(--rule)"}


def render_html(page: Page) -> str:
    """The report of studies."""

    def starts_open(display: Table | Gallery) -> bool:
        return TOPICS[display.topic] and not is_long(display)

    title = page.sections[0].title if len(page.sections) == 1 else "Results"
    return fill_template("report", title=title, page=page, starts_open=starts_open)


def fill_template(name: str, **values: Any) -> str:
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
        # only our script runs, and nothing is fetched
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        **values,
    )


def _source(environment: Environment, name: str) -> Markup:
    """A file of the templates folder, unchanged."""
    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, name)[0])


def inline(picture: Picture) -> Markup:
    """Embed a figure in the page, with its own ids and the page's colours."""
    svg = picture.svg[picture.svg.index("<svg") :]
    svg = re.sub(r'(<\w+ id="|href="#(?!row)|url\(#)', rf"\g<1>{picture.name}-", svg)
    # links to rows (#row…) lead out of the figure, into this page; keyboard users should not have
    # to pass hundreds of them
    svg = svg.replace(' target="_blank"', ' tabindex="-1"')
    for colour, themed in THEMED.items():
        svg = svg.replace(colour, themed)
    # the text of the figure was escaped when it was drawn
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{escape(picture.title)}"', 1))
