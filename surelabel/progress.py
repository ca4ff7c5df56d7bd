"""Progress, shown only on a terminal and only if asked for."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")


def track(items: Iterable[T], description: str, total: int, *, verbose: bool) -> Iterable[T]:
    """Iterate over the items, with a progress bar if ``verbose`` and standard error is a
    terminal.
    """
    if not verbose:
        return items
    from rich.console import Console
    from rich.progress import track as rich_track

    console = Console(stderr=True)
    if not console.is_terminal:
        return items
    return rich_track(items, description, total, console=console)


@contextmanager
def stage(name: str, seconds: dict[str, float], *, verbose: bool) -> Iterator[None]:
    """Record the time that a stage takes; if ``verbose`` and standard error is a terminal, show its
    name meanwhile.
    """
    start = perf_counter()
    with _spinner(name) if verbose else nullcontext():
        yield
    seconds[name] = perf_counter() - start


def _spinner(name: str) -> AbstractContextManager[object]:
    from rich.console import Console

    console = Console(stderr=True)
    return console.status(name) if console.is_terminal else nullcontext()
