"""Make the files that the how-to pages use: ``python make_howto.py FOLDER``.

Flowers are Fisher's irises, with false candidates or wrong labels added. Birds and messages are
those of two stories, essays are made up. The files in docs/howto were made with it.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

from surelabel import make_partial

COLUMNS = ("flower", "sepal_length", "sepal_width", "petal_length", "petal_width")


def flowers(folder: Path) -> None:
    """Write 130 irises with candidates, the same with 15 % wrong labels, 20 new ones, the truth."""
    data = load_iris()
    order = np.random.default_rng(0).permutation(len(data.target))
    names, truth = data.target_names, data.target[order]
    rows = [
        (f"f{number:03}", *map(float, data.data[place])) for number, place in enumerate(order, 1)
    ]
    sets = make_partial(truth, p=0.7, r=1, random_state=0).to_lists()
    rng = np.random.default_rng(1)
    noisy = [
        rng.choice([other for other in range(3) if other != true]) if rng.random() < 0.15 else true
        for true in truth
    ]
    old = range(130)
    write(
        folder / "flowers.csv",
        (*COLUMNS, "candidates"),
        [(*rows[i], "|".join(names[label] for label in sets[i])) for i in old],
    )
    write(
        folder / "noisy_flowers.csv",
        (*COLUMNS, "species"),
        [(*rows[i], names[noisy[i]]) for i in old],
    )
    write(folder / "new_flowers.csv", COLUMNS, rows[130:])
    write(
        folder / "truth.csv",
        ("flower", "truth"),
        [(row[0], names[true]) for row, true in zip(rows, truth, strict=True)],
    )


def essays(folder: Path) -> None:
    """Write 200 made-up essays with the grades that their readers found possible."""
    rng, m = np.random.default_rng(3), 200
    grade = np.clip(np.round(rng.normal(3.4, 1.3, m)), 1, 6).astype(int)
    words = np.round(120 + 45 * grade + rng.normal(0, 60, m)).astype(int)
    slips = np.round(np.clip(14 - 2 * grade + rng.normal(0, 2.5, m), 0, None)).astype(int)
    long = np.round(np.clip(0.05 + 0.03 * grade + rng.normal(0, 0.04, m), 0.01, None), 3)
    sources = rng.poisson(grade / 1.5)
    near = np.clip(grade[:, None] + rng.choice([-1, 0, 1], (m, 2), p=[0.3, 0.4, 0.3]), 1, 6)
    rows = []
    for i in range(m):
        possible = sorted({int(grade[i]), *near[i].tolist()})
        found = (int(words[i]), int(slips[i]), float(long[i]), int(sources[i]))
        rows.append((f"e{i:03}", *found, "|".join(map(str, possible))))
    write(
        folder / "essays.csv", ("essay", "words", "slips", "long_words", "sources", "grades"), rows
    )


def stories(folder: Path) -> None:
    """Write the birds, and the messages as CSV."""
    sys.path.insert(0, str(Path(__file__).parent))
    from make_stories import make

    with tempfile.TemporaryDirectory() as made:
        birds = make("annotators", Path(made)) / "birds.csv"
        (folder / "birds.csv").write_bytes(birds.read_bytes())
        messages = make("llm-votes", Path(made)) / "messages.jsonl"
        rows = [json.loads(line) for line in messages.read_text(encoding="utf-8").splitlines()]
    write(folder / "messages.csv", tuple(rows[0]), [tuple(row.values()) for row in rows])


def write(path: Path, names: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    """Write rows; what is missing is an empty cell."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


def main(folder: Path) -> None:
    """Write all files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    flowers(folder)
    essays(folder)
    stories(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
