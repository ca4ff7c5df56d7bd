"""How many threads BLAS may use, and the same number of threads for elementwise work on a matrix.

Threads of BLAS keep a core busy while they wait for each other. On small matrices they only get in
each other's way, and beside other busy processes a fit with two threads takes ten times as long as
with one. Only the size of the matrices decides how many are used, because the last digits of a
result depend on the number of threads, and the same fit must always give the same result.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from threading import Lock

import numpy as np
from threadpoolctl import ThreadpoolController

STRIPE = 2**17  # this many numbers of a matrix fit into a core's cache
MANY = 2**20  # elementwise work uses several threads for at least this many numbers
SEVERAL_FROM = 2500  # BLAS may use several threads for at least this many rows


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@cache
def _libraries_of_scipy() -> ThreadpoolController:
    paths = [Path(library["filepath"]) for library in _libraries().info()]
    own = [path for path in paths if {"scipy", "scipy.libs"} & {*path.parts[-4:-1]}]
    return _libraries().select(filepath=[str(path) for path in own])


@contextmanager
def blas_threads(n_rows: int) -> Iterator[int]:
    """Limit BLAS to one thread for matrices with few rows. Yields how many threads other work may
    use meanwhile: as many as BLAS had if it is limited, otherwise 1.
    """
    had = _threads_of_blas()
    allowed = had if n_rows >= SEVERAL_FROM else 1
    with _libraries().limit(limits=allowed):
        yield had if allowed == 1 else 1


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """Limit BLAS to one thread; yields the number of threads that it had."""
    had = _threads_of_blas()
    with _libraries().limit(limits=1):
        yield had


class _OneThread:
    """Limits the BLAS of SciPy from the first thread that enters to the last that leaves."""

    def __init__(self) -> None:
        self._lock, self._inside, self._limit = Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit.enter_context(_libraries_of_scipy().limit(limits=1))
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.close()


#: Limits the BLAS of SciPy to one thread, and leaves that of NumPy its own. Both come with a BLAS
#: of their own in their wheels. If both use threads by turns, each waits for cores that the other
#: keeps busy: with 2000 rows, SURE took ten times as long as a kernel ridge fit.
one_thread_of_scipy = _OneThread()


def by_stripes(function: Callable[[slice], None], matrix: np.ndarray) -> None:
    """Call ``function`` with every slice of rows of a matrix; for a large matrix, in as many
    threads as BLAS has. ``function`` must write only to the rows of its slice.
    """
    step = max(STRIPE // max(matrix.shape[1], 1), 1)
    stripes = [slice(start, start + step) for start in range(0, len(matrix), step)]
    n_threads = _threads_of_blas() if matrix.size >= MANY else 1
    if n_threads == 1:
        for stripe in stripes:
            function(stripe)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(function, stripes))


def _threads_of_blas() -> int:
    """How many threads BLAS may use at present."""
    return max((library["num_threads"] for library in _libraries().info()), default=1)
