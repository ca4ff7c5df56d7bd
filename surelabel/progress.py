"""Progress, shown only on a terminal and only if asked for."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

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


def stage(name: str, *, verbose: bool) -> AbstractContextManager[Any]:
    """If ``verbose``, show the name of a stage on a terminal while it lasts."""
    console = _terminal() if verbose else None
    return nullcontext() if console is None else console.status(name)


def _terminal() -> "Console | None":
    """Standard error, if it is a terminal and rich is installed."""
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        return None
    console = Console(stderr=True)
    return console if console.is_terminal else None
