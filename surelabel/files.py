"""Output files that appear complete or not at all."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from . import interrupts
from .exceptions import ParameterError, shown

#: Error numbers of a full disk, an exceeded quota or a file size limit.
FULL = tuple(getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name))
#: Temporary files that wait for others, and where they belong; None outside all_or_none.
_together: ContextVar[dict[Path, Path] | None] = ContextVar("_together", default=None)


def checked_path(path: object) -> Path:
    """Return the path, or refuse it if it is not a string or a Path that can name a file."""
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise ParameterError(f"{shown(path)} is not the path of a file; pass a string or a Path")
    try:
        if "\0" not in os.fspath(path) and os.fsencode(path):
            return Path(path)
    except UnicodeEncodeError:
        pass
    raise ParameterError(f"{ascii(os.fspath(path))[:200]} cannot be the name of a file")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes its place when complete: readers see the old file or the new one.

    Until then it is another file in the same folder, which is removed if the block raises. An
    existing file is replaced, and its mode is kept; links are followed. A device or a folder is
    refused.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "this is not a file that can be replaced", str(path))
    # The name is recorded before the file exists, so that no interruption leaves it behind.
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    interrupts.unfinished.add(temporary)
    try:
        with open(_create(temporary, like=path), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if (waiting := _together.get()) is not None:
            waiting[temporary] = path
        else:
            _take_places({temporary: path})
    except BaseException as error:
        interrupts.remove_unfinished([temporary])
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            # A full disk's error names no file, and a missing folder's names the temporary one.
            error.filename = str(path)
        raise


@contextmanager
def all_or_none() -> Iterator[None]:
    """Put all files of :func:`replacing` in place when the block ends, or none if it raises."""
    files: dict[Path, Path] = {}
    token = _together.set(files)
    try:
        yield
        _take_places(files)
    except BaseException:
        interrupts.remove_unfinished(files)
        raise
    finally:
        _together.reset(token)


def _create(temporary: Path, *, like: Path) -> int:
    """Create a file with the mode of ``like``, if that exists, and return its descriptor."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        mode = stat.S_IMODE(like.stat().st_mode)
    except FileNotFoundError:
        return os.open(temporary, flags, 0o666)
    descriptor = os.open(temporary, flags, mode & 0o700)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)
    return descriptor


def _take_places(files: dict[Path, Path]) -> None:
    """Rename all temporary files, without being interrupted in between."""
    with interrupts.uninterrupted():
        for temporary, path in files.items():
            temporary.replace(path)
        interrupts.unfinished.difference_update(files)
        interrupts.outputs_in_place = not any(path.is_file() for path in interrupts.unfinished)


def sync_folder(folder: Path) -> None:
    """Make sure that new files in a folder survive a power cut; Windows needs no such call."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the file name to errors that lack it, such as a full disk."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or os.fspath(path)
        raise


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder for temporary files of this process and its children."""
    folder = TemporaryDirectory(prefix="surelabel-", ignore_cleanup_errors=True)
    interrupts.unfinished.add(Path(folder.name))
    try:
        with folder:
            yield folder.name
    finally:
        interrupts.unfinished.discard(Path(folder.name))
