"""A small table with known truth under review."""

import csv

import numpy as np
import pytest

from surelabel.data.table_files import read_table
from surelabel.tables.reading import TableRead

NAMES = ("cat", "cow", "dog", "emu")


def write_rows(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def make_rows(n=160, seed=0):
    """Animals of four kinds in the plane, each with two or three candidates."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0, 0], [3, 0], [0, 3], [3, 3]])
    rows, truth = [], {}
    for i in range(n):
        kind = int(rng.integers(4))
        x, y = centres[kind] + rng.normal(0, 1.0, 2)
        others = rng.permutation([k for k in range(4) if k != kind])[: int(rng.integers(1, 3))]
        candidates = "|".join(NAMES[k] for k in sorted([kind, *others.tolist()]))
        note = f"seen at {i} o'clock"
        rows.append({"pet": f"p{i}", "x": f"{x:.3f}", "y": f"{y:.3f}", "note": note,
                     "candidates": candidates})  # fmt: skip
        truth[f"p{i}"] = NAMES[kind]
    return rows, truth


@pytest.fixture(scope="session")
def pets():
    return make_rows()


@pytest.fixture
def table(pets, tmp_path):
    return write_rows(tmp_path / "pets.csv", pets[0])


OPTIONS = {"labels": "candidates", "id": "pet", "exclude": "note"}


@pytest.fixture
def read_pets(table):
    def read(path=table, **changed):
        return TableRead(read_table(path), OPTIONS | changed)

    return read
