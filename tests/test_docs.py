"""Every example in the README and the documentation is run as printed."""

import doctest
import re
import textwrap
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from runpy import run_path

import pytest
from typer.main import get_command

import surelabel
from surelabel import all_methods
from surelabel.cli import app
from surelabel.cli._settings import ABOUT

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
#: Stories and how-to pages need their files: tests/test_stories.py runs these.
PAGES = [
    page
    for page in DOCUMENTS
    if page.parent.name not in ("stories", "howto") and ">>>" in page.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples(page):
    failures, tried = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert tried > 1
    assert failures == 0


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.name)
def test_code_is_python(page):
    """What cannot be run here, such as a cluster, is at least Python."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^ *```python\n(.*?)^ *```", text, re.M | re.S):
        if ">>>" not in block:
            compile(textwrap.dedent(block), page.name, "exec")


def anchors(page):
    """The anchors that headings of a page have on GitHub and on the site."""
    headings = re.findall("^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    words = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in headings)
    return {re.sub(r"\s", "-", text.strip()) for text in words}


def test_links_lead_somewhere():
    anchored = 0
    for page in DOCUMENTS:
        text = re.sub(r"(?s)```.*?```", "", page.read_text(encoding="utf-8"))
        for link in re.findall(r"\]\(([^)\s]+)[^)]*\)", text):
            target, _, anchor = link.partition("#")
            if target.startswith("http"):
                continue
            there = page.parent / target if target else page
            assert there.exists(), f"{page.name} links to {target}"
            if anchor and there.suffix == ".md":
                anchored += 1
                assert anchor in anchors(there), f"{page.name} links to {link}"
    assert anchored > 2


@pytest.fixture(scope="module")
def hooks():
    return run_path(str(ROOT / "docs/hooks.py"))


def test_the_tables_of_pages_are_those_of_the_package_and_the_report(hooks):
    for name, table in zip(hooks["WRITTEN"], hooks["TABLES"].values(), strict=True):
        page = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert page == hooks["on_page_markdown"](page), "run: python docs/hooks.py"
        assert table() in page


def test_the_page_of_the_commands_has_every_option(hooks):
    page = hooks["on_page_markdown"]((ROOT / "docs/reference/commands.md").read_text("utf-8"))
    for name, command in get_command(app).commands.items():
        assert f"## `surelabel {name}`" in page
        for parameter in command.params:
            assert hooks["_row"](parameter) in page
    assert all(f"`{name}`" in page for name, about in ABOUT.items() if about.metavar is None)


def test_pages_stay_short():
    """Words without tables and code."""

    def words(page):
        text = page.read_text(encoding="utf-8")
        return len(re.sub(r"(?s)<!--.*?-->|\|.*?\n|```.*?```", " ", text).split())

    assert words(ROOT / "README.md") <= 450
    assert words(ROOT / "docs/reference/commands.md") <= 1500
    made = ("report.md", "results.md")
    pages = (ROOT / "docs").rglob("*.md")
    assert sum(words(page) for page in pages if page.name not in made) <= 13_000


def test_options_of_the_pages_exist():
    commands = get_command(app).commands.values()
    known = {
        name for command in commands for parameter in command.params for name in parameter.opts
    }
    known |= {"--help", "--install-completion"}
    for page in DOCUMENTS:
        if page.name in ("CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "report.md"):
            continue
        text = page.read_text(encoding="utf-8")
        settings = re.findall(r"--settings '?(\w+)=", text)
        assert set(settings) <= {*ABOUT, "NAME"}, page.name
        used = re.findall(r"(?:`|surelabel [^`\n]* )(--[a-z][a-z-]+)", text)
        assert set(used) <= known | BENCHMARKS, page.name


#: Options of the benchmarks and of other programs.
BENCHMARKS = {"--dask", "--only", "--sets", "--seeds", "--page"}


def test_the_gallery(hooks):
    assert sorted(hooks["GALLERY"]) == sorted(
        path.stem for path in (ROOT / "examples/gallery").glob("*.py")
    )
    for name in hooks["GALLERY"]:
        cells = hooks["run"](name)
        assert cells[0]["cell_type"] == "markdown"
        assert any(cell.get("outputs") for cell in cells)
    assert hooks["gallery"]().count("As a notebook") == 6


def test_the_page_of_the_methods_has_them_all():
    page = (ROOT / "docs/reference/methods.md").read_text(encoding="utf-8")
    for method in all_methods().values():
        assert (
            f"| **{method.name}**<br>`{method.estimator.__name__}` | {method.idea} | {method.cost} "
            "|" in page
        )
        assert f"- {method.name}: {method.reference}" in page


def test_every_public_name_is_in_the_reference(hooks):
    folders = {f"surelabel.{module.name}" for module in iter_modules(surelabel.__path__)}
    folders = {name for name in folders if hasattr(import_module(name), "__all__")}
    assert folders <= set(hooks["PUBLIC"])
    sources = {page: page.read_text(encoding="utf-8") for page in (ROOT / "docs/api").glob("*.md")}
    pages = "\n".join(hooks["on_page_markdown"](source) for source in sources.values())
    given = re.findall("<!-- names of (.+) -->", "\n".join(sources.values()))
    wanted = [name for name in hooks["PUBLIC"] if import_module(name).__all__]
    assert sorted(given) == sorted(wanted)
    entries = re.findall("^::: (.+)$", pages, re.MULTILINE)
    assert len(entries) == len(set(entries))
    for module in map(import_module, wanted):
        for name in module.__all__:
            assert getattr(module, name) is not None
            if name != "__version__":  # a text, made anew each time
                home = hooks["documented"]()[id(getattr(module, name))]
                assert home in entries, f"{module.__name__}.{name} is not in the reference"
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(f"api/{page.name}" in navigation for page in sources)


def test_roles_become_links(hooks):
    def shown(text, module="surelabel.data.corruption", owner=""):
        return hooks["with_links"](text, module, owner)

    assert shown(":func:`make_partial`") == "[`make_partial`][surelabel.make_partial]"
    assert shown(":class:`~surelabel.SUREClassifier`").endswith("[surelabel.SUREClassifier]")
    assert shown(":meth:`CandidateSets.describe`").endswith("[surelabel.CandidateSets.describe]")
    assert shown(":func:`load`", "surelabel.data.catalog").endswith("[surelabel.data.catalog.load]")
    assert shown(":class:`pyarrow.Table`") == "`pyarrow.Table`"
    assert shown(":func:`~surelabel.solvers.alternate.alternate`") == "`alternate`"
    assert shown("Notes\n-----\nA word.") == "**Notes**\n\nA word."
