"""Play the person who looks at rows: ``python answer.py TABLE CLEANED GOLD HOW_MANY -o ANSWERED``.

Takes the first rows to look at from the output of ``surelabel clean``, and writes their true
labels, from the ``truth.csv`` beside the table, into its column GOLD. With your own table, you do
this by hand.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Write the answers, and print how many there are."""
    parser = argparse.ArgumentParser(description="Answer the first rows to look at with the truth.")
    parser.add_argument("table", type=Path, help="the table as it was cleaned (CSV)")
    parser.add_argument("cleaned", type=Path, help="what surelabel clean wrote (CSV)")
    parser.add_argument("gold", help="the column of known-true labels")
    parser.add_argument("how_many", type=int, help="how many rows to look at")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="where to write the table with the answers"
    )
    given = parser.parse_args()
    rows = read(given.table)
    name = next(iter(rows[0]))
    truth = {row[name]: row["truth"] for row in read(given.table.parent / "truth.csv")}
    asked = {
        row[name]
        for row in read(given.cleaned)
        if row["look"] and int(row["look"]) <= given.how_many
    }
    for row in rows:
        if row[name] in asked:
            row[given.gold] = truth[row[name]]
    with open(given.output, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{given.output}: {len(asked)} rows answered")


if __name__ == "__main__":
    main()
