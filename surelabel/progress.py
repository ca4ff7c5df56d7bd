"""Progress, shown only on a terminal and only if asked for."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")


def track(items: Iterable[T], description: str, total: int, *, verbose: bool) -> Iterable[T]:
    """Iterate over the items; if ``verbose``, show a progress bar on a terminal."""
    console = _terminal() if verbose else None
    if console is None:
        return items
    from rich.progress import track as rich_track

    return rich_track(items, description, total, console=console, transient=True)


@contextmanager
def stage(name: str, seconds: dict[str, float], *, verbose: bool) -> Iterator[None]:
    """Add the seconds that a stage takes; if ``verbose``, show its name on a terminal."""
    start = perf_counter()
    console = _terminal() if verbose else None
    with nullcontext() if console is None else console.status(name):
        yield
    seconds[name] = seconds.get(name, 0.0) + perf_counter() - start


def _terminal() -> "Console | None":
    """Standard error, if it is a terminal and rich is installed."""
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        return None
    console = Console(stderr=True)
    return console if console.is_terminal else None
