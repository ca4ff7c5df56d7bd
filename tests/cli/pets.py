"""A small table with doubtful labels."""

import numpy as np
import pyarrow as pa

CLASSES = ("cat", "cow", "dog")


def make_table(m=60, seed=0):
    """Three kinds of animals that size and weight tell apart; two thirds have two candidates, every
    tenth is known.
    """
    rng = np.random.default_rng(seed)
    kind = np.arange(m) % 3
    other = (kind + 1 + rng.integers(0, 2, m)) % 3
    return pa.table(
        {
            "name": [f"animal {i}" for i in range(1, m + 1)],
            "size": np.round(kind * 4 + rng.normal(0, 0.5, m), 3),
            "weight": np.round(kind * 3 + rng.normal(0, 0.5, m), 3),
            "colour": [("red", "brown")[k] for k in rng.integers(0, 2, m)],
            "candidates": [
                CLASSES[k] if i // 3 % 3 == 0 else "|".join(sorted((CLASSES[k], CLASSES[o])))
                for i, (k, o) in enumerate(zip(kind, other, strict=True))
            ],
            "truth": [CLASSES[k] if i % 10 == 0 else None for i, k in enumerate(kind)],
            "note": ['as it is, with "quotes"' if i % 7 else None for i in range(m)],
        }
    )


def without_labels(table):
    return table.drop_columns(["candidates", "truth"])
