"""The page, read and in a real browser."""

import base64
import hashlib
import re
from functools import cache

import pytest

from tests.pages import check_alone, check_harmless, check_links, check_print, check_without_script

HOSTILE = "<script>window.harmed = true</script>\"'><img src=x onerror='window.harmed = true'>"


@pytest.fixture(scope="module")
def write(made_up, tmp_path_factory):
    """Write the page of made-up records, changed or not."""
    from surelabel.experiments.records import Run
    from surelabel.report.html import render_html
    from surelabel.report.page import page_of
    from surelabel.report.summary import summarize

    @cache
    def make(name, change=lambda record: None, **changes):
        study, records, _ = made_up(name, folds=3, **changes)
        for record in records:
            change(record)
        page = page_of(summarize([Run(study, records, [])]))
        path = tmp_path_factory.mktemp("page") / "report.html"
        path.write_text(render_html(page), encoding="utf-8")
        return path

    return make


def make_hostile(record):
    if record["dataset"] == "lost":
        record["dataset"] = HOSTILE
    if record["method"] in ("SURE", "CLPL"):
        record["method"] += HOSTILE
    record["machine"] = {"cpu": HOSTILE}
    record["parameters"] = {HOSTILE: HOSTILE}


def test_the_page_needs_nothing_else(write, tags_of):
    check_alone(write("table4").read_text(), tags_of(write("table4")), 1)


def test_only_our_script_is_allowed(write):
    text = write("table4").read_text()
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'" in text


def test_ids_are_unique_and_links_lead_somewhere(write, tags_of):
    assert len(check_links(tags_of(write("figure1")))) > 20


def test_hostile_names_stay_text(write, tags_of):
    path = write("table4", make_hostile)
    check_harmless(path.read_text(), tags_of(path))


def test_oracle_is_marked(write):
    assert 'class="criterion oracle"' in write("table4", selection="oracle").read_text()
    assert 'class="criterion oracle"' not in write("table4").read_text()


# ---------------------------------------------------------------- in the browser


def column(page, table, place):
    return (
        page.locator("main table")
        .nth(table)
        .locator(f"tbody tr td:nth-child({place})")
        .all_inner_texts()
    )


def test_sorts(write, visit):
    page = visit(write("table4"))
    before = column(page, 0, 1)
    heading = page.locator("main table").first.locator("th").nth(2)
    for way, reverse in (("ascending", False), ("descending", True)):
        heading.get_by_role("button").click()
        assert heading.get_attribute("aria-sort") == way
        scores = [float(text.split()[0]) for text in column(page, 0, 3)]
        assert scores == sorted(scores, reverse=reverse)
    assert sorted(column(page, 0, 1)) == sorted(before)
    page.locator("main table").first.locator("th [role=button]").first.press("Enter")
    assert column(page, 0, 1) == sorted(before)
    assert heading.get_attribute("aria-sort") is None


def test_missing_numbers_sort_last_both_ways(write, visit):
    page = visit(write("beyond", datasets=("lost", "msrcv2", "fg-net")))
    heading = page.locator("main table").first.locator("th", has_text="best published")
    for first in ("0.602", "0.812"):
        heading.click()
        texts = column(page, 0, 4)
        assert first in texts[0]
        assert texts[-1].strip() == "–"


@pytest.mark.parametrize(
    "name", ["figure1", "figure5-sensitivity", "figure5-convergence", "table4"]
)
def test_shows_every_figure(write, visit, name):
    page = visit(write(name))
    page.evaluate("document.querySelectorAll('details.block').forEach((part) => part.open = true)")
    boxes = [svg.bounding_box() for svg in page.locator("figure svg").all()]
    assert boxes
    assert all(box["width"] > 250 and box["height"] > 100 for box in boxes)
    assert all(svg.get_attribute("aria-label") for svg in page.locator("figure svg").all())


def test_results_start_open_and_the_rest_folded(write, visit):
    page = visit(write("table4"))
    parts = page.locator("details.block")
    start = {part.locator("h3").inner_text(): part.get_attribute("open") for part in parts.all()}
    assert start["Accuracy"] is not None
    assert start["Win/tie/loss"] is not None
    assert start["Parameters chosen"] is None
    page.get_by_role("link", name="Parameters chosen").click()
    page.locator("details.block:target[open]").wait_for()  # the script opens it after the click


def test_hostile_names_do_no_harm(write, visit):
    page = visit(write("table4", make_hostile))
    assert page.evaluate("window.harmed") is None
    assert HOSTILE in page.locator("main table").first.inner_text()
    rows = page.locator("main table").first.locator("tbody tr:visible", has_text="window.harmed")
    assert rows.count() == 1


def test_a_phone_need_not_scroll_sideways(write, visit):
    page = visit(write("figure1"))
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "selector",
    ["h1", ".caption", "td", "td small.beyond", "figure svg text", "nav a", "th [role=button]"],
)
def test_text_can_be_read_in_light_and_dark(write, visit, contrast, scheme, selector):
    page = visit(write("table4"), color_scheme=scheme)
    ratio, paper = contrast(page, selector)
    assert ratio > 4.5  # WCAG AA
    assert (paper < 0.1) == (scheme == "dark")


def test_prints_all_rows_without_controls(write, visit):
    check_print(visit(write("figure1")))


def test_works_without_script(write, browser):
    check_without_script(browser, write("table4"), "tbody tr", 6)
