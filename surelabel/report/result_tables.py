"""Summary → tables, which the Markdown and HTML pages, LaTeX and CSV all print."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .summary import chosen_by
from .table_parts import Cell, Column, Row, Table, number_cell, text_cell

MARKS = {"win": "•", "loss": "◦"}
"""As in the paper: the reference is significantly superior • or inferior ◦ to the method."""


def build(section: dict[str, Any]) -> list[Table]:
    """All tables of a section of the summary, without empty ones."""
    scores = [row for row in section["results"] if row["metric"].startswith("accuracy")]
    transductive = [row for row in section["results"] if row["metric"] == "transductive_accuracy"]
    tables = [
        _results(section, "accuracy", "Accuracy", scores),
        *(_win_tie_loss(section, test) for test in WIN_TIE_LOSS),
        _ranks(section),
        _results(section, "transductive", "Transductive accuracy", transductive),
        _corrected(section, scores),
        _times(section),
        _parameters(section),
    ]
    return [table for table in tables if table.rows]


def front(summary: dict[str, Any]) -> list[Table]:
    """The tables that come before all sections, without empty ones."""
    return [table for table in (_claims(summary), _readings(summary)) if table.rows]


# ---------------------------------------------------------------- the tables


def _claims(summary: dict[str, Any]) -> Table:
    """The claims of the paper, checked."""
    names = ("place", "text", "found", "agrees", "command")
    return Table(
        "claims",
        "",
        "claims",
        "What the paper says, and what we find",
        "How agreement is counted: a share of cases agrees if it is within 5 percentage points of "
        "the published one, and in part if the direction is the same; other claims agree if they "
        "hold in every case. The command in the last column creates the records.",
        [
            Column(title, numeric=False)
            for title in ("Where", "The paper says", "We find", "Agree?", "Reproduce")
        ],
        [Row([text_cell(claim[name]) for name in names]) for claim in summary["claims"]],
    )


def _readings(summary: dict[str, Any]) -> Table:
    """Table 2 under each reading of what the paper leaves open."""
    readings = summary["readings"]
    methods = list(dict.fromkeys(name for reading in readings for name in reading["counts"]))

    def count(reading: dict[str, Any], method: str) -> Cell:
        counts = reading["counts"].get(method, [0, 0, 0])
        if not sum(counts):
            return Cell("–", values={"": ""})
        return Cell(
            "/".join(map(str, counts)),
            sort=reading["distance"][method],
            values=dict(zip(("win", "tie", "loss"), counts, strict=True))
            | {"distance": reading["distance"][method]},
        )

    def line(reading: dict[str, Any]) -> Row:
        known = [value for value in reading["distance"].values() if value is not None]
        return Row(
            [
                text_cell(", ".join(reading["datasets"])),
                text_cell(reading["scaling"]),
                number_cell(reading["n_scores"], "{}"),
                text_cell(reading["selection"]),
                *(count(reading, method) for method in methods),
                number_cell(sum(known) / len(known), "{:.2f}"),
            ]
        )

    published = [
        Row(
            [
                text_cell("published, all four sets"),
                *(text_cell("") for _ in range(3)),
                *(
                    Cell("/".join(map(str, counts)), values={})
                    for counts in (readings[0]["published"].get(method, []) for method in methods)
                ),
                Cell("", values={}),
            ]
        )
        for _ in readings[:1]
    ]
    return Table(
        "readings",
        "",
        "readings",
        "Table 2 under each reading of what the paper leaves open",
        "Win/tie/loss of SURE (two-sample t-test at 0.05) over the settings that are complete for "
        "both methods. The last column is the share of cases that would have to change to give the "
        "published shares, averaged over the methods: the smaller it is, the closer the reading.",
        [
            Column("Data sets", numeric=False),
            Column("Features", numeric=False),
            Column("Scores"),
            Column("Parameters by", numeric=False),
            *(Column(method, method) for method in methods),
            Column("Distance"),
        ],
        [*map(line, readings), *published],
    )


def _plus_minus(mean: float | None, std: float | None) -> str:
    if mean is None:
        return "–"
    return f"{mean:.3f}" if std is None else f"{mean:.3f} ± {std:.3f}"


def _metric_label(row: dict[str, Any]) -> str:
    """The data set as the paper writes it: ``fg-net (MAE3)`` is the share of predictions within 3
    years.
    """
    within = re.fullmatch(r"accuracy_within_(\d+)", row["metric"])
    return f"{row['dataset']} (MAE{within[1]})" if within else row["dataset"]


def _lead(
    section: dict[str, Any], rows: list[dict[str, Any]]
) -> tuple[list[Column], Callable[[dict[str, Any]], list[Cell]]]:
    """The first columns of a table of results: data set, and configuration if there are any."""
    if any(row["configuration"] for row in rows):
        columns = [Column("Data set", numeric=False), Column("Configuration", numeric=False)]
        return columns, lambda row: [text_cell(_metric_label(row)), text_cell(row["configuration"])]
    return [Column("Data set", numeric=False)], lambda row: [text_cell(_metric_label(row))]


def _results(section: dict[str, Any], name: str, title: str, rows: list[dict[str, Any]]) -> Table:
    """Table 4: mean ± standard deviation, marks, the published number beside."""
    lead, first = _lead(section, rows)
    methods = section["methods"] + (section["published_methods"] if name == "accuracy" else [])
    best = [
        max(
            (cell["mean"] for cell in row["cells"].values() if cell["mean"] is not None),
            default=None,
        )
        for row in rows
    ]
    what = (
        ""
        if name == "accuracy"
        else "Share of training rows whose true label was found among the candidates. "
    )
    caption = (
        f"{what}Mean ± standard deviation over {section['folds']} folds; bold is the best of a "
        "row. "
        f"•/◦: {section['reference']} is significantly superior/inferior (two-sample t-test at "
        f"{section['alpha']})."
    )
    if any(cell["published"] for row in rows for cell in row["cells"].values()):
        caption += (
            " Below each, the published number; ↑/↓: ours is higher/lower by more than one "
            "published standard deviation."
        )
    return Table(
        name,
        section["selection"],
        f"{section['name']}-{name}",
        title,
        f"{caption} {chosen_by(section)}",
        [*lead, *(Column(method, method) for method in methods)],
        [
            Row([*first(row), *(_score(row["cells"][m], top) for m in methods)], row["dataset"])
            for row, top in zip(rows, best, strict=True)
        ],
    )


def _score(cell: dict[str, Any], top: float | None) -> Cell:
    """A cell of Table 4."""
    published = cell["published"]
    values = {key: cell[key] for key in ("mean", "std", "n", "verdict", "corrected_p")}
    if published:
        values |= {
            "published mean": published["mean"],
            "published std": published["std"],
            "difference": cell["difference"],
        }
        values |= {"beyond published std": cell["beyond"] if cell["mean"] is not None else None}
    text = _plus_minus(cell["mean"], cell["std"])
    if 0 < cell["n"] < cell["n_folds"]:
        text += f" ({cell['n']}/{cell['n_folds']} folds)"
    return Cell(
        text,
        sort=cell["mean"] if cell["mean"] is not None else (published or {}).get("mean", ""),
        values=values,
        mark=MARKS.get(cell["verdict"], ""),
        best=cell["mean"] is not None and cell["mean"] == top,
        published=_plus_minus(published["mean"], published["std"]) if published else "",
        arrow=("↑" if cell["difference"] > 0 else "↓") if cell["beyond"] else "",
    )


WIN_TIE_LOSS = {
    "verdict": ("Win/tie/loss", "two-sample t-test, as in the paper"),
    "corrected_verdict": (
        "Win/tie/loss, paired",
        "paired t-test with the variance corrected for overlapping training sets",
    ),
}
"""The two tests by which results are counted."""


def _of(counts: str, published: int, ours: int) -> str:
    """Published counts, and their total number if it differs from ours."""
    return counts if published == ours else f"{counts} of {published}"


def _win_tie_loss(section: dict[str, Any], test: str) -> Table:
    """Table 2."""
    title, explanation = WIN_TIE_LOSS[test]
    methods = section["methods"][1:]

    def count(line: dict[str, Any], method: str) -> Cell:
        win, tie, loss = line["cells"][method][test]
        published = line["cells"][method].get("published") if test == "verdict" else None
        return Cell(
            f"{win}/{tie}/{loss}",
            sort=win - loss,
            values={
                "win": win,
                "tie": tie,
                "loss": loss,
                "published": "/".join(map(str, published or ())),
            },
            best=line["family"] == "Total",
            published=_of("/".join(map(str, published)), sum(published), line["n"])
            if published
            else "",
        )

    return Table(
        "counts",
        section["selection"],
        f"{section['name']}-{'win-tie-loss' if test == 'verdict' else 'win-tie-loss-paired'}",
        title,
        f"How often {section['reference']} is significantly better, not distinguishable, or worse "
        f"({explanation}, at {section['alpha']}). {chosen_by(section)}",
        [
            Column("Configuration", numeric=False),
            Column("Results"),
            *(Column(method, method) for method in methods),
        ],
        [
            Row(
                [
                    text_cell(line["family"]),
                    number_cell(line["n"], "{}"),
                    *(count(line, method) for method in methods),
                ]
            )
            for line in section["win_tie_loss"]
        ],
    )


def _ranks(section: dict[str, Any]) -> Table:
    """Average ranks, the best first."""
    ranks = section["ranks"] or {"average": {}}
    caption = ""
    if section["ranks"]:
        caption = (
            f"Friedman's test over {ranks['n']} results: statistic {ranks['statistic']:.2f}, p = "
            f"{ranks['p']:.2g}. Two methods "
            f"differ at {section['alpha']} if their ranks are more than "
            f"{ranks['critical_difference']:.2f} apart (Nemenyi). "
        )
    return Table(
        "ranks",
        section["selection"],
        f"{section['name']}-ranks",
        "Average ranks",
        caption + chosen_by(section),
        [Column("Method", numeric=False), Column("Average rank")],
        [
            Row([text_cell(method), number_cell(rank, "{:.2f}")], method=method)
            for method, rank in sorted(ranks["average"].items(), key=lambda item: item[1])
        ],
    )


def _corrected(section: dict[str, Any], rows: list[dict[str, Any]]) -> Table:
    """p-values of the paired test with the corrected variance."""
    lead, first = _lead(section, rows)
    methods = section["methods"][1:]

    def p_value(cell: dict[str, Any]) -> Cell:
        p, mark = cell["corrected_p"], MARKS.get(cell["corrected_verdict"], "")
        return number_cell(p, "<0.001" if p is not None and p < 0.001 else "{:.3f}", mark=mark)

    return Table(
        "paired",
        section["selection"],
        f"{section['name']}-paired",
        "Paired t-test, p-values",
        f"{section['reference']} against each method, by the paired t-test with the variance "
        "corrected for overlapping training "
        f"sets; •/◦: {section['reference']} is superior/inferior at {section['alpha']}. "
        f"{chosen_by(section)}",
        [*lead, *(Column(method, method) for method in methods)],
        [
            Row([*first(row), *(p_value(row["cells"][m]) for m in methods)], row["dataset"])
            for row in rows
        ]
        if methods
        else [],
    )


def _times(section: dict[str, Any]) -> Table:
    """Seconds of each step."""
    steps = ("select", "fit", "predict")
    return Table(
        "times",
        section["selection"],
        f"{section['name']}-times",
        "Times",
        "Mean seconds per fold: choosing parameters, fitting with the chosen ones, predicting. "
        f"{chosen_by(section)}",
        [
            Column("Data set", numeric=False),
            Column("Method", numeric=False),
            *(Column(f"{step} (s)") for step in steps),
            Column("total (s)"),
            Column("cells"),
        ],
        [
            Row(
                [
                    text_cell(line["dataset"]),
                    text_cell(line["method"]),
                    *(number_cell(line[step], "{:.3g}") for step in steps),
                    number_cell(sum(line[step] for step in steps), "{:.3g}"),
                    number_cell(line["n"], "{}"),
                ],
                line["dataset"],
                line["method"],
            )
            for line in section["times"]
        ],
    )


def _parameters(section: dict[str, Any]) -> Table:
    """Which parameters were chosen, and how often."""

    def choices(chosen: dict[str, list[tuple[str, int]]]) -> str:
        return "; ".join(
            f"{name}: " + ", ".join(f"{v} ×{n}" for v, n in counts)
            for name, counts in chosen.items()
        )

    return Table(
        "parameters",
        section["selection"],
        f"{section['name']}-parameters",
        "Parameters chosen",
        "Every value with the number of trials that chose it, the most frequent first. "
        f"{chosen_by(section)}",
        [
            Column("Data set", numeric=False),
            Column("Method", numeric=False),
            Column("Parameters", numeric=False),
        ],
        [
            Row(
                [
                    text_cell(line["dataset"]),
                    text_cell(line["method"]),
                    text_cell(choices(line["chosen"])),
                ],
                line["dataset"],
                line["method"],
            )
            for line in section["parameters"]
        ],
    )
