"""The figures of the report as SVG: accuracy curves, critical difference, sensitivity,
convergence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullFormatter, StrMethodFormatter

from .drawing import COLOURS, INK, STYLE, Gallery, line_style, picture_of, short
from .summary import chosen_by, file_name

#: Symbols of the parameters in the paper.
NAMES = {"eps": "ε", "lam": "λ", "beta": "β"}


def figures_of(section: dict[str, Any]) -> list[Gallery]:
    """All figures of a section of the summary, without empty galleries."""
    with rc_context(STYLE):
        galleries = [
            *_curves(section),
            *_critical_difference(section),
            _sensitivity(section),
            _convergence(section),
        ]
    return [gallery for gallery in galleries if gallery.pictures]


def _symbol(parameter: str) -> str:
    return NAMES.get(parameter, parameter)


def _title(axes: Axes, text: str, section: dict[str, Any]) -> None:
    """Set the title, with the criterion below it, so that a copied figure still shows it."""
    axes.set_title(f"{text}\nselection: {section['criterion']}")


# ---------------------------------------------------------------- Figures 1 to 4


def _curves(section: dict[str, Any]) -> Iterator[Gallery]:
    for family in dict.fromkeys(panel["family"] for panel in section["curves"]):
        panels = [panel for panel in section["curves"] if panel["family"] == family]
        running = _symbol(panels[0]["running"])
        pictures = [
            picture_of(
                partial(_draw_curves, panel=panel, section=section),
                (4.4, 3.7),
                file_name(
                    section["name"],
                    "curve",
                    re.sub("[()=,]", "", family).replace(" ", "-"),
                    panel["dataset"],
                ),
                f"{panel['dataset']}, {family}",
            )
            for panel in panels
        ]
        caption = (
            f"Accuracy as {running} varies; the band is one standard deviation over "
            f"{section['folds']} folds."
        )
        yield Gallery(
            "curves",
            f"Accuracy along {running}: {family}",
            f"{caption} {chosen_by(section)}",
            pictures,
        )


def _draw_curves(axes: Axes, panel: dict[str, Any], section: dict[str, Any]) -> None:
    # The first method, the reference, is drawn on top.
    for order, (method, line) in enumerate(panel["series"].items()):
        mean, std = np.array(line["mean"]), np.array(line["std"])
        style = line_style(section["methods"].index(method))
        axes.fill_between(
            line["x"], mean - std, mean + std, color=style["color"], alpha=0.1, linewidth=0
        )
        axes.plot(line["x"], mean, label=short(method), zorder=3 - order / 100, **style)
    axes.set(xlabel=_symbol(panel["running"]), ylabel="accuracy")
    _title(axes, short(panel["dataset"]), section)
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.17),
        ncols=4,
        columnspacing=1.2,
        handlelength=1.8,
    )


# ---------------------------------------------------------------- critical difference


def _critical_difference(section: dict[str, Any]) -> Iterator[Gallery]:
    ranks = section["ranks"]
    if not ranks:
        return
    picture = picture_of(
        partial(_draw_critical_difference, ranks=ranks, section=section),
        (6.6, 1.5 + 0.2 * len(ranks["average"])),
        file_name(section["name"], "critical-difference"),
        "Average ranks with the critical difference",
    )
    caption = (
        f"Average ranks over {ranks['n']} results, the best on the left; methods joined by a bar "
        f"do not differ significantly (Nemenyi at {section['alpha']}; Friedman p = "
        f"{ranks['p']:.2g})."
    )
    yield Gallery("ranks", "Critical difference", f"{caption} {chosen_by(section)}", [picture])


def _draw_critical_difference(axes: Axes, ranks: dict[str, Any], section: dict[str, Any]) -> None:
    """Demšar's diagram: ranks on a line, with the better half labelled on the left."""
    width = ranks["critical_difference"]
    order = sorted(ranks["average"].items(), key=lambda item: item[1])
    n = len(order)
    bars = _joined([rank for _, rank in order], width)
    first_label, step = 0.6 + 0.35 * len(bars), 0.5
    for place, (method, rank) in enumerate(order):
        better = place < (n + 1) // 2
        y = -first_label - step * (place if better else n - 1 - place)
        end = 1 - 0.05 * n if better else n + 0.05 * n
        axes.plot([rank, rank, end], [0, y, y], color=INK, linewidth=0.8)
        axes.plot(rank, 0, "o", color=INK, markersize=3.5)
        side, gap = ("right", -0.012 * n) if better else ("left", 0.012 * n)
        axes.text(end + gap, y, f"{short(method)} {rank:.2f}", ha=side, va="center")
    for level, (start, stop) in enumerate(bars):
        axes.plot(
            [start - 0.04, stop + 0.04],
            [-0.35 * (level + 1)] * 2,
            color=COLOURS[1],
            linewidth=3.5,
            solid_capstyle="round",
        )
    axes.plot([1, 1 + width], [0.75, 0.75], color=COLOURS[1], linewidth=2, marker="|", markersize=7)
    axes.text(
        1 + width / 2,
        0.85,
        f"critical difference {width:.2f}",
        ha="center",
        va="bottom",
        fontsize=8,
    )
    lowest = -first_label - step * ((n + 1) // 2 - 1)
    axes.set(
        xlim=(1 - 0.22 * n, n + 0.22 * n),
        ylim=(lowest - 0.3, 1.4),
        yticks=[],
        xticks=range(1, n + 1),
    )
    axes.tick_params(axis="x", direction="in", pad=-14)
    axes.spines["bottom"].set_position(("data", 0))
    axes.spines["bottom"].set_bounds(1, n)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    _title(axes, "average rank (1 is best)", section)


def _joined(ranks: list[float], width: float) -> list[tuple[float, float]]:
    """The longest runs of sorted ranks that are no wider than the critical difference; none is
    inside another.

    >>> _joined([1.0, 1.5, 2.4, 4.0], 1.0)
    [(1.0, 1.5), (1.5, 2.4)]
    """
    runs: list[tuple[float, float]] = []
    for start in ranks:
        stop = max(rank for rank in ranks if rank <= start + width)
        if stop > start and (not runs or stop > runs[-1][1]):
            runs.append((start, stop))
    return runs


# ---------------------------------------------------------------- Figure 5


def _sensitivity(section: dict[str, Any]) -> Gallery:
    pictures = []
    for panel in section["sensitivity"]:
        parameter = _symbol(panel["parameter"])
        fixed = ", ".join(f"{_symbol(name)} = {value}" for name, value in panel["fixed"].items())
        pictures.append(
            picture_of(
                partial(_draw_sensitivity, panel=panel, parameter=parameter, fixed=fixed),
                (4.4, 3.1),
                file_name(
                    section["name"],
                    "sensitivity",
                    panel["method"],
                    panel["parameter"],
                    panel["dataset"],
                ),
                f"{panel['method']} on {panel['dataset']}, varying {parameter}",
            )
        )
    caption = (
        "Accuracy as one parameter varies, the others held at the setting of highest test accuracy "
        f"(ORACLE); the band is one standard deviation over {section['folds']} folds."
    )
    return Gallery("sensitivity", "Sensitivity to the parameters", caption, pictures)


def _draw_sensitivity(axes: Axes, panel: dict[str, Any], parameter: str, fixed: str) -> None:
    mean, std = np.array(panel["mean"]), np.array(panel["std"])
    # the paper's values are unevenly spaced (0.001 … 1), so each gets one step, labelled with its
    # value
    steps = np.arange(len(mean))
    axes.fill_between(steps, mean - std, mean + std, color=COLOURS[2], alpha=0.15, linewidth=0)
    axes.plot(steps, mean, marker="o", color=COLOURS[2])
    axes.set(xlabel=parameter, ylabel="accuracy")
    axes.set_xticks(steps, [str(value) for value in panel["x"]])
    axes.set_title(
        f"{short(panel['dataset'])}, varying {parameter}\n{fixed} (best on test: ORACLE)"
    )


def _convergence(section: dict[str, Any]) -> Gallery:
    pictures = [
        picture_of(
            partial(_draw_convergence, panel=panel, section=section),
            (4.4, 3.1),
            file_name(section["name"], "convergence", panel["method"], panel["dataset"]),
            f"{panel['method']} on {panel['dataset']}",
        )
        for panel in section["convergence"]
        if any(len(path) > 1 for path in panel["folds"])
    ]
    caption = "ΔP = ‖P⁽ᵗ⁺¹⁾ − P⁽ᵗ⁾‖, one thin line per fold, the first fold thick."
    return Gallery("convergence", "Convergence", f"{caption} {chosen_by(section)}", pictures)


def _draw_convergence(axes: Axes, panel: dict[str, Any], section: dict[str, Any]) -> None:
    # one point makes no line
    for place, path in enumerate(path for path in panel["folds"] if len(path) > 1):
        steps, first = np.arange(1, len(path) + 1), place == 0
        # exact zeros are masked, because a logarithmic axis has no place for them
        (line,) = axes.plot(steps, np.ma.masked_less_equal(path, 0), color=COLOURS[2])
        line.set(linewidth=2.0 if first else 0.6, zorder=3 if first else 2)
    axes.set(xlabel="iteration t", ylabel="ΔP", yscale="log")
    # plain numbers: the usual 10² needs math text, which STYLE switches off
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _title(axes, short(panel["dataset"]), section)
