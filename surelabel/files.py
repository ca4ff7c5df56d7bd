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
from .interrupts import SIGNALS, hurry

#: Error numbers of a full disk, an exceeded quota or a file size limit.
FULL = tuple(getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name))
_unfinished: set[Path] = set()
"""Temporary files and folders in use."""
finished = False
"""Whether an output has been put in place, and none is being written."""


def checked_path(path: object) -> Path:
    """The path, if it is a valid one: a string or a Path, without characters that no file name may
    have.
    """
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
    """A file to write to, put in place when it is complete: readers see the old file or the new
    one, never a part.

    Parameters
    ----------
    path : path-like
        Where the file belongs. An existing file is replaced, and its mode is kept; links are
        followed. A device or a folder is refused.

    Yields
    ------
    file
        A binary file in the same folder; removed if the block raises.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "this is not a file that can be replaced", str(path))
    # The name is recorded before the file exists, so that no interruption leaves it behind.
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
            # The error of a full disk names no file, that of a missing folder the temporary one.
            error.filename = str(path)
        raise


@contextmanager
def replacing_all(paths: Sequence[str | os.PathLike[str]]) -> Iterator[list[Path]]:
    """Temporary paths for several files, which are put in place together when all are complete.

    Parameters
    ----------
    paths : sequence of path-like
        Where the files belong.

    Yields
    ------
    list of Path
        Temporary paths beside these, with the same extensions; removed if the block raises. Error
        messages name the paths given.
    """
    beside = {}
    for path in paths:
        real = Path(os.path.realpath(path))
        beside[real.with_name(f".{os.urandom(4).hex()}.{real.name}")] = Path(path)
    _unfinished.update(beside)
    try:
        for temporary, path in beside.items():
            if path.exists():  # a private file stays private while it is written
                os.close(_create(temporary, like=path))
        yield list(beside)
        _take_places({new: Path(os.path.realpath(path)) for new, path in beside.items()})
    except BaseException as error:
        if (
            isinstance(error, OSError)
            and error.errno in FULL
            and "; it needs" not in str(error.strerror)  # replacing() may have added it already
        ):
            error.strerror = f"{error.strerror}; {_size_so_far(beside)}"
        _remove(beside)
        for temporary, path in beside.items():
            error.args = tuple(_renamed(part, temporary, path) for part in error.args)
            if isinstance(error, OSError):
                error.filename = _renamed(error.filename, temporary, path)
        raise


def sync_folder(folder: Path) -> None:
    """Make sure that new files of a folder survive a power cut. Windows cannot open folders, and
    needs no such call.
    """
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the file name to errors that lack it, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or os.fspath(path)
        raise


@contextmanager
def making_folders(paths: Iterable[str | os.PathLike[str]]) -> Iterator[None]:
    """Create the folders that files need; those that are new are removed if the block raises."""
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
            with suppress(OSError):  # never created, or no longer empty
                folder.rmdir()
        raise


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder for temporary files of this process and its children."""
    folder = TemporaryDirectory(prefix="surelabel-", ignore_cleanup_errors=True)
    _unfinished.add(Path(folder.name))
    try:
        with folder:
            yield folder.name
    finally:
        _unfinished.discard(Path(folder.name))


def remove_unfinished() -> None:
    """Remove all temporary files and folders, because the process is about to end."""
    _remove(list(_unfinished))


def _create(temporary: Path, *, like: Path) -> int:
    """The descriptor of a new file, with the mode of the file ``like`` if that exists, else the
    default.
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
    """Rename all temporary files, without being interrupted in between."""
    global finished
    with uninterrupted():
        for temporary, path in files.items():
            temporary.replace(path)
        _unfinished.difference_update(files)
        finished = not any(path.is_file() for path in _unfinished)


def _size_so_far(temporaries: Iterable[Path]) -> str:
    """How much space the files need, as far as is known when writing them failed."""
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
def uninterrupted() -> Iterator[None]:
    """Hold signals back until the block ends, so that all of it happens or none."""
    if (
        threading.current_thread() is not threading.main_thread()
    ):  # signals arrive in the main thread only
        yield
        return
    caught: list[int] = []
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    before = {number: old for number, old in handlers.items() if old not in (None, signal.SIG_IGN)}

    def hold(number: int, _: object) -> None:
        caught.append(number)
        hurry(number)

    try:
        for number in before:
            signal.signal(number, hold)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if caught:  # even if the block failed, perhaps because others had the signal too
            signal.raise_signal(caught[0])


def _renamed(text: object, temporary: Path, path: Path) -> object:
    return text.replace(str(temporary), str(path)) if isinstance(text, str) else text
