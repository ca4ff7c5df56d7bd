"""A progress bar that shows itself only to a person who asked for it."""

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def track(items: Iterable[T], description: str, total: int, *, verbose: bool) -> Iterable[T]:
    """Pass the items on, with a bar on standard error if ``verbose`` and standard error is a terminal."""
    if not verbose:
        return items
    from rich.console import Console
    from rich.progress import track as rich_track

    console = Console(stderr=True)
    return rich_track(items, description, total, console=console) if console.is_terminal else items
