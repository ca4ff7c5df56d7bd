"""SURE on a Dask cluster: two workers compared with one, and with the same fit in memory.

Run it on an idle machine with at least 2 cores: ``python benchmarks/dask_sure.py``. Workers are
processes of one thread; OMP_NUM_THREADS and the like must not be set, because workers would inherit
them. Instances are created on the workers and never leave them; the times are the best of several
fits, in turns.
"""

import argparse
import logging
import time
import warnings

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

import surelabel
from surelabel import make_partial
from surelabel.distributed import SUREClassifier

N_FEATURES, N_CLASSES = 100, 100


def cloud(size, labels, block_id):
    """Rows around the centres of their classes."""
    centres = np.random.default_rng(0).standard_normal((N_CLASSES, N_FEATURES))
    noise = np.random.default_rng([1, block_id[0]]).standard_normal((size, N_FEATURES))
    return centres[labels[block_id[0] * size :][:size]] + 3 * noise


def instances(labels, size):
    """The rows as a dask array, in blocks of ``size``."""
    chunks = ((size,) * (len(labels) // size), (N_FEATURES,))
    return da.map_blocks(
        cloud, size, dask.delayed(labels), chunks=chunks, dtype=float, meta=np.empty((0, 0))
    )


def held(client, n_blocks):
    """The largest share of the blocks that one worker holds."""
    blocks = [sum("_make_block" in str(key) for key in keys) for keys in client.has_what().values()]
    return max(blocks) / n_blocks


def fit(n_workers, labels, candidates, size, n_components):
    """Seconds of a fit, the model, and the largest share of a worker in the middle of it."""
    shares = []
    quiet = {"dashboard_address": None, "silence_logs": logging.ERROR, "threads_per_worker": 1}
    with LocalCluster(n_workers=n_workers, **quiet) as cluster, Client(cluster) as client:
        client.run(__import__, "surelabel.distributed")
        X = instances(labels, size).persist()
        client.gather(client.map(len, client.futures_of(X)))
        model = SUREClassifier(
            n_components=n_components,
            callback=lambda _: shares.append(held(client, len(labels) // size)),
        )
        started = time.perf_counter()
        model.fit(X, candidates)
        return time.perf_counter() - started, model, max(shares)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--components", type=int, default=1000)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    size = arguments.rows // arguments.blocks
    labels = np.random.default_rng(2).integers(0, N_CLASSES, size * arguments.blocks)
    candidates = make_partial(labels, p=0.7, r=2, random_state=0)
    print(
        f"{len(labels):,} rows × {N_FEATURES}, {N_CLASSES} labels, D = {arguments.components}, "
        f"{arguments.blocks} blocks"
    )

    best, models, shares = {1: np.inf, 2: np.inf}, {}, {}
    for _ in range(arguments.repeat):
        for n_workers in best:
            seconds, models[n_workers], shares[n_workers] = fit(
                n_workers, labels, candidates, size, arguments.components
            )
            best[n_workers] = min(best[n_workers], seconds)
    print(
        f"{'workers':>8} {'seconds':>8} {'iterations':>10} {'largest share of X':>19} "
        f"{'right labels':>13}"
    )
    for n_workers, model in models.items():
        right = np.mean(model.transduction_ == labels)
        print(
            f"{n_workers:8} {best[n_workers]:8.1f} {model.n_iter_:10} {shares[n_workers]:19.0%} "
            f"{right:13.1%}"
        )
    same = np.array_equal(models[1].confidence_.data, models[2].confidence_.data)
    print(
        f"2 workers over 1: {best[2] / best[1]:.2f} of the time; confidences the same to the last "
        f"bit: {same}"
    )

    X = np.asarray(instances(labels, size).compute())
    started = time.perf_counter()
    model = surelabel.SUREClassifier(solver="nystroem", n_components=arguments.components).fit(
        X, candidates
    )
    seconds = time.perf_counter() - started
    difference = np.abs(model.confidence_.data - models[2].confidence_.data).max()
    print(
        f"in memory, 2 threads: {seconds:.1f} s; largest difference of confidences {difference:.1e}"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
