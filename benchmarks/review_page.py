"""How long does the next row take? The time from the key press to the next row on the screen, with
the model refitted, in a browser.

``python benchmarks/review_page.py`` starts ``surelabel review`` on a table of 2,000 rows (digits,
with noise, 64 features, five candidates each: exact kernels) and on one of 20,000 (20 features, 10
classes: landmarks), opens the page in Chromium and answers by key presses: in quick succession, and
after a second of reading each. Needs playwright and a Chromium on the path.
"""

import argparse
import csv
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits, make_classification

from surelabel import make_partial

SIZES = (2_000, 20_000)
#: The moment of the key press, and the one after the frame in which the next row is drawn.
WATCH = """
addEventListener("keydown", (event) => {
  window.pressed = event.timeStamp;
  window.drawn = 0;
}, true);
addEventListener("DOMContentLoaded", () => new MutationObserver(() => requestAnimationFrame(() => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { window.drawn = performance.now(); };
  port2.postMessage(0);
})).observe(document.getElementById("choices"), { childList: true }));
"""


def make_rows(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    if n_rows <= 5_000:
        X, y = load_digits(return_X_y=True)
        drawn = rng.permutation(np.resize(np.arange(len(y)), n_rows))
        return X[drawn] + rng.normal(0, 0.5, (n_rows, 64)), y[drawn]
    return make_classification(n_rows, 20, n_informative=12, n_classes=10, class_sep=1.5,
                               n_clusters_per_class=2, random_state=seed)  # fmt: skip


def write_table(path, n_rows):
    X, y = make_rows(n_rows)
    sets = make_partial(y, p=1.0, r=4, random_state=0).to_lists()
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["row", *(f"x{k}" for k in range(X.shape[1])), "candidates"])
        for i, (x, labels) in enumerate(zip(X, sets, strict=True)):
            writer.writerow([f"r{i}", *(f"{v:.4f}" for v in x), "|".join(map(str, labels))])
    return {f"r{i}": str(label) for i, label in enumerate(y)}


def press(page, truth):
    """Answer the row that is shown by its key; milliseconds until the next one is drawn."""
    name, labels = page.evaluate("[shown.name, shown.choices.map((choice) => choice.label)]")
    page.keyboard.press(str(labels.index(truth[name]) + 1))
    page.wait_for_function("() => window.drawn && !waiting")
    return page.evaluate("window.drawn - window.pressed")


def measure(n_rows, n_answers, pause, browser):
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "rows.csv"
        truth = write_table(table, n_rows)
        command = [sys.executable, "-m", "surelabel", "review", str(table), "--labels",
                   "candidates", "--id", "row", "--no-browser"]  # fmt: skip
        start = time.perf_counter()
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            address = server.stdout.readline().strip()
            print(f"{n_rows:,} rows: started in {time.perf_counter() - start:.1f} s", flush=True)
            for wait in (0.0, pause):
                context = browser.new_context(viewport={"width": 1280, "height": 900})
                page = context.new_page()
                page.add_init_script(WATCH)
                page.goto(address)
                page.wait_for_function("() => shown && !waiting")
                times = []
                for _ in range(n_answers):
                    page.wait_for_timeout(1000 * wait)
                    times.append(press(page, truth))
                context.close()
                half, most, worst = np.percentile(times, [50, 95, 100])
                how = f"after {wait:g} s each" if wait else "at once"
                print(f"  {n_answers} answers {how}: median {half:.0f} ms, 95 % within {most:.0f} "
                      f"ms, slowest {worst:.0f} ms", flush=True)  # fmt: skip
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=SIZES)
    parser.add_argument("--answers", type=int, default=40)
    parser.add_argument("--pause", type=float, default=1.0)
    given = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))))
    print(platform.processor() or platform.machine(), platform.python_version())
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        for n_rows in given.rows:
            measure(n_rows, given.answers, given.pause, browser)
        browser.close()


if __name__ == "__main__":
    main()
