"""Draw the pictures of the pages as SVG: ``python docs/pictures/draw.py``. Those with results are
made from the records. Colours follow the reader's light or dark mode.
"""

import json
from collections import defaultdict
from math import cos, pi, sin
from pathlib import Path
from statistics import fmean

from surelabel.experiments.records import read

HERE = Path(__file__).parent
STYLE = """<style>
text { font: 17px system-ui, sans-serif; fill: #24292f }
.small { font-size: 15px } .quiet { fill: #57606a } .head { font-weight: 600 }
.line { stroke: #8c959f; stroke-width: 1.5; fill: none } .grid { stroke: #d0d7de }
.box { fill: #f6f8fa; stroke: #d0d7de } .peer { fill: #8c959f; fill-opacity: .65 }
.a { fill: #0969da } .b { fill: #bc4c00 } .c { fill: #1a7f37 } .ours { fill: #0969da }
.mark { stroke: #bc4c00; stroke-width: 2.5; fill: none } .tip { fill: #8c959f }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .quiet { fill: #9da7b3 } .grid { stroke: #3d444d }
.box { fill: #1c2128; stroke: #3d444d } .peer { fill: #9da7b3 }
.a { fill: #58a6ff } .b { fill: #f0883e } .c { fill: #3fb950 } .ours { fill: #58a6ff }
.mark { stroke: #f0883e } }
</style>
<defs><marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7"
orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" class="tip"/></marker></defs>"""


