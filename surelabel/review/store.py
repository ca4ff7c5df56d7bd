"""The answers file: every answer is on disk before the page moves on."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..exceptions import TableError
from ..files import naming, sync_folder
from ..tables.answers import FORMAT, AnswerLog

try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]
    import msvcrt


class AnswersFile:
    """Appends lines, and reads the lines that others append.

    Writers lock the file while they write, so several of them may have it open. Each line is synced
    to disk before :meth:`append` returns. The file is kept open: if it is removed, what everybody
    has written is still there, and the next line brings it back. The ``header`` is the content of
    the first line of a new file: how rows are identified.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path = Path(path)
        self.log = AnswerLog()  # all lines so far
        self.repaired = 0  # bytes of an unfinished line that were removed from the end
        self._read, self._lines = 0, 0
        self._held: int | None = None
        self._let_go: Callable[[], object] = lambda: None
        new = not self.path.exists()
        with naming(self.path):
            with self._locked() as file:
                if not file.tell():
                    self._write(file, {"surelabel": FORMAT} | header)
            if new:
                sync_folder(self.path.parent)

    def refresh(self) -> bool:
        """Read what was appended since; return whether there was anything."""
        before = self._read
        if self.path.exists():
            with naming(self.path), self._locked():
                pass
        return self._read > before

    def append(self, record: dict[str, Any]) -> None:
        """Write one line, after reading what others wrote."""
        with naming(self.path), self._locked() as file:
            self._write(file, record)

    def draw(self, record: dict[str, Any], number: int) -> None:
        """Write a draw, unless somebody else has written draw ``number`` meanwhile."""
        with naming(self.path), self._locked() as file:
            if len(self.log.draws) == number:
                self._write(file, record)

    def show(self, record: dict[str, Any], free: Callable[[], bool]) -> bool:
        """Write which rows are shown, if they are still free after reading what others wrote;
        return whether they are.
        """
        with naming(self.path), self._locked() as file:
            if found := free():
                self._write(file, record)
        return found

    def _write(self, file: BinaryIO, record: dict[str, Any]) -> None:
        line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
        file.write(line.encode("utf-8", "backslashreplace"))
        file.flush()
        os.fsync(file.fileno())
        self._read_on(file)

    @contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        """The locked file, repaired, read to its end and positioned there."""
        with self._opened() as file:
            try:
                if self._held is None or not _same(file, os.fstat(self._held)):
                    self._bring_back(file)
                    self._hold(file)
                self._repair(file)
                self._read_on(file)
                file.seek(0, os.SEEK_END)
                yield file
            finally:
                _unlock(file)

    def _opened(self) -> BinaryIO:
        """The file, locked; opened again if it was removed before it was locked."""
        while True:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
            file = open(os.open(self.path, flags, 0o666), "r+b")  # noqa: SIM115
            _lock(file)
            if self.path.exists() and _same(file, self.path.stat()):
                return file
            file.close()

    def _hold(self, file: BinaryIO) -> None:
        """Keep the file, even if it is removed, until there is another one."""
        self._let_go()
        self._held = os.dup(file.fileno())
        self._let_go = weakref.finalize(self, os.close, self._held)

    def _bring_back(self, file: BinaryIO) -> None:
        """Complete a new file that lacks lines of the removed one."""
        if self._held is None:
            return
        with open(os.dup(self._held), "rb") as held:
            _lock(held)  # somebody may still be writing to it
            try:
                held.seek(0)
                before = held.read()
            finally:
                _unlock(held)
        now = file.read()
        if before.startswith(now):
            file.write(before[len(now) :])
            file.flush()
        elif not now.startswith(before[: self._read]):
            raise TableError(
                f"{self.path}: the file was replaced while the page was open; restart the review"
            )

    def _repair(self, file: BinaryIO) -> None:
        """Complete the last line, or remove it if its writer was cut off."""
        end = file.seek(0, os.SEEK_END)
        if end < self._read:
            raise TableError(
                f"{self.path}: lines were removed while the page was open; restart the review"
            )
        file.seek(self._read)
        tail = file.read().rpartition(b"\n")[2]
        if not tail:
            return
        try:
            json.loads(tail)
        except (ValueError, RecursionError):
            self.repaired += len(tail)
            file.truncate(end - len(tail))
        else:
            file.seek(0, os.SEEK_END)
            file.write(b"\n")
        file.flush()
        os.fsync(file.fileno())

    def _read_on(self, file: BinaryIO) -> None:
        """Read the complete lines that follow those already read."""
        file.seek(self._read)
        whole = file.read().rpartition(b"\n")
        if not whole[1]:
            return
        for line in whole[0].split(b"\n"):
            self._lines += 1
            if line.strip():
                self.log.add(line, f"{self.path}, line {self._lines}")
        self._read += len(whole[0]) + 1


def _same(file: BinaryIO, other: os.stat_result) -> bool:
    return os.path.samestat(os.fstat(file.fileno()), other)


def _lock(file: BinaryIO) -> None:
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)
    else:  # pragma: no cover
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)


def _unlock(file: BinaryIO) -> None:
    try:
        file.flush()
    finally:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_UN)
        else:  # pragma: no cover
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
