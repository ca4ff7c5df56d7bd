"""Shared by all figures: colours, the style of the axes, and SVG output that is identical for
identical data.

Colours are those of Okabe and Ito, which colour-blind people can tell apart; each series also has
its own marker.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, PAPER, RULE = "#1d1f24", "#fffffe", "#d8dae0"
"""Text and lines, background, grid: the HTML page swaps them for its own colours."""

COLOURS = (INK, "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7d7d86")
MARKERS = "osD^vPX*<>hp"
LINES = ("-", "--", ":")

STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "figure.facecolor": PAPER,
    "font.family": "sans-serif",
    "font.size": 9,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "svg.fonttype": "none",  # keep text as text: small, searchable, in the reader's font
    "text.color": INK,
    "text.parse_math": False,  # a data set may be called $x$
    "xtick.color": INK,
    "ytick.color": INK,
}


@dataclass(frozen=True)
class Picture:
    """A drawn figure: its file name without extension, its title, its SVG text."""

    name: str
    title: str
    svg: str


@dataclass(frozen=True)
class Gallery:
    """Figures that share a caption, such as the panels of one figure of the paper; the topic
    decides their place on the page.
    """

    topic: str
    title: str
    caption: str
    pictures: list[Picture]


def line_style(place: int) -> dict[str, Any]:
    """Colour, marker and line style of the series at this position."""
    return {
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": LINES[place // len(COLOURS) % len(LINES)],
    }


def picture_of(
    draw: Callable[[Axes], None], size: tuple[float, float], name: str, title: str
) -> Picture:
    """Draw on new axes and return the SVG, which is identical for identical data."""
    figure = Figure(figsize=size, layout="constrained")
    draw(figure.add_subplot())
    text = io.StringIO()
    # the salt and the metadata: without them, every SVG has other ids and the current date
    with rc_context({"svg.hashsalt": name}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the reader's font has it
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return Picture(name, title, text.getvalue())


def short(name: str) -> str:
    """A name that is short enough for a figure.

    >>> short("a data set of a very long name")
    'a data set of a very lo…'
    """
    return name if len(name) <= 24 else f"{name[:23]}…"


def class_names(classes: np.ndarray) -> list[str]:
    """The names of classes or people for figures: on one line, without the middle of long ones,
    because names mostly differ at their ends.

    >>> class_names(np.array(["someone of a very long name 1", "someone of a very long name 2"]))
    ['someone of … long name 1', 'someone of … long name 2']
    """
    names = [" ".join(str(name).split()) for name in classes.tolist()]
    return [name if len(name) <= 24 else f"{name[:11]}…{name[-12:]}" for name in names]


def legend_above(axes: Axes, **more: Any) -> None:
    """A legend above the axes, with as many columns as fit."""
    longest = max(map(len, axes.get_legend_handles_labels()[1]))
    columns = max(1, min(4, 80 // (longest + 6)))
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.02, 1.0),
        ncols=columns,
        handlelength=1.0,
        columnspacing=1.2,
        **more,
    )
