"""The tables of the report: rows and columns of text, which the renderers print."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .summary import chosen_by

#: As in the paper: the reference is significantly superior • or inferior ◦ to the method.
MARKS = {"win": "•", "loss": "◦"}
#: The two tests by which results are counted: title and explanation.
TESTS = {
    "verdict": ("Win/tie/loss", "two-sample t-test, as in the paper"),
    "corrected_verdict": (
        "Win/tie/loss, paired",
        "paired t-test with the variance corrected for overlapping training sets",
    ),
}


@dataclass(frozen=True)
class Cell:
    """One entry of a table."""

    text: str
    sort: float | str = ""  # by which the column is sorted
    mark: str = ""  # of significance
    best: bool = False  # printed in bold
    published: str = ""  # the published number, printed beside ours
    arrow: str = ""  # ↑ or ↓ if ours is more than one published standard deviation away


@dataclass(frozen=True)
class Column:
    """A column: its title, and whether it holds numbers."""

    title: str
    numeric: bool = True


Row = list[Cell]


@dataclass(frozen=True)
class Table:
    """A table ready to print; its name is also its file's, and its topic decides its place on the
    page.
    """

    name: str
    title: str
    caption: str
    columns: list[Column]
    rows: list[Row]
    topic: str = ""


def text_cell(value: str) -> Cell:
    """A cell of text."""
    return Cell(value, sort=value)


def number_cell(value: float | None, pattern: str, **more: Any) -> Cell:
    """A cell of one number; a dash if there is none."""
    return Cell("–", **more) if value is None else Cell(pattern.format(value), sort=value, **more)


def text_columns(*titles: str) -> list[Column]:
    """Columns of text."""
    return [Column(title, numeric=False) for title in titles]


def tables_of(section: dict[str, Any]) -> list[Table]:
    """All tables of a section of the summary, without empty ones."""
    scores = [row for row in section["results"] if row["metric"].startswith("accuracy")]
    transductive = [row for row in section["results"] if row["metric"] == "transductive_accuracy"]
    found = "Share of training rows whose true label was found among the candidates. "
    methods = section["methods"]
    tables = [
        _results(
            section, "accuracy", "Accuracy", "", scores, methods + section["published_methods"]
        ),
        *(_win_tie_loss(section, test) for test in TESTS),
        _ranks(section),
        _results(section, "transductive", "Transductive accuracy", found, transductive, methods),
        _mean_error(section),
        _paired(section, scores),
        _times(section),
        _parameters(section),
    ]
    return [table for table in tables if table.rows]


def front_tables(summary: dict[str, Any]) -> list[Table]:
    """The tables that come before all sections, without empty ones."""
    return [table for table in (_claims(summary), _readings(summary)) if table.rows]


# ---------------------------------------------------------------- before the sections


def _claims(summary: dict[str, Any]) -> Table:
    """The claims of the paper, checked."""
    names = ("place", "text", "found", "agrees", "command")
    return Table(
        "claims",
        "What the paper says, and what we find",
        "How agreement is counted: a share of cases agrees if it is within 5 percentage points of "
        "the published one, and in part if the direction is the same; other claims agree if they "
        "hold in every case. The command in the last column creates the records.",
        text_columns("Where", "The paper says", "We find", "Agree?", "Reproduce"),
        [[text_cell(claim[name]) for name in names] for claim in summary["claims"]],
    )


def _readings(summary: dict[str, Any]) -> Table:
    """Table 2 under each reading of what the paper leaves open."""
    readings = summary["readings"]
    methods = list(dict.fromkeys(name for reading in readings for name in reading["counts"]))

    def count(reading: dict[str, Any], method: str) -> Cell:
        counts = reading["counts"].get(method, [0, 0, 0])
        return Cell(_slashed(counts), reading["distance"][method]) if sum(counts) else Cell("–")

    def row(reading: dict[str, Any]) -> Row:
        known = [value for value in reading["distance"].values() if value is not None]
        return [
            text_cell(", ".join(reading["datasets"])),
            text_cell(reading["scaling"]),
            number_cell(reading["n_scores"], "{}"),
            text_cell(reading["selection"]),
            *(count(reading, method) for method in methods),
            number_cell(sum(known) / len(known), "{:.2f}"),
        ]

    rows = [row(reading) for reading in readings]
    if readings:
        published = (readings[0]["published"].get(method, []) for method in methods)
        texts = ["published, all four sets", "", "", ""]
        cells = [*map(text_cell, texts), *(Cell(_slashed(counts)) for counts in published)]
        rows.append([*cells, Cell("")])
    return Table(
        "readings",
        "Table 2 under each reading of what the paper leaves open",
        "Win/tie/loss of SURE (two-sample t-test at 0.05) over the settings that are complete for "
        "both methods. The last column is the share of cases that would have to change to give the "
        "published shares, averaged over the methods: the smaller it is, the closer the reading.",
        [
            *text_columns("Data sets", "Features"),
            Column("Scores"),
            *text_columns("Parameters by"),
            *map(Column, methods),
            Column("Distance"),
        ],
        rows,
    )


# ---------------------------------------------------------------- tables of a section


def _table(
    section: dict[str, Any],
    topic: str,
    title: str,
    caption: str,
    columns: list[Column],
    rows: list[Row],
    name: str = "",
) -> Table:
    """A table of a section: its name and its caption say which."""
    return Table(
        f"{section['name']}-{name or topic}",
        title,
        f"{caption} {chosen_by(section)}",
        columns,
        rows,
        topic,
    )


def _slashed(counts: list[int]) -> str:
    return "/".join(map(str, counts))


def _plus_minus(mean: float | None, std: float | None) -> str:
    if mean is None:
        return "–"
    return f"{mean:.3f}" if std is None else f"{mean:.3f} ± {std:.3f}"


def _by_setting(
    section: dict[str, Any],
    topic: str,
    title: str,
    caption: str,
    rows: list[dict[str, Any]],
    methods: list[str],
    cells: Callable[[dict[str, Any]], list[Cell]],
) -> Table:
    """A table with a row per setting and a column per method."""
    configured = any(row["configuration"] for row in rows)

    def line(row: dict[str, Any]) -> Row:
        # As the paper writes it: fg-net (MAE3) is the share of predictions within 3 years.
        within = re.fullmatch(r"accuracy_within_(\d+)", row["metric"])
        dataset = f"{row['dataset']} (MAE{within[1]})" if within else row["dataset"]
        first = [dataset, row["configuration"]] if configured else [dataset]
        return [*map(text_cell, first), *cells(row)]

    first = text_columns("Data set", "Configuration") if configured else text_columns("Data set")
    columns = [*first, *map(Column, methods)]
    return _table(section, topic, title, caption, columns, [line(row) for row in rows])


def _results(
    section: dict[str, Any],
    topic: str,
    title: str,
    what: str,
    rows: list[dict[str, Any]],
    methods: list[str],
) -> Table:
    """Table 4: mean ± standard deviation, marks, the published number beside."""
    caption = (
        f"{what}Mean ± standard deviation over {section['folds']} folds, or those that a cell "
        f"names; bold is the best of a row. •/◦: {section['reference']} is significantly "
        f"superior/inferior (two-sample t-test at {section['alpha']})."
    )
    if any(cell["published"] for row in rows for cell in row["cells"].values()):
        caption += (
            " Below each, the published number; ↑/↓: ours is higher/lower by more than one "
            "published standard deviation."
        )

    def scores(row: dict[str, Any]) -> list[Cell]:
        means = [cell["mean"] for cell in row["cells"].values() if cell["mean"] is not None]
        best = max(means, default=None)
        return [_score(row["cells"][method], best) for method in methods]

    return _by_setting(section, topic, title, caption, rows, methods, scores)


def _mean_error(section: dict[str, Any]) -> Table:
    """Distances of labels with an order."""
    rows = [row for row in section["results"] if row["metric"] == "mean_absolute_error"]
    caption = "Mean distance between predicted and true labels; smaller is better."

    def errors(row: dict[str, Any]) -> list[Cell]:
        cells = [row["cells"][method] for method in section["methods"]]
        least = min((cell["mean"] for cell in cells if cell["mean"] is not None), default=None)
        return [_score(cell | {"verdict": ""}, least) for cell in cells]

    methods = section["methods"]
    return _by_setting(section, "distance", "Mean error", caption, rows, methods, errors)


def _score(cell: dict[str, Any], best: float | None) -> Cell:
    """A cell of Table 4."""
    published = cell["published"]
    text = _plus_minus(cell["mean"], cell["std"])
    if 0 < cell["n"] < cell["n_folds"]:
        text += f" ({cell['n']}/{cell['n_folds']} folds)"
    return Cell(
        text,
        sort=cell["mean"] if cell["mean"] is not None else (published or {}).get("mean", ""),
        mark=MARKS.get(cell["verdict"], ""),
        best=cell["mean"] is not None and cell["mean"] == best,
        published=_plus_minus(published["mean"], published["std"]) if published else "",
        arrow=("↑" if cell["difference"] > 0 else "↓") if cell["beyond"] else "",
    )


def _win_tie_loss(section: dict[str, Any], test: str) -> Table:
    """Table 2."""
    title, explanation = TESTS[test]
    methods = section["methods"][1:]

    def count(line: dict[str, Any], method: str) -> Cell:
        counts = line["cells"][method][test]
        theirs = line["cells"][method]["published"] if test == "verdict" else None
        published = _slashed(theirs or [])
        if theirs and sum(theirs) != line["n"]:
            published += f" of {sum(theirs)}"
        total = line["family"] == "Total"
        sort = counts[0] - counts[2]
        return Cell(_slashed(counts), sort=sort, best=total, published=published)

    def row(line: dict[str, Any]) -> Row:
        lead = [text_cell(line["family"]), number_cell(line["n"], "{}")]
        return [*lead, *(count(line, method) for method in methods)]

    return _table(
        section,
        "counts",
        title,
        f"How often {section['reference']} is significantly better, not distinguishable, or worse "
        f"({explanation}, at {section['alpha']}).",
        [*text_columns("Configuration"), Column("Results"), *map(Column, methods)],
        [row(line) for line in section["win_tie_loss"]],
        "win-tie-loss" if test == "verdict" else "win-tie-loss-paired",
    )


def _ranks(section: dict[str, Any]) -> Table:
    """Average ranks, the best first."""
    ranks, caption, rows = section["ranks"], "", []
    if ranks:
        caption = (
            f"Friedman's test over {ranks['n']} results: statistic {ranks['statistic']:.2f}, p = "
            f"{ranks['p']:.2g}. Two methods differ at {section['alpha']} if their ranks are more "
            f"than {ranks['critical_difference']:.2f} apart (Nemenyi)."
        )
        rows = [
            [text_cell(method), number_cell(rank, "{:.2f}")]
            for method, rank in sorted(ranks["average"].items(), key=lambda item: item[1])
        ]
    columns = [*text_columns("Method"), Column("Average rank")]
    return _table(section, "ranks", "Average ranks", caption, columns, rows)


def _paired(section: dict[str, Any], rows: list[dict[str, Any]]) -> Table:
    """p-values of the paired test with the corrected variance."""
    methods = section["methods"][1:]

    def p_value(cell: dict[str, Any]) -> Cell:
        p, mark = cell["corrected_p"], MARKS.get(cell["corrected_verdict"], "")
        return number_cell(p, "<0.001" if p is not None and p < 0.001 else "{:.3f}", mark=mark)

    return _by_setting(
        section,
        "paired",
        "Paired t-test, p-values",
        f"{section['reference']} against each method, by the paired t-test with the variance "
        f"corrected for overlapping training sets; •/◦: {section['reference']} is "
        f"superior/inferior at {section['alpha']}.",
        rows if methods else [],
        methods,
        lambda row: [p_value(row["cells"][method]) for method in methods],
    )


def _times(section: dict[str, Any]) -> Table:
    """Seconds of each step."""
    steps = ("select", "fit", "predict")

    def row(line: dict[str, Any]) -> Row:
        seconds = [line[step] for step in steps]
        cells = [text_cell(line["dataset"]), text_cell(line["method"])]
        cells += [number_cell(number, "{:.3g}") for number in (*seconds, sum(seconds))]
        return [*cells, number_cell(line["n"], "{}")]

    return _table(
        section,
        "times",
        "Times",
        "Mean seconds per fold: choosing parameters, fitting with the chosen ones, predicting.",
        [
            *text_columns("Data set", "Method"),
            *(Column(f"{step} (s)") for step in (*steps, "total")),
            Column("cells"),
        ],
        [row(line) for line in section["fits"]],
    )


def _parameters(section: dict[str, Any]) -> Table:
    """Which parameters were chosen, and how often."""

    def row(line: dict[str, Any]) -> Row:
        chosen = "; ".join(
            f"{name}: " + ", ".join(f"{value} ×{n}" for value, n in counts)
            for name, counts in line["chosen"].items()
        )
        return [text_cell(text) for text in (line["dataset"], line["method"], chosen)]

    return _table(
        section,
        "parameters",
        "Parameters chosen",
        "Every value with the number of trials that chose it, the most frequent first.",
        text_columns("Data set", "Method", "Parameters"),
        [row(line) for line in section["fits"] if line["chosen"]],
    )
