"""Every example in the README and the documentation is run as printed."""

import doctest
import re
from pathlib import Path
from runpy import run_path

import pytest

from surelabel import all_methods

ROOT = Path(__file__).parents[1]
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if ">>>" in page.read_text()
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples(page):
    failures, tried = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert tried > 1
    assert failures == 0


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_page_of_the_methods_has_them_all():
    page = (ROOT / "docs/methods.md").read_text(encoding="utf-8")
    assert page == run_path(ROOT / "docs/hooks.py")["on_page_markdown"](page), (
        "run: python docs/hooks.py"
    )
    for method in all_methods().values():
        assert (
            f"| **{method.name}**<br>`{method.estimator.__name__}` | {method.idea} | {method.cost} "
            "|" in page
        )
        assert f"- {method.name}: {method.reference}" in page
