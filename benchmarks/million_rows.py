"""``surelabel clean`` on a large CSV file: time and peak memory.

``python benchmarks/million_rows.py [--rows 1000000] [--columns 50] [--classes 10] [--report]``
writes the file, runs the command in a separate process, and compares the result with the truth,
which is not in the file.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from surelabel import make_partial
from surelabel.data.table_files import read_table


def make(path, m, n, l, seed=0):
    """Rows around ``l`` centres; 70 % of them have two false candidates, 1 % a known-true label, 2
    % of the cells are empty.
    """
    rng = np.random.default_rng(seed)
    centres, names = rng.standard_normal((l, n)), np.array([f"class {k}" for k in range(l)])
    y = rng.integers(0, l, m)
    writer = None
    for start in range(0, m, 50_000):
        part = y[start : start + 50_000]
        X = centres[part] + 2.5 * rng.standard_normal((len(part), n))
        empty = rng.random(X.shape) < 0.02
        columns = {"id": [f"row {i}" for i in range(start + 1, start + len(part) + 1)]}
        columns |= {f"x{j}": pa.array(np.round(X[:, j], 4), mask=empty[:, j]) for j in range(n)}
        candidates = make_partial(names[part], p=0.7, r=2, classes=names, random_state=seed + start)
        columns["candidates"] = ["|".join(row) for row in candidates.to_lists()]
        columns["gold"] = pa.array(names[part], mask=rng.random(len(part)) > 0.01)
        table = pa.table(columns)
        writer = writer or pa_csv.CSVWriter(path, table.schema)
        writer.write_table(table)
    writer.close()
    return names[y]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--report", action="store_true", help="write the page, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "table.csv", Path(folder) / "cleaned.csv"
        truth = make(source, given.rows, given.columns, given.classes)
        print(
            f"{given.rows:,} rows × {given.columns} columns, {source.stat().st_size / 1e6:,.0f} MB "
            "of CSV"
        )
        words = [
            "clean",
            source,
            "-o",
            target,
            "--labels",
            "candidates",
            "--gold",
            "gold",
            "--id",
            "id",
            "--json",
        ]
        words += ["--report", Path(folder) / "page.html"] if given.report else []
        start = time.perf_counter()
        code = "from surelabel.cli import app; app()"
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, words)], stdout=subprocess.PIPE, check=True
        )
        wall = time.perf_counter() - start
        found, cleaned = json.loads(done.stdout), read_table(target)
        kept = cleaned["status"].to_numpy() == "probable"
        right = cleaned["label"].to_numpy() == truth
        kibibytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(f"  {wall:.1f} s, peak memory {kibibytes / 2**10:,.0f} MB")
        print(
            f"{found['method']} {found['parameters']}, solver {found['solver']}; {found['status']}"
        )
        print(
            f"error of the {kept.mean():.1%} of the rows kept: expected "
            f"{found['expected_error']:.2%}, true "
            f"{1 - right[kept].mean():.2%}; of all rows: {1 - right.mean():.2%}"
        )


if __name__ == "__main__":
    main()
