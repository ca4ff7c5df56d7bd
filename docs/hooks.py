"""What the pages take from the package, when they are built."""

from typing import Any

from surelabel import all_methods


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the table of methods: a method that is added to the package is on the page."""
    return markdown.replace("{{ methods }}", methods_table())


def methods_table() -> str:
    """Every method with its idea, cost, grid and reference, as Markdown."""
    head = "| method | idea | cost of a fit (m rows, n features, l labels) | chosen by cross-validation |\n|---|---|---|---|"
    rows, references = [], []
    for method in all_methods().values():
        grid = "; ".join(f"{name}: {', '.join(map(str, values))}" for name, values in method.grid.items()) or "–"
        rows.append(f"| **{method.name}**<br>`{method.estimator.__name__}` | {method.idea} | {method.cost} | {grid} |")
        references.append(f"- {method.name}: {method.reference}")
    return "\n".join([head, *rows, "", *references])
