"""A real browser, and what is asked of every page; random problems without a stopwatch."""

import re
import shutil
from html.parser import HTMLParser

import pytest
from hypothesis import settings

# A machine that does other things, too, is no reason to fail.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


class Tags(HTMLParser):
    """Every tag of a page with its attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


@pytest.fixture(scope="session")
def tags_of():
    """Every tag of a page with its attributes."""
    return lambda path: Tags(path.read_text(encoding="utf-8")).found


@pytest.fixture(scope="session")
def browser():
    driver = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("needs a Chromium on the path")
    switches = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with driver.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=switches)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser):
    """Open a file or an address; at the end of the test, fail on anything that went wrong on the
    page or was fetched from elsewhere.
    """
    contexts, wrong = [], []

    def go(place, **options):
        address = place if isinstance(place, str) else place.as_uri()
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda sent: sent.url.startswith(address) or wrong.append(sent.url))
        page.goto(address)
        return page

    yield go
    for context in contexts:
        context.close()
    # 409 is what the review says to an answer that is none.
    assert [text for text in wrong if "409" not in text] == []


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.fixture(scope="session")
def contrast():
    """Contrast of a text, or of the text of a figure, to the background of its page, as WCAG
    reckons it.
    """

    def ratio(page, selector):
        attribute = "fill" if "svg" in selector else "color"
        ink = luminance(
            page.locator(selector).first.evaluate(
                f"element => getComputedStyle(element).{attribute}"
            )
        )
        paper = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        return (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05), paper

    return ratio