def save(name: str, width: int, height: int, title: str, parts: list[str]) -> None:
    """Write a picture."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">'
    )
    lines = [head, f"<title>{title}</title>", STYLE, *parts, "</svg>", ""]
    (HERE / name).write_text("\n".join(lines), encoding="utf-8")


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Words."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{words}</text>'


def pie(x: float, y: float, classes: str, radius: float = 11) -> str:
    """A row: a disc with a sector for each of its candidates."""
    if len(classes) == 1:
        return f'<circle cx="{x}" cy="{y}" r="{radius}" class="{classes}"/>'
    parts = []
    for number, kind in enumerate(classes):
        start, end = (2 * pi * (number + add) / len(classes) - pi / 2 for add in (0, 1))
        far = int(end - start > pi)
        parts.append(
            f'<path class="{kind}" d="M{x} {y}L{x + radius * cos(start):.2f} '
            f"{y + radius * sin(start):.2f}A{radius} {radius} 0 {far} 1 "
            f'{x + radius * cos(end):.2f} {y + radius * sin(end):.2f}z"/>'
        )
    return "".join(parts)


def box(x: float, y: float, width: float, height: float) -> str:
    """A panel."""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="10" class="box"/>'


def arrow(*points: float, kind: str = "line") -> str:
    """A straight arrow."""
    return '<path class="{}" marker-end="url(#tip)" d="M{} {}L{} {}"/>'.format(kind, *points)


#: Rows by two features: where they are, their candidates, and the true one.
ROWS = [
    (36, 40, "ab", "a"),
    (72, 28, "a", "a"),
    (60, 66, "abc", "a"),
    (98, 56, "ac", "a"),
    (150, 44, "b", "b"),
    (184, 62, "ab", "b"),
    (160, 88, "bc", "b"),
    (118, 92, "ab", "b"),
    (56, 132, "c", "c"),
    (92, 150, "bc", "c"),
    (40, 164, "ac", "c"),
    (126, 168, "c", "c"),
]
DOUBTFUL = 7


def candidates() -> None:
    """How candidate labels become labels."""
    parts = []
    for number, title in enumerate(("possible labels", "neighbours decide", "one label each")):
        left = 236 * number
        parts += [text(left + 110, 22, title, "head", "middle"), box(left, 36, 220, 196)]
    for x, y, several, right in ROWS:
        parts.append(pie(x, y + 36, several))
        parts.append(pie(x + 236, y + 36, several))
        parts.append(pie(x + 472, y + 36, right))
    asked = ROWS[2]
    for near in (0, 1, 3):
        x, y = ROWS[near][:2]
        parts.insert(
            6,
            f'<path class="line" d="M{asked[0] + 236} {asked[1] + 36}L{x + 236} {y + 36}"/>',
        )
    parts.append(
        f'<circle cx="{asked[0] + 236}" cy="{asked[1] + 36}" r="16" class="mark"/>'
        f'<circle cx="{ROWS[DOUBTFUL][0] + 472}" cy="{ROWS[DOUBTFUL][1] + 36}" r="17" class="mark" '
        'stroke-dasharray="4 3"/>'
    )
    parts += [
        text(110, 258, "cat, or cow, or dog?", "quiet", "middle"),
        text(346, 258, "they share only “cat”", "quiet", "middle"),
        text(582, 258, "a person looks at one", "quiet", "middle"),
        arrow(221, 134, 235, 134),
        arrow(457, 134, 471, 134),
    ]
    save("candidates.svg", 692, 268, "How candidate labels become labels", parts)


def pure() -> None:
    """The idea of PURE beside SURE."""
    inside = [(40, 40, "a"), (86, 28, "a"), (130, 44, "b"), (56, 84, "a"), (150, 84, "b")]
    parts = []
    for left, title, below in (
        (0, "SURE", "the row confirms itself"),
        (350, "PURE", "its peers decide"),
    ):
        parts += [
            text(left + 160, 22, title, "head", "middle"),
            text(left + 160, 256, below, "quiet", "middle"),
            text(left + 95, 64, "the model learns from", "small quiet", "middle"),
        ]
    for left, width in ((0, 190), (350, 190)):
        parts.insert(0, box(left, 40, width, 196))
        parts += [pie(left + x, y + 50 + 12, kind) for x, y, kind in inside]
    parts += [
        pie(95, 190, "ab", 13),
        '<circle cx="95" cy="190" r="19" class="mark"/>',
        '<path class="line" marker-end="url(#tip)" d="M190 96C320 70 320 230 120 196"/>',
        text(222, 84, "judges", "small", "start"),
        '<circle cx="445" cy="190" r="13" class="line" stroke-dasharray="3 3"/>',
        text(445, 222, "without the row", "small quiet", "middle"),
        pie(640, 138, "ab", 13),
        '<circle cx="640" cy="138" r="19" class="mark"/>',
        arrow(544, 138, 614, 138),
        text(579, 126, "judges", "small", "middle"),
    ]
    save("pure.svg", 692, 268, "PURE's idea: each row is judged by the model without it", parts)


def panel(
    rows: dict[str, dict[str, float]], ours: str, low: float, top: float, legend: str
) -> list[str]:
    """A plot with a line for each data set and a dot for each method."""

    def place(value: float) -> float:
        return 170 + 430 * (value - low) / (1 - low)

    bottom = top + 34 * len(rows)
    parts = []
    for step in range(6):
        value = low + (1 - low) * step / 5
        parts += [
            f'<path class="grid" d="M{place(value):.1f} {top - 8}V{bottom}"/>',
            text(place(value), bottom + 20, f"{value:.2f}", "small quiet", "middle"),
        ]
    for number, (name, values) in enumerate(rows.items()):
        y = top + 34 * number + 12
        parts.append(text(158, y + 6, name, "", "end"))
        parts += [
            f'<circle cx="{place(value):.1f}" cy="{y}" r="5.5" class="peer"/>'
            for method, value in values.items()
            if method != ours
        ]
        parts.append(f'<circle cx="{place(values[ours]):.1f}" cy="{y}" r="7.5" class="ours"/>')
        best = max(values.values())
        parts.append(text(place(best) + 13, y + 6, f"{values[ours]:.3f}".lstrip("0"), "small"))
    parts += [
        f'<circle cx="176" cy="{top - 28}" r="7.5" class="ours"/>',
        text(190, top - 22, ours, "small"),
        f'<circle cx="{232 + 9 * len(ours)}" cy="{top - 28}" r="5.5" class="peer"/>',
        text(246 + 9 * len(ours), top - 22, legend, "small quiet"),
    ]
    return parts


def crowds() -> dict[str, dict[str, float]]:
    """Accuracy on real crowds, from the records."""
    rows: dict[str, dict[str, float]] = defaultdict(dict)
    with open(HERE.parent / "crowds/real.jsonl", encoding="utf-8") as file:
        for record in map(json.loads, file):
            if "accuracy" in record and record["method"] != "surelabel, no features":
                rows[record["set"]][record["method"]] = record["accuracy"]
    return {name: values for name, values in rows.items() if len(values) > 4}


def sets() -> dict[str, dict[str, float]]:
    """Accuracy on candidate sets that people or captions made, from the records."""
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    names = {"lost": "Lost", "msrcv2": "MSRCv2", "labelme": "labelme", "cifar10n": "cifar10n"}
    names["fg-net"] = "FG-NET (age)"
    methods = ("PURE", "SURE", "PLKNN", "CLPL", "IPAL", "PLSVM", "PALOC", "LSBCMM")
    for study in ("pure", "table4", "people"):
        for record in read(HERE.parent / f"reproduction/records/{study}").records:
            if record["dataset"] in names and record["method"] in methods:
                name = names[record["dataset"]]
                scores[name][record["method"]].append(record["scores"]["accuracy"])
    return {
        name: {method: fmean(values) for method, values in scores[name].items()}
        for name in names.values()
    }


def ordered() -> None:
    """Ages of FG-NET, with the order and without it, from the records."""
    ours, parts = (
        "PURE with the order",
        {"accuracy": "exact", "accuracy_within_3": "within 3 years"},
    )
    parts["accuracy_within_5"] = "within 5 years"
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in read(HERE.parent / "reproduction/records/ordered").records:
        method = record["method"].replace("PURE (order, absolute loss)", ours)
        if "(" not in method:
            for metric, name in parts.items():
                found[name][method].append(record["scores"][metric])
    rows = {name: {m: fmean(v) for m, v in values.items()} for name, values in found.items()}
    head = "FG-NET: share of ages predicted exactly, or nearly"
    plot = panel(rows, ours, 0, 90, "eight methods without it")
    save("ordered.svg", 680, 228, head, [text(10, 24, head, "head"), *plot])


def results() -> None:
    """The plots of results, each alone and both together."""
    people, real = crowds(), sets()
    votes = panel(people, "surelabel", 0.75, 90, "seven other methods")
    some = panel(real, "PURE", 0, 90, "SURE and the six of its paper")
    head = "Labels found from the votes of real crowds"
    save("crowds.svg", 680, 364, head, [text(10, 24, head, "head"), *votes])
    other = "Accuracy after learning from real candidate sets"
    save("sets.svg", 680, 296, other, [text(10, 24, other, "head"), *some])
    both = [text(10, 24, head, "head"), *votes, '<g transform="translate(0 370)">']
    both += [text(10, 24, other, "head"), *some, "</g>"]
    save("real.svg", 680, 666, "Accuracy on real data, beside other methods", both)


if __name__ == "__main__":
    candidates()
    pure()
    ordered()
    results()
