"""What the pages take from the package: filled in when the site is built, and written into them by
``python docs/hooks.py``.
"""

import re
from pathlib import Path
from typing import Any

from surelabel import all_methods


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the table of methods: a method that is added to the package is on the page."""
    return re.sub(
        "(<!-- methods -->\\n).*(<!-- end of methods -->)",
        lambda found: f"{found[1]}\n{methods_table()}\n\n{found[2]}",
        markdown,
        flags=re.DOTALL,
    )


def methods_table() -> str:
    """Every method with its idea, cost, grid and reference, as Markdown."""
    head = (
        "| method | idea | cost of a fit (m rows, n features, l labels) | chosen by "
        "cross-validation |\n|---|---|---|---|"
    )
    rows, references = [], []
    for method in all_methods().values():
        grid = (
            "; ".join(
                f"{name}: {', '.join(map(str, values))}" for name, values in method.grid.items()
            )
            or "–"
        )
        rows.append(
            f"| **{method.name}**<br>`{method.estimator.__name__}` | {method.idea} | {method.cost} "
            f"| {grid} |"
        )
        references.append(f"- {method.name}: {method.reference}")
    return "\n".join([head, *rows, "", *references])


if __name__ == "__main__":
    page = Path(__file__).with_name("methods.md")
    page.write_text(on_page_markdown(page.read_text(encoding="utf-8")), encoding="utf-8")
