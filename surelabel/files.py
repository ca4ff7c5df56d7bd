"""Output files that appear complete or not at all."""

import errno
import os
import shutil
import signal
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from .exceptions import ParameterError, shown
from .interrupts import SIGNALS

#: Errors of a disk that is full, or of a limit to what may be written.
FULL = tuple(getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name))
_unfinished: set[Path] = set()
"""Temporary files and folders that are in use."""
finished = False
"""Whether an output took its place, and none is being written."""


def checked_path(path: object) -> Path:
    """A path, if it can be one: no number, no bytes, no character that no name of a file has."""
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise ParameterError(f"{shown(path)} is not the path of a file; pass a text or a Path")
    try:
        if "\0" not in os.fspath(path) and os.fsencode(path):
            return Path(path)
    except UnicodeEncodeError:
        pass
    raise ParameterError(f"{ascii(os.fspath(path))[:200]} cannot be the name of a file")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place when all is written: a reader sees the old one or
    the new one, never a part.

    Parameters
    ----------
    path : path-like
        Where the file belongs; one that is there is replaced and passes its mode on, a link to one
        is followed. A device or a folder is refused.

    Yields
    ------
    file
        A binary file beside its place; removed if the block raises.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "this is not a file that can be replaced", str(path))
    # The name is known before the file is there, so that no interruption leaves it behind.
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    _unfinished.add(temporary)
    try:
        with open(_create(temporary, like=path), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _take_places({temporary: path})
    except BaseException as error:
        if isinstance(error, OSError) and error.errno in FULL:
            error.strerror = f"{error.strerror}; {_size_so_far([temporary])}"
        _remove([temporary])
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            # A full disk does not say whose, a missing folder names the temporary file.
            error.filename = str(path)
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
        beside[real.with_name(f".{os.urandom(4).hex()}.{real.name}")] = Path(path)
    _unfinished.update(beside)
    try:
        for temporary, path in beside.items():
            if path.exists():  # a private file is private while it is written, too
                os.close(_create(temporary, like=path))
        yield list(beside)
        _take_places({new: Path(os.path.realpath(path)) for new, path in beside.items()})
    except BaseException as error:
        if (
            isinstance(error, OSError)
            and error.errno in FULL
            and "; it needs" not in str(error.strerror)  # a file within may have said it
        ):
            error.strerror = f"{error.strerror}; {_size_so_far(beside)}"
        _remove(beside)
        for temporary, path in beside.items():
            error.args = tuple(_renamed(part, temporary, path) for part in error.args)
            if isinstance(error, OSError):
                error.filename = _renamed(error.filename, temporary, path)
        raise


def sync_folder(folder: Path) -> None:
    """See that a folder knows its new files after a power cut. Windows opens no folders, and needs
    no such call.
    """
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say in errors of a file that is open which one it is: a full disk does not."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or os.fspath(path)
        raise


@contextmanager
def making_folders(paths: Iterable[str | os.PathLike[str]]) -> Iterator[None]:
    """Make the folders that files need; those that were not there go again if the block raises."""
    made: list[Path] = []
    try:
        for path in paths:
            folder = Path(path).parent
            missing = [part for part in (folder, *folder.parents) if not part.exists()]
            made += reversed(missing)
            folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in reversed(made):
            with suppress(OSError):  # never made, or somebody else has put something into it
                folder.rmdir()
        raise


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder for temporary files of this process and of those that it starts."""
    with TemporaryDirectory(prefix="surelabel-", ignore_cleanup_errors=True) as folder:
        _unfinished.add(Path(folder))
        try:
            yield folder
        finally:
            _unfinished.discard(Path(folder))


def remove_unfinished() -> None:
    """Remove all temporary files and folders: the process ends at once."""
    _remove(list(_unfinished))


def _create(temporary: Path, *, like: Path) -> int:
    """A new file as a descriptor: of the mode that another one has, if that is there, else of the
    usual one.
    """
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
    """Rename temporary files, all or none."""
    global finished
    with _uninterrupted():
        for temporary, path in files.items():
            temporary.replace(path)
        _unfinished.difference_update(files)
        finished = not any(path.is_file() for path in _unfinished)


def _size_so_far(temporaries: Iterable[Path]) -> str:
    """What is known of the size that files need, once they cannot be written to their end."""
    try:
        size = sum(path.stat().st_size for path in temporaries if path.exists())
    except OSError:
        return "not even its beginning could be written"
    return f"it needs more than {f'{size / 1e6:,.1f} MB' if size >= 1e5 else f'{size:,} bytes'}"


def _remove(temporaries: Iterable[Path]) -> None:
    for path in temporaries:
        try:
            path.unlink()
        except FileNotFoundError:
            pass
        except OSError:
            shutil.rmtree(path, ignore_errors=True)
        _unfinished.discard(path)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let signals wait for the end of the block: of several files all are replaced, or none."""
    if threading.current_thread() is not threading.main_thread():  # signals do not come here
        yield
        return
    caught: list[int] = []
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    before = {number: old for number, old in handlers.items() if old not in (None, signal.SIG_IGN)}
    try:
        for number in before:
            signal.signal(number, lambda number, _: caught.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if caught:
        signal.raise_signal(caught[0])


def _renamed(text: object, temporary: Path, path: Path) -> object:
    return text.replace(str(temporary), str(path)) if isinstance(text, str) else text
