"""What the pages take from the package and the report: filled in when the site is built, and, for
the pages in ``WRITTEN``, written into them by ``python docs/hooks.py``.
"""

import base64
import io
import json
import os
import re
import warnings
from collections import defaultdict
from contextlib import redirect_stdout
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
WRITTEN = (
    "reference/methods.md",
    "evidence/paper.md",
    "evidence/ordered.md",
    "evidence/ordered.md",
)

#: The examples of the gallery, in their order.
GALLERY = ("candidates", "votes", "noisy", "pipeline", "methods", "frames")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the tables and the public names: what is added to the package is on its page."""
    markdown = re.sub(
        r"(<!-- (methods|people|ages|orders) -->\n).*(<!-- end of \2 -->)",
        lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n\n{found[3]}",
        markdown,
        flags=re.DOTALL,
    )
    for mark, made in (("options", options), ("settings", settings), ("gallery", gallery)):
        before, begin, rest = markdown.partition(f"<!-- {mark} -->")
        if begin:  # up to the end, there is what readers of the file see instead
            markdown = before + made() + rest.partition(f"<!-- end of {mark} -->")[2]
    return re.sub(r"<!-- names of (\S+) -->", lambda found: public_names(found[1]), markdown)


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add each example of the gallery as a notebook."""
    from mkdocs.structure.files import File

    for name in GALLERY:
        notebook = json.dumps({"cells": run(name), **NOTEBOOK}, indent=1)
        files.append(File.generated(config, f"gallery/{name}.ipynb", content=notebook))
    return files


NOTEBOOK = {
    "metadata": {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
    },
    "nbformat": 4,
    "nbformat_minor": 4,
}


@cache
def run(name: str) -> list[dict[str, Any]]:
    """Run an example, and return it as the cells of a notebook, with what they print and draw."""
    os.environ.setdefault("MPLBACKEND", "agg")
    import matplotlib.pyplot as plt

    script = Path(__file__).parents[1] / f"examples/gallery/{name}.py"
    known: dict[str, Any] = {"__name__": "__main__"}
    cells: list[dict[str, Any]] = []
    for part in re.split(r"^# %%", script.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, _, source = part.partition("\n")
        source = source.strip("\n")
        if "markdown" in head:
            text = re.sub("^# ?", "", source, flags=re.MULTILINE)
            cells.append({"cell_type": "markdown", "metadata": {}, "source": text})
            continue
        printed = io.StringIO()
        with redirect_stdout(printed), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*non-interactive.*")
            exec(compile(source, str(script), "exec"), known)
        outputs: list[dict[str, Any]] = []
        if printed.getvalue():
            outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
        for number in plt.get_fignums():
            drawn = io.BytesIO()
            plt.figure(number).savefig(drawn, format="png", dpi=110)
            data = {"image/png": base64.b64encode(drawn.getvalue()).decode()}
            outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
        plt.close("all")
        cells.append(
            {
                "cell_type": "code",
                "metadata": {},
                "source": source,
                "outputs": outputs,
                "execution_count": sum(cell["cell_type"] == "code" for cell in cells) + 1,
            }
        )
    return cells


def gallery() -> str:
    """The examples with their outputs, as Markdown."""
    parts = []
    for name in GALLERY:
        for cell in run(name):
            if cell["cell_type"] == "markdown":
                parts.append(re.sub("^# ", "## ", cell["source"]))
                continue
            parts.append(f"```python\n{cell['source']}\n```")
            for output in cell["outputs"]:
                if "text" in output:
                    parts.append(f"```text\n{output['text'].rstrip()}\n```")
                else:
                    parts.append(f"![figure](data:image/png;base64,{output['data']['image/png']})")
        parts.append(f"[As a notebook](gallery/{name}.ipynb)")
    return "\n\n".join(parts)


def options() -> str:
    """Every command with its options, as Markdown; options that several share are listed once."""
    from typer.main import get_command

    from surelabel.cli import app

    parts, shared = [], {}
    for name, command in get_command(app).commands.items():
        own, also = [], []
        for parameter in command.params:
            if getattr(parameter, "rich_help_panel", None) in (None, "Annotation tools"):
                own.append(_row(parameter))
            else:
                shared[parameter.opts[0]] = _row(parameter)
                also.append(f"`{parameter.opts[0]}`")
        text = re.sub(r"\s*\n\s*", " ", command.help.split("\n\n")[0]).strip()
        parts.append(f"## `surelabel {name}`\n\n{text}\n")
        if own:
            parts.append("\n".join([*HEAD, *own, ""]))
        if also:
            parts.append(f"[Shared options](#shared-options): {', '.join(also)}\n")
    return "\n".join([*parts, "## Shared options\n", *HEAD, *shared.values()])


HEAD = ("| option | value | |", "|---|---|---|")


def _row(parameter: Any) -> str:
    """One option as a line of a table."""
    names = ", ".join(f"`{name}`" for name in parameter.opts)
    value = "" if getattr(parameter, "is_flag", False) else parameter.metavar or ""
    if not names.startswith("`-"):
        names, value = f"`{parameter.metavar or parameter.opts[0].upper()}`", ""
    help = re.sub(r"\s+", " ", parameter.help or "").replace("|", "\\|")
    needed = " Needed." if parameter.required else ""
    return f"| {names} | {value} | {help}{needed} |"


def settings() -> str:
    """Every setting that has no option of its own, as Markdown."""
    from surelabel.cli._settings import ABOUT

    rows = (
        f"| `{name}` | {about.help.replace('|', chr(92) + '|')} |"
        for name, about in ABOUT.items()
        if about.metavar is None
    )
    return "\n".join(["| setting | |", "|---|---|", *rows])


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


def ages_table() -> str:
    """FG-NET with the order and without it, from the records, as Markdown."""
    run = read(Path(__file__).parent / "reproduction/records/ordered")
    metrics = {"accuracy": "exact", "accuracy_within_3": "within 3 years"}
    metrics |= {"accuracy_within_5": "within 5 years", "mean_absolute_error": "mean error (years)"}
    lines = [["method", *metrics.values()], [":---", *["---:"] * len(metrics)]]
    for method in run.study["methods"]:
        own = [record["scores"] for record in run.records if record["method"] == method]
        means = {metric: fmean(scores[metric] for scores in own) for metric in metrics}
        lines.append([method, *(f"{value:.3f}" for value in means.values())])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def orders_table() -> str:
    """Mean error and share of exact predictions on other tables, from the records, as Markdown."""
    text = (Path(__file__).parent / "ordered/records.jsonl").read_text(encoding="utf-8")
    found: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for record in map(json.loads, text.splitlines()):
        numbers = f"{record['mean_error']:.3f} ({record['exact']:.3f})"
        found[record["table"], record["kind"]][record["method"]] = numbers
    methods = ["PURE", "PURE, order", "PURE, order, absolute loss"]
    lines = [["table", "false candidates", *methods], [":---", ":---", *["---:"] * 3]]
    lines += [[*key, *(row[method] for method in methods)] for key, row in found.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TABLES = {
    "methods": methods_table,
    "people": people_table,
    "ages": ages_table,
    "orders": orders_table,
}


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
    for page in map(Path(__file__).parent.joinpath, WRITTEN):
        page.write_text(on_page_markdown(page.read_text(encoding="utf-8")), encoding="utf-8")
