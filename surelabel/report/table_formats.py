"""A table as LaTeX or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from .table_parts import Cell, Table

MARKS = {"win": "•", "loss": "◦"}
"""As in the paper: the reference is significantly superior • or inferior ◦ to the method."""


LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "–": "--",
    "•": r"$\bullet$",
    "◦": r"$\circ$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "ε": r"$\epsilon$",
    "λ": r"$\lambda$",
    "β": r"$\beta$",
}
"""What LaTeX needs written otherwise."""


def latex_text(text: str) -> str:
    r"""Escape what LaTeX would take as a command.

    >>> print(latex_text("50% ± 1_a"))
    50\% $\pm$ 1\_a
    """
    return "".join(LATEX.get(character, character) for character in text)


def to_latex(table: Table) -> str:
    """A table environment that needs no package; the published numbers are on a line of their own
    below ours.
    """

    def ours(cell: Cell) -> str:
        text = latex_text(cell.text)
        return (rf"\textbf{{{text}}}" if cell.best else text) + latex_text(cell.mark)

    lines = []
    for row in table.rows:
        lines.append([ours(cell) for cell in row.cells])
        if any(cell.published for cell in row.cells):
            published = [latex_text(cell.published + cell.arrow) for cell in row.cells]
            lines.append([r"\quad published", *published[1:]])
    body = "".join(f"{' & '.join(line)} \\\\\n" for line in lines)
    header = " & ".join(latex_text(column.title) for column in table.columns)
    form = "".join("r" if column.numeric else "l" for column in table.columns)
    caption = latex_text(f"{table.title}. {table.caption}")
    return (
        f"\\begin{{table}}\n\\centering\n\\caption{{{caption}}}\n"
        f"\\begin{{tabular}}{{{form}}}\n\\hline\n{header} "
        f"\\\\\n\\hline\n{body}\\hline\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def to_csv(table: Table) -> str:
    """Comma-separated values: a cell of several numbers takes several columns (``SURE mean``,
    ``SURE std``).
    """
    keys = [
        _unique_keys(row.cells[place] for row in table.rows) for place in range(len(table.columns))
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    titles = (
        f"{column.title} {key}".strip()
        for column, some in zip(table.columns, keys, strict=True)
        for key in some
    )
    writer.writerow([*titles, "selection"])
    for row in table.rows:
        values = (
            cell.values.get(key) for cell, some in zip(row.cells, keys, strict=True) for key in some
        )
        writer.writerow([*values, table.selection])
    return text.getvalue()


def _unique_keys(cells: Iterable[Cell]) -> list[str]:
    return list(dict.fromkeys(key for cell in cells for key in cell.values))
