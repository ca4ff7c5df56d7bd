"""Colours, names and legends that the figures of the page share."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..report.drawing import (
    short,
)
from .choosing import CERTIFIED, LOOK, PROBABLE

STATUSES = {CERTIFIED: "#0072b2", PROBABLE: "#56b4e9", LOOK: "#d55e00"}
"""The colour of each status, the same throughout the page."""
OTHER = "#9aa0ac"
CLASSES = 14
"""Maximum number of classes named in a figure; the rest are drawn together."""


def class_names(classes: np.ndarray) -> list[str]:
    """The names of classes for figures: on one line, not too long."""
    return [short(" ".join(str(name).split())) for name in classes.tolist()]


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
