"""Compare the labels of a story with the truth that was put aside: ``python check_story.py
FOLDER``.

The folder is one that ``make_stories.py`` made, with what the commands of the story wrote beside
it: ``cleaned.*`` and ``predicted.*``. The naive choice is what one would take without the tool: the
label with most votes, the first one of ties; or, without votes, any of the names at random.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from pathlib import Path
from typing import Any

from surelabel.data.table_files import read_table

Row = dict[str, Any]


def naive_share(row: Row, truth: str) -> float:
    """How often the naive choice for a row is right."""
    if "caption" in row:
        names = row["caption"].split("|")
        return (truth in names) / len(names)
    votes = [
        vote
        for name, vote in row.items()
        if name.startswith(("vote_", "model_")) and vote is not None
    ]
    return float(bool(votes) and Counter(votes).most_common(1)[0][0] == truth)


def read(folder: Path, stem: str, truth: dict[str, str]) -> list[tuple[Row, str]]:
    """The rows of a CSV or Parquet file, each with its true label; none if there is no file."""
    paths = (folder / f"{stem}{form}" for form in (".csv", ".parquet"))
    rows = [row for path in paths if path.exists() for row in read_table(path).to_pylist()]
    return [(row, truth[str(next(iter(row.values())))]) for row in rows]


def main() -> None:
    """Print how many labels are right, before and after."""
    parser = argparse.ArgumentParser(description="Compare the labels of a story with the truth.")
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=Path(),
        help="the folder of one story; by default the current one",
    )
    folder = parser.parse_args().folder
    with open(folder / "truth.csv", encoding="utf-8") as file:
        truth = {row[0]: row[1] for row in csv.reader(file)}
    cleaned, predicted = read(folder, "cleaned", truth), read(folder, "predicted", truth)

    def show(what: str, right: list[float]) -> None:
        if right:
            print(f"{what:<28} {sum(right) / len(right):6.1%} right of {len(right):>4}")

    show("naive choice", [naive_share(row, true) for row, true in cleaned])
    show("cleaned label", [row["label"] == true for row, true in cleaned])
    for status in ("certified", "probable", "look"):
        show(
            f"  of these {status}",
            [row["label"] == true for row, true in cleaned if row["status"] == status],
        )
    show(
        "best where outside",
        [row["best"] == true for row, true in cleaned if row["outside"] is not None],
    )
    show("new rows, predicted", [row["label"] == true for row, true in predicted])


if __name__ == "__main__":
    main()
