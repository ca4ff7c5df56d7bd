"""How many threads BLAS may use: more than one only get into each other's way on small matrices.
And the same number of threads for work on the numbers of a matrix.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

STRIPE = 2**17  # numbers of a matrix that stay in a core's cache while they are worked on
MANY = 2**20  # numbers from which on several threads pay


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def blas_threads(n_rows: int, *, enough: int) -> Iterator[int]:
    """Leave BLAS one thread for matrices of fewer rows than are enough for several.

    Parameters
    ----------
    n_rows : int
        Size of the matrices.
    enough : int
        From this size on BLAS keeps its threads.

    Yields
    ------
    int
        Number of threads that are left for other work at the same time: those taken from BLAS, else
        1.
    """
    if n_rows >= enough:
        yield 1
    else:
        with one_blas_thread() as free:
            yield free


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """Leave BLAS one thread; yields the number of threads that it had."""
    free = _threads_of_blas()
    with _libraries().limit(limits=1):
        yield free


def by_stripes(function: Callable[[slice], None], matrix: np.ndarray) -> None:
    """Call ``function`` with the rows of one stripe of a matrix after the other, in the threads
    that BLAS has. It must write nothing but these rows.

    Parameters
    ----------
    function : callable
        Gets a slice of rows.
    matrix : ndarray of shape (m, k)
        What is worked on.
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
