"""What the pages take from the package and the report: filled in when the site is built, and, for
the pages in ``WRITTEN``, written into them by ``python docs/hooks.py``.
"""

import re
from collections import defaultdict
from functools import cache
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any

from surelabel import all_methods
from surelabel.experiments.records import read

try:
    import griffe
except ImportError:  # without the libraries of the site the pages can still be compared
    griffe = None

#: The modules whose ``__all__`` is the public API, in the order of the reference.
PUBLIC = (
    "surelabel",
    "surelabel.estimators",
    "surelabel.estimators.checks",
    "surelabel.data",
    "surelabel.data.catalog",
    "surelabel.evaluation",
    "surelabel.tables",
    "surelabel.experiments",
    "surelabel.report",
    "surelabel.distributed",
    "surelabel.solvers",
    "surelabel.exceptions",
)


#: The pages with a table between comments, ``<!-- people -->`` and ``<!-- end of people -->``.
WRITTEN = ("methods.md", "reproduction.md")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the tables and the public names: what is added to the package is on its page."""
    markdown = re.sub(
        r"(<!-- (methods|people) -->\n).*(<!-- end of \2 -->)",
        lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n\n{found[3]}",
        markdown,
        flags=re.DOTALL,
    )
    return re.sub(r"<!-- names of (\S+) -->", lambda found: public_names(found[1]), markdown)


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


def people_table() -> str:
    """Accuracy on candidate sets made by people, from the records, as Markdown."""
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    for study, how in (("people", "scaled"), ("people-raw", "as published")):
        run = read(Path(__file__).parent / f"reproduction/records/{study}")
        for record in run.records:
            title = f"{record['dataset']}, {how}"
            scores[title, record["method"]].append(record["scores"]["accuracy"])
        methods, datasets = run.study["methods"], run.study["datasets"]
    columns = [f"{name}, {how}" for name in sorted(datasets) for how in ("scaled", "as published")]
    lines = [["method", *columns], [":---", *["---:"] * len(columns)]]
    for method in methods:
        lines.append([method, *(f"{fmean(scores[title, method]):.3f}" for title in columns)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TABLES = {"methods": methods_table, "people": people_table}


def public_names(module: str) -> str:
    """The public names of a module: each documented where it is met first, elsewhere a link."""
    own, elsewhere = [], []
    for name in sorted(import_module(module).__all__, key=str.lower):
        path = f"{module}.{name}"
        home = documented().get(id(getattr(import_module(module), name)))
        if name == "__version__":
            own.append(f"## `{path}`\n\nThe version that is installed, as a string.")
        elif home == path:
            own.append(f"::: {path}")
        else:
            elsewhere.append(f"[`{name}`][{home}]")
    links = [f"Also importable from here: {', '.join(elsewhere)}."] if elsewhere else []
    return "\n\n".join([*links, *own])


@cache
def documented() -> dict[int, str]:
    """Every public object by its identity, with the first place it can be imported from."""
    places: dict[int, str] = {}
    for module in map(import_module, PUBLIC):
        for name in module.__all__:
            places.setdefault(id(getattr(module, name)), f"{module.__name__}.{name}")
    return places


ROLE = re.compile(r":(?:func|class|meth|mod|attr):`(~?)([^`]+)`")


def with_links(text: str, module: str, owner: str = "") -> str:
    """Markdown of a docstring: roles become links where the name is public, other names are set as
    code; headings that the reader of numpydoc leaves in the text are set bold.
    """

    def link(found: re.Match[str]) -> str:
        shown = found[2].rpartition(".")[2] if found[1] else found[2].lstrip(".")
        target = _target(found[2], module, owner)
        return f"[`{shown}`][{target}]" if target else f"`{shown}`"

    text = re.sub(r"^(Notes|References|See Also)\n-+\n", r"**\1**\n\n", text, flags=re.MULTILINE)
    return ROLE.sub(link, text.replace(".. [", "["))


def _target(text: str, module: str, owner: str) -> str | None:
    """Where a name that a docstring of a module gives is documented; None for one that is not."""
    name = text.lstrip("~")
    for start in dict.fromkeys((module, f"{module}.{owner}", "")):
        path = f"{start}.{name}" if start else name
        holder, _, last = path.rpartition(".")
        for found, rest in ((_find(path), ""), (_find(holder), f".{last}")):
            home = documented().get(id(found))
            if home and (not rest or hasattr(found, last)):
                return home + rest
    return None


def _find(path: str) -> Any:
    """What a dotted path stands for; a new object, which nobody documents, for nothing."""
    head, *parts = path.split(".")
    if head != "surelabel":
        return object()
    found: Any = import_module(head)
    for number, part in enumerate(parts, 1):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = import_module(".".join([head, *parts[:number]]))
            except ImportError:
                return object()
    return found


if griffe:

    class Roles(griffe.Extension):
        """Docstrings as Markdown, when the site is built."""

        def on_object(self, *, obj: Any, **_: Any) -> None:
            """Rewrite the docstring of one object."""
            if obj.docstring:
                owner = obj if obj.is_class else obj.parent
                name = owner.name if owner is not None and owner.is_class else ""
                obj.docstring.value = with_links(obj.docstring.value, obj.module.path, name)


if __name__ == "__main__":
    for page in map(Path(__file__).with_name, WRITTEN):
        page.write_text(on_page_markdown(page.read_text(encoding="utf-8")), encoding="utf-8")
