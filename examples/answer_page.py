"""Play the person at the review page: ``python answer_page.py HOW_MANY TABLE OPTIONS…``.

Starts ``surelabel review TABLE OPTIONS… --no-browser``, answers HOW_MANY rows in the same way as
the page, with the truth from the ``truth.csv`` beside the table, presses Finish and ends it. With
your own table, you do this in the browser.
"""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen


def main() -> None:
    """Answer, finish, and print what the page showed."""
    how_many, table, *options = sys.argv[1:]
    with open(Path(table).parent / "truth.csv", encoding="utf-8") as file:
        truth = {row[0]: row[1] for row in csv.reader(file)}
    command = [sys.executable, "-m", "surelabel", "review", table, *options, "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    if not address:
        sys.exit(f"the page could not be started: {' '.join(command[2:])}")

    def ask(action: str, **said: Any) -> dict[str, Any]:
        body = json.dumps({"client": "script"} | said).encode()
        request = Request(address + action, body, {"Content-Type": "application/json"})
        with urlopen(request, timeout=300) as reply:
            return dict(json.load(reply))

    try:
        shown, given = ask("next"), 0
        while shown["row"] and given < int(how_many):
            row = shown["row"]
            answer = {"verdict": "label", "label": truth[row["name"]]}
            ask("answer", ticket=row["ticket"], **answer)
            while not ask("progress")["progress"]["learned"]:
                time.sleep(0.1)  # a person reads meanwhile
            shown = ask("next")
            given += 1
        written = ask("finish")["written"]
        progress = ask("progress")["progress"]
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
    print(f"{given} rows answered, {progress['settled']} of {progress['rows']} settled")
    print(progress["audit"])
    print(f"written: {', '.join(written)}")


if __name__ == "__main__":
    main()
