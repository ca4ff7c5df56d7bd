"""Where cells run: processes of this machine (joblib), or a Dask cluster. Results come back in the
order they finish.
"""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from itertools import islice
from threading import Thread
from typing import Any, TypeVar

import joblib

from ..exceptions import SurelabelError

T = TypeVar("T")

#: At most so many items are with the Dask scheduler at a time: enough for any cluster, and little
#: to send.
WINDOW = 1000

#: Ctrl-C at a terminal reaches every process; the workers leave it to the parent, which stops them.
_DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


class BackendError(SurelabelError):
    """The processes that should run the cells cannot be had, or died."""


def run_with_joblib(
    function: Callable[[Any], T], items: Sequence[Any], workers: int
) -> Generator[T]:
    """Run in processes of this machine; with one worker, in this process.

    Parameters
    ----------
    function : callable
        Of one item.
    items : sequence
    workers : int
        Number of processes.

    Yields
    ------
    result
        As each is ready. Items go out one by one, so that none finished waits for others.
    """
    follow = {"initializer": _follow, "initargs": (os.getpid(),)}
    pool = joblib.Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1, **follow)
    results = pool(joblib.delayed(function)(item) for item in items)
    try:
        for result in results:  # noqa: UP028 (not `yield from`: closing this must come to `finally` first)
            yield result
    except BrokenProcessPool as error:
        raise _died(error) from None
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # that tasks are cancelled is what stopping means
            results.close()


def run_with_dask(
    function: Callable[[Any], T], items: Sequence[Any], workers: int, address: str
) -> Generator[T]:
    """Run on a Dask cluster.

    Parameters
    ----------
    function : callable
        Of one item.
    items : sequence
    workers : int
        Number of processes, for a cluster on this machine.
    address : str
        Of the scheduler, or "local" for a cluster made for this run.

    Yields
    ------
    result
        As each is ready.
    """
    try:
        from distributed import Client, KilledWorker, LocalCluster, as_completed
    except ImportError:
        raise BackendError("Dask is not installed: pip install 'surelabel[dask]'") from None
    with ExitStack() as stack:
        try:
            cluster = address
            if address == "local":
                quiet = {
                    "dashboard_address": ":0",
                    "silence_logs": logging.ERROR,
                    "preload": [_DEAF],
                }
                cluster = stack.enter_context(
                    LocalCluster(n_workers=workers, threads_per_worker=1, **quiet)
                )
            client = stack.enter_context(Client(cluster))
        except (OSError, ValueError) as error:
            raise BackendError(f"no Dask scheduler answers at {address!r} ({error})") from None
        try:
            waiting = iter(items)
            running = as_completed(client.map(function, list(islice(waiting, WINDOW)), pure=False))
            for future in running:
                yield future.result()
                for item in islice(waiting, 1):
                    running.add(client.submit(function, item, pure=False))
        except (KilledWorker, CancelledError) as error:
            raise _died(error) from None


def _follow(parent: int) -> None:
    """End this worker when its parent is gone: killed, the parent cannot end its workers itself."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _died(error: Exception) -> BackendError:
    reason = str(error).splitlines()[0]
    return BackendError(
        f"a worker process died, perhaps for want of memory ({reason}); what is finished is kept: "
        "run again, with fewer workers"
    )
