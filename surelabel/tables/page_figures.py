"""A cleaned table → figures as SVG: how sure the labels are, how ambiguous they were, where the
doubtful rows lie.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.ticker import FuncFormatter, MaxNLocator
from scipy import sparse
from scipy.stats import binomtest
from sklearn.decomposition import PCA

from ..report.drawing import (
    COLOURS,
    INK,
    MARKERS,
    RULE,
    STYLE,
    Gallery,
    class_names,
    legend_above,
    line_style,
    picture_of,
)
from ..text import short_percent
from .status import CERTIFIED, LOOK, PROBABLE

if TYPE_CHECKING:
    from .cleaning import Cleaned

STATUSES = {CERTIFIED: "#0072b2", PROBABLE: "#56b4e9", LOOK: "#d55e00"}
"""The colour of each status, the same throughout the page."""
DRAWN = 5000
"""Maximum number of rows on the map."""
CLASSES = 14
"""Maximum number of classes named in a figure; the rest are drawn together."""
PERCENT = FuncFormatter(lambda share, _: f"{100 * share:g} %")


def build(cleaned: Cleaned, shown: np.ndarray) -> dict[str, Gallery]:
    """Every figure of the page by topic; a topic without figures is left out. The map links to the
    rows ``shown``, the rows to look at that the page shows.
    """
    with rc_context(STYLE):
        galleries = [_map(cleaned, shown)] if cleaned.X.shape[1] else []
        galleries += [_sureness(cleaned), _ambiguity(cleaned)]
    return {gallery.topic: gallery for gallery in galleries if gallery.pictures}


def _by_status(
    axes: Axes, status: np.ndarray, place: np.ndarray, n_places: int, *, horizontal: bool = False
) -> None:
    """Number of rows at each place, the statuses stacked."""
    start: Any = np.zeros(n_places)
    draw = axes.barh if horizontal else axes.bar
    side = "left" if horizontal else "bottom"
    for name, colour in STATUSES.items():
        count = np.bincount(place[status == name], minlength=n_places)
        draw(
            np.arange(n_places), count, 0.8, **{side: start}, color=colour, label=name, linewidth=0
        )
        start += count
    counts = axes.xaxis if horizontal else axes.yaxis
    counts.set_major_locator(MaxNLocator(5, integer=True))
    counts.set_major_formatter("{x:,.0f}")
    axes.grid(visible=False, axis="y" if horizontal else "x")


# ---------------------------------------------------------------- map of the rows


def drawn_rows(cleaned: Cleaned, shown: np.ndarray) -> np.ndarray:
    """The rows on the map: all of them, or a stratified sample by label and status, plus those
    shown on the page.
    """
    m = len(cleaned.label)
    if m <= DRAWN:
        return np.arange(m)
    order = np.lexsort((cleaned.status, cleaned.label))  # even spacing in this order stratifies
    return np.union1d(order[np.linspace(0, m - 1, DRAWN).round().astype(int)], shown)


def _map(cleaned: Cleaned, shown: np.ndarray) -> Gallery:
    """The rows by label, with rings around those to look at."""
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
    ringed = np.flatnonzero(np.isin(rows, shown))
    draw = partial(_draw_labels, cleaned=cleaned, rows=rows, points=points, shown=ringed)
    picture = picture_of(draw, (5.2, 4.3), "map-label", "The rows by label")
    return Gallery("map", "Map of the rows", caption, [picture])


def _plane(X: np.ndarray) -> tuple[np.ndarray, float]:
    """The rows in the plane of their two principal components, and the share of variance kept."""
    points = np.zeros((len(X), 2))
    total = X.var(axis=0).sum()
    if not total > 0:
        return points, 1.0
    found = PCA(min(2, *X.shape), random_state=0).fit_transform(X)
    points[:, : found.shape[1]] = found
    return points, float(points.var(axis=0).sum() / total)


def _draw_labels(
    axes: Axes, cleaned: Cleaned, rows: np.ndarray, points: np.ndarray, shown: np.ndarray
) -> None:
    label = cleaned.label[rows]
    names = class_names(cleaned.classes)
    often = np.argsort(-np.bincount(cleaned.label, minlength=len(names)), kind="stable")
    named = often[: len(MARKERS)]
    rest = ~np.isin(label, named)
    x, y = points.T
    if rest.any():
        other = f"other ({len(names) - len(named)} classes)"
        axes.scatter(x[rest], y[rest], s=12, color="#9aa0ac", alpha=0.4, linewidths=0, label=other)
    for place, position in enumerate(named):
        look = line_style(place)
        mine = label == position
        if mine.any():
            axes.scatter(
                x[mine],
                y[mine],
                s=14,
                color=look["color"],
                alpha=0.65,
                marker=look["marker"],
                linewidths=0,
                label=names[position],
            )
    # Rings around the rows to look at, each a link to the row in the page.
    none = (0, 0, 0, 0)
    rings = axes.scatter(
        x[shown], y[shown], s=42, facecolors=none, edgecolors=INK, linewidths=0.9, zorder=4
    )
    rings.set_urls([f"#row{row}" for row in rows[shown]])
    axes.set(xticks=[], yticks=[], xlabel="first component", ylabel="second component")
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set(visible=True, color=RULE)
    legend_above(axes, markerscale=1.4)


# ---------------------------------------------------------------- how sure


def _sureness(cleaned: Cleaned) -> Gallery:
    draw = partial(_draw_confidence, cleaned=cleaned)
    pictures = [picture_of(draw, (4.4, 3.2), "confidence", "How sure the labels are")]
    caption = (
        "No row was judged by a model that had learned from it, and how far such models can be "
        "trusted was learned from real data. "
    )
    if cleaned.n_gold:
        draw = partial(_draw_calibration, cleaned=cleaned)
        title = f"Confidence against truth on {cleaned.n_gold:,} gold rows"
        pictures.append(picture_of(draw, (4.4, 3.2), "calibration", title))
        caption += (
            "On gold rows, points on the diagonal mean that the confidence is right, points below "
            "it that it is too high; the lines are 95 % intervals."
        )
    else:
        caption += (
            "No true labels are known: with some in a gold column, this page would also show "
            "whether the confidence is right."
        )
    return Gallery("sureness", "How sure the labels are", caption, pictures)


def _draw_confidence(axes: Axes, cleaned: Cleaned) -> None:
    edges = np.linspace(0, 1, 21)
    # bins include their right end, such as (0.95, 1.0]: a sure row belongs to the last
    place = np.digitize(cleaned.confidence, edges[1:-1], right=True)
    _by_status(axes, cleaned.status, place, len(edges) - 1)
    first = place.min()
    axes.set_xticks(np.arange(-0.5, 20, 4), [f"{100 * edge:.0f} %" for edge in edges[::4]])
    axes.set(xlim=(first - 1, 20), xlabel="confidence in the label", ylabel="rows")
    legend_above(axes)


def _draw_calibration(axes: Axes, cleaned: Cleaned) -> None:
    confidence, right = cleaned.gold_confidence, cleaned.gold_right
    place = np.digitize(confidence, np.linspace(0, 1, 11)[1:-1], right=True)
    place = np.unique(place, return_inverse=True)[1]
    count, hits = np.bincount(place), np.bincount(place, right)
    x, y = np.bincount(place, confidence) / count, hits / count
    ranges = [
        binomtest(int(k), int(n)).proportion_ci(method="wilson")
        for k, n in zip(hits, count, strict=True)
    ]
    axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=":")
    axes.vlines(
        x,
        [r.low for r in ranges],
        [r.high for r in ranges],
        color=COLOURS[2],
        linewidth=1.2,
        alpha=0.6,
    )
    axes.scatter(x, y, s=15 + 120 * count / count.max(), color=COLOURS[2], linewidths=0, zorder=3)
    axes.set(xlabel="confidence", ylabel="share that is right", xlim=(0, 1.03), ylim=(0, 1.03))
    axes.xaxis.set_major_formatter(PERCENT)
    axes.yaxis.set_major_formatter(PERCENT)


# ---------------------------------------------------------------- how ambiguous


def _ambiguity(cleaned: Cleaned) -> Gallery:
    draw = partial(_draw_classes, cleaned=cleaned)
    pictures = [picture_of(draw, (4.4, 3.8), "classes", "Labels chosen")]
    counts = confusion(cleaned)
    if counts.nnz:
        draw = partial(_draw_confusion, cleaned=cleaned, counts=counts)
        pictures.append(picture_of(draw, (4.4, 3.8), "confusion", "Classes confused"))
    caption = (
        "Which labels were chosen, and what else they might have been: a square counts the rows "
        "that got the label to its left and also had the label below it as a candidate."
    )
    return Gallery("ambiguity", "How ambiguous the labels were", caption, pictures)


def _draw_classes(axes: Axes, cleaned: Cleaned) -> None:
    n = len(cleaned.classes)
    order = np.argsort(-np.bincount(cleaned.label, minlength=n), kind="stable")
    rank = np.empty(n, int)
    rank[order] = np.arange(n)
    shown = min(n, CLASSES)
    place = rank[cleaned.label]
    _by_status(axes, cleaned.status[place < shown], place[place < shown], shown, horizontal=True)
    axes.set_yticks(
        range(shown), class_names(cleaned.classes[order[:shown]]), fontsize=8 if shown > 8 else 9
    )
    axes.set(
        xlabel="rows" if shown == n else f"rows, the {shown} most frequent of {n:,} labels",
        ylim=(shown - 0.4, -0.6),
    )
    legend_above(axes)


def confusion(cleaned: Cleaned) -> sparse.csr_array:
    """Number of rows by label chosen and other candidate, an array of shape (l, l); rows without
    labels do not count.
    """
    candidates, l = cleaned.labels.candidates, len(cleaned.classes)
    chosen, other = cleaned.label[candidates.rows], candidates.indices
    doubtful = (chosen != other) & ~cleaned.labels.unlabelled[candidates.rows]
    places = (chosen[doubtful], other[doubtful])
    return sparse.coo_array((np.ones(doubtful.sum(), np.int64), places), (l, l)).tocsr()


def _draw_confusion(axes: Axes, cleaned: Cleaned, counts: sparse.csr_array) -> None:
    involved = counts.sum(axis=0) + counts.sum(axis=1)
    most = np.sort(np.argsort(-involved, kind="stable")[: min(CLASSES, np.count_nonzero(involved))])
    part = counts[most][:, most].toarray()
    colours = np.zeros((*part.shape, 4))
    colours[:] = to_rgba(STATUSES[CERTIFIED])
    colours[..., 3] = 0.75 * np.sqrt(part / max(part.max(), 1))
    axes.pcolormesh(
        np.arange(len(most) + 1), np.arange(len(most) + 1), colours, edgecolors=RULE, linewidth=0.5
    )
    for i, j in zip(*np.nonzero(part), strict=True):
        axes.text(
            j + 0.5,
            i + 0.5,
            f"{part[i, j]:,}",
            ha="center",
            va="center",
            fontsize=7 if len(most) <= 10 else 5.5,
        )
    names = class_names(cleaned.classes[most])
    axes.set_xticks(
        np.arange(len(most)) + 0.5,
        names,
        rotation=45,
        ha="right",
        rotation_mode="anchor",
        fontsize=8,
    )
    axes.set_yticks(np.arange(len(most)) + 0.5, names, fontsize=8)
    axes.set(ylabel="label chosen", xlabel="other candidate", ylim=(len(most), 0))
    axes.grid(visible=False)
    axes.tick_params(length=0)
