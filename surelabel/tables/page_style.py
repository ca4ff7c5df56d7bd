"""Colours, names and legends that the figures of the page share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..report.drawing import (
    short,
)
from .status import CERTIFIED, LOOK, PROBABLE

STATUSES = {CERTIFIED: "#0072b2", PROBABLE: "#56b4e9", LOOK: "#d55e00"}
"""The colour of each status, the same throughout the page."""
OTHER = "#9aa0ac"
CLASSES = 14
"""Maximum number of classes named in a figure; the rest are drawn together."""


def class_names(classes: np.ndarray) -> list[str]:
    """The names of classes or people for figures: on one line, not too long, and different if they
    are.

    >>> class_names(np.array(["someone of a very long name 1", "someone of a very long name 2"]))
    ['someone of … long name 1', 'someone of … long name 2']
    """
    names = [" ".join(str(name).split()) for name in classes.tolist()]
    first, last = min(names, default=""), max(names, default="")
    pairs = enumerate(zip(first, last, strict=False))
    common = next((place for place, (a, b) in pairs if a != b), len(first))
    ways: list[Callable[[str], str]] = [
        short,
        lambda name: name if len(name) <= 24 else f"{name[:11]}…{name[-12:]}",
        lambda name: short(f"…{name[common:]}"),
    ]
    cut = ([way(name) for name in names] for way in ways)
    return max(cut, key=lambda found: len(set(found)))  # the first of those with most names


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
