"""Time and peak memory of PALOC on as many labels as Soccer Player has: 171, which makes 14,535
pairs.
"""

import argparse
import resource
import time

import numpy as np

from surelabel import CandidateSets
from surelabel.estimators.paloc import PALOCClassifier


def made_up(
    rows: int, features: int, labels: int, average: float, dtype: str, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, CandidateSets]:
    rng = np.random.default_rng(seed)
    y = rng.integers(labels, size=rows)
    X = (
        0.35 * rng.standard_normal((labels, features))[y] + rng.standard_normal((rows, features))
    ).astype(dtype)
    Y = rng.random((rows, labels)) < (average - 1) / (labels - 1)
    Y[np.arange(rows), y] = True
    return X, y, CandidateSets.from_indicator(Y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=17_000)
    parser.add_argument("--features", type=int, default=279)
    parser.add_argument("--labels", type=int, default=171)
    parser.add_argument("--average", type=float, default=2.1, help="candidates of a row")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    test = options.rows // 10
    X, y, candidates = made_up(
        options.rows + test, options.features, options.labels, options.average, options.dtype
    )
    print(candidates[:-test])
    wall, cpu = time.perf_counter(), time.process_time()
    model = PALOCClassifier(n_jobs=options.jobs, verbose=True).fit(X[:-test], candidates[:-test])
    print(f"fit      {time.perf_counter() - wall:7.1f} s, {time.process_time() - cpu:7.1f} CPU s")
    wall, cpu = time.perf_counter(), time.process_time()
    accuracy = np.mean(model.predict(X[-test:]) == y[-test:])
    print(
        f"predict  {time.perf_counter() - wall:7.1f} s, {time.process_time() - cpu:7.1f} CPU s for "
        f"{test} rows"
    )
    print(f"peak     {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:7.2f} GiB")
    print(
        f"accuracy {accuracy:7.3f}, of the training rows "
        f"{np.mean(model.transduction_ == y[:-test]):.3f}"
    )


if __name__ == "__main__":
    main()
