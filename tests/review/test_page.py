"""The page in a real browser: rows are answered through it alone."""

import json

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="needs surelabel[review]")

from surelabel.tables.answers import read_answers

SHOWN = "() => document.querySelectorAll('#choices button').length > 0 && !document.body.classList.contains('waiting')"  # noqa: E501


@pytest.fixture
def open_page(visit):
    """Open a review, and wait for its first row."""

    def go(server, **options):
        page = visit(server.address, **options)
        page.wait_for_function(SHOWN)
        return page

    return go


def press(page, key):
    """Press a key, and wait for the next row."""
    before = page.evaluate("shown && shown.ticket")
    page.keyboard.press(key)
    page.wait_for_function("before => (shown && shown.ticket) !== before && !waiting", arg=before)


def test_two_hundred_rows_by_keys_alone(serve, open_page):
    """Answer rows of known truth; what clean makes of the answers is nearer to it."""
    server = serve(300, max_error=0.05)
    right = sum(
        server.review.model.found.classes[label] == server.truth[f"p{row}"]
        for row, label in enumerate(server.review.model.found.label)
    )
    page, milliseconds, n = open_page(server), [], 0
    look = "[shown?.name, shown?.choices.map((choice) => choice.label)]"
    while n < 200:
        name, labels = page.evaluate(look)
        truth = server.truth[name]
        press(page, str(labels.index(truth) + 1) if truth in labels else "s")
        milliseconds.append(int(page.evaluate("document.body.dataset.milliseconds")))
        n += 1
    given = read_answers(server.review.file.path)
    assert len(given.answers) == n
    assert all(answer.label == server.truth[row] for row, answer in given.last().items())
    assert server.review.wait()
    found = server.review.model.found
    now = sum(
        found.classes[label] == server.truth[f"p{row}"] for row, label in enumerate(found.label)
    )
    assert now > right
    assert sorted(milliseconds)[n // 2] < 1000  # on a machine that does other things, too
    print("milliseconds, median and largest:", sorted(milliseconds)[n // 2], max(milliseconds))


def test_everything_by_keyboard(serve, open_page):
    server = serve(
        80, new_labels=True, check_share=0.0, max_error=0.3, finish=lambda: ["a.csv", "b.html"]
    )
    page = open_page(server)
    first = page.locator("#name").text_content()
    page.keyboard.press("m")
    page.keyboard.type("1 looks odd")  # a number in a note is no answer
    page.keyboard.press("Escape")
    press(page, "n")
    press(page, "c")
    press(page, "s")
    press(page, "u")
    page.keyboard.press("a")
    page.keyboard.type("do")
    before = page.evaluate("shown.ticket")
    page.keyboard.press("Enter")
    page.wait_for_selector("#message:not([hidden])")
    assert "there is no label 'do'" in page.locator("#message").text_content()
    assert page.evaluate("shown.ticket") == before
    page.locator("#label").fill("zebra")
    page.locator("#new").check()
    page.locator("#other button").click()
    page.wait_for_function("before => shown.ticket !== before", arg=before)
    assert page.locator("#message").is_hidden()
    log = read_answers(server.review.file.path)
    assert [a.verdict for a in log.answers] == ["none", "unknown", "skip", "label"]
    assert log.answers[0].row == first
    assert log.answers[0].note == "1 looks odd"
    assert log.answers[-1].label == "zebra"
    page.locator("#share").evaluate("e => { e.value = 1; e.dispatchEvent(new Event('change')) }")
    page.wait_for_function("() => !waiting")
    assert server.review.check_share == 1
    press(page, "1")
    assert page.locator("#queue").text_content() == "check"
    assert page.locator("#choices .percent").first.is_hidden()
    page.keyboard.press("v")
    assert page.locator("#choices .percent").first.is_visible()
    page.locator("#finish").click()
    page.wait_for_function(
        "() => document.getElementById('written').textContent.includes('b.html')"
    )


def test_names_of_a_table_are_text_only(serve, open_page):
    server = serve(60, new_labels=True, check_share=0.0)
    page = open_page(server)
    before = page.evaluate("shown.ticket")
    page.locator("#label").fill("<img src=x onerror=alert(1)>")
    page.locator("#new").check()
    page.locator("#other button").click()
    page.wait_for_function("before => shown.ticket !== before", arg=before)
    assert "<img src=x onerror=alert(1)>" in server.review.progress()["labels"]
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_and_the_dark(serve, open_page, contrast, dark):
    server = serve(60) if not dark else serve(61)
    page = open_page(
        server, viewport={"width": 390, "height": 844}, color_scheme="dark" if dark else "light"
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    height = page.locator("#choices button").first.bounding_box()["height"]
    assert height >= 44  # as wide as a finger
    for selector in ("#why li", "#hint", "#choices .what", "#worth li"):
        assert contrast(page, selector)[0] >= 4.5, selector
    assert (contrast(page, "#hint")[1] < 0.1) is dark
    page.locator("#choices button").first.click()
    page.wait_for_function("() => !waiting")
    assert len(read_answers(server.review.file.path).answers) == 1


def percentages(page):
    """What stands on the buttons and beside "another label"; less than 1 % counts as nothing."""
    texts = page.locator("#answer .percent").all_text_contents()
    return [0 if text == "<1 %" else int(text.removesuffix(" %")) for text in texts if text]


def test_percentages_add_up_and_a_label_that_is_named_is_shown(serve, open_page):
    server = serve(64, check_share=0.0)
    review = server.review
    for row in range(0, 64, 4):  # as if the features spoke for a label that was not given
        given = review._given.candidates.to_indicator()[row]
        review.model.found.outside[row] = 1
        review.model.found.best[row] = np.flatnonzero(given == 0)[0]
    review.model.learn = lambda labels: None  # and stays so
    page, n_outside, n_another = open_page(server), 0, 0
    for _ in range(25):
        assert sum(percentages(page)) == 100
        shown = page.evaluate("shown")
        labels = [choice["label"] for choice in shown["choices"]]
        assert (shown["another"] is None) == (len(labels) == 4)
        assert page.locator("#another").text_content() == "" or len(labels) < 4
        n_another += len(labels) < 4
        if "not among" in shown["why"][0]:
            beyond = page.locator("#choices .beyond .what").all_text_contents()
            assert shown["why"][0].split()[4].rstrip(",") in beyond
            n_outside += 1
        press(page, "c" if n_outside % 2 else "1")
    assert n_outside >= 2
    assert n_another >= 5


def test_on_a_phone_the_buttons_are_on_the_first_screen(serve, open_page):
    server = serve(65)
    cells = server.review._view.cells
    server.review._view.cells = lambda row: [
        *cells(row), {"name": "story", "kind": "text", "text": "a long word " * 1500},
    ]  # fmt: skip
    page = open_page(server, viewport={"width": 390, "height": 844})
    for _ in range(3):
        assert page.evaluate("document.documentElement.scrollHeight") > 5000
        for place in page.locator("#choices button, .verdicts button:visible").all():
            box = place.bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= 844
            assert place.evaluate(
                "e => { const b = e.getBoundingClientRect();"
                " return e.contains(document.elementFromPoint(b.x + b.width / 2, b.y + 9)) }"
            )  # nothing lies above it
        assert page.locator("#name").bounding_box()["y"] < 300  # and the row can be read
        press(page, "1")
    page.evaluate("scrollTo(0, 0)")
    assert page.locator("#choices button").first.bounding_box()["y"] < 844


def test_roles_for_screen_readers(serve, open_page):
    page = open_page(serve(62))
    assert page.get_by_role("button", name="Undo").is_visible()
    assert page.get_by_role("group", name="Candidates").is_visible()
    assert page.get_by_role("img", name="Rows settled").is_visible()
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, input, textarea')].filter("
        "e => !e.textContent.trim() && !e.labels?.length && !e.ariaLabel).map(e => e.outerHTML)"
    )
    assert unnamed == []
    assert page.locator("#spoken").text_content().startswith("Next row")
    shortcuts = page.locator("#choices button").first.get_attribute("aria-keyshortcuts")
    assert json.loads(shortcuts) == 1


def test_a_server_that_is_gone_is_told_of(serve, open_page):
    server = serve(63)
    page = open_page(server)
    page.evaluate("() => { sent = fetch; fetch = () => Promise.reject(new TypeError('gone')); }")
    page.keyboard.press("1")
    page.wait_for_selector("#message:not([hidden])")
    assert "still running" in page.locator("#message").text_content()
    page.evaluate("() => { fetch = sent; }")
    press(page, "1")
    assert page.locator("#message").is_hidden()
    assert len(read_answers(server.review.file.path).answers) == 1
    page.evaluate("() => { shown.ticket = 'of a review that was restarted'; }")
    page.keyboard.press("1")
    page.wait_for_function("() => !shown.ticket.includes('restarted') && !waiting")
    assert len(read_answers(server.review.file.path).answers) == 1
