"""What the report says and in which order; HTML and Markdown only render it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

from .claims import NOT_ENOUGH
from .drawing import Gallery
from .figures import figures_of
from .tables import Table, front_tables, tables_of

#: The topics of a section in their order on the page, and whether each is unfolded at first.
TOPICS = {
    "accuracy": True,
    "counts": True,
    "curves": True,
    "ranks": False,
    "sensitivity": True,
    "convergence": True,
    "transductive": False,
    "distance": False,
    "paired": False,
    "times": False,
    "parameters": False,
}
#: Tables with more rows start folded, and have their own file in Markdown.
LONGEST = 40


@dataclass(frozen=True)
class Section:
    """One study under one selection criterion."""

    name: str  # the names of its files contain it
    title: str
    oracle: bool  # whether parameters were chosen by true labels
    notes: list[str]  # what a reader must know: criterion, folds, scaling, trials, limits
    displays: list[Table | Gallery]


@dataclass(frozen=True)
class Page:
    """The whole report."""

    in_short: list[str]  # what agrees with the paper and what does not, in a few sentences
    front: list[Table]  # what comes before the sections
    sections: list[Section]
    finished: str  # when the last trial finished
    facts: list[str]  # versions and machines

    @property
    def displays(self) -> list[Table | Gallery]:
        """All tables and figures."""
        return [*self.front, *chain.from_iterable(part.displays for part in self.sections)]


def page_of(summary: dict[str, Any]) -> Page:
    """The page of a summary (:func:`surelabel.report.summary.summarize`), with all figures
    drawn.
    """
    return Page(
        in_short=in_short(summary),
        front=front_tables(summary),
        sections=[_section_of(section) for section in summary["sections"]],
        finished=summary["finished"],
        facts=[
            ", ".join(f"{name} {value}" for name, value in facts.items())
            for facts in summary["versions"] + summary["machines"]
        ],
    )


def is_long(display: Table | Gallery) -> bool:
    """Whether this is a table of many rows."""
    return isinstance(display, Table) and len(display.rows) > LONGEST


def _section_of(section: dict[str, Any]) -> Section:
    topics = list(TOPICS)
    displays: list[Table | Gallery] = [*tables_of(section), *figures_of(section)]
    displays.sort(key=lambda display: topics.index(display.topic))
    return Section(section["name"], section["title"], section["oracle"], _notes(section), displays)


def in_short(summary: dict[str, Any]) -> list[str]:
    """What agrees with the paper and what does not, in a few sentences."""
    lines = [
        f"{section['title']}: {_within_published(section)}"
        for section in summary["sections"]
        if section["agreement"]
    ]
    verdicts = [claim["agrees"] for claim in summary["claims"] if claim["agrees"]]
    if verdicts:
        lines.append(
            f"Of {len(verdicts)} claims of the paper {verdicts.count('yes')} hold, "
            f"{verdicts.count('in part')} in part, {verdicts.count('no')} do not."
        )
    if undecided := len(summary["claims"]) - len(verdicts):
        lines.append(f"Claims of the paper with {NOT_ENOUGH}: {undecided}.")
    unfinished = [section["title"] for section in summary["sections"] if section["gaps"]]
    if unfinished:
        lines.append(f"Not finished: {'; '.join(unfinished)}.")
    return lines


def _within_published(section: dict[str, Any]) -> str:
    return "{within} of {compared} means lie within one published standard deviation.".format(
        **section["agreement"]
    )


def _notes(section: dict[str, Any]) -> list[str]:
    """What a reader must know about a section."""
    lines = [
        f"Selection criterion: {section['criterion']}.",
        f"{section['folds']} folds, scaling of features: {', '.join(section['scaling'])}; "
        f"{section['n_records']} finished trials.",
    ]
    if section["agreement"]:
        lines.append(_within_published(section))
    lines += [
        f"{line['dataset']}: parameters chosen on {line['n_select']} of {line['n_train']} training "
        "rows."
        for line in section["capped"]
    ]
    lines += [
        f"{line['method']} on {line['dataset']}: {line['stopped']} of {line['n']} fits stopped "
        "before they converged."
        for line in section["fits"]
        if line["stopped"] and section["kind"] != "convergence"
    ]
    if section["outdated"]:
        lines.append(
            "Outdated (made with other defaults) and left out: "
            f"{'; '.join(section['outdated'])}. Run the study again."
        )
    if section["gaps"]:
        lines.append(f"Not finished: {'; '.join(section['gaps'])}.")
    return lines
