"""Output files that appear complete or not at all."""

import errno
import os
import secrets
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place when all is written: a reader sees the old one or
    the new one, never a part.

    Parameters
    ----------
    path : path-like
        Where the file belongs; one that is there is replaced, a link to one is followed. A device
        or a folder is refused.

    Yields
    ------
    file
        A binary file beside its place; removed if the block raises.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "this is no file that could be replaced", str(path))
    # The name is known before the file is there, so that no interruption leaves it behind.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename = str(
                path
            )  # a full disk does not say whose, a missing folder names the temporary file
        raise


@contextmanager
def replacing_all(paths: Sequence[str | os.PathLike[str]]) -> Iterator[list[Path]]:
    """Places to write several files to, which take their own together when all are written.

    Parameters
    ----------
    paths : sequence of path-like
        Where the files belong.

    Yields
    ------
    list of Path
        Places beside these, of the same endings; what is there is removed if the block raises.
        Messages name the paths given.
    """
    beside = {}
    for path in paths:
        real = Path(os.path.realpath(path))
        beside[real.with_name(f".{secrets.token_hex(4)}.{real.name}")] = Path(path)
    try:
        yield list(beside)
        with _uninterrupted():
            for temporary, path in beside.items():
                temporary.replace(os.path.realpath(path))
    except BaseException as error:
        for temporary, path in beside.items():
            temporary.unlink(missing_ok=True)
            error.args = tuple(_renamed(part, temporary, path) for part in error.args)
            if isinstance(error, OSError):
                error.filename = _renamed(error.filename, temporary, path)
        raise


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block: of several files all are replaced, or none."""
    if threading.current_thread() is not threading.main_thread():  # Ctrl-C does not come here
        yield
        return
    caught: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: caught.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if caught:
        signal.raise_signal(signal.SIGINT)


def _renamed(text: object, temporary: Path, path: Path) -> object:
    return text.replace(str(temporary), str(path)) if isinstance(text, str) else text
