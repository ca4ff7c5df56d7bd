"""The map of the page: the rows in the plane of their two principal components."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from sklearn.decomposition import PCA

from ..report.drawing import (
    INK,
    MARKERS,
    RULE,
    Gallery,
    line_style,
    picture_of,
)
from ..text import short_percent
from .page_style import OTHER, STATUSES, class_names, legend_above
from .status import LOOK

if TYPE_CHECKING:
    from .cleaning import Cleaned

DRAWN = 5000
"""Maximum number of rows on the map."""


def drawn_rows(cleaned: Cleaned, shown: np.ndarray) -> np.ndarray:
    """The rows on the map: all of them, or a stratified sample by label and status, plus those
    shown on the page.
    """
    m = len(cleaned.label)
    if m <= DRAWN:
        return np.arange(m)
    order = np.lexsort((cleaned.status, cleaned.label))  # even spacing in this order stratifies
    return np.union1d(order[np.linspace(0, m - 1, DRAWN).round().astype(int)], shown)


def map_of(cleaned: Cleaned, shown: np.ndarray) -> Gallery:
    """The rows by doubt and by label."""
    rows = drawn_rows(cleaned, shown)
    points, kept = _plane(np.asarray(cleaned.X[rows], float))
    caption = "Every point is a row; nearby rows have similar features"
    if len(rows) < len(cleaned.X):
        caption = (
            f"A stratified sample of {len(rows):,} of the {len(cleaned.X):,} rows, every label and "
            "status in proportion; nearby points have similar features"
        )
    caption += (
        " (the two principal components of the features, "
        f"{short_percent(kept)} of their variance). "
        "Rings mark the rows listed above: click one to go to its row."
    )
    pictures = [
        picture_of(
            partial(
                draw,
                cleaned=cleaned,
                rows=rows,
                points=points,
                shown=np.flatnonzero(np.isin(rows, shown)),
            ),
            (5.2, 4.3),
            f"map-{name}",
            f"The rows by {name}",
        )
        for name, draw in (("doubt", _draw_doubt), ("label", _draw_labels))
    ]
    return Gallery("map", "Map of the rows", caption, pictures)


def _plane(X: np.ndarray) -> tuple[np.ndarray, float]:
    """The rows in the plane of their two principal components, and the share of variance kept."""
    points = np.zeros((len(X), 2))
    total = X.var(axis=0).sum()
    if not total > 0:
        return points, 1.0
    found = PCA(min(2, *X.shape), random_state=0).fit_transform(X)
    points[:, : found.shape[1]] = found
    return points, float(points.var(axis=0).sum() / total)


def _scatter(axes: Axes, points: np.ndarray, **more: Any) -> None:
    axes.scatter(points[:, 0], points[:, 1], **({"linewidths": 0} | more))


def _rings(axes: Axes, points: np.ndarray, rows: np.ndarray) -> None:
    """Rings around the rows to look at, each a link to the row in the page."""
    rings = axes.scatter(
        points[:, 0],
        points[:, 1],
        s=42,
        facecolors=(0, 0, 0, 0),
        edgecolors=INK,
        linewidths=0.9,
        zorder=4,
    )
    rings.set_urls([f"#row{row}" for row in rows])
    axes.set(xticks=[], yticks=[], xlabel="first component", ylabel="second component")
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set(visible=True, color=RULE)


def _draw_doubt(
    axes: Axes, cleaned: Cleaned, rows: np.ndarray, points: np.ndarray, shown: np.ndarray
) -> None:
    status = cleaned.status[rows]
    for name, colour in STATUSES.items():
        size, alpha = (22, 0.95) if name == LOOK else (14, 0.75)
        _scatter(
            axes,
            points[status == name],
            s=size,
            color=colour,
            alpha=alpha,
            label=name,
            marker="o^s"[list(STATUSES).index(name)],
        )
    _rings(axes, points[shown], rows[shown])
    legend_above(axes, markerscale=1.4)


def _draw_labels(
    axes: Axes, cleaned: Cleaned, rows: np.ndarray, points: np.ndarray, shown: np.ndarray
) -> None:
    label = cleaned.label[rows]
    names = class_names(cleaned.classes)
    often = np.argsort(-np.bincount(cleaned.label, minlength=len(names)), kind="stable")
    named = often[: len(MARKERS)]
    rest = ~np.isin(label, named)
    if rest.any():
        _scatter(
            axes,
            points[rest],
            s=12,
            color=OTHER,
            alpha=0.4,
            label=f"other ({len(names) - len(named)} classes)",
        )
    for place, position in enumerate(named):
        look = line_style(place)
        mine = label == position
        if mine.any():
            _scatter(
                axes,
                points[mine],
                s=14,
                color=look["color"],
                alpha=0.65,
                marker=look["marker"],
                label=names[position],
            )
    _rings(axes, points[shown], rows[shown])
    legend_above(axes, markerscale=1.4)
