"""Take a small picture of a report: ``python picture_report.py REPORT.html PICTURE.png [--section
look]``.

Needs playwright and Chromium. The pictures in docs/stories were made with it.
"""

from __future__ import annotations

import argparse
import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

WIDTH = 1200


def main() -> None:
    """Open the page, take the picture, and save it with few colours."""
    parser = argparse.ArgumentParser(description="Take a picture of a part of a report.")
    parser.add_argument("report", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--height", type=int, default=640)
    parser.add_argument(
        "--section", help="where to begin: look, annotators, ...; by default at the top"
    )
    given = parser.parse_args()
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": given.height})
        page.goto(given.report.resolve().as_uri())
        top = page.locator(f"#{given.section}").bounding_box()["y"] if given.section else 0
        part = {"x": 0, "y": top, "width": WIDTH, "height": given.height}
        taken = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=part)))
        browser.close()
    taken.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(given.picture, optimize=True)


if __name__ == "__main__":
    main()
