"""A table of the report as LaTeX."""

from __future__ import annotations

from .tables import Cell, Table

#: Characters that LaTeX writes differently.
SPECIAL = {
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


def latex_text(text: str) -> str:
    r"""Escape what LaTeX would take as a command.

    >>> print(latex_text("50% ± 1_a"))
    50\% $\pm$ 1\_a
    """
    return "".join(SPECIAL.get(character, character) for character in text)


def latex_table(table: Table) -> str:
    """A table environment that needs no package; the published numbers are on a line of their own
    below ours.
    """

    def ours(cell: Cell) -> str:
        text = latex_text(cell.text)
        return (rf"\textbf{{{text}}}" if cell.best else text) + latex_text(cell.mark)

    lines = []
    for row in table.rows:
        lines.append([ours(cell) for cell in row])
        if any(cell.published for cell in row):
            published = [latex_text(cell.published + cell.arrow) for cell in row]
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
