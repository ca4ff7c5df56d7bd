"""How many threads BLAS may use: more than one only get into each other's way on small matrices."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


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
    free = max((library["num_threads"] for library in _libraries().info()), default=1)
    with _libraries().limit(limits=1):
        yield free


@contextmanager
def solving_threads(n_rows: int, n_columns: int) -> Iterator[None]:
    """Threads for triangular solves: with few right-hand sides they are limited by memory, and one
    thread is as fast as several up to thousands of rows; with many they are not.

    Parameters
    ----------
    n_rows : int
        Size of the factor.
    n_columns : int
        Number of right-hand sides.
    """
    with blas_threads(n_rows, enough=6000 if n_columns < 32 else 1500):
        yield
