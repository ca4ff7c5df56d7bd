"""Libraries that only an extra installs, such as ``pip install "surelabel[cli]"``."""

from collections.abc import Iterator
from contextlib import contextmanager

from .exceptions import MissingExtraError


@contextmanager
def extra(name: str, purpose: str) -> Iterator[None]:
    """Import libraries of an extra in this block; if one is missing, say what to install.

    >>> with extra("cli", "this"):
    ...     import unheard_of
    Traceback (most recent call last):
    surelabel.exceptions.MissingExtraError: this needs unheard_of: pip install "surelabel[cli]"
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if isinstance(error, MissingExtraError) or str(error.name).startswith("surelabel"):
            raise
        raise MissingExtraError(
            f'{purpose} needs {error.name}: pip install "surelabel[{name}]"'
        ) from None
