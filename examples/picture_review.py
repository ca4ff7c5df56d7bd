"""Take three frames of the review page: ``python picture_review.py PICTURE.gif TABLE OPTIONS…``.

The first row, the one after thirty answers, and what the answers are worth. The truth
comes from the ``truth.csv`` beside the table. Needs playwright and Chromium. The picture in
docs/pictures was made with it.
"""

from __future__ import annotations

import csv
import io
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

SIZE = {"width": 480, "height": 800}
ANSWERS = 30


def main() -> None:
    """Answer on the page, and save the frames."""
    picture, table, *options = sys.argv[1:]
    with open(Path(table).parent / "truth.csv", encoding="utf-8") as file:
        truth = {row[0]: row[1] for row in csv.reader(file)}
    command = [sys.executable, "-m", "surelabel", "review", table, *options, "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    frames = []
    try:
        with sync_playwright() as play:
            browser = play.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport=SIZE)
            page.goto(address)

            def take() -> None:
                page.wait_for_timeout(500)
                frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))

            take()
            for number in range(ANSWERS + 1):
                name = page.locator("#name").text_content()
                if number == ANSWERS:
                    break
                page.keyboard.press("a")
                page.keyboard.type(truth[name])
                page.keyboard.press("Enter")
                page.wait_for_function(
                    "name => document.getElementById('name').textContent !== name", arg=name
                )
            take()
            page.evaluate("document.getElementById('progress').scrollIntoView()")
            take()
            browser.close()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
    drawn = [frame.quantize(64, dither=Image.Dither.NONE) for frame in frames]
    drawn[0].save(picture, save_all=True, append_images=drawn[1:], duration=3000, loop=0)


if __name__ == "__main__":
    main()
