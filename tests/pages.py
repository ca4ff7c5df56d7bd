"""What every page promises, whatever it shows."""

LINKS = ("href", "xlink:href")


def check_alone(text, tags, at_least):
    """A page refers to nothing outside itself, and often to its parts."""
    assert "default-src 'none'" in text
    assert "url(http" not in text
    assert "@import" not in text
    assert not [tag for tag, _ in tags if tag in ("link", "img", "iframe", "object", "embed")]
    refers = [found[name] for _, found in tags for name in ("src", *LINKS) if name in found]
    assert len(refers) >= at_least
    assert all(value.startswith("#") for value in refers)


def check_links(tags):
    """Ids are unique, and links lead to them; returns where they lead."""
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    links = [found[name][1:] for _, found in tags for name in LINKS if name in found]
    assert set(links) <= set(ids)
    return links


def check_harmless(text, tags):
    """Names that hold markup stay text."""
    assert [tag for tag, _ in tags].count("script") == 1
    assert "img" not in [tag for tag, _ in tags]
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
    assert "&lt;script&gt;window.harmed" in text


def check_print(page):
    """Printed, a page has all rows and no controls."""
    page.emulate_media(media="print")
    assert page.locator("#filters:visible, nav:visible").count() == 0
    for box in page.locator(".scroll").all():
        assert box.evaluate("element => element.scrollHeight <= element.clientHeight + 2")


def check_without_script(browser, path, rows, at_least):
    """Without scripts, a page shows its rows and no controls."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator("#filters:visible").count() == 0
    assert page.locator(f"{rows}:visible").count() >= at_least
    context.close()
