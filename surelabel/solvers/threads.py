"""How many threads BLAS may use, and the same number of threads for elementwise work on a matrix.

Threads of BLAS wait for each other in a loop. On small matrices they only get in each other's way,
and beside other busy processes a fit with two takes ten times as long as with one. Only the size of
the matrices decides, because the last digits of a result depend on the number of threads, and the
same fit must always give the same result.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

STRIPE = 2**17  # numbers of a matrix that fit into a core's cache
MANY = 2**20  # several threads pay off for at least this many numbers
SEVERAL_FROM = 1500  # BLAS may use several threads for at least this many rows


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def blas_threads(n_rows: int) -> Iterator[int]:
    """Limit BLAS to one thread for matrices with few rows.

    Parameters
    ----------
    n_rows : int
        Number of rows of the matrices.

    Yields
    ------
    int
        Number of threads for other work at the same time: those taken from BLAS, otherwise 1.
    """
    had = _threads_of_blas()
    allowed = had if n_rows >= SEVERAL_FROM else 1
    with _libraries().limit(limits=allowed):
        yield had if allowed == 1 else 1


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """Limit BLAS to one thread; yields the number of threads that it had."""
    free = _threads_of_blas()
    with _libraries().limit(limits=1):
        yield free


def by_stripes(function: Callable[[slice], None], matrix: np.ndarray) -> None:
    """Call ``function`` for one stripe of rows of a matrix after another, with as many threads as
    BLAS has. It must write only to these rows.

    Parameters
    ----------
    function : callable
        Called with a slice of rows.
    matrix : ndarray of shape (m, k)
        The matrix.
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
    return max((library["num_threads"] for library in _libraries().info()), default=1)
