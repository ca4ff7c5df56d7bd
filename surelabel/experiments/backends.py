"""Where trials run: in processes on this machine (joblib), or on a Dask cluster. Results come back
in the order in which they finish.
"""

from __future__ import annotations

import logging
import multiprocessing.resource_tracker
import os
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from threading import Thread
from typing import Any, TypeVar

import joblib
from joblib.externals.loky.backend import resource_tracker

from ..exceptions import SurelabelError
from ..extras import extra
from ..files import temporary_folder

T = TypeVar("T")

#: Maximum number of items that the Dask scheduler has at a time: enough for any cluster.
WINDOW = 1000


class BackendError(SurelabelError):
    """The processes for the trials could not be started, or died."""


def run_with_joblib(
    function: Callable[[Any], T], items: Sequence[Any], workers: int
) -> Generator[T]:
    """Run ``function`` of each item in processes of this machine; with one worker, in this process.

    Results come as soon as they are ready. Items are handed out one by one, so that finished ones
    do not wait for others.
    """
    if workers == 1:
        yield from map(function, items)
        return
    with temporary_folder() as folder:
        own = {"initializer": _begin, "initargs": (os.getpid(), folder)}
        pool = joblib.Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1, **own)
        with _children_without_ctrl_c():
            results = pool(joblib.delayed(function)(item) for item in items)
        try:
            for result in results:  # noqa: UP028 (not `yield from`: closing this must come to `finally` first)
                yield result
        except BrokenProcessPool as error:
            raise _died(error) from None
        finally:
            with warnings.catch_warnings():
                # Cancelled tasks are expected when a run is stopped.
                warnings.simplefilter("ignore", UserWarning)
                results.close()


def run_with_dask(function: Callable[[Any], T], items: Sequence[Any], address: str) -> Generator[T]:
    """Run ``function`` of each item on the Dask cluster of the scheduler at this address."""
    with extra("dask", "--dask"):
        from distributed import Client, KilledWorker, as_completed
        from distributed.comm.core import CommClosedError
    # The errors below say enough; Dask would repeat them while it reconnects.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        connected = Client(address)
    except (OSError, ValueError) as error:
        raise BackendError(f"no Dask scheduler answers at {address!r} ({error})") from None
    with connected as client:
        try:
            waiting = iter(items)
            running = as_completed(client.map(function, list(islice(waiting, WINDOW)), pure=False))
            for future in running:
                yield future.result()
                for item in islice(waiting, 1):
                    running.add(client.submit(function, item, pure=False))
        except KilledWorker as error:
            raise _died(error) from None
        except (CancelledError, CommClosedError):
            raise BackendError(
                f"the Dask scheduler at {address!r} no longer responds, or has cancelled the work; "
                "what is finished is kept: make sure that one is running, and run again"
            ) from None


@contextmanager
def _children_without_ctrl_c() -> Iterator[None]:
    """Start processes that ignore Ctrl-C: a terminal sends it to all of them, but only this process
    should handle it and end the others.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    _start_trackers()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_trackers() -> None:
    """Start the processes that clean up after this one. They enable Ctrl-C again, so they must be
    started before it is disabled. They must not warn about what a stopped run leaves behind.
    """
    given = os.environ.get("PYTHONWARNINGS")
    quiet = "ignore:resource_tracker:UserWarning"
    os.environ["PYTHONWARNINGS"] = f"{given},{quiet}" if given else quiet
    try:
        for tracker in (multiprocessing.resource_tracker, resource_tracker):
            tracker.ensure_running()
    finally:
        if given is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = given


def _begin(parent: int, folder: str) -> None:
    """Set up a worker: its temporary files go where the parent removes them, and it ends when the
    parent has gone, because a killed parent cannot end its workers.
    """
    tempfile.tempdir = folder

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _died(error: Exception) -> BackendError:
    reason = str(error).splitlines()[0]
    return BackendError(
        f"a worker process died, perhaps because memory ran out ({reason}); what is finished is "
        "kept: run again, with fewer workers"
    )
